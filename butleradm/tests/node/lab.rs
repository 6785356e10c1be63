//! Machines on loopback addresses of their own, and talosctl to drive them.

use std::{
    fs,
    net::UdpSocket,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result, bail};
use butler_operator::{
    driver::{Ownership, Role},
    sandbox::machine::{MachineDir, MachineFile, NodeParts, NodePorts},
};
use butler_tests::{Env, Invocation, Output, Running, part};

const BUTLERADM: &str = env!("CARGO_BIN_EXE_butleradm");
/// Longer than anything here takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// A network of 256 loopback addresses that no other test has.
pub(crate) struct Lab {
    pub(crate) env: Env,
    network: String,
    parts: NodeParts,
    talosctl: PathBuf,
    /// Nobody else takes these addresses while this socket is bound.
    _claim: UdpSocket,
}

/// A machine and its directory.
#[derive(Clone)]
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) dir: MachineDir,
}

impl Lab {
    pub(crate) fn new() -> Result<Self> {
        let (network, claim) = claim()?;
        Ok(Self {
            env: Env::new()?,
            network,
            parts: NodeParts {
                etcd: part("etcd")?,
                kube_apiserver: part("kube-apiserver")?,
                kube_controller_manager: part("kube-controller-manager")?,
                kube_scheduler: part("kube-scheduler")?,
                etcdutl: Some(part("etcdutl")?),
            },
            talosctl: part("talosctl")?,
            _claim: claim,
        })
    }

    pub(crate) fn address(&self, host: u8) -> String {
        format!("{}.{host}", self.network)
    }

    /// Makes a machine's directory, as the host does.
    pub(crate) fn create(&self, name: &str, host: u8, role: Role) -> Result<Machine> {
        let dir = MachineDir(self.env.work_dir().join("machines").join(name));
        fs::create_dir_all(&dir.0)?;
        let file = MachineFile {
            id: format!("machine-{name}"),
            name: name.into(),
            ownership: Ownership { owner: "test".into(), object: format!("default.{name}") },
            role,
            cpu: 2,
            memory_mb: 4096,
            disk_gb: 40,
            address: self.address(host).parse()?,
            ports: NodePorts::default(),
            mac: format!("02:00:00:00:00:{host:02x}"),
            talos_version: "v1.11.5".into(),
            parts: self.parts.clone(),
            discovery_dir: self.env.work_dir().join("discovery"),
        };
        file.write(&dir.machine_file())?;
        Ok(Machine { name: name.into(), address: self.address(host), dir })
    }

    /// Switches a machine on.
    pub(crate) fn start(&self, machine: &Machine) -> Result<Running> {
        self.env.command(BUTLERADM).args(["sandbox", "node", "run"]).arg(&machine.dir.0).spawn()
    }

    /// Switches a machine on and waits until it has an address.
    pub(crate) fn boot(&self, machine: &Machine) -> Result<Running> {
        let mut running = self.start(machine)?;
        let line = running.line_with("\"booted\"", LONG)?;
        if !line.contains(&machine.address) {
            bail!("{} says {line}", machine.name);
        }
        Ok(running)
    }

    /// Makes configurations of a cluster whose endpoint is `host`.
    pub(crate) fn generate(&self, endpoint: &str) -> Result<()> {
        let endpoint = format!("https://{endpoint}:6443");
        let mut args = vec!["gen", "config", "lab", &endpoint, "--install-disk", "/dev/sda", "--force"];
        args.extend([
            "--kubernetes-version",
            "1.34.4",
            "--with-docs=false",
            "--with-examples=false",
            "-o",
            ".",
        ]);
        let _ = self.talosctl(&args).env_remove("TALOSCONFIG").timeout(LONG).run()?.success()?;
        Ok(())
    }

    /// Whom talosctl talks to unless told otherwise.
    pub(crate) fn talk_to(&self, machine: &Machine) -> Result<()> {
        let _ = self.talosctl(&["config", "endpoint", &machine.address]).run()?.success()?;
        let _ = self.talosctl(&["config", "node", &machine.address]).run()?.success()?;
        Ok(())
    }

    pub(crate) fn talosctl(&self, args: &[&str]) -> Invocation {
        self.env
            .command(&self.talosctl)
            .args(args)
            .env("TALOSCONFIG", self.file("talosconfig"))
            .env("NO_PROXY", "127.0.0.0/8")
            .timeout(LONG)
    }

    /// What talosctl prints for a command that must succeed.
    pub(crate) fn ok(&self, args: &[&str]) -> Result<String> {
        let output = self.talosctl(args).run()?.success()?;
        Ok(output.stdout + &output.stderr)
    }

    /// What talosctl says to a command that must fail.
    pub(crate) fn fails(&self, args: &[&str]) -> Result<String> {
        let output = self.talosctl(args).run()?.failed_with(1)?;
        Ok(output.stdout + &output.stderr)
    }

    /// Repeats a command until it prints this.
    pub(crate) async fn eventually(&self, args: &[&str], wanted: &str) -> Result<String> {
        self.until(args, &format!("talosctl {} prints {wanted:?}", args.join(" ")), |text| {
            text.contains(wanted)
        })
        .await
    }

    /// Repeats a command until what it prints is as wanted.
    pub(crate) async fn until(
        &self,
        args: &[&str],
        what: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<String> {
        let mut last = String::new();
        let seen = butler_tests::eventually(what, LONG, || {
            let output = self.talosctl(args).timeout(Duration::from_secs(20)).run();
            last = output
                .map_or_else(|error| error.to_string(), |Output { stdout, stderr, .. }| stdout + &stderr);
            let found = wanted(&last);
            async move { Ok(found) }
        });
        let seen = seen.await;
        seen.with_context(|| format!("last it printed\n{last}")).map(|()| last)
    }

    pub(crate) fn apply(&self, machine: &Machine, file: &str) -> Result<String> {
        self.ok(&["apply-config", "--insecure", "-n", &machine.address, "-f", file])
    }

    pub(crate) fn kubectl(&self, args: &[&str]) -> Result<String> {
        let command =
            self.env.command(part("kubectl")?).args(args).env("KUBECONFIG", self.file("kubeconfig"));
        Ok(command.run()?.success()?.stdout)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.env.work_dir().join(name)
    }

    pub(crate) fn write(&self, name: impl AsRef<Path>, text: &str) -> Result<()> {
        Ok(fs::write(self.env.work_dir().join(name), text)?)
    }
}

impl Machine {
    /// Sets its faults.
    pub(crate) fn faults(&self, json: &str) -> Result<()> {
        Ok(fs::write(self.dir.faults_file(), json)?)
    }
}

/// A network by whoever binds its first address, beginning at a random one.
fn claim() -> Result<(String, UdpSocket)> {
    let time = SystemTime::UNIX_EPOCH.elapsed()?.subsec_nanos();
    let start = time.wrapping_add(std::process::id().wrapping_mul(7919));
    for step in 0..5000_u32 {
        let number = start.wrapping_add(step) % 5000;
        let network = format!("127.{}.{}", 100 + number / 250, number % 250);
        if let Ok(claim) = UdpSocket::bind((format!("{network}.1"), 49_999)) {
            return Ok((network, claim));
        }
    }
    bail!("every loopback network is taken")
}
