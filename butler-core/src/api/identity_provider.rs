//! `IdentityProvider`: a service that vouches for people, such as a company's OIDC issuer.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    common::{HTTP_URL, SecretRef, Time},
    conditions,
    text_enum::text_enum,
};

/// How to reach the provider and what its groups mean.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "IdentityProvider",
    status = "IdentityProviderStatus",
    shortname = "idp",
    doc = "A service that vouches for people, such as a company's OIDC issuer.",
    derive = "PartialEq",
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(name = "Issuer", type_ = "string", json_path = ".spec.oidc.issuerURL"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct IdentityProviderSpec {
    /// Protocol it speaks.
    #[serde(rename = "type")]
    pub type_: IdentityProviderType,
    /// Label of the sign-in button; guessed from the issuer when empty.
    pub display_name: Option<String>,
    /// Settings of an OIDC provider.
    pub oidc: Option<OidcSettings>,
    /// Groups whose members get a role on the whole platform; the highest one counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub platform_role_groups: Vec<PlatformRoleGroup>,
}

text_enum! {
    /// Protocols of identity providers.
    IdentityProviderType {
        Oidc = "oidc",
    }
}

/// An OIDC client.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OidcSettings {
    /// Issuer, below which the discovery document lies.
    #[serde(rename = "issuerURL")]
    #[schemars(regex(pattern = "^https://"))]
    pub issuer_url: String,
    /// Client id given by the provider.
    #[serde(rename = "clientID")]
    #[schemars(length(min = 1))]
    pub client_id: String,
    /// Secret with the client's secret, under `client-secret`.
    pub client_secret_ref: SecretRef,
    /// Where the provider sends the browser back to.
    #[serde(rename = "redirectURL")]
    #[schemars(regex(pattern = HTTP_URL))]
    pub redirect_url: String,
    /// Scopes to ask for; `openid`, `email` and `profile` when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Claim with the e-mail address.
    #[schemars(extend("default" = "email"))]
    pub email_claim: Option<String>,
    /// Claim with the groups; empty means groups are not read.
    #[schemars(extend("default" = "groups"))]
    pub groups_claim: Option<String>,
    /// Only people of this Google domain.
    pub hosted_domain: Option<String>,
    /// Reading groups from Google's directory.
    pub google_workspace: Option<GoogleWorkspace>,
    /// Do not check the issuer's certificate; for trials only.
    #[schemars(extend("default" = false))]
    pub insecure_skip_verify: Option<bool>,
}

/// Access to Google's directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GoogleWorkspace {
    /// Administrator in whose name the directory is read.
    #[schemars(email)]
    pub admin_email: String,
    /// Secret with the service account, under `service-account.json`.
    pub service_account_secret_ref: SecretRef,
}

/// A group and its role on the platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlatformRoleGroup {
    /// Identifier of the group.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Role of its members.
    pub role: PlatformGroupRole,
}

text_enum! {
    /// Roles a group can give.
    PlatformGroupRole {
        Admin = "admin",
        Viewer = "viewer",
    }
}

/// What is known of the provider.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentityProviderStatus {
    /// Generation this status speaks of.
    pub observed_generation: Option<i64>,
    /// Whether it can be used.
    pub phase: Option<IdentityProviderPhase>,
    /// What went wrong.
    pub message: Option<String>,
    /// What the discovery document says.
    pub discovered_endpoints: Option<DiscoveredEndpoints>,
    /// Last check that succeeded.
    pub last_validated_time: Option<Time>,
    /// `Discovered`, `SecretValid` and `Ready`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::keyed_list")]
    pub conditions: Vec<Condition>,
}

text_enum! {
    /// Whether a provider can be used.
    IdentityProviderPhase {
        Pending = "Pending",
        Ready = "Ready",
        Failed = "Failed",
    }
}

/// Addresses from the discovery document.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiscoveredEndpoints {
    /// Where people sign in.
    pub authorization_endpoint: Option<String>,
    /// Where codes become tokens.
    pub token_endpoint: Option<String>,
    /// Where claims are read.
    pub user_info_endpoint: Option<String>,
    /// Where signing keys are read.
    #[serde(rename = "jwksURI")]
    pub jwks_uri: Option<String>,
}
