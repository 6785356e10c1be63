//! `ButlerConfig`: settings of the whole platform. There is one, named `butler`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    common::{
        ControlPlaneResources, ExposureMode, ExposureSpec, HTTP_URL, LocalRef, NsRef, Quantity, SecretRef,
        Time,
    },
    conditions,
    text_enum::text_enum,
};

/// Settings of the platform; every one has a default.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "ButlerConfig",
    status = "ButlerConfigStatus",
    shortname = "bc",
    doc = "Settings of the whole platform. There is one, named `butler`.",
    derive = "PartialEq",
    derive = "Default",
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.multiTenancy.mode"),
    printcolumn(name = "Git", type_ = "string", json_path = ".spec.gitProvider.type"),
    printcolumn(name = "Teams", type_ = "integer", json_path = ".status.teamCount"),
    printcolumn(name = "Clusters", type_ = "integer", json_path = ".status.clusterCount"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ButlerConfigSpec {
    /// Whether clusters must belong to teams.
    pub multi_tenancy: Option<MultiTenancy>,
    /// Home of tenant clusters that have no team.
    #[schemars(extend("default" = "butler-tenants"))]
    pub default_namespace: Option<String>,
    /// ProviderConfig in `butler-system` for clusters that name none.
    pub default_provider_config_ref: Option<LocalRef>,
    /// How the API servers of tenants are published.
    pub control_plane_exposure: Option<ExposureSpec>,
    /// Compute of hosted control planes; best effort when unset.
    pub default_control_plane_resources: Option<ControlPlaneResources>,
    /// Limits meant for teams that set none.
    pub default_team_limits: Option<DefaultTeamLimits>,
    /// Addon versions meant for clusters that set none.
    pub default_addon_versions: Option<DefaultAddonVersions>,
    /// NTP servers for Talos workers that have none from elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub default_time_servers: Vec<String>,
    /// Public SSH key for looking into workers that do not run Talos.
    pub ssh_authorized_key: Option<String>,
    /// The forge that GitOps exports go to.
    pub git_provider: Option<GitProvider>,
    /// Where machine images are built.
    pub image_factory: Option<ImageFactory>,
    /// Where logs, metrics and traces of tenants go.
    pub observability: Option<Observability>,
    /// The audit trail of the Butler server.
    pub audit: Option<Audit>,
    /// Where notifications are sent.
    pub notifications: Option<Notifications>,
}

/// Whether clusters must belong to teams.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MultiTenancy {
    /// How strict it is.
    #[schemars(extend("default" = "Disabled"))]
    pub mode: Option<MultiTenancyMode>,
}

text_enum! {
    /// How strictly clusters belong to teams.
    MultiTenancyMode {
        /// Every cluster has a team.
        Enforced = "Enforced",
        /// A cluster may have a team.
        Optional = "Optional",
        /// Teams are not looked at.
        Disabled = "Disabled",
    }
}

/// Limits meant for teams that set none.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefaultTeamLimits {
    /// Clusters of a team.
    #[schemars(range(min = 1))]
    pub max_clusters: Option<i32>,
    /// Workers of one cluster.
    #[schemars(range(min = 1))]
    pub max_workers_per_cluster: Option<i32>,
    /// Cores of all workers together.
    #[serde(rename = "maxTotalCPU")]
    pub max_total_cpu: Option<Quantity>,
    /// Memory of all workers together.
    pub max_total_memory: Option<Quantity>,
    /// Disk of all workers together.
    pub max_total_storage: Option<Quantity>,
}

/// Versions of the base addons.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefaultAddonVersions {
    /// Cilium.
    pub cilium: Option<String>,
    /// MetalLB.
    pub metallb: Option<String>,
    /// cert-manager.
    pub cert_manager: Option<String>,
    /// Longhorn.
    pub longhorn: Option<String>,
    /// Traefik.
    pub traefik: Option<String>,
    /// Flux.
    pub fluxcd: Option<String>,
}

/// A forge and how to sign in to it.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitProvider {
    /// Which forge.
    #[serde(rename = "type")]
    pub type_: GitProviderType,
    /// Base URL of its API.
    #[schemars(extend("default" = "https://api.github.com"))]
    pub url: Option<String>,
    /// Organisation or group whose repositories are listed.
    pub organization: Option<String>,
    /// Secret of the platform namespace: `token`, or `username` and `app-password` for Bitbucket.
    pub secret_ref: LocalRef,
}

