//! `make demo`: a real control plane, our API in it, sample objects, and the programs on them. Every
//! command is printed before it runs; nothing is left behind.

use std::{
    ffi::OsString,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use butler_core::api::TenantCluster;
use butler_tests::ControlPlane;
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::json;

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let began = Instant::now();
    say("Starting etcd and kube-apiserver …")?;
    let plane = runtime.block_on(ControlPlane::start())?;
    say(&format!("ready after {:.1} s\n", began.elapsed().as_secs_f64()))?;

    let demo = Demo::new(plane.kubeconfig())?;
    demo.show("butleradm", &["crds", "apply", "--quiet"], 0)?;
    for namespace in ["butler-system", "butler-tenants"] {
        demo.show("kubectl", &["create", "namespace", namespace], 0)?;
    }
    demo.show("kubectl", &["apply", "-f", "examples/manifests"], 0)?;
    runtime.block_on(async { pretend_controllers(&plane.client().await?).await })?;
    demo.show("butlerctl", &["cluster", "list"], 0)?;
    demo.show("butlerctl", &["cluster", "list", "-A", "-o", "wide"], 0)?;
    demo.show("butlerctl", &["cluster", "get", "hello"], 0)?;
    demo.show("butlerctl", &["cluster", "get", "helo"], 3)?;
    demo.show("butleradm", &["doctor"], 1)?;
    drop(plane);
    say("The control plane is stopped; nothing is left behind.")
}

/// Runs commands as a person would, from the top of the checkout.
struct Demo {
    checkout: PathBuf,
    path: OsString,
    kubeconfig: PathBuf,
    home: tempfile::TempDir,
}

impl Demo {
    fn new(kubeconfig: &Path) -> Result<Self> {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no checkout")?.to_owned();
        let this = std::env::current_exe()?;
        let programs = this.parent().context("no target directory")?.to_owned();
        let kubectl = butler_tests::part("kubectl")?;
        let tools = kubectl.parent().context("kubectl has no directory")?.to_owned();
        Ok(Self {
            checkout,
            path: std::env::join_paths([programs, tools])?,
            kubeconfig: kubeconfig.to_owned(),
            home: tempfile::tempdir()?,
        })
    }

    /// Prints the command, runs it, and checks how it ended: this is a test, too.
    fn show(&self, program: &str, args: &[&str], exit: i32) -> Result<()> {
        say(&format!("\x1b[1m$ {program} {}\x1b[0m", args.join(" ")))?;
        let executable = std::env::split_paths(&self.path)
            .map(|dir| dir.join(program))
            .find(|path| path.exists())
            .with_context(|| format!("{program} is not built"))?;
        let status = Command::new(executable)
            .args(args)
            .current_dir(&self.checkout)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("BUTLER_HOME", self.home.path())
            .env("HOME", self.home.path())
            .status()?;
        ensure!(status.code() == Some(exit), "{program} {} ended with {status}", args.join(" "));
        say("")
    }
}

fn say(line: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{line}").context("cannot print")
}

/// There are no controllers yet, so the demo writes the status they would write.
async fn pretend_controllers(client: &Client) -> Result<()> {
    let clusters: Api<TenantCluster> = Api::namespaced(client.clone(), "butler-tenants");
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
