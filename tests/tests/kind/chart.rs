//! `charts/butler` with an image of the real program: Pods under the restricted rules, a leader that is
//! killed, an upgrade and the way back.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Context, Result, ensure};
use butler_core::{api::names::leases, cluster::crds};
use butler_tests::eventually;
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Namespace, Pod},
};
use kube::{
    Api,
    api::{DeleteParams, ListParams, PostParams},
};
use serde_json::{Value, json};

use crate::{Cluster, Engine, LIMIT, load, say};

const IMAGE: &str = "butler-test/butleradm";
const TAG: &str = "local";
const NAMESPACE: &str = "butler-system";
const RELEASE: &str = "butler-controller";

impl Cluster {
    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    /// Names of the controllers' Pods that are ready.
    async fn ready(&self) -> Result<BTreeSet<String>> {
        let ours = ListParams::default().labels("app.kubernetes.io/instance=butler-controller");
        let is_ready = |pod: &Pod| {
            let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
            pod.metadata.deletion_timestamp.is_none()
                && conditions
                    .is_some_and(|all| all.iter().any(|one| one.type_ == "Ready" && one.status == "True"))
        };
        let pods = self.pods().list(&ours).await?;
        Ok(pods.items.into_iter().filter(is_ready).filter_map(|pod| pod.metadata.name).collect())
    }

    /// Waits until exactly this many Pods are ready.
    async fn has_ready(&self, count: usize) -> Result<BTreeSet<String>> {
        eventually("the Pods are ready", LIMIT, async || Ok(self.ready().await?.len() == count)).await?;
        self.ready().await
    }

    /// The Pod that leads.
    async fn leader(&self) -> Result<Option<String>> {
        let all: Api<Lease> = Api::namespaced(self.client.clone(), NAMESPACE);
        let holder = all.get_opt(leases::CONTROLLERS).await?.and_then(|lease| lease.spec?.holder_identity);
        let ready = self.ready().await?;
        Ok(holder.and_then(|holder| ready.into_iter().find(|pod| holder.starts_with(pod.as_str()))))
    }

    /// Working memory of a Pod in bytes, as its kubelet counts it; none before it has counted.
    async fn memory(&self, pod: &str) -> Result<Option<u64>> {
        let path = format!("/api/v1/nodes/{}-control-plane/proxy/stats/summary", self.name);
        let answer: Value = self.client.request(http::Request::get(path).body(Vec::new())?).await?;
        let all = answer["pods"].as_array().context("a list of Pods")?;
        let found = all.iter().find(|found| found["podRef"]["name"] == pod);
        let containers = found.and_then(|found| found["containers"].as_array()).into_iter().flatten();
        let used: u64 = containers.filter_map(|one| one["memory"]["workingSetBytes"].as_u64()).sum();
        // No program of ours is smaller than this.
        Ok(Some(used).filter(|used| *used > 1 << 20))
    }
}

fn mebibytes(text: &str) -> Result<u64> {
    let number: u64 = text.strip_suffix("Mi").context("MiB")?.parse()?;
    Ok(number << 20)
}

