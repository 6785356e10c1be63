//! What a list shows of a tenant cluster.

use std::fmt;

use jiff::Timestamp;
use serde_json::Value;

/// Shown in place of a phase when an object does not fit the kind.
pub const UNREADABLE: &str = "<unreadable>";

/// One line of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Environment inside its team.
    pub environment: Option<String>,
    /// Where it is in its life.
    pub phase: Option<String>,
    /// The Kubernetes version that is wanted.
    pub version: Option<String>,
    /// Its workers.
    pub workers: Workers,
    /// Address of its API server.
    pub endpoint: Option<String>,
    /// The ProviderConfig it names.
    pub provider: Option<String>,
    /// Namespace of its control plane.
    pub tenant_namespace: Option<String>,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// The first field that is not what the kind promises, if any.
    pub problem: Option<&'static str>,
}

/// How many workers are ready and how many should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Workers {
    /// Wanted.
    pub desired: i64,
    /// There and ready.
    pub ready: i64,
}

impl fmt::Display for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.desired == 0 { f.write_str("-") } else { write!(f, "{}/{}", self.ready, self.desired) }
    }
}

impl Workers {
    /// The controller writes zero until it knows better, so then the spec counts.
    pub(super) fn new(ready: Option<i64>, desired: Option<i64>, spec: Option<i64>) -> Self {
        let desired = desired.filter(|count| *count > 0).or(spec).unwrap_or(0);
        Self { desired, ready: ready.unwrap_or(0) }
    }
}

impl Summary {
    /// The phase to show; an object without one is new.
    pub fn phase(&self) -> &str {
        match self.problem {
            Some(_) => UNREADABLE,
            None => self.phase.as_deref().unwrap_or("Pending"),
        }
    }

    /// Takes from an object what a list shows.
    pub fn of(object: &Value) -> Self {
        let mut reader = Reader { object, problem: None };
        let ready = reader.number("/status/workerNodesReady", "status.workerNodesReady");
        let desired = reader.number("/status/workerNodesDesired", "status.workerNodesDesired");
        let spec = reader.number("/spec/workers/replicas", "spec.workers.replicas");
        let version = reader.text("/spec/kubernetesVersion", "spec.kubernetesVersion");
        let created = reader.text("/metadata/creationTimestamp", "metadata.creationTimestamp");
        let mut summary = Self {
            name: reader.text("/metadata/name", "metadata.name").unwrap_or_default(),
            namespace: reader.text("/metadata/namespace", "metadata.namespace").unwrap_or_default(),
            environment: reader
                .text("/metadata/labels/butler.butlerlabs.dev~1environment", "metadata.labels"),
            phase: reader.text("/status/phase", "status.phase"),
            workers: Workers::new(ready, desired, spec),
            endpoint: reader.text("/status/controlPlaneEndpoint", "status.controlPlaneEndpoint"),
            provider: reader.text("/spec/providerConfigRef/name", "spec.providerConfigRef.name"),
            tenant_namespace: reader.text("/status/tenantNamespace", "status.tenantNamespace"),
            created: created.and_then(|text| text.parse().ok()),
            version,
            problem: None,
        };
        summary.problem = reader.problem;
        summary.require(spec);
        summary
    }

    /// Notes what every object of the kind must have.
    pub(super) fn require(&mut self, spec_workers: Option<i64>) {
        let missing = [
            (self.version.is_none(), "spec.kubernetesVersion"),
            (spec_workers.is_none(), "spec.workers.replicas"),
        ];
        let missing = missing.into_iter().find(|(missing, _)| *missing).map(|(_, field)| field);
        self.problem = self.problem.or(missing);
    }
}

/// Reads fields by path and remembers the first that has the wrong type.
struct Reader<'a> {
    object: &'a Value,
    problem: Option<&'static str>,
}

impl Reader<'_> {
    fn text(&mut self, pointer: &str, field: &'static str) -> Option<String> {
        let value = self.object.pointer(pointer).filter(|value| !value.is_null())?;
        let text = value.as_str();
        self.note(text.is_none(), field);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    }

    fn number(&mut self, pointer: &str, field: &'static str) -> Option<i64> {
        let value = self.object.pointer(pointer).filter(|value| !value.is_null())?;
        let number = value.as_i64();
        self.note(number.is_none(), field);
        number
    }

    fn note(&mut self, wrong: bool, field: &'static str) {
        if wrong && self.problem.is_none() {
            self.problem = Some(field);
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(Some(2), Some(3), Some(5), "2/3")]
    #[case(Some(0), Some(0), Some(3), "0/3")]
    #[case(None, None, Some(3), "0/3")]
    #[case(None, None, None, "-")]
    fn workers_fall_back_to_the_spec(
        #[case] ready: Option<i64>,
        #[case] desired: Option<i64>,
        #[case] spec: Option<i64>,
        #[case] text: &str,
    ) {
        assert_eq!(Workers::new(ready, desired, spec).to_string(), text);
    }

    #[rstest]
    #[case(json!({"spec": {"kubernetesVersion": "v1.34.1", "workers": {"replicas": 3}}}), None, "Pending")]
    #[case(json!({"spec": {"kubernetesVersion": 1.34, "workers": {"replicas": 3}}}), Some("spec.kubernetesVersion"), UNREADABLE)]
    #[case(json!({"spec": {"kubernetesVersion": "v1", "workers": "three"}}), Some("spec.workers.replicas"), UNREADABLE)]
    #[case(json!({"spec": {"kubernetesVersion": "v1", "workers": {"replicas": 3}}, "status": {"phase": ["Ready"]}}), Some("status.phase"), UNREADABLE)]
    #[case(json!({}), Some("spec.kubernetesVersion"), UNREADABLE)]
    #[case(json!([]), Some("spec.kubernetesVersion"), UNREADABLE)]
    fn a_field_that_does_not_fit_is_named(
        #[case] object: Value,
        #[case] problem: Option<&str>,
        #[case] phase: &str,
    ) {
        let summary = Summary::of(&object);
        assert_eq!((summary.problem, summary.phase()), (problem, phase));
    }
}