text_enum! {
    /// Forges Butler can export to.
    GitProviderType {
        GitHub = "github",
        GitLab = "gitlab",
        Bitbucket = "bitbucket",
    }
}

/// The service that builds machine images.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageFactory {
    /// Base URL.
    #[schemars(regex(pattern = HTTP_URL))]
    pub url: String,
    /// Secret with its API key, under `apiKey` unless a key is named.
    pub credentials_ref: Option<SecretRef>,
    /// Schematic for clusters that name none.
    #[serde(rename = "defaultSchematicID")]
    pub default_schematic_id: Option<String>,
    /// Copy the images tenant clusters need to their providers without being asked.
    #[schemars(extend("default" = true))]
    pub auto_sync: Option<bool>,
}

/// Where logs, metrics and traces of tenants go.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Observability {
    /// Where they are collected.
    pub pipeline: Option<ObservabilityPipeline>,
    /// What is collected.
    pub collection: Option<ObservabilityCollection>,
}

/// The place where signals are collected.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservabilityPipeline {
    /// TenantCluster that runs the pipeline; it never gets agents of its own.
    pub cluster_ref: Option<NsRef>,
    /// URL that takes logs.
    pub log_endpoint: Option<String>,
    /// URL that takes metrics by remote write.
    pub metric_endpoint: Option<String>,
    /// OTLP endpoint that takes traces.
    pub trace_endpoint: Option<String>,
}

/// What is collected from tenants.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservabilityCollection {
    /// Agents that new clusters get by themselves.
    pub auto_enroll: Option<AutoEnroll>,
    /// Sources of logs.
    pub logs: Option<LogSources>,
    /// Metrics.
    pub metrics: Option<MetricsCollection>,
}

/// Agents that clusters get once they are Ready.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AutoEnroll {
    /// The log agent; needs a log endpoint.
    pub vector_agent: Option<bool>,
    /// The Prometheus operator; needs a metric endpoint.
    pub prometheus: Option<bool>,
    /// The OpenTelemetry collector; needs a trace endpoint.
    pub otel_collector: Option<bool>,
}

/// Which logs are collected.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogSources {
    /// Logs of pods.
    pub pod_logs: Option<bool>,
    /// The journal of nodes.
    pub journald: Option<bool>,
    /// Events of the API server.
    pub kubernetes_events: Option<bool>,
}

/// Which metrics are collected.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricsCollection {
    /// Collect metrics.
    pub enabled: Option<bool>,
    /// How long Prometheus keeps them, such as `15d`.
    pub retention: Option<String>,
}

/// The audit trail of the Butler server.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Audit {
    /// Keep an audit trail.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Entries held in memory.
    #[schemars(range(min = 100, max = 100_000), extend("default" = 10_000))]
    pub buffer_size: Option<i32>,
    /// Where entries are posted as well.
    #[serde(rename = "webhookURL")]
    pub webhook_url: Option<String>,
}

/// Where notifications are sent.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Notifications {
    /// URL they are posted to.
    #[serde(rename = "webhookURL")]
    pub webhook_url: Option<String>,
}

/// What the platform made of its settings.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ButlerConfigStatus {
    /// Generation this status speaks of.
    pub observed_generation: Option<i64>,
    /// Number of teams.
    pub team_count: Option<i32>,
    /// Number of tenant clusters in all namespaces.
    pub cluster_count: Option<i32>,
    /// Exposure mode in force.
    pub control_plane_exposure_mode: Option<ExposureMode>,
    /// True when the exposure mode shares one address.
    pub tcp_proxy_required: Option<bool>,
    /// Whether the forge accepts our credential.
    pub git_provider: Option<GitProviderStatus>,
    /// How far agents have spread.
    pub observability: Option<ObservabilityStatus>,
    /// `Configured` and `NamespaceReady`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::keyed_list")]
    pub conditions: Vec<Condition>,
}

/// Result of signing in to the forge.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitProviderStatus {
    /// The credential was accepted.
    pub connected: Option<bool>,
    /// Whom the forge takes us for.
    pub username: Option<String>,
    /// When that was checked.
    pub last_validated: Option<Time>,
    /// What went wrong.
    pub message: Option<String>,
}

/// How far agents have spread.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservabilityStatus {
    /// The pipeline's cluster is healthy.
    pub pipeline_ready: Option<bool>,
    /// Clusters with agents.
    pub enrolled_count: Option<i32>,
    /// All clusters.
    pub total_count: Option<i32>,
}
