//! What the tests of this program share.

use std::{fmt::Write, path::Path, time::Duration};

use anyhow::{Context, Result};
use butler_core::api::{Team, TenantCluster};
use butler_tests::{ControlPlane, Env, Invocation, create, eventually};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, CustomResourceExt, ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// How long anything may take on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The program with an environment and a kubeconfig.
pub(crate) struct Butlerctl {
    pub(crate) env: Env,
    kubeconfig: String,
}

impl Butlerctl {
    pub(crate) fn new(kubeconfig: &Path) -> Result<Self> {
        Ok(Self { env: Env::new()?, kubeconfig: kubeconfig.display().to_string() })
    }

    /// Uses a server that need not be one.
    pub(crate) fn with_server(url: &str) -> Result<Self> {
        let env = Env::new()?;
        let path = env.work_dir().join("kubeconfig");
        write_kubeconfig(&path, url, None)?;
        Ok(Self { env, kubeconfig: path.display().to_string() })
    }

    pub(crate) fn run<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Invocation {
        program(&self.env).env("KUBECONFIG", &self.kubeconfig).args(args)
    }
}

/// The program without a kubeconfig.
pub(crate) fn program(env: &Env) -> Invocation {
    env.command(env!("CARGO_BIN_EXE_butlerctl"))
}

/// Writes a kubeconfig with one context, readable by this user alone.
pub(crate) fn write_kubeconfig(path: &Path, server: &str, authority: Option<&str>) -> Result<()> {
    let mut text = format!(
        "current-context: main\ncontexts: [{{name: main, context: {{cluster: c, user: u}}}}]\n\
         users: [{{name: u, user: {{token: t}}}}]\nclusters:\n- name: c\n  cluster:\n    server: {server}\n"
    );
    if let Some(pem) = authority {
        let file = path.with_extension("ca");
        std::fs::write(&file, pem)?;
        writeln!(text, "    certificate-authority: {}", file.display())?;
    }
    butler_core::settings::home::write_private(path, text.as_bytes())?;
    Ok(())
}

/// A control plane with Butler's definitions that records requests; one for all tests.
pub(crate) async fn plane() -> Result<&'static ControlPlane> {
    static PLANE: OnceCell<ControlPlane> = OnceCell::const_new();
    PLANE
        .get_or_try_init(|| async {
            let plane = ControlPlane::builder().audit().start().await?;
            let client = plane.client().await?;
            install(&client, TenantCluster::crd()).await?;
            install(&client, Team::crd()).await?;
            anyhow::Ok(plane)
        })
        .await
}

/// Installs a definition, or replaces it, and waits until its kind is served with its columns.
pub(crate) async fn install(client: &Client, crd: CustomResourceDefinition) -> Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = crd.name_any();
    api.patch(&name, &PatchParams::apply("test").force(), &Patch::Apply(&crd)).await?;
    let version = &crd.spec.versions[0];
    let path = match crd.spec.scope.as_str() {
        "Namespaced" => {
            format!("/apis/{}/{}/namespaces/default/{}", crd.spec.group, version.name, crd.spec.names.plural)
        }
        _ => format!("/apis/{}/{}/{}", crd.spec.group, version.name, crd.spec.names.plural),
    };
    let columns = version.additional_printer_columns.as_ref().map_or(0, Vec::len);
    eventually("the kind is served", LIMIT, || async {
        let request = http::Request::get(&path)
            .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
            .body(Vec::new())?;
        let table: Value = client.request(request).await?;
        // The name of the object is a column too.
        Ok(table["columnDefinitions"].as_array().is_some_and(|served| served.len() == columns + 1))
    })
    .await
}

/// A tenant cluster with three workers.
pub(crate) fn tenant_cluster(name: &str) -> Value {
    json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
        "metadata": {"name": name},
        "spec": {"kubernetesVersion": "v1.33.4", "workers": {"replicas": 3}},
    })
}

/// Creates an object; its status too, where the kind has a subresource for it.
pub(crate) async fn put(client: &Client, namespace: &str, object: &Value) -> Result<()> {
    let made = create(client, Some(namespace), object).await?;
    if object.get("status").is_some() {
        status(client, namespace, &made.name_any(), &object["status"]).await?;
    }
    Ok(())
}

/// Writes the status of a tenant cluster.
pub(crate) async fn status(client: &Client, namespace: &str, name: &str, status: &Value) -> Result<()> {
    let api: Api<TenantCluster> = Api::namespaced(client.clone(), namespace);
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(json!({"status": status}))).await?;
    Ok(())
}

/// When a cluster was created.
pub(crate) async fn created(client: &Client, namespace: &str, name: &str) -> Result<jiff::Timestamp> {
    let api: Api<TenantCluster> = Api::namespaced(client.clone(), namespace);
    let object = api.get_metadata(name).await?;
    Ok(object.metadata.creation_timestamp.context("no creation time")?.0)
}
