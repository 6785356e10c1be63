//! The simulated hypervisor with a script in place of the node, and its driver.

mod damage;
mod driver;
mod single;

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Result;
use butler_core::settings::Environment;
use butler_operator::{
    driver::sandbox::SandboxDriver,
    process::Guard,
    sandbox::{
        host::{Host, HostOptions, Network, NodeProgram},
        machine::NodeParts,
    },
};

const LIMIT: Duration = Duration::from_secs(30);

/// Stands in for a node: says what a guest agent says, and what else a broken one could, and lives until
/// it is told what to do by a file in its directory.
const NODE: &str = r#"#!/bin/sh
dir=$1
echo "console: booting" >&2
address=$(sed -n 's/.*"address": "\(.*\)",/\1/p' "$dir/machine.json")
echo 'garbage {"type":"stage"}'
echo '{"type":"stage","stage":"maintenance"}'
echo "{\"type\":\"booted\",\"address\":\"$address\",\"bootId\":\"$$\"}"
trap 'exit 0' TERM
while :; do
    [ -e "$dir/crash" ] && { rm "$dir/crash"; echo "panic" >&2; exit 7; }
    [ -e "$dir/halt" ] && { rm "$dir/halt"; exit 0; }
    sleep 0.02
done
"#;

/// A directory with a host's data and the stand-in.
struct Place {
    dir: tempfile::TempDir,
}

/// A host that runs, and its driver.
struct Running {
    host: Host,
    driver: SandboxDriver,
    server: tokio::task::JoinHandle<()>,
}

impl Place {
    fn new() -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let node = dir.path().join("node");
        std::fs::write(&node, NODE)?;
        std::fs::set_permissions(&node, std::fs::Permissions::from_mode(0o755))?;
        Ok(Self { dir })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn machine(&self, name: &str) -> PathBuf {
        self.path("machines").join(name)
    }

    fn options(&self) -> HostOptions {
        let part = |name: &str| Path::new("/parts").join(name);
        HostOptions {
            sandbox: "test".to_owned(),
            dir: self.dir.path().to_owned(),
            node: NodeProgram { program: "/bin/sh".into(), args: vec![self.path("node").into()] },
            parts: NodeParts {
                etcd: part("etcd"),
                kube_apiserver: part("kube-apiserver"),
                kube_controller_manager: part("kube-controller-manager"),
                kube_scheduler: part("kube-scheduler"),
                etcdutl: None,
            },
            talos_version: "v1.11.5".to_owned(),
        }
    }

    async fn start(&self) -> Result<Running> {
        let has_machines = self.path("machines").exists();
        let network = Network::claim(&self.path("network.json"), has_machines)?;
        let host = Host::open(self.options(), network, Guard::start(&Environment::capture())?).await?;
        let socket = self.path("host.sock");
        let server = tokio::spawn(host.serve(&socket)?);
        Ok(Running { host, driver: SandboxDriver::new(socket), server })
    }

    /// The lines of the witness, in short.
    fn witnessed(&self) -> Result<Vec<String>> {
        let text = std::fs::read_to_string(self.path("host.ndjson"))?;
        let lines = text.lines().map(|line| {
            let line: butler_operator::sandbox::host::Witnessed = serde_json::from_str(line)?;
            Ok(format!("{} {} {}", line.what, line.kind, line.name))
        });
        lines.collect()
    }
}

impl Running {
    async fn stop(self) {
        self.host.close().await;
        self.server.abort();
    }

    fn pid(&self, name: &str) -> Option<u32> {
        self.host.nodes().into_iter().find(|node| node.name == name)?.pid
    }
}

fn alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}
