//! Conditions as controllers make them.

use butler_core::api::conditions;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Sets a condition; the time of its last transition stays when the status does.
pub(super) fn set(
    conditions: &mut Vec<Condition>,
    (type_, status, reason): (&str, &str, &str),
    message: impl Into<String>,
    generation: Option<i64>,
    now: Timestamp,
) {
    let condition = Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.into(),
        last_transition_time: Time(now),
        observed_generation: generation,
    };
    conditions::set(conditions, condition);
}

/// Since when a condition has had this status.
pub(super) fn since(conditions: &[Condition], type_: &str, status: &str) -> Option<Timestamp> {
    let condition = conditions.iter().find(|condition| condition.type_ == type_)?;
    (condition.status == status).then_some(condition.last_transition_time.0)
}
