use std::path::Path;

use anyhow::{Context, Result};
use butler_tests::ControlPlane;
use kube::{
    Client, Config,
    config::{AuthInfo, Kubeconfig},
};
use serde_json::Value;
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::cluster::{Cluster, Spec};

/// A client of the kubelet itself, with the identity of a kubeconfig.
async fn client(cluster: &Cluster, kubeconfig: &Path) -> Result<Client> {
    connect(cluster, kubeconfig, true).await
}

async fn connect(cluster: &Cluster, kubeconfig: &Path, known: bool) -> Result<Client> {
    let address = cluster.kubectl([
        "get",
        "node",
        "worker-1",
        "-o",
        "jsonpath={.status.addresses[0].address}:{.status.daemonEndpoints.kubeletEndpoint.Port}",
    ])?;
    at_address(&address, kubeconfig, known).await
}

async fn at_address(address: &str, kubeconfig: &Path, known: bool) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await?;
    config.cluster_url = format!("https://{address}").parse()?;
    config.accept_invalid_certs = true;
    if !known {
        config.auth_info = AuthInfo::default();
    }
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
    let unknown = connect(cluster, plane.kubeconfig(), false).await?;
    assert_eq!(get(&unknown, "/healthz").await?.0, 401, "nobody");
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

#[tokio::test]
async fn noise_on_the_port_disturbs_nobody() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let machine = cluster.add(Spec::reserved("noise-1"))?;
    cluster.until_ready("noise-1", "True").await?;
    let address = machine.address().context("an address")?;
    let mut silent = Vec::new();
    for number in 0..8_u8 {
        let mut stream = TcpStream::connect(address).await?;
        let noise: Vec<u8> = (0..4096_u16).map(|at| at.to_le_bytes()[0].wrapping_mul(number)).collect();
        // The other side may have hung up before the end of it.
        let _ = stream.write_all(&noise).await;
        silent.push(TcpStream::connect(address).await?);
    }
    let admin = at_address(&address.to_string(), cluster.plane.kubeconfig(), true).await?;
    let long = "x".repeat(100_000);
    assert!(matches!(get(&admin, &format!("/pods?{long}")).await, Ok((400..500, _)) | Err(_)));
    assert_eq!(get(&admin, "/healthz").await?.0, 200);
    Ok(())
}
