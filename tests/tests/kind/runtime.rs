//! The temporary cluster, from nothing to nothing.

use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result};
use butler_core::{
    error::{Code, Diagnose},
    event::Reporter,
    pki::{Authority, KeyKind},
};
use butler_operator::{
    plane,
    runtime::{KindRuntime, KindRuntimeOptions, Runtime},
};
use butler_tests::eventually;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Node},
};
use kube::Api;

use crate::{Engine, Gone, LIMIT, say};

#[tokio::test]
async fn a_cluster_is_made_used_again_after_a_stop_refused_to_others_and_removed() -> Result<()> {
    let engine = Engine::find()?;
    let home = tempfile::tempdir()?;
    let life = SignedDuration::from_hours(1);
    let authority = Authority::generate(KeyKind::P256, Some("corporate"), Timestamp::now(), life)?;
    let certificate = home.path().join("corporate.crt");
    std::fs::write(&certificate, authority.certificate())?;
    let options = KindRuntimeOptions {
        certificates: vec![std::fs::canonicalize(certificate)?],
        host_aliases: vec!["192.0.2.5 prism.corp".parse()?],
        ..engine.options(home.path(), "runtime")?
    };
    let (name, run) = (options.name.clone(), options.run.clone());
    let node = format!("{name}-control-plane");
    let _gone = Gone { name: name.clone() };
    let runtime = KindRuntime::new(options.clone());
    runtime.check().await?;

    let begun = std::time::Instant::now();
    let cluster = runtime.ensure(&Reporter::null()).await?;
    say(format_args!("cluster `{name}` answers after {:.1?}", begun.elapsed()));
    assert!(!cluster.reused);
    assert_eq!(std::fs::metadata(&cluster.kubeconfig)?.permissions().mode() & 0o777, 0o600);
    assert!(!home.path().join(".kube").exists(), "only our own kubeconfig is written");
    let client = plane::client(&cluster.kubeconfig).await?;
    let nodes: Api<Node> = Api::all(client.clone());
    let labels = nodes.get(&node).await?.metadata.labels.context("labels")?;
    assert_eq!(labels.get("butler.butlerlabs.dev/run").map(String::as_str), Some(run.as_str()));

    // What was asked of the node.
    assert!(engine.docker(&["exec", &node, "cat", "/etc/hosts"])?.contains("192.0.2.5 prism.corp\n"));
    let bundle = engine.docker(&["exec", &node, "cat", "/etc/ssl/certs/ca-certificates.crt"])?;
    assert!(bundle.contains(authority.certificate().trim()), "the node trusts the given authority");
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    let corefile = maps.get("coredns").await?.data.context("data")?["Corefile"].clone();
    assert!(corefile.contains("192.0.2.5 prism.corp") && !corefile.contains("8.8.8.8"), "{corefile}");
    let deployments: Api<Deployment> = Api::namespaced(client, "kube-system");
    eventually("CoreDNS runs with our configuration", LIMIT, async || {
        let status = deployments.get("coredns").await?.status.context("a status")?;
        Ok(status.updated_replicas == Some(2)
            && status.available_replicas == Some(2)
            && status.replicas == Some(2))
    })
    .await?;
    let pool = runtime.load_balancer_pool(&Reporter::null()).await?;
    let (first, last) = pool.context("a pool")?;
    assert!(first.octets()[2..] == [255, 200] && last.octets()[2..] == [255, 250], "{first}-{last}");

    assert!(KindRuntime::new(options.clone()).ensure(&Reporter::null()).await?.reused);
    engine.docker(&["stop", &node])?;
    let back = KindRuntime::new(options.clone()).ensure(&Reporter::null()).await?;
    assert!(back.reused, "what was stopped is started");
    assert!(plane::ready(&plane::client(&back.kubeconfig).await?).await);

    let other = KindRuntime::new(KindRuntimeOptions { dir: home.path().join("other"), ..options });
    let error = other.ensure(&Reporter::null()).await.expect_err("it is not theirs");
    assert_eq!(error.code(), Code::ClusterNotOurs);
    assert!(error.hints().contains(&format!("kind delete cluster --name {name}")), "{:?}", error.hints());

    runtime.remove(&Reporter::null()).await?;
    assert!(!home.path().join("runtime").exists());
    let left = engine.docker(&["ps", "-aq", "--filter", &format!("label=io.x-k8s.kind.cluster={name}")])?;
    assert_eq!(left, "", "no container is left");
    Ok(())
}
