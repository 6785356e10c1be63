use anyhow::{Context, Result};
use butler_tests::ControlPlane;
use kube::{Client, Config, config::Kubeconfig};
use serde_json::Value;

use crate::cluster::Cluster;

/// A client of the kubelet itself, with the identity of a kubeconfig.
async fn client(cluster: &Cluster, kubeconfig: &std::path::Path) -> Result<Client> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let address = cluster.kubectl([
        "get",
        "node",
        "worker-1",
        "-o",
        "jsonpath={.status.addresses[0].address}:{.status.daemonEndpoints.kubeletEndpoint.Port}",
    ])?;
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await?;
    config.cluster_url = format!("https://{address}").parse()?;
    config.accept_invalid_certs = true;
    Ok(Client::try_from(config)?)
}

/// The status of the answer, and its text if all is well.
async fn get(client: &Client, path: &str) -> Result<(u16, String)> {
    match client.request_text(http::Request::get(path).body(Vec::new())?).await {
        Ok(text) => Ok((200, text)),
        Err(kube::Error::Api(status)) => Ok((status.code, String::new())),
        Err(error) => Err(error.into()),
    }
}

#[tokio::test]
async fn the_server_knows_who_may_ask() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let plane = &cluster.plane;
    let admin = client(cluster, plane.kubeconfig()).await?;
    assert_eq!(get(&admin, "/healthz").await?, (200, "ok".to_owned()));

    let nobody = client(cluster, &plane.kubeconfig_for("nobody", &[])?).await?;
    assert_eq!(get(&nobody, "/pods").await?.0, 403, "known, and not allowed");
    let node = client(cluster, &plane.kubeconfig_for("system:node:worker-2", &["system:nodes"])?).await?;
    assert_eq!(get(&node, "/pods").await?.0, 403, "another node");
    cluster.kubectl([
        "create",
        "clusterrolebinding",
        "scraper",
        "--clusterrole=system:kubelet-api-admin",
        "--user=scraper",
    ])?;
    let scraper = client(cluster, &plane.kubeconfig_for("scraper", &[])?).await?;
    assert_eq!(get(&scraper, "/metrics/resource").await?.0, 200, "allowed by a role");

    let stranger = ControlPlane::shared().await?;
    let other = client(cluster, stranger.kubeconfig()).await?;
    assert_eq!(get(&other, "/healthz").await?.0, 401, "an administrator of another cluster");
    Ok(())
}

#[tokio::test]
async fn the_server_tells_of_its_pods_and_what_it_cannot_do() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let ns = cluster.namespace().await?;
    let on_worker = r#"--overrides={"spec":{"nodeSelector":{"kubernetes.io/hostname":"worker-1"}}}"#;
    cluster.kubectl(["-n", &ns, "run", "one", "--image=web", on_worker])?;
    cluster.kubectl(["-n", &ns, "wait", "pod/one", "--for=condition=Ready", "--timeout=90s"])?;
    let admin = client(cluster, cluster.plane.kubeconfig()).await?;

    let list: Value = serde_json::from_str(&get(&admin, "/pods").await?.1)?;
    let items = list["items"].as_array().context("items")?;
    let pod = items.iter().find(|pod| pod["metadata"]["namespace"] == *ns).context("our Pod")?;
    assert_eq!(
        (&pod["status"]["phase"], &pod["status"]["qosClass"]),
        (&"Running".into(), &"BestEffort".into())
    );
    let metrics = get(&admin, "/metrics/resource").await?.1;
    assert!(metrics.contains(&format!("namespace=\"{ns}\",pod=\"one\"")), "{metrics}");
    let summary: Value = serde_json::from_str(&get(&admin, "/stats/summary").await?.1)?;
    assert_eq!(summary["node"]["nodeName"], "worker-1");

    assert_eq!(get(&admin, &format!("/exec/{ns}/one/one")).await?.0, 501);
    assert_eq!(get(&admin, &format!("/containerLogs/{ns}/one/other")).await?.0, 404);
    assert_eq!(get(&admin, &format!("/containerLogs/{ns}/other/one")).await?.0, 404);
    assert_eq!(get(&admin, &format!("/containerLogs/{ns}/one/one?tailLines=many")).await?.0, 400);
    assert_eq!(get(&admin, "/nonsense").await?.0, 404);
    Ok(())
}
