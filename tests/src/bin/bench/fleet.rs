//! Fifty simulated nodes in one cluster: how soon they are Ready, what they cost at rest, and a
//! thousand Pods on them.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use butler_core::{api::MachineRequest, redact::Secret};
use butler_operator::talos::{
    client::{Client as Talos, observe},
    config::{ConfigOptions, MachineType, Provider, Topology},
    proto::machine::apply_configuration_request::Mode,
    secrets::SecretsBundle,
    talosconfig::Talosconfig,
};
use butler_tests::eventually;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Node};
use kube::{
    Api, Client, Config,
    api::{ListParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};

use crate::{
    Programs,
    sandbox::Sandbox,
    table::{Figure, Results},
};

const NODES: usize = 50;
const PODS: i32 = 1_000;
const LIMIT: Duration = Duration::from_secs(300);
/// How long the nodes are watched at rest.
const REST: Duration = Duration::from_secs(20);
const CLUSTER: &str = "fleet";

pub(crate) fn measure(programs: &Programs) -> Result<Results> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let sandbox = Sandbox::new(programs)?;
    sandbox.butleradm(&["sandbox", "up", "--quiet"])?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let figures = runtime.block_on(fleet(&sandbox))?;
    Ok(Results { rows: Vec::new(), figures })
}

async fn fleet(sandbox: &Sandbox) -> Result<Vec<Figure>> {
    let status = sandbox.status()?;
    let kubeconfig = status["kubeconfig"].as_str().context("the status names no kubeconfig")?;
    let management = client(Kubeconfig::read_from(kubeconfig)?).await?;
    let machines: Api<MachineRequest> = Api::namespaced(management, "butler-system");

    let start = Instant::now();
    request(&machines, 0, None).await?;
    let first = address(&machines, 0).await?;
    let options = options(&first)?;
    let bundle = SecretsBundle::generate(jiff::Timestamp::now())?;
    let config = |index: usize, role| options.generate(&bundle, role, Some(&name(index)));
    let maintenance = Talos::maintenance(&first, &observe(&first).await?).await?;
    maintenance.apply(&config(0, MachineType::ControlPlane)?, Mode::Auto, false).await?;
    let talosconfig = Talosconfig::admin(CLUSTER, &bundle, vec![first.clone()], jiff::Timestamp::now())?;
    let context = talosconfig.current()?;
    eventually("etcd is bootstrapped", LIMIT, || async {
        Talos::connect(&first, context).await?.bootstrap().await?;
        Ok(true)
    })
    .await?;
    for index in 1..NODES {
        request(&machines, index, Some(config(index, MachineType::Worker)?)).await?;
    }
    let kubeconfig = Talos::connect(&first, context).await?.kubeconfig().await?;
    let cluster = client(Kubeconfig::from_yaml(kubeconfig.expose())?).await?;
    let nodes: Api<Node> = Api::all(cluster.clone());
    eventually("all nodes are Ready", LIMIT, || async {
        let nodes = nodes.list(&ListParams::default()).await?;
        Ok(nodes.items.iter().filter(|node| ready(node)).count() == NODES)
    })
    .await?;
    let all_ready = start.elapsed();

    let pids = pids(&sandbox.status()?)?;
    let memory = pids.iter().map(|pid| proportional(*pid)).collect::<Result<Vec<_>>>()?;
    let before = used(&pids)?;
    tokio::time::sleep(REST).await;
    let share = (used(&pids)? - before).as_secs_f64() / REST.as_secs_f64() * 100.0;

    let start = Instant::now();
    let deployments: Api<Deployment> = Api::namespaced(cluster, "default");
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "many"},
        "spec": {"replicas": PODS, "selector": {"matchLabels": {"app": "many"}}, "template": {
            "metadata": {"labels": {"app": "many"}},
            "spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]}}},
    }))?;
    deployments.create(&PostParams::default(), &deployment).await?;
    eventually("all Pods are available", LIMIT, || async {
        let deployment = deployments.get("many").await?;
        Ok(deployment.status.and_then(|status| status.available_replicas) == Some(PODS))
    })
    .await?;
    let running = start.elapsed();

    let largest = memory.iter().max().copied().unwrap_or_default() as f64 / 1024.0;
    let figure = |job: String, value, unit, goal| Figure { job, value, unit, goal };
    Ok(vec![
        figure(
            format!("{NODES} nodes in one cluster, until all are Ready"),
            all_ready.as_secs_f64(),
            "s",
            None,
        ),
        figure(format!("{NODES} nodes at rest, of a core"), share, "%", Some(5.0)),
        figure(
            "the largest of them, memory (pages they share are shared out)".into(),
            largest,
            "MiB",
            Some(15.0),
        ),
        figure(format!("{PODS} Pods, until all are available"), running.as_secs_f64(), "s", None),
    ])
}

