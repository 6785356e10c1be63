//! Charts of other people with our values: what a real chart refuses, or puts elsewhere than we think, is
//! found here and not on somebody's hardware.

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context, Result, ensure};
use butler_core::{
    bootstrap::addons::{AddonAction, AddonInput, AddonStep, ChartRelease, plan_addons},
    settings::Environment,
};
use butler_operator::{
    addons::{HelmInstaller, Installer, Mirror, Target},
    process::Guard,
};
use butler_tests::{Env, charts, part};
use serde_json::{Value, json};

use crate::{LIMIT, cluster::Cluster};

/// Those that can be had.
const CHARTS: [&str; 2] = ["cilium", "cert-manager"];

fn input(provider: &str, topology: &str, change: impl FnOnce(&mut Value)) -> Result<AddonInput> {
    let pool = json!({ "replicas": 3, "cpu": 4, "memoryMB": 8192, "diskGB": 60 });
    let mut bootstrap = json!({
        "provider": provider, "providerRef": { "name": "p" },
        "cluster": { "name": "mgmt", "topology": topology, "controlPlane": pool },
        "network": { "podCIDR": "10.244.0.0/16", "serviceCIDR": "10.96.0.0/12", "vip": "192.168.7.10",
                     "loadBalancerPool": { "start": "192.168.7.20", "end": "192.168.7.40" } },
        "talos": { "version": "v1.12.1", "schematic": "" },
        "addons": { "cni": { "type": "cilium" }, "storage": { "type": "none" },
                    "loadBalancer": { "type": "metallb" } },
    });
    if topology == "ha" {
        bootstrap["cluster"]["workers"] = pool;
    }
    change(&mut bootstrap);
    let provider = json!({ "provider": provider });
    Ok(serde_json::from_value(json!({ "bootstrap": bootstrap, "provider": provider }))?)
}

fn releases(input: &AddonInput) -> Vec<(AddonStep, ChartRelease)> {
    let steps = plan_addons(input).into_iter().filter_map(|step| match &step.action {
        AddonAction::Chart(release) if CHARTS.contains(&release.chart.as_str()) => {
            Some((step.clone(), release.clone()))
        }
        _ => None,
    });
    steps.collect()
}

