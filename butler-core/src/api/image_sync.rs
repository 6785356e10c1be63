//! `ImageSync`: a machine image, copied from the image factory to a provider.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    common::{ProviderRef, Time},
    conditions,
    text_enum::text_enum,
};

/// Which image, to which provider, how.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "ImageSync",
    namespaced,
    status = "ImageSyncStatus",
    shortname = "is",
    doc = "A machine image, copied from the image factory to a provider.",
    derive = "PartialEq",
    derive = "Default",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(
        name = "Schematic",
        type_ = "string",
        json_path = ".spec.factoryRef.schematicID",
        priority = 1
    ),
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.factoryRef.version"),
    printcolumn(name = "Provider", type_ = "string", json_path = ".spec.providerConfigRef.name"),
    printcolumn(name = "Image Ref", type_ = "string", json_path = ".status.providerImageRef"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ImageSyncSpec {
    /// The image.
    pub factory_ref: FactoryRef,
    /// The provider; in this namespace unless one is named.
    pub provider_config_ref: ProviderRef,
    /// Format of the image: `qcow2`, `raw`, `iso`.
    #[schemars(extend("default" = "qcow2"))]
    pub format: Option<String>,
    /// Who carries it over.
    #[schemars(extend("default" = "direct"))]
    pub transfer_mode: Option<TransferMode>,
    /// Name of the image at the provider; made up when empty.
    pub display_name: Option<String>,
}

/// An image of the factory.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FactoryRef {
    /// Schematic, named by its content.
    #[serde(rename = "schematicID")]
    #[schemars(length(min = 8))]
    pub schematic_id: String,
    /// Version of the operating system.
    pub version: String,
    /// Processor architecture.
    #[schemars(extend("default" = "amd64"))]
    pub arch: Option<Arch>,
    /// Platform the image is for, the first part of its file name.
    #[schemars(extend("default" = "nocloud"))]
    pub platform: Option<String>,
}

text_enum! {
    /// Processor architectures.
    Arch {
        Amd64 = "amd64",
        Arm64 = "arm64",
    }
}

text_enum! {
    /// Who carries an image to the provider.
    TransferMode {
        /// The provider fetches it.
        Direct = "direct",
        /// Butler uploads it.
        Proxy = "proxy",
    }
}

/// How far the copy is.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageSyncStatus {
    /// Generation this status speaks of.
    pub observed_generation: Option<i64>,
    /// How far the copy is.
    pub phase: Option<ImageSyncPhase>,
    /// URL of the image.
    #[serde(rename = "artifactURL")]
    pub artifact_url: Option<String>,
    /// Checksum of the image.
    #[serde(rename = "artifactSHA256")]
    pub artifact_sha256: Option<String>,
    /// What the provider calls the image.
    pub provider_image_ref: Option<String>,
    /// Task of the provider that is running.
    #[serde(rename = "providerTaskID")]
    pub provider_task_id: Option<String>,
    /// Why it failed, in one word.
    pub failure_reason: Option<String>,
    /// Why it failed.
    pub failure_message: Option<String>,
    /// When this status last changed.
    pub last_updated: Option<Time>,
    /// `Ready` and `Progressing`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::keyed_list")]
    pub conditions: Vec<Condition>,
}

text_enum! {
    /// How far the copy of an image is.
    ImageSyncPhase {
        Pending = "Pending",
        Building = "Building",
        Downloading = "Downloading",
        Uploading = "Uploading",
        Ready = "Ready",
        Failed = "Failed",
    }
}
