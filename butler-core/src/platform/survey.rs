//! The facts both readings are made of. Each fact is a result of its own: what one identity may not
//! see does not hide the rest.

use k8s_openapi::apimachinery::pkg::version::Info;
use kube::{Client, core::ObjectMeta};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    api::{
        API_VERSION,
        names::{labels::SANDBOX, namespaces},
    },
    cluster::{ApiError, pages::Pages},
};

/// What is known of a management cluster.
#[derive(Debug)]
pub struct Survey {
    /// The version of the API server.
    pub version: Result<Info, ApiError>,
    /// The names of all namespaces.
    pub namespaces: Result<Vec<String>, ApiError>,
    /// True when it is a sandbox: what a platform has in Pods, a sandbox has as processes beside it.
    pub sandbox: bool,
    /// The kinds of the Butler API that are served; empty when there is none.
    pub kinds: Result<Vec<String>, ApiError>,
    /// The platform's configuration object, if it exists.
    pub config: Result<Option<Value>, ApiError>,
    /// Deployments and DaemonSets in all namespaces.
    pub workloads: Result<Vec<Workload>, ApiError>,
    /// Provider configurations in the system namespace.
    pub providers: Result<Vec<Provider>, ApiError>,
    /// Tenant clusters in all namespaces.
    pub tenants: Result<Vec<Tenant>, ApiError>,
}

/// What kind of workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadKind {
    /// A Deployment.
    Deployment,
    /// A DaemonSet.
    DaemonSet,
}

/// A workload and how much of it is ready.
#[derive(Clone, Debug)]
pub struct Workload {
    /// What kind it is.
    pub kind: WorkloadKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Ready replicas.
    pub ready: i32,
    /// Wanted replicas.
    pub desired: i32,
}

/// A provider configuration.
#[derive(Clone, Debug, Serialize)]
pub struct Provider {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The kind of provider.
    pub provider: String,
    /// True when the credentials were found to work.
    pub validated: bool,
    /// Where the provider is, for the kinds that say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
}

/// A tenant cluster, as far as health is concerned.
#[derive(Clone, Debug, Serialize)]
pub struct Tenant {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its phase; `Pending` until a controller has written one.
    pub phase: String,
}

impl Survey {
    /// Asks the API server, all questions at once.
    pub async fn take(client: &Client) -> Self {
        let (version, namespaces, kinds, config, deployments, daemons, providers, tenants) = tokio::join!(
            version(client),
            list::<Named>(client, "/api/v1/namespaces", "namespaces"),
            kinds(client),
            config(client),
            list::<Replicated>(client, "/apis/apps/v1/deployments", "deployments"),
            list::<Replicated>(client, "/apis/apps/v1/daemonsets", "daemon sets"),
            list::<RawProvider>(
                client,
                format!("/apis/{API_VERSION}/namespaces/{}/providerconfigs", namespaces::SYSTEM),
                "provider configurations",
            ),
            list::<RawTenant>(client, format!("/apis/{API_VERSION}/tenantclusters"), "tenant clusters"),
        );
        let sandbox = namespaces.iter().flatten().any(|one: &Named| {
            let labels = one.metadata.labels.as_ref();
            name(&one.metadata) == namespaces::SYSTEM && labels.is_some_and(|all| all.contains_key(SANDBOX))
        });
        Self {
            version,
            sandbox,
            namespaces: namespaces.map(|all| all.into_iter().map(|one| name(&one.metadata)).collect()),
            kinds,
            config,
            workloads: deployments.and_then(|deployments| {
                let daemons = daemons?;
                let deployments = deployments.into_iter().map(|one| one.workload(WorkloadKind::Deployment));
                Ok(deployments
                    .chain(daemons.into_iter().map(|one| one.workload(WorkloadKind::DaemonSet)))
                    .collect())
            }),
            providers: providers.map(|all| all.into_iter().map(Provider::from).collect()),
            tenants: tenants.map(|all| all.into_iter().map(Tenant::from).collect()),
        }
    }
}

/// What hardly changes of a management cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basics {
    /// Version of the API server.
    pub version: String,
    /// True when it is a sandbox.
    pub sandbox: bool,
    /// True when the Butler API is served.
    pub butler: bool,
}

impl Basics {
    /// Asks the API server. Fails only when it does not answer at all: who may not see namespaces sees no
    /// sandbox.
    pub async fn take(client: &Client) -> Result<Self, ApiError> {
        let system = format!("/api/v1/namespaces/{}", namespaces::SYSTEM);
        let (version, kinds, system) =
            tokio::join!(version(client), kinds(client), get::<Named>(client, &system));
        let labels = system.ok().and_then(|system| system.metadata.labels).unwrap_or_default();
        Ok(Self {
            version: version?.git_version,
            sandbox: labels.contains_key(SANDBOX),
            butler: kinds.is_ok_and(|kinds| !kinds.is_empty()),
        })
    }
}