fn version(chart: &str) -> Result<String> {
    let text = std::fs::read_to_string(charts()?.join(chart).join("Chart.yaml"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("version: ")).context("a version")?;
    Ok(line.trim().to_owned())
}

#[test]
fn the_charts_here_are_those_of_a_bootstrap() -> Result<()> {
    for (_, release) in releases(&input("harvester", "ha", |_| {})?) {
        assert_eq!(version(&release.chart)?, release.version, "{}", release.chart);
    }
    Ok(())
}

#[test]
fn every_variant_of_our_values_is_taken_and_arrives() -> Result<()> {
    let env = Env::new()?;
    let helm = part("helm")?;
    let mut count = 0;
    for provider in ["harvester", "nutanix", "proxmox", "aws", "azure", "gcp", "local"] {
        for (topology, hubble, mode) in
            [("ha", true, "LoadBalancer"), ("ha", false, "Gateway"), ("single-node", true, "Ingress")]
        {
            let input = input(provider, topology, |bootstrap| {
                bootstrap["addons"]["cni"]["hubbleEnabled"] = json!(hubble);
                bootstrap["controlPlaneExposure"] = json!({ "mode": mode, "hostname": "*.k8s.example.org" });
            })?;
            for (_, release) in releases(&input) {
                let what = format!("{} for {provider}, {topology}, {mode}", release.chart);
                let args = ["template", &release.release, "-n", &release.namespace, "--values", "-"];
                let command = env.command(&helm).args(args).args(["--kube-version", "v1.34.4"]);
                // Definitions that a chart looks for before it makes objects of them.
                let command = command.args(["--api-versions", "gateway.networking.k8s.io/v1/GatewayClass"]);
                let command = command.arg(charts()?.join(&release.chart)).timeout(LIMIT);
                let output =
                    command.stdin(release.values.to_string()).run()?.success().context(what.clone())?;
                let wanted: &[&str] = match release.chart.as_str() {
                    "cilium" => {
                        &["kube-proxy-replacement: \"true\"", "value: \"7445\"", "ipam: \"kubernetes\""]
                    }
                    _ => &[],
                };
                for words in wanted {
                    ensure!(output.stdout.contains(words), "{what}: no `{words}`");
                }
                if release.chart == "cilium" {
                    let has = |words: &str| output.stdout.contains(words);
                    ensure!(has("name: hubble-relay") == hubble, "{what}");
                    ensure!(has("enable-gateway-api: \"true\"") == (mode == "Gateway"), "{what}");
                    ensure!(!has("SYS_MODULE"), "{what}: Talos lets nobody load modules");
                }
                count += 1;
            }
        }
    }
    // Cilium everywhere but on `local`, cert-manager everywhere.
    assert_eq!(count, 39);
    Ok(())
}

/// A mirror of links, so that the definitions of another addon can stand beside.
fn mirror(env: &Env) -> Result<PathBuf> {
    let dir = env.work_dir().join("mirror");
    std::fs::create_dir(&dir)?;
    for entry in std::fs::read_dir(charts()?)?.flatten() {
        std::os::unix::fs::symlink(entry.path(), dir.join(entry.file_name()))?;
    }
    Ok(dir)
}

#[tokio::test]
async fn charts_and_manifests_install_with_our_values_and_their_pods_run() -> Result<()> {
    let cluster = Cluster::start(2).await?;
    let env = Env::new()?;
    let target = Target {
        client: cluster.plane.client().await?,
        kubeconfig: cluster.plane.kubeconfig().to_owned(),
        credentials: Arc::new([("password", "x")].into_iter().collect()),
        machines: Arc::new([]),
    };
    let guard = Guard::start(&Environment::capture())?;
    let mirror = Mirror::Directory(mirror(&env)?);
    let work = env.work_dir().join("addons");
    let installer = HelmInstaller::new(part("helm")?, guard, &work, Some(mirror), &Environment::capture())?;
    let gateway = |bootstrap: &mut Value| {
        bootstrap["controlPlaneExposure"] = json!({ "mode": "Gateway", "hostname": "*.k8s.example.org" });
    };
    let input = input("harvester", "ha", gateway)?;
    let steps = plan_addons(&input);
    let definitions = steps.iter().find(|step| step.key == "gateway-api").context("the Gateway API")?;
    let done = installer.install(definitions, &target).await?;
    assert_eq!(done["verified"], false, "nobody vouches for them");
    for (mut step, release) in releases(&input) {
        let then = release.then.clone();
        step.action = AddonAction::Chart(ChartRelease { then: Vec::new(), ..release.clone() });
        let done = installer.install(&step, &target).await.with_context(|| step.key.clone())?;
        assert_eq!((&done["status"], &done["revision"]), (&json!("deployed"), &json!(1)), "{}", step.key);
        assert_eq!(done["version"], json!(release.version), "{}", step.key);
        // Its webhook would look at our objects, and simulated Pods answer nobody.
        let _gone = cluster.kubectl(["delete", "validatingwebhookconfigurations", "--all"])?;
        step.action = AddonAction::Objects { objects: then, wait_for: Vec::new() };
        installer.install(&step, &target).await.with_context(|| format!("{}, after it", step.key))?;
    }
    let get = |namespace: &str, what: &str, path: &str| {
        cluster.kubectl(["-n", namespace, "get", what, "-o", &format!("jsonpath={path}")])
    };
    assert_eq!(get("kube-system", "daemonset/cilium", "{.status.numberAvailable}")?, "2");
    assert_eq!(get("cert-manager", "deployment/cert-manager-webhook", "{.status.availableReplicas}")?, "1");
    Ok(())
}