fn name(index: usize) -> String {
    if index == 0 { format!("{CLUSTER}-cp-0") } else { format!("{CLUSTER}-worker-{}", index - 1) }
}

pub(crate) async fn client(kubeconfig: Kubeconfig) -> Result<Client> {
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

async fn request(machines: &Api<MachineRequest>, index: usize, config: Option<Secret>) -> Result<()> {
    machines.create(&PostParams::default(), &machine_request(index, config)?).await?;
    Ok(())
}

/// The first is a control plane, the others are workers.
pub(crate) fn machine_request(index: usize, config: Option<Secret>) -> Result<MachineRequest> {
    let role = if index == 0 { "control-plane" } else { "worker" };
    Ok(serde_json::from_value(json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "MachineRequest",
        "metadata": {"name": name(index)},
        "spec": {
            "machineName": name(index), "role": role, "providerRef": {"name": "sandbox"},
            "cpu": 4, "memoryMB": 8192, "diskGB": 40,
            "userData": config.as_ref().map(Secret::expose),
        },
    }))?)
}

async fn address(machines: &Api<MachineRequest>, index: usize) -> Result<String> {
    let get = || async {
        let status = machines.get(&name(index)).await?.status;
        anyhow::Ok(status.and_then(|status| status.ip_address))
    };
    eventually("the machine has an address", LIMIT, || async { Ok(get().await?.is_some()) }).await?;
    get().await?.context("the address is gone")
}

fn options(endpoint: &str) -> Result<ConfigOptions> {
    Ok(ConfigOptions {
        cluster: CLUSTER.into(),
        provider: Provider::Sandbox,
        topology: Topology::Ha,
        workers: u32::try_from(NODES - 1)?,
        talos: "v1.11.5".parse()?,
        kubernetes: semver::Version::new(1, 34, 4),
        endpoint: endpoint.into(),
        control_planes: vec![endpoint.parse()?],
        vip: None,
        install_disk: "/dev/sda".into(),
        schematic: None,
        pod_cidr: "10.244.0.0/16".into(),
        service_cidr: "10.96.0.0/12".into(),
        talos_network: false,
        mtu: None,
        time_servers: Vec::new(),
        mirrors: BTreeMap::new(),
        // Without a network of their own the nodes would wait for one.
        patches: vec![serde_json::from_value(
            json!({"op": "replace", "path": "/cluster/network/cni", "value": r#"{"name": "flannel"}"#}),
        )?],
    })
}

fn ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|one| one.type_ == "Ready" && one.status == "True"))
}

/// The processes of the simulated machines.
fn pids(status: &Value) -> Result<Vec<u32>> {
    let machines = status["machines"].as_array().context("the status lists no machines")?;
    machines
        .iter()
        .map(|machine| {
            let pid = machine["pid"].as_u64().context("a machine has no process")?;
            Ok(u32::try_from(pid)?)
        })
        .collect()
}

/// Memory of a process in KiB, where a page of several processes counts for each by its share: all of
/// them run the same program.
fn proportional(pid: u32) -> Result<u64> {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).context("no Pss")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// Processor time these processes have used.
fn used(pids: &[u32]) -> Result<Duration> {
    let ticks = rustix::param::clock_ticks_per_second();
    let mut total = 0;
    for pid in pids {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The name may hold anything; fields are counted from behind its last parenthesis.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        total += fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
    }
    Ok(Duration::from_millis(total * 1_000 / ticks))
}