#[tokio::test]
async fn the_controllers_run_as_pods_change_leaders_and_are_upgraded_and_rolled_back() -> Result<()> {
    let engine = Engine::find()?;
    let program = engine.program()?;
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts/butler");
    ensure!(chart.join("Chart.yaml").exists(), "there is no chart in `{}`", chart.display());
    let chart = chart.display().to_string();
    let home = tempfile::tempdir()?;
    let cluster = engine.cluster(home.path(), "chart").await?;
    engine.make_image(&program, &format!("{IMAGE}:{TAG}"))?;
    load(&cluster.name, &[&format!("{IMAGE}:{TAG}")])?;

    // The namespace takes nothing but Pods under the restricted rules.
    let restricted = json!({ "metadata": { "name": NAMESPACE, "labels": { "pod-security.kubernetes.io/enforce": "restricted" } } });
    let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
    namespaces.create(&PostParams::default(), &serde_json::from_value(restricted)?).await?;
    let root =
        json!({ "metadata": { "name": "root" }, "spec": { "containers": [{ "name": "a", "image": "a" }] } });
    let refused = cluster
        .pods()
        .create(&PostParams { dry_run: true, ..PostParams::default() }, &serde_json::from_value(root)?)
        .await;
    ensure!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == 403), "{refused:?}");

    let names = crds::apply(&cluster.client, false).await?;
    crds::established(&cluster.client, &names, LIMIT).await?;
    let (repository, tag) = (format!("image.repository={IMAGE}"), format!("image.tag={TAG}"));
    let values = ["--set", &repository, "--set", &tag, "--set", "replicas=2"];
    let install = ["install", RELEASE, &chart, "-n", NAMESPACE, "--wait", "--timeout", "180s"];
    cluster.helm(&[&install[..], &values[..]].concat())?;
    let first = cluster.has_ready(2).await?;

    for name in &first {
        let pod = cluster.pods().get(name).await?;
        let container = &pod.spec.context("a spec")?.containers[0];
        let rules = container.security_context.as_ref().context("rules")?;
        assert_eq!((rules.read_only_root_filesystem, rules.run_as_non_root), (Some(true), Some(true)));
        let resources = container.resources.as_ref().context("resources")?;
        let requested = mebibytes(&resources.requests.as_ref().context("requests")?["memory"].0)?;
        let limit = mebibytes(&resources.limits.as_ref().context("limits")?["memory"].0)?;
        let used = counted(&cluster, name).await?;
        say(format_args!(
            "{name}: {:.1} MiB used of {} MiB requested, limit {} MiB",
            used as f64 / f64::from(1 << 20),
            requested >> 20,
            limit >> 20
        ));
        assert!(used < requested && requested <= limit, "{name} needs more than it asks for");
    }

    eventually("one of them leads", LIMIT, async || Ok(cluster.leader().await?.is_some())).await?;
    let leader = cluster.leader().await?.context("a leader")?;
    cluster.pods().delete(&leader, &DeleteParams::default().grace_period(0)).await?;
    eventually("another one leads", LIMIT, async || {
        Ok(cluster.leader().await?.is_some_and(|next| next != leader))
    })
    .await?;
    let second = cluster.has_ready(2).await?;
    assert!(!second.contains(&leader));

    let upgrade = ["upgrade", RELEASE, &chart, "-n", NAMESPACE, "--wait", "--timeout", "180s"];
    cluster.helm(&[&upgrade[..], &values[..], &["--set", "podAnnotations.example=upgraded"]].concat())?;
    let annotation = async |pods: &BTreeSet<String>| -> Result<BTreeSet<Option<String>>> {
        let mut all = BTreeSet::new();
        for name in pods {
            let annotations = cluster.pods().get(name).await?.metadata.annotations.unwrap_or_default();
            all.insert(annotations.get("example").cloned());
        }
        Ok(all)
    };
    let third = cluster.has_ready(2).await?;
    assert!(third.is_disjoint(&second));
    assert_eq!(annotation(&third).await?, BTreeSet::from([Some("upgraded".to_owned())]));
    cluster.helm(&["rollback", RELEASE, "1", "-n", NAMESPACE, "--wait", "--timeout", "180s"])?;
    let fourth = cluster.has_ready(2).await?;
    assert_eq!(annotation(&fourth).await?, BTreeSet::from([None]));
    eventually("one of them leads again", LIMIT, async || Ok(cluster.leader().await?.is_some())).await?;
    let history: Value =
        serde_json::from_str(&cluster.helm(&["history", RELEASE, "-n", NAMESPACE, "-o", "json"])?)?;
    assert_eq!(history.as_array().map(Vec::len), Some(3));
    Ok(())
}

/// What a Pod uses; the kubelet counts only every few seconds.
async fn counted(cluster: &Cluster, pod: &str) -> Result<u64> {
    let end = tokio::time::Instant::now() + LIMIT;
    loop {
        if let Some(used) = cluster.memory(pod).await? {
            return Ok(used);
        }
        ensure!(tokio::time::Instant::now() < end, "the kubelet counts no memory of {pod}");
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
}
