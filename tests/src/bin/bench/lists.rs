//! `cluster list` at four sizes beside `kubectl` and `curl` on the same API server.

use std::{path::Path, time::Duration};

use anyhow::{Context, Result};
use base64::Engine;
use butler_core::{api::TenantCluster, cluster::crds};
use butler_tests::ControlPlane;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
    config::Kubeconfig,
};
use secrecy::ExposeSecret;
use serde_json::json;

use crate::{
    Programs,
    cost::{self, Cost},
    table::{Results, Row},
};

/// Sizes of the namespaces that are listed.
const SIZES: [usize; 4] = [1, 100, 1_000, 10_000];
/// Creations in flight while loading.
const WRITERS: usize = 32;

pub(crate) fn measure(programs: &Programs) -> Result<Results> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let plane = runtime.block_on(ControlPlane::builder().audit().start())?;
    let kubeconfig = plane.kubeconfig().to_string_lossy().into_owned();
    runtime.block_on(async { load(&plane.client().await?).await })?;
    let curl = Curl::new(plane.kubeconfig())?;
    let mut rows = Vec::new();
    for size in SIZES {
        let namespace = format!("bench-{size}");
        let runs = 11;
        let before = plane.audited()?.len();
        let args = ["cluster", "list", "-n", &namespace, "--kubeconfig", &kubeconfig];
        let ours = cost::of(&programs.butlerctl, &args, runs)?;
        let requests = (plane.audited()?.len() - before) / runs;
        let args = ["get", "tenantclusters", "-n", &namespace, "--kubeconfig", &kubeconfig];
        let kubectl = cost::of(&programs.kubectl, &args, if size > 1_000 { 3 } else { 7 })?;
        let curl = curl.table(&namespace, runs)?;
        let job = format!("cluster list, {size}");
        let mut row = Row::new(&job, ours, "kubectl get tc", kubectl).note(format!("requests: {requests}"));
        let mut beside_curl = Row::new(&job, ours, "curl, same table", curl);
        if size == 10_000 {
            row = row.time_goal(1.0 / 15.0).memory_goal(1.0 / 15.0);
            beside_curl = beside_curl.time_goal(1.5);
        }
        rows.extend([row, beside_curl]);
    }
    let all: usize = SIZES.iter().sum();
    for format in ["wide", "json"] {
        let args = ["cluster", "list", "-A", "-o", format, "--kubeconfig", &kubeconfig];
        let ours = cost::of(&programs.butlerctl, &args, 3)?;
        let args = ["get", "tenantclusters", "-A", "-o", format, "--kubeconfig", &kubeconfig];
        let kubectl = cost::of(&programs.kubectl, &args, 3)?;
        let job = format!("cluster list -A -o {format}, {all}");
        rows.push(Row::new(job, ours, "kubectl, same flags", kubectl).time_goal(0.25));
    }
    Ok(rows.into())
}

/// `curl` with the administrator's certificate: the least a list can cost.
struct Curl {
    server: String,
    files: tempfile::TempDir,
}

impl Curl {
    fn new(kubeconfig: &Path) -> Result<Self> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let cluster = kubeconfig.clusters[0].cluster.clone().context("no cluster")?;
        let user = kubeconfig.auth_infos[0].auth_info.clone().context("no user")?;
        let files = tempfile::tempdir()?;
        let key = user.client_key_data.map(|key| key.expose_secret().to_owned());
        for (name, data) in
            [("ca", cluster.certificate_authority_data), ("cert", user.client_certificate_data), ("key", key)]
        {
            let data = data.context("the kubeconfig has no inline certificates")?;
            std::fs::write(files.path().join(name), base64::engine::general_purpose::STANDARD.decode(data)?)?;
        }
        Ok(Self { server: cluster.server.context("no server")?, files })
    }

    fn table(&self, namespace: &str, runs: usize) -> Result<Cost> {
        let file = |name: &str| self.files.path().join(name).to_string_lossy().into_owned();
        let url = format!(
            "{}/apis/butler.butlerlabs.dev/v1alpha1/namespaces/{namespace}/tenantclusters?includeObject=None",
            self.server
        );
        let accept = "Accept: application/json;as=Table;v=v1;g=meta.k8s.io";
        let (ca, cert, key) = (file("ca"), file("cert"), file("key"));
        let args = ["-sf", "--cacert", &ca, "--cert", &cert, "--key", &key, "-H", accept, &url];
        cost::of(Path::new("curl"), &args, runs)
    }
}

/// Installs the API and fills one namespace per size.
async fn load(client: &Client) -> Result<()> {
    let names = crds::apply(client, false).await?;
    crds::established(client, &names, Duration::from_secs(60)).await?;
    for size in SIZES {
        fill_namespace(client, &format!("bench-{size}"), size).await?;
    }
    Ok(())
}

/// Installs the API and fills one namespace.
pub(crate) async fn fill(client: &Client, namespace: &str, size: usize) -> Result<()> {
    let names = crds::apply(client, false).await?;
    crds::established(client, &names, Duration::from_secs(60)).await?;
    fill_namespace(client, namespace, size).await
}

async fn fill_namespace(client: &Client, namespace: &str, size: usize) -> Result<()> {
    let object: Namespace = serde_json::from_value(json!({"metadata": {"name": namespace}}))?;
    Api::all(client.clone()).create(&PostParams::default(), &object).await?;
    let clusters: Api<TenantCluster> = Api::namespaced(client.clone(), namespace);
    stream::iter(0..size)
        .map(|index| create(clusters.clone(), index))
        .buffer_unordered(WRITERS)
        .try_collect::<()>()
        .await
}

/// A cluster as a controller leaves it: spec, status and conditions filled.
async fn create(clusters: Api<TenantCluster>, index: usize) -> Result<()> {
    let name = format!("cluster-{index:05}");
    let environment = if index.is_multiple_of(3) { "prod" } else { "dev" };
    let object = serde_json::from_value(json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
        "metadata": {"name": name, "labels": {"butler.butlerlabs.dev/environment": environment}},
        "spec": {
            "kubernetesVersion": "v1.34.4", "providerConfigRef": {"name": "harvester"},
            "workers": {"replicas": 3, "machineTemplate": {"cpu": 4, "memory": "16Gi"}},
        },
    }))?;
    clusters.create(&PostParams::default(), &object).await?;
    let condition = |kind: &str| {
        json!({
            "type": kind, "status": "True", "reason": "Ready", "message": "as it should be",
            "lastTransitionTime": "2026-11-01T00:00:00Z",
        })
    };
    let conditions = ["Ready", "InfrastructureReady", "ControlPlaneReady", "WorkersReady"].map(condition);
    let status = json!({"status": {
        "phase": "Ready", "workerNodesReady": 3, "workerNodesDesired": 3,
        "tenantNamespace": format!("{name}-0a1b2c3d"),
        "controlPlaneEndpoint": format!("10.0.{}.{}:6443", index / 250, index % 250),
        "conditions": conditions,
    }});
    clusters.patch_status(&name, &PatchParams::default(), &Patch::Merge(&status)).await?;
    Ok(())
}
