//! What is installed, and how it is published.

use crate::bootstrap::wizard::{
    Answers, Show,
    question::{Ask, Question, flag, question, text},
};

/// In the sandbox most of it is off unless somebody wants to try it.
const EXTRAS: &[(&str, &str)] = &[
    ("none", "Butler alone: works with no way out to the Internet"),
    ("choose", "addons from repositories of charts, each by its name"),
];

/// True where somebody chooses addons one by one.
fn chosen(answers: &Answers) -> bool {
    !answers.on(&["sandbox"]) || answers.text("extras") == "choose"
}

fn each(answers: &Answers) -> Show {
    Show::or_implied(chosen(answers))
}

/// Where pod network, storage and load balancer are real.
fn on_machines(answers: &Answers) -> Show {
    Show::when(!answers.on_this_computer())
}

/// A cloud brings its own.
fn outside_clouds(answers: &Answers) -> Show {
    if answers.on(&["aws", "azure", "gcp"]) { Show::Absent } else { each(answers) }
}

macro_rules! switch {
    ($key:literal, $label:literal) => {
        flag(concat!("addons.", $key, ".enabled"), $label)
            .default(|answers| chosen(answers).to_string())
            .show(each)
    };
}

const CNI: &[(&str, &str)] = &[("cilium", "Cilium"), ("none", "none: install one yourself")];
const STORAGE: &[(&str, &str)] = &[("longhorn", "Longhorn"), ("none", "none")];
const LOAD_BALANCER: &[(&str, &str)] = &[("metallb", "MetalLB"), ("none", "none")];
const GIT_OPS: &[(&str, &str)] = &[("", "none"), ("flux", "Flux")];

pub(super) static ADDONS: &[Question] = &[
    question("extras", "Addons", Ask::Choice(EXTRAS)).show(|answers| Show::when(answers.on(&["sandbox"]))),
    question("addons.cni.type", "Pod network", Ask::Choice(CNI)).show(on_machines),
    question("addons.storage.type", "Storage", Ask::Choice(STORAGE)).show(on_machines),
    question("addons.loadBalancer.type", "Load balancer", Ask::Choice(LOAD_BALANCER))
        .default(|answers| if answers.on_prem() { "metallb" } else { "none" }.to_owned())
        .show(
            |answers| {
                if answers.on_this_computer() { Show::Absent } else { Show::or_implied(answers.on_prem()) }
            },
        ),
    switch!("certManager", "cert-manager"),
    switch!("ingress", "Ingress (Traefik)").show(outside_clouds),
    switch!("controlPlaneProvider", "Tenants (Steward)"),
    switch!("capi", "Cluster API"),
    switch!("console", "Console"),
    flag("addons.catalog.enabled", "Catalog for tenants")
        .default(|_| "true".to_owned())
        .show(|answers| Show::when(chosen(answers))),
    question("addons.gitOps.type", "GitOps", Ask::Choice(GIT_OPS))
        .show(|answers| Show::when(chosen(answers))),
    text("charts.mirror", "Mirror of charts").show(|answers| Show::when(chosen(answers))),
];

/// How API servers of tenants are reached.
const MODES: &[(&str, &str)] = &[
    ("LoadBalancer", "an address for each tenant"),
    ("Ingress", "one shared address, by name, through an ingress controller"),
    ("Gateway", "one shared address, by name, through a Gateway"),
];
const CONTROLLERS: &[(&str, &str)] =
    &[("traefik", "Traefik"), ("haproxy", "HAProxy"), ("nginx", "NGINX"), ("generic", "another one")];
const TENANCY: &[(&str, &str)] = &[
    ("Optional", "clusters may belong to a team"),
    ("Enforced", "every cluster belongs to a team"),
    ("Disabled", "there are no teams"),
];

fn tenants(answers: &Answers) -> Show {
    Show::when(answers.says("addons.controlPlaneProvider.enabled"))
}

fn mode(answers: &Answers, modes: &[&str]) -> Show {
    let mode = answers.text("controlPlaneExposure.mode");
    Show::when(modes.contains(&mode.as_str()))
}

fn console(answers: &Answers) -> Show {
    Show::when(answers.says("addons.console.enabled") && !answers.on(&["local"]))
}

fn console_ingress(answers: &Answers) -> Show {
    Show::when(console(answers) == Show::Asked && answers.says("addons.console.ingress.enabled"))
}

pub(super) static EXPOSURE: &[Question] = &[
    question("controlPlaneExposure.mode", "API servers", Ask::Choice(MODES)).show(tenants),
    text("controlPlaneExposure.hostname", "  names").show(|answers| mode(answers, &["Ingress", "Gateway"])),
    text("controlPlaneExposure.ingressClassName", "  class")
        .default(|_| "traefik".to_owned())
        .show(|answers| mode(answers, &["Ingress"])),
    question("controlPlaneExposure.controllerType", "  controller", Ask::Choice(CONTROLLERS))
        .show(|answers| mode(answers, &["Ingress"])),
    text("controlPlaneExposure.gatewayRef", "  Gateway")
        .default(|_| "steward-system/steward-gateway".to_owned())
        .show(|answers| mode(answers, &["Gateway"])),
    question("multiTenancyMode", "Teams", Ask::Choice(TENANCY)).show(tenants),
    flag("addons.console.ingress.enabled", "Publish the console").show(console),
    text("addons.console.ingress.host", "  host")
        .default(|answers| format!("butler.{}.local", answers.text("cluster.name")))
        .show(console_ingress),
    text("addons.console.ingress.className", "  class")
        .default(|_| "traefik".to_owned())
        .show(console_ingress),
    flag("addons.console.ingress.tls", "  TLS").show(console_ingress),
    text("providerConfig.local.consolePort", "Console port")
        .show(|answers| Show::when(answers.on(&["local"]) && answers.says("addons.console.enabled"))),
];
