//! `AddonDefinition`: an entry of the addon catalog: which chart, which version, and how to install it.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    common::{FreeObject, HTTP_URL},
    text_enum::text_enum,
};

/// One catalog entry.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "AddonDefinition",
    shortname = "ad",
    shortname = "adddef",
    doc = "An entry of the addon catalog: which chart, which version, and how to install it.",
    derive = "PartialEq",
    printcolumn(name = "Display Name", type_ = "string", json_path = ".spec.displayName"),
    printcolumn(name = "Category", type_ = "string", json_path = ".spec.category"),
    printcolumn(name = "Chart", type_ = "string", json_path = ".spec.chart.name"),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.chart.defaultVersion"),
    printcolumn(name = "Platform", type_ = "boolean", json_path = ".spec.platform"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct AddonDefinitionSpec {
    /// Name shown to people.
    #[schemars(length(min = 1, max = 64))]
    pub display_name: String,
    /// What the addon is for, in a few words.
    #[schemars(length(min = 1, max = 512))]
    pub description: String,
    /// Shelf of the catalog it stands on.
    pub category: AddonCategory,
    /// Emoji or icon name.
    #[schemars(length(max = 8))]
    pub icon: Option<String>,
    /// SVG in base64, for places without network; preferred over `icon`.
    #[schemars(length(max = 131_072))]
    pub icon_data: Option<String>,
    /// The Helm chart.
    pub chart: ChartSource,
    /// How it is installed unless the installing object says otherwise.
    pub defaults: Option<AddonInstallDefaults>,
    /// Definitions that must be installed before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Marks a core addon, which comes with every cluster and is not removed by hand.
    #[schemars(extend("default" = false))]
    pub platform: Option<bool>,
    /// Folder of a GitOps export; when unset, core addons go to `infrastructure` and others to `apps`.
    pub tier: Option<AddonTier>,
    /// Where to read more.
    pub links: Option<AddonLinks>,
    /// Whom to ask.
    pub maintainer: Option<AddonMaintainer>,
}

/// Where a chart is found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChartSource {
    /// URL of the Helm repository, over HTTP or HTTPS.
    #[schemars(regex(pattern = HTTP_URL))]
    pub repository: String,
    /// Name of the chart in the repository.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Version installed when none is asked for.
    pub default_version: String,
    /// Further versions to offer; none means only the default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub available_versions: Vec<String>,
}

/// How a chart is installed by default.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddonInstallDefaults {
    /// Namespace of the release; the definition's name when empty.
    pub namespace: Option<String>,
    /// Create that namespace when it is missing.
    #[schemars(extend("default" = true))]
    pub create_namespace: Option<bool>,
    /// Name of the release; the definition's name when empty.
    pub release_name: Option<String>,
    /// How long Helm may wait, as a Go duration.
    #[schemars(extend("default" = "10m"))]
    pub timeout: Option<String>,
    /// Chart values, under those of the installing object.
    #[serde(default, skip_serializing_if = "FreeObject::is_empty")]
    pub values: FreeObject,
}

/// Where to read more about an addon.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddonLinks {
    /// Home page.
    pub homepage: Option<String>,
    /// Manual.
    pub documentation: Option<String>,
    /// Source code.
    pub source: Option<String>,
}

/// Who looks after an addon.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddonMaintainer {
    /// Name.
    pub name: Option<String>,
    /// E-mail address.
    pub email: Option<String>,
}

text_enum! {
    /// Shelves of the catalog.
    AddonCategory {
        Cni = "cni",
        LoadBalancer = "loadbalancer",
        Storage = "storage",
        CertManager = "certmanager",
        Ingress = "ingress",
        Observability = "observability",
        Backup = "backup",
        Gitops = "gitops",
        Security = "security",
        Dns = "dns",
        Database = "database",
        Messaging = "messaging",
        ServiceMesh = "service-mesh",
        Other = "other",
    }
}

text_enum! {
    /// Folders of a GitOps export.
    AddonTier {
        Infrastructure = "infrastructure",
        Apps = "apps",
    }
}
