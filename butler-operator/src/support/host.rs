//! This computer: what it is, what it has left, which programs it has.

use std::path::Path;

use butler_core::settings::{Environment, Home};
use serde_json::{Value, json};

use crate::{
    parts::{self, Parts, programs as on_path},
    process::free_mib,
};

/// Variables whose values say how a program behaves, and nothing else.
const TOLD: [&str; 16] = [
    "BUTLER_HOME",
    "BUTLER_NAMESPACE",
    "BUTLER_OUTPUT",
    "BUTLER_REQUEST_TIMEOUT",
    "BUTLER_TOOLS_DIR",
    "BUTLER_TOOLS_DOWNLOAD",
    "COLORTERM",
    "DOCKER_HOST",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "KUBECONFIG",
    "LANG",
    "NO_COLOR",
    "NO_PROXY",
    "PATH",
    "TERM",
];

/// The names of all variables, and some values.
pub(super) fn environment(environment: &Environment) -> Value {
    let told = |name: &str| TOLD.contains(&name.to_ascii_uppercase().as_str());
    let of = |(name, value): (&std::ffi::OsStr, &std::ffi::OsStr)| {
        let name = name.to_string_lossy().into_owned();
        let value = told(&name).then(|| value.to_string_lossy().into_owned());
        json!({ "variable": name, "set": value.unwrap_or_else(|| "(set)".to_owned()) })
    };
    environment.vars().map(of).collect()
}

/// Processors, memory, disk, kernel.
pub(super) fn facts(home: &Home, environment: &Environment) -> Value {
    let system = rustix::system::uname();
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let memory = read("/proc/meminfo");
    let amount = |name: &str| {
        let line = memory.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    let release = read("/etc/os-release");
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or_default();
    let engines = ["docker", "nerdctl", "podman"]
        .map(|name| json!({ "name": name, "path": on_path(environment, name).next() }));
    json!({
        "kernel": system.release().to_string_lossy(),
        "machine": system.machine().to_string_lossy(),
        "host": system.nodename().to_string_lossy(),
        "system": name.trim_matches('"'),
        "processors": std::thread::available_parallelism().ok().map(usize::from),
        "load": read("/proc/loadavg").trim(),
        "memoryKiB": { "total": amount("MemTotal:"), "available": amount("MemAvailable:") },
        "freeMiB": { "home": free_mib(nearest(home.dir())), "temporary": free_mib(Path::new("/tmp")) },
        "uptimeSeconds": read("/proc/uptime").split(' ').next(),
        "engines": engines,
    })
}

/// The directory itself, or the first above it that is there.
fn nearest(dir: &Path) -> &Path {
    dir.ancestors().find(|dir| dir.exists()).unwrap_or(Path::new("/"))
}

/// The programs that Butler works with, where they are.
pub(super) async fn programs(parts: &Parts) -> Value {
    let mut all = Vec::new();
    for part in parts::ALL {
        let search = parts.search(part).await;
        let passed: Vec<String> = search
            .passed
            .iter()
            .map(|passed| format!("{}: {}", passed.path.display(), passed.reason))
            .collect();
        let found = search.found.map(|found| {
            json!({ "path": found.path, "version": found.version.to_string(), "source": found.source.to_string() })
        });
        all.push(json!({ "name": part.name, "wanted": part.wanted(), "found": found, "passedOver": passed }));
    }
    Value::Array(all)
}
