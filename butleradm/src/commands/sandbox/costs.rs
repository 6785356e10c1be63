//! What a part or a machine costs, for people and for programs.

use butler_operator::process::usage::Usage;
use serde::Serialize;

/// Something with what it costs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Costs<T> {
    #[serde(flatten)]
    pub(super) what: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_percent: Option<f64>,
}

impl<T> Costs<T> {
    pub(super) fn of(what: T, usage: Option<Usage>) -> Self {
        Self {
            what,
            memory_bytes: usage.map(|usage| usage.memory),
            cpu_percent: usage.map(|usage| (usage.cpu * 10.0).round() / 10.0),
        }
    }

    pub(super) fn memory(&self) -> String {
        self.memory_bytes
            .map_or_else(|| "-".to_owned(), |bytes| format!("{:.1} MiB", bytes as f64 / 1_048_576.0))
    }

    pub(super) fn cpu(&self) -> String {
        self.cpu_percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.1}%"))
    }
}
