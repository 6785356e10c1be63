//! Files, good and bad, and what is said about them.

mod bad;
mod each;
mod good;
mod schema;
mod secrets;
mod together;

use std::path::Path;

use super::*;

/// A small file that is right.
pub(crate) const MINIMAL: &str = "\
provider: sandbox
cluster:
  name: lab
  topology: single-node
  controlPlane: {replicas: 1, cpu: 2, memoryMB: 2048, diskGB: 20}
";

/// A file with most keys, for a provider with secrets.
pub(crate) const NUTANIX: &str = "\
provider: nutanix
cluster:
  name: mgmt
  topology: ha
  controlPlane: {replicas: 3, cpu: 4, memoryMB: 8192, diskGB: 60}
  workers: {replicas: 2, cpu: 4, memoryMB: 8192, diskGB: 60}
network:
  vip: 172.20.8.20
  loadBalancerPool: {start: 172.20.8.30, end: 172.20.8.49}
providerConfig:
  nutanix:
    endpoint: prism.example.org
    username: admin
    password: hunter2
    clusterUUID: 11111111-2222-3333-4444-555555555555
    subnetUUID: 66666666-7777-8888-9999-000000000000
";

/// Reads a text as a file that nobody else can read.
pub(crate) fn read_text(text: &str) -> Result<Loaded, ConfigError> {
    let source = Source {
        name: "bootstrap.yaml",
        text,
        directory: Path::new("/srv/site"),
        home: Some(Path::new("/home/me")),
        shared: None,
    };
    read(&source, None)
}

/// Everything that is said about a text, good or bad.
pub(crate) fn problems(text: &str) -> Vec<Problem> {
    match read_text(text) {
        Ok(loaded) => loaded.warnings,
        Err(ConfigError::Problems { problems, .. }) => problems,
        Err(error) => panic!("{error}"),
    }
}

/// The same, one line each: severity, place, message, suggestion.
pub(crate) fn told(text: &str) -> Vec<String> {
    let line = |problem: Problem| {
        let severity = if problem.is_error() { "error" } else { "warning" };
        let suggestion = problem.suggestion.map(|text| format!(" [{text}]")).unwrap_or_default();
        format!("{severity} {}:{}: {}{suggestion}", problem.line, problem.column, problem.message)
    };
    problems(text).into_iter().map(line).collect()
}

/// `text` with one piece replaced, which must be there.
pub(crate) fn with(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "`{old}` is in the text");
    text.replacen(old, new, 1)
}

/// Every example of the repository: file name, text.
pub(crate) fn examples() -> Vec<(String, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let mut found: Vec<(String, String)> = fs_err::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs_err::read_to_string(path).unwrap())
        })
        .collect();
    found.sort();
    found
}
