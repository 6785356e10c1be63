//! `make demo`: a management cluster from `examples/sandbox.yaml`, used by kubectl, talosctl and our own
//! programs, and removed again. Every command is printed before it runs and checked after it; nothing is
//! left behind.

use std::{
    ffi::OsString,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use butler_core::api::TenantCluster;
use kube::{
    Api, Client, Config, ResourceExt,
    api::{ListParams, Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::json;

fn main() -> Result<()> {
    let began = Instant::now();
    let demo = Demo::new()?;
    demo.show("butleradm bootstrap validate --config examples/sandbox.yaml")?;
    demo.show("butleradm bootstrap --config examples/sandbox.yaml")?;
    cluster(&demo)?;
    platform(&demo)?;
    demo.show("butleradm bootstrap status")?;
    demo.show("butleradm bootstrap destroy sandbox --yes sandbox")?;
    say(&format!("All of it took {:.0} s; nothing is left behind.", began.elapsed().as_secs_f64()))
}

/// The new cluster, as real programs see it.
fn cluster(demo: &Demo) -> Result<()> {
    demo.show("kubectl get nodes -o wide")?;
    demo.show("talosctl health --wait-timeout 60s")?;
    demo.show("talosctl get members")?;
    demo.quietly("kubectl create deployment web --image=example.com/web:1 --replicas=3")?;
    demo.show("kubectl rollout status deployment/web --timeout=60s")?;
    demo.show("butleradm machine list")?;
    demo.show("butleradm sandbox status --name sandbox")
}

/// The platform's API: sample objects, and what people see of them.
fn platform(demo: &Demo) -> Result<()> {
    demo.show("kubectl apply -f examples/manifests")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(pretend_controllers(&demo.kubeconfig()))?;
    demo.show("butlerctl cluster list -A -o wide")?;
    demo.show("butlerctl cluster get hello")?;
    demo.fails("butlerctl cluster get helo", 3)
}

/// Runs commands as a person would, from the top of the checkout, with a home of its own.
struct Demo {
    checkout: PathBuf,
    path: OsString,
    home: tempfile::TempDir,
}

impl Demo {
    fn new() -> Result<Self> {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no checkout")?.to_owned();
        let this = std::env::current_exe()?;
        let programs = this.parent().context("no target directory")?.to_owned();
        let mut path = vec![programs];
        for name in ["kubectl", "talosctl"] {
            let part = butler_tests::part(name)?;
            path.push(part.parent().with_context(|| format!("{name} has no directory"))?.to_owned());
        }
        let home = tempfile::tempdir()?;
        // The sandbox's own parts come from the same cache.
        let etcd = butler_tests::part("etcd")?;
        let tools = etcd.ancestors().nth(2).context("etcd has no home")?;
        std::os::unix::fs::symlink(tools, home.path().join("tools"))?;
        Ok(Self { checkout, path: std::env::join_paths(path)?, home })
    }

    fn kubeconfig(&self) -> PathBuf {
        self.home.path().join("sandbox-kubeconfig")
    }

    fn command(&self, words: &[&str]) -> Result<Command> {
        let (program, args) = words.split_first().context("no command")?;
        let executable = std::env::split_paths(&self.path)
            .map(|dir| dir.join(program))
            .find(|path| path.exists())
            .with_context(|| format!("{program} is not built"))?;
        let mut command = Command::new(executable);
        command
            .args(args)
            .current_dir(&self.checkout)
            .env("KUBECONFIG", self.kubeconfig())
            .env("TALOSCONFIG", self.home.path().join("sandbox-talosconfig"))
            .env("BUTLER_HOME", self.home.path())
            .env("HOME", self.home.path());
        Ok(command)
    }

    /// Prints the command, runs it, and checks that it succeeds: this is a test, too.
    fn show(&self, line: &str) -> Result<()> {
        self.fails(line, 0)
    }

    fn fails(&self, line: &str, exit: i32) -> Result<()> {
        say(&format!("\x1b[1m$ {line}\x1b[0m"))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let status = self.command(&words)?.status()?;
        ensure!(status.code() == Some(exit), "{line} ended with {status}");
        say("")
    }

    /// Prints the command, and what it says only when it fails.
    fn quietly(&self, line: &str) -> Result<()> {
        say(&format!("\x1b[1m$ {line}\x1b[0m\n"))?;
        let words: Vec<&str> = line.split_whitespace().collect();
        self.output(&words).map(drop)
    }

    fn output(&self, words: &[&str]) -> Result<String> {
        let output = self.command(words)?.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{} ended with {}: {said}", words.join(" "), output.status);
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // After a failure the sandbox may still run; when it does not, this does nothing.
        if let Ok(mut down) = self.command(&["butleradm", "sandbox", "down", "--quiet", "--name", "sandbox"])
        {
            let _ = down.status();
        }
    }
}

fn say(line: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{line}").context("cannot print")
}

/// Tenant clusters have no controller yet, so the demo writes the status it would write.
async fn pretend_controllers(kubeconfig: &Path) -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let clusters: Api<TenantCluster> = Api::namespaced(Client::try_from(config)?, "butler-tenants");
    for (index, cluster) in clusters.list(&ListParams::default()).await?.into_iter().enumerate() {
        let name = cluster.name_any();
        let (phase, workers, ready) =
            if index == 0 { ("Ready", 3, "True") } else { ("Provisioning", 1, "False") };
        let status = json!({"status": {
            "phase": phase, "workerNodesReady": workers, "workerNodesDesired": 3,
            "controlPlaneEndpoint": format!("10.40.0.{}:6443", index + 10),
            "tenantNamespace": format!("{name}-0a1b2c3d"),
            "conditions": [{
                "type": "Ready", "status": ready, "reason": phase, "message": "written by the demo",
                "lastTransitionTime": "2026-11-01T08:00:00Z",
            }],
        }});
        clusters.patch_status(&name, &PatchParams::default(), &Patch::Merge(&status)).await?;
    }
    Ok(())
}
