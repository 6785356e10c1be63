//! Addresses.

use crate::bootstrap::wizard::{
    Answers, Show,
    question::{Ask, Question, flag, list, question, text},
};

fn on_prem(answers: &Answers) -> Show {
    Show::when(answers.on_prem())
}

fn not_local(answers: &Answers) -> Show {
    Show::when(!answers.on(&["local"]))
}

fn machines(answers: &Answers) -> Show {
    Show::when(!answers.on_this_computer())
}

pub(super) static CLUSTER: &[Question] = &[
    text("network.podCIDR", "Pods").show(not_local),
    text("network.serviceCIDR", "Services").show(not_local),
    text("network.vip", "Virtual address").show(on_prem),
    text("network.vipInterface", "  network card")
        .show(|answers| Show::when(answers.on_prem() && !answers.text("network.vip").is_empty())),
    text("network.loadBalancerPool.start", "Load balancers from").show(on_prem),
    text("network.loadBalancerPool.end", "  to").show(on_prem),
    text("network.mtu", "Largest packet").show(machines),
    flag("network.jumboFrames", "Jumbo frames")
        .show(|answers| Show::when(machines(answers) == Show::Asked && answers.number("network.mtu") > 1500)),
];

/// How blocks of addresses grow.
const GROWTH: &[(&str, &str)] =
    &[("static", "a block of fixed size"), ("elastic", "blocks are added as they are needed")];

fn ipam(answers: &Answers) -> Show {
    Show::when(answers.says("ipam"))
}

/// Only where they mean something: with `static` no block grows.
fn grows(answers: &Answers) -> Show {
    let elastic = answers.text("providerNetwork.loadBalancer.allocationMode") == "elastic";
    Show::when(answers.says("ipam") && elastic)
}

fn implied(answers: &Answers) -> Show {
    if answers.says("ipam") { Show::Implied } else { Show::Absent }
}

macro_rules! number {
    ($key:literal, $label:literal, $default:literal, $show:ident) => {
        text($key, $label).default(|_| $default.to_owned()).show($show)
    };
}

pub(super) static TENANTS: &[Question] = &[
    flag("ipam", "Give out addresses")
        .note("Butler gives tenants addresses of a pool; without, they use what the network gives them")
        .default(|_| "true".to_owned())
        .show(on_prem),
    question("providerNetwork.mode", "", Ask::Text).default(|_| "ipam".to_owned()).show(implied),
    text("networkPool.cidr", "Pool").show(ipam),
    list("networkPool.reserved", "Never given out")
        .note("parts of the pool, with commas between: networks, or ranges such as 10.0.0.1-10.0.0.9")
        .show(ipam),
    text("networkPool.tenantAllocation.start", "Tenants from").show(ipam),
    text("networkPool.tenantAllocation.end", "  to").show(ipam),
    text("providerNetwork.gateway", "Gateway").show(ipam),
    list("providerNetwork.dnsServers", "DNS servers").show(ipam),
    text("providerNetwork.subnet", "").default(|answers| answers.text("networkPool.cidr")).show(implied),
    question("providerNetwork.loadBalancer.allocationMode", "Load balancers", Ask::Choice(GROWTH)).show(ipam),
    number!("networkPool.tenantAllocation.defaults.lbPoolPerTenant", "  for a tenant", "2", ipam),
    number!("networkPool.tenantAllocation.defaults.nodesPerTenant", "Nodes of a tenant", "5", ipam),
    number!("providerNetwork.loadBalancer.initialPoolSize", "First block", "2", grows),
    number!("providerNetwork.loadBalancer.defaultPoolSize", "Block", "4", ipam),
    number!("providerNetwork.loadBalancer.growthIncrement", "Step", "2", grows),
    number!("providerNetwork.quotaPerTenant.maxLoadBalancerIPs", "Most load balancers", "8", ipam),
    number!("providerNetwork.quotaPerTenant.maxNodeIPs", "Most nodes", "10", ipam),
];
