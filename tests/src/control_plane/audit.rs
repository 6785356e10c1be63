//! Requests as the API server has seen them.

use std::{collections::HashMap, path::Path};

use anyhow::{Context, Result};
use serde_json::Value;

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `get`, `list`, `watch`, `create`, `patch`, …
    pub verb: String,
    /// The path with its query.
    pub uri: String,
    /// Who asked.
    pub user: String,
    /// With which program.
    pub user_agent: String,
    /// The status of the answer; the log may not have it yet when the client does.
    pub code: Option<u64>,
}

/// Reads the log. The server writes one line when a request arrives, before it answers, and more later.
pub(super) fn read(log: &Path) -> Result<Vec<Request>> {
    let text = std::fs::read_to_string(log).with_context(|| format!("cannot read {}", log.display()))?;
    let mut requests: Vec<Request> = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    // A last line without a line break is still being written.
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        let event: Value = serde_json::from_str(line)?;
        let text =
            |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let index = *seen.entry(text("/auditID")).or_insert_with(|| {
            requests.push(Request {
                verb: text("/verb"),
                uri: text("/requestURI"),
                user: text("/user/username"),
                user_agent: text("/userAgent"),
                code: None,
            });
            requests.len() - 1
        });
        requests[index].code = event.pointer("/responseStatus/code").and_then(Value::as_u64);
    }
    requests.retain(|request| request.user != "system:apiserver");
    Ok(requests)
}
