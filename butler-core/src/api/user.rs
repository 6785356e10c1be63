//! `User`: a person who may sign in to Butler.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{
    common::{SecretRef, TeamRole, Time},
    conditions,
    text_enum::text_enum,
};

/// Who the person is and how they sign in.
#[skip_serializing_none]
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "User",
    status = "UserStatus",
    shortname = "usr",
    doc = "A person who may sign in to Butler.",
    derive = "PartialEq",
    derive = "Default",
    printcolumn(name = "Email", type_ = "string", json_path = ".spec.email"),
    printcolumn(name = "Display Name", type_ = "string", json_path = ".spec.displayName"),
    printcolumn(name = "Auth", type_ = "string", json_path = ".spec.authType"),
    printcolumn(name = "Platform Admin", type_ = "boolean", json_path = ".spec.isPlatformAdmin"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Last Login", type_ = "date", json_path = ".status.lastLoginTime"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct UserSpec {
    /// E-mail address; teams know their members by it.
    #[schemars(email)]
    pub email: String,
    /// Name shown to people.
    pub display_name: Option<String>,
    /// How the person signs in.
    #[schemars(extend("default" = "internal"))]
    pub auth_type: Option<AuthType>,
    /// Which identity provider vouches for the person.
    pub sso_provider: Option<String>,
    /// The person's `sub` at that provider.
    pub sso_subject: Option<String>,
    /// Role on the whole platform.
    pub platform_role: Option<PlatformRole>,
    /// Older way to say `platformRole: admin`; the higher of the two counts.
    #[schemars(extend("default" = false))]
    pub is_platform_admin: Option<bool>,
    /// Sign-in is refused.
    #[schemars(extend("default" = false))]
    pub disabled: Option<bool>,
    /// URL of a picture.
    pub avatar: Option<String>,
    /// Public keys for workspaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ssh_keys: Vec<SshKey>,
}

text_enum! {
    /// Ways to sign in.
    AuthType {
        /// Through an identity provider.
        Sso = "sso",
        /// With a password kept by Butler.
        Internal = "internal",
    }
}

text_enum! {
    /// Roles on the whole platform.
    PlatformRole {
        Admin = "admin",
        Viewer = "viewer",
        /// No role.
        None = "",
    }
}

/// A public key.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SshKey {
    /// Label of the key.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// The key, in OpenSSH form.
    #[schemars(length(min = 1))]
    pub public_key: String,
    /// SHA-256 fingerprint, filled in by the server.
    pub fingerprint: Option<String>,
    /// When it was added.
    pub added_at: Option<Time>,
}

/// What is known of the person's sign-ins and teams.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserStatus {
    /// Whether the person can sign in.
    pub phase: Option<UserPhase>,
    /// Last sign-in that succeeded.
    pub last_login_time: Option<Time>,
    /// Sign-ins that succeeded.
    pub login_count: Option<i64>,
    /// Failures since then.
    pub failed_login_attempts: Option<i32>,
    /// No sign-in before this time.
    pub locked_until: Option<Time>,
    /// Secret with the password's bcrypt hash.
    pub password_secret_ref: Option<SecretRef>,
    /// When the password was last set.
    pub password_changed_at: Option<Time>,
    /// SHA-256 of the open invitation's token.
    pub invite_token_hash: Option<String>,
    /// When the invitation was sent.
    pub invite_sent_at: Option<Time>,
    /// When it ends.
    pub invite_expires_at: Option<Time>,
    /// Groups in the last token, as the provider sent them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_seen_groups: Vec<String>,
    /// Teams the person belongs to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teams: Vec<TeamMembership>,
    /// When that list last changed.
    pub teams_resolved_at: Option<Time>,
    /// `Ready`, `InvitePending` and `InviteExpired`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions::plain_list")]
    pub conditions: Vec<Condition>,
}

text_enum! {
    /// Whether a person can sign in.
    UserPhase {
        Pending = "Pending",
        Active = "Active",
        Disabled = "Disabled",
        Locked = "Locked",
    }
}

/// Membership in a team.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TeamMembership {
    /// The team.
    pub name: String,
    /// The role in it.
    #[schemars(with = "String")]
    pub role: TeamRole,
}
