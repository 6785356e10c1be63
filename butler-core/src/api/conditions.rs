//! Conditions: their vocabulary, their schema, and the one rule for changing them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::{Schema, SchemaGenerator, json_schema};

/// Types that several kinds share.
pub mod types {
    /// The object does what it is for.
    pub const READY: &str = "Ready";
    /// Work is going on.
    pub const PROGRESSING: &str = "Progressing";
    /// It works, but not as it should.
    pub const DEGRADED: &str = "Degraded";
}

/// Values of a condition's status.
pub mod status {
    /// It is so.
    pub const TRUE: &str = "True";
    /// It is not so.
    pub const FALSE: &str = "False";
    /// Nobody can tell.
    pub const UNKNOWN: &str = "Unknown";
}

/// Reasons that existing controllers write.
pub mod reasons {
    macro_rules! reasons {
        ($($name:ident = $text:literal),+ $(,)?) => {
            $(#[doc = concat!("`", $text, "`")] pub const $name: &str = $text;)+
        };
    }

    reasons! {
        PENDING = "Pending",
        CREATING = "Creating",
        CREATED = "Created",
        RUNNING = "Running",
        WAITING_FOR_IP = "WaitingForIP",
        FAILED = "Failed",
        DELETING = "Deleting",
        DELETED = "Deleted",
        PROVIDER_ERROR = "ProviderError",
        INVALID_CONFIGURATION = "InvalidConfiguration",
        READY = "Ready",
        WAITING_FOR_DEPENDENCIES = "WaitingForDependencies",
        RECONCILING = "Reconciling",
        VALIDATION_FAILED = "ValidationFailed",
        QUOTA_EXCEEDED = "QuotaExceeded",
        ENV_QUOTA_EXCEEDED = "EnvQuotaExceeded",
        PER_MEMBER_CAP_EXCEEDED = "PerMemberCapExceeded",
        POOL_EXHAUSTED = "PoolExhausted",
        ALLOCATION_FAILED = "AllocationFailed",
        PROVIDER_ACCESS_DENIED = "ProviderAccessDenied",
        NETWORK_NOT_READY = "NetworkNotReady",
        CREDENTIALS_INVALID = "CredentialsInvalid",
        NETWORK_REACHABLE = "NetworkReachable",
        POOL_AVAILABLE = "PoolAvailable",
        IMAGE_BUILDING = "ImageBuilding",
        IMAGE_DOWNLOADING = "ImageDownloading",
        IMAGE_UPLOADING = "ImageUploading",
        IMAGE_READY = "ImageReady",
        IMAGE_SYNC_FAILED = "ImageSyncFailed",
    }
}

/// Sets a condition, in place of the one of the same type if there is one.
///
/// The transition time tells when the *status* changed, so the old one stays when only reason,
/// message or generation differ.
pub fn set(conditions: &mut Vec<Condition>, mut new: Condition) {
    match conditions.iter_mut().find(|old| old.type_ == new.type_) {
        Some(old) => {
            if old.status == new.status {
                new.last_transition_time = old.last_transition_time.clone();
            }
            *old = new;
        }
        None => conditions.push(new),
    }
}

/// Schema of a list in which server-side apply knows conditions by their type.
pub(super) fn keyed_list(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = plain_list(generator);
    schema.insert("x-kubernetes-list-type".into(), "map".into());
    schema.insert("x-kubernetes-list-map-keys".into(), vec!["type"].into());
    schema
}

/// Schema of a list that is replaced as a whole, which it is on three kinds.
pub(super) fn plain_list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "description": "One aspect of the object's state.",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "type": {
                    "type": "string",
                    "description": "Which aspect.",
                    "maxLength": 316,
                    "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                },
                "status": {
                    "type": "string",
                    "description": "Whether it is so.",
                    "enum": [status::TRUE, status::FALSE, status::UNKNOWN],
                },
                "reason": {
                    "type": "string",
                    "description": "Why, in one word for programs.",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "message": {
                    "type": "string",
                    "description": "Why, in a sentence for people.",
                    "maxLength": 32768,
                },
                "lastTransitionTime": {
                    "type": "string",
                    "description": "When the status last changed.",
                    "format": "date-time",
                },
                "observedGeneration": {
                    "type": "integer",
                    "description": "Generation of the object this speaks of.",
                    "format": "int64",
                    "minimum": 0,
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use rstest::rstest;

    use super::*;

    fn ready(status: &str, reason: &str, second: i64) -> Condition {
        Condition {
            type_: types::READY.into(),
            status: status.into(),
            reason: reason.into(),
            message: String::new(),
            last_transition_time: Time(Timestamp::from_second(second).unwrap()),
            observed_generation: None,
        }
    }

    #[rstest]
    #[case::same_status_keeps_the_time(status::FALSE, reasons::FAILED, 100)]
    #[case::new_status_takes_the_new_time(status::TRUE, reasons::READY, 200)]
    fn transition_time_follows_the_status(#[case] status: &str, #[case] reason: &str, #[case] time: i64) {
        let mut conditions = vec![ready(status::FALSE, reasons::PENDING, 100)];
        set(&mut conditions, ready(status, reason, 200));
        assert_eq!(conditions, [ready(status, reason, time)]);
    }

    #[test]
    fn a_new_type_is_added_beside_the_others() {
        let mut conditions = vec![ready(status::TRUE, reasons::READY, 100)];
        let progressing = Condition { type_: types::PROGRESSING.into(), ..ready(status::FALSE, "Idle", 200) };
        set(&mut conditions, progressing.clone());
        assert_eq!(conditions, [ready(status::TRUE, reasons::READY, 100), progressing]);
    }
}