async fn version(client: &Client) -> Result<Info, ApiError> {
    client.apiserver_version().await.map_err(|e| ApiError::new("ask the API server for its version", e))
}

/// The kinds of our group. A group that nobody serves is an answer, not a failure.
async fn kinds(client: &Client) -> Result<Vec<String>, ApiError> {
    match client.list_api_group_resources(API_VERSION).await {
        Ok(list) => Ok(list
            .resources
            .into_iter()
            .filter(|resource| !resource.name.contains('/'))
            .map(|resource| resource.kind)
            .collect()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(ApiError::new(format!("ask for the kinds of {API_VERSION}"), error)),
    }
}

async fn config(client: &Client) -> Result<Option<Value>, ApiError> {
    let path = format!("/apis/{API_VERSION}/butlerconfigs/butler");
    match get::<Value>(client, &path).await {
        Ok(config) => Ok(Some(config)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(ApiError::new("get ButlerConfig `butler`", error)),
    }
}

async fn get<T: DeserializeOwned>(client: &Client, path: &str) -> Result<T, kube::Error> {
    let request = http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    client.request(request).await
}

/// Reads a collection into types that hold only what a survey needs. An object that does not fit
/// them is left out: it is the business of the command that shows such objects one by one.
async fn list<T: DeserializeOwned>(
    client: &Client,
    path: impl Into<String>,
    what: &str,
) -> Result<Vec<T>, ApiError> {
    let mut pages = Pages::new(client, path.into(), format!("list {what}"), None);
    let mut items = Vec::new();
    while let Some(page) = pages.next().await? {
        items.extend(page.iter().filter_map(|raw| serde_json::from_str(raw.get()).ok()));
    }
    Ok(items)
}

#[derive(Deserialize)]
struct Named {
    metadata: ObjectMeta,
}

#[derive(Deserialize)]
struct Replicated {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: ReplicaSpec,
    #[serde(default)]
    status: ReplicaStatus,
}

#[derive(Default, Deserialize)]
struct ReplicaSpec {
    replicas: Option<i32>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ReplicaStatus {
    ready_replicas: i32,
    number_ready: i32,
    desired_number_scheduled: i32,
}

impl Replicated {
    fn workload(self, kind: WorkloadKind) -> Workload {
        let (ready, desired) = match kind {
            WorkloadKind::Deployment => (self.status.ready_replicas, self.spec.replicas.unwrap_or(1)),
            WorkloadKind::DaemonSet => (self.status.number_ready, self.status.desired_number_scheduled),
        };
        Workload { kind, namespace: namespace(&self.metadata), name: name(&self.metadata), ready, desired }
    }
}

#[derive(Deserialize)]
struct RawProvider {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Value,
    #[serde(default)]
    status: Value,
}

impl From<RawProvider> for Provider {
    fn from(raw: RawProvider) -> Self {
        let text = |path: &str| raw.spec.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let provider = text("/provider").unwrap_or_else(|| "unknown".to_owned());
        let endpoint = match provider.as_str() {
            "harvester" => Some(text("/harvester/endpoint").unwrap_or_else(|| "in-cluster".to_owned())),
            "gcp" => text("/gcp/projectID").map(|project| {
                text("/gcp/region").map_or(project.clone(), |region| format!("{project}/{region}"))
            }),
            other => text(&format!("/{other}/endpoint")),
        };
        Self {
            namespace: namespace(&raw.metadata),
            name: name(&raw.metadata),
            validated: raw.status.get("validated").and_then(Value::as_bool).unwrap_or(false),
            provider,
            endpoint,
        }
    }
}

#[derive(Deserialize)]
struct RawTenant {
    metadata: ObjectMeta,
    #[serde(default)]
    status: Value,
}

impl From<RawTenant> for Tenant {
    fn from(raw: RawTenant) -> Self {
        let phase = raw.status.get("phase").and_then(Value::as_str).unwrap_or("Pending");
        Self { namespace: namespace(&raw.metadata), name: name(&raw.metadata), phase: phase.to_owned() }
    }
}

fn name(metadata: &ObjectMeta) -> String {
    metadata.name.clone().unwrap_or_default()
}

fn namespace(metadata: &ObjectMeta) -> String {
    metadata.namespace.clone().unwrap_or_default()
}
