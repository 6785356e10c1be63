//! What a list shows of a machine request.

use jiff::Timestamp;
use serde_json::Value;

/// A machine request in short. Fields of the wrong type count as missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Name of the machine at the provider.
    pub machine: Option<String>,
    /// `control-plane` or `worker`.
    pub role: Option<String>,
    /// Its phase; what a person would call it where that says more.
    pub phase: String,
    /// First address.
    pub address: Option<String>,
    /// Its ProviderConfig, with the namespace if it is another than its own.
    pub provider: Option<String>,
    /// What the provider calls the machine.
    pub provider_id: Option<String>,
    /// Cores.
    pub cpu: Option<i64>,
    /// Memory in MB.
    pub memory_mb: Option<i64>,
    /// Root disk in GB.
    pub disk_gb: Option<i64>,
    /// When it was made.
    pub created: Option<Timestamp>,
}

impl Summary {
    /// Reads an object.
    pub fn of(object: &Value) -> Self {
        let text = |path: &str| {
            object.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let number = |path: &str| object.pointer(path).and_then(Value::as_i64);
        let namespace = text("/metadata/namespace").unwrap_or_default();
        let provider = text("/spec/providerRef/name").map(|name| {
            let place = text("/spec/providerRef/namespace").filter(|place| *place != namespace);
            place.map(|place| format!("{place}/{name}")).unwrap_or(name)
        });
        Self {
            name: text("/metadata/name").unwrap_or_default(),
            machine: text("/spec/machineName"),
            role: text("/spec/role"),
            phase: phase(object),
            address: text("/status/ipAddress"),
            provider,
            provider_id: text("/status/providerID"),
            cpu: number("/spec/cpu"),
            memory_mb: number("/spec/memoryMB"),
            disk_gb: number("/spec/diskGB"),
            created: text("/metadata/creationTimestamp").and_then(|text| text.parse().ok()),
            namespace,
        }
    }
}

/// The phase; a machine that was switched off is in phase Running all the same, so its condition counts.
fn phase(object: &Value) -> String {
    let phase = object.pointer("/status/phase").and_then(Value::as_str).unwrap_or("Pending");
    if object.pointer("/metadata/deletionTimestamp").is_some() {
        return "Deleting".to_owned();
    }
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions.and_then(|all| all.iter().find(|condition| condition["type"] == "Ready"));
    match ready {
        Some(ready) if phase == "Running" && ready["reason"] == "Stopped" => "Stopped".to_owned(),
        Some(ready) if phase == "Running" && ready["status"] == "Unknown" => "Unknown".to_owned(),
        _ => phase.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_machine_that_is_off_or_cannot_be_seen_is_not_called_running() {
        let object = |status: &str, reason: &str| {
            json!({"metadata": {"name": "a"}, "status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": status, "reason": reason}]}})
        };
        assert_eq!(Summary::of(&object("True", "Running")).phase, "Running");
        assert_eq!(Summary::of(&object("False", "Stopped")).phase, "Stopped");
        assert_eq!(Summary::of(&object("Unknown", "CredentialsInvalid")).phase, "Unknown");
        assert_eq!(Summary::of(&json!({"metadata": {"name": "a"}})).phase, "Pending");
    }

    #[test]
    fn fields_of_the_wrong_type_count_as_missing() {
        let summary = Summary::of(&json!({"metadata": {"name": "a"}, "spec": {"cpu": "four", "role": 7}}));
        assert_eq!((summary.cpu, summary.role), (None, None));
    }
}
