//! `make screens`: screens of real runs, written to `docs/screens/` as text.
//!
//! A platform is made on simulated machines and watched on a full screen; then the platform itself is shown.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use butler_tests::{Env, Invocation, Pty, part};

const LIMIT: Duration = Duration::from_secs(180);
const PARTS: [&str; 6] =
    ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "helm"];

fn main() -> Result<()> {
    let env = Env::new()?;
    let studio = Studio::new(&env)?;
    let result = studio.shoot();
    let gone = studio.adm(&["bootstrap", "destroy", "sandbox", "--yes", "sandbox"])?.run();
    result?;
    let _gone = gone?.success()?;
    Ok(())
}

/// Where pictures are made.
struct Studio<'a> {
    env: &'a Env,
    root: PathBuf,
    program: PathBuf,
}

impl<'a> Studio<'a> {
    fn new(env: &'a Env) -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("no repository")?.to_owned();
        let this = std::env::current_exe()?;
        let program = this.with_file_name("butleradm");
        ensure!(program.exists(), "{} is missing: run `make screens`", program.display());
        let tools = env.work_dir().join("tools");
        fs::create_dir(&tools)?;
        for name in PARTS {
            symlink(part(name)?, tools.join(name))?;
        }
        Ok(Self { env, root, program })
    }

    fn adm(&self, args: &[&str]) -> Result<Invocation> {
        let tools = self.env.work_dir().join("tools");
        let command = self.env.command(&self.program).args(args).env("BUTLER_TOOLS_DIR", tools);
        Ok(command.env_remove("BUTLER_CLOCK").timeout(LIMIT))
    }

    /// Keeps what is on the screen.
    fn keep(&self, name: &str, pty: &Pty) -> Result<()> {
        let dir = self.root.join("docs/screens");
        fs::create_dir_all(&dir)?;
        let lines: String = pty.screen().lines().map(|line| line.trim_end().to_owned() + "\n").collect();
        Ok(fs::write(dir.join(format!("{name}.txt")), lines)?)
    }

    fn shoot(&self) -> Result<()> {
        let config = self.root.join("examples/sandbox.yaml").display().to_string();
        let mut pty = self.adm(&["bootstrap", "--config", &config, "--tui"])?.pty(120, 40)?;
        pty.wait_until("a machine", LIMIT, |screen| {
            screen.contains("BootstrappingCluster") && screen.contains("sandbox-cp-0")
        })?;
        self.keep("run-120x40", &pty)?;
        pty.resize(80, 24)?;
        pty.wait_for("detach", LIMIT)?;
        self.keep("run-80x24", &pty)?;
        pty.resize(120, 40)?;
        pty.wait_for("✓ Succeeded", LIMIT)?;
        self.keep("run-done-120x40", &pty)?;
        pty.send("q")?;
        ensure!(pty.wait(LIMIT)?.success(), "{}", pty.screen());

        let kubeconfig = self.env.butler_home().join("sandbox-kubeconfig").display().to_string();
        let manifest = self.root.join("examples/manifests/minimal.yaml");
        let kubectl = self.env.command(part("kubectl")?).args(["apply", "-f"]).arg(manifest);
        let _done = kubectl.env("KUBECONFIG", &kubeconfig).timeout(LIMIT).run()?.success()?;
        let mut pty = self.adm(&["tui", "--kubeconfig", &kubeconfig])?.pty(120, 40)?;
        pty.wait_until("the platform", LIMIT, |screen| {
            screen.contains("nodes ready") && screen.contains("in all")
        })?;
        self.keep("overview-120x40", &pty)?;
        pty.send("2")?;
        pty.wait_for("hello", LIMIT)?;
        self.keep("clusters-120x40", &pty)?;
        pty.send("\r")?;
        pty.wait_for("Phase", LIMIT)?;
        self.keep("cluster-120x40", &pty)?;
        pty.resize(80, 24)?;
        pty.send("\x1b")?;
        pty.wait_for("Tenant clusters", LIMIT)?;
        self.keep("clusters-80x24", &pty)?;
        pty.send("1")?;
        pty.wait_for("Capacity", LIMIT)?;
        self.keep("overview-80x24", &pty)?;
        pty.send("?")?;
        pty.wait_for("Help", LIMIT)?;
        self.keep("help-80x24", &pty)?;
        pty.send("\x1bq")?;
        pty.wait(LIMIT)?;
        Ok(())
    }
}
