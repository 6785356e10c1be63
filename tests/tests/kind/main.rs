//! The real `kind` on a real container engine; run by `make test-kind` alone.
//!
//! What needs a cluster of containers is a file here, and begins with [`Engine::find`]: without an engine
//! every test fails and says why.

mod bootstrap;
mod chart;
mod image;
mod lab;
mod local;
mod refuses;
mod runtime;

use std::{
    fmt,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use butler_core::{
    event::{Reporter, RunId},
    settings::{Environment, env},
};
use butler_operator::{
    plane,
    process::Guard,
    runtime::{KindRuntime, KindRuntimeOptions, Runtime, TemporaryCluster},
};
use jiff::Timestamp;
use kube::Client;

/// For a machine that is busy; on an idle one nothing takes half a minute.
const LIMIT: Duration = Duration::from_secs(180);

/// The container engine of this computer, and the node image to use.
struct Engine {
    environment: Environment,
    image: String,
}

impl Engine {
    /// Finds the engine and says so.
    fn find() -> Result<Self> {
        let environment = Environment::capture();
        let image = environment
            .get("BUTLER_KIND_IMAGE")
            .context("BUTLER_KIND_IMAGE names no node image: run `make test-kind`")?;
        let engine = Self { image: image.to_owned(), environment: environment.clone() };
        let version = engine
            .docker(&["version", "--format", "{{.Server.Version}}"])
            .context("there is no container engine")?;
        engine.docker(&["image", "inspect", image]).context("there is no node image")?;
        let host = environment.get("DOCKER_HOST").unwrap_or("its usual place");
        say(format_args!("container engine found: {} at {host}, node image {image}", version.trim()));
        Ok(engine)
    }

    /// Runs the engine's program.
    fn docker(&self, args: &[&str]) -> Result<String> {
        said(Command::new("docker").args(args))
    }

    /// What a runtime is to make, in a directory of `home`.
    fn options(&self, home: &Path, name: &str) -> Result<KindRuntimeOptions> {
        // Nobody's kubeconfig is in reach.
        let vars = self.environment.vars().filter(|(name, _)| *name != env::HOME && *name != env::KUBECONFIG);
        let environment = Environment::of(vars.chain([(env::HOME.as_ref(), home.as_os_str())]));
        Ok(KindRuntimeOptions {
            dir: home.join(name),
            run: RunId::new(Timestamp::now()),
            name: format!("butler-test-{}-{name}", std::process::id()),
            image: Some(self.image.clone()),
            name_servers: Vec::new(),
            certificates: Vec::new(),
            host_aliases: Vec::new(),
            endpoint_host: None,
            local: None,
            parts: Arc::new(butler_tests::parts()?),
            guard: Guard::start(&environment)?,
            environment,
        })
    }

    /// `butleradm`, built for release.
    fn program(&self) -> Result<PathBuf> {
        let program = self.environment.path("BUTLER_TEST_BUTLERADM");
        program.context("BUTLER_TEST_BUTLERADM names no program: run `make test-kind`")
    }

    /// Where charts and manifests of addons are.
    fn mirror(&self) -> Result<PathBuf> {
        let mirror = self.environment.path("BUTLER_KIND_MIRROR");
        mirror.context("BUTLER_KIND_MIRROR names no directory: run `make test-kind`")
    }

    /// A cluster for one test.
    async fn cluster(&self, home: &Path, name: &str) -> Result<Cluster> {
        let options = self.options(home, name)?;
        let (name, runtime) = (options.name.clone(), KindRuntime::new(options));
        let _gone = Gone { name: name.clone() };
        let TemporaryCluster { kubeconfig, .. } = runtime.ensure(&Reporter::null()).await?;
        let client = plane::client(&kubeconfig).await?;
        Ok(Cluster { name, kubeconfig, client, _gone })
    }
}

/// A running cluster; gone with this value.
struct Cluster {
    name: String,
    kubeconfig: PathBuf,
    client: Client,
    _gone: Gone,
}

impl Cluster {
    /// Runs helm on the cluster.
    fn helm(&self, args: &[&str]) -> Result<String> {
        said(Command::new(butler_tests::part("helm")?).args(args).env(env::KUBECONFIG, &self.kubeconfig))
    }
}

/// Puts images of the engine into a cluster.
fn load(cluster: &str, images: &[&str]) -> Result<()> {
    let mut kind = Command::new(butler_tests::part("kind")?);
    said(kind.args(["load", "docker-image", "--name", cluster]).args(images))?;
    Ok(())
}

/// Deletes a cluster also when a test fails half way.
struct Gone {
    name: String,
}

impl Gone {
    fn delete(&self) -> Result<()> {
        let mut kind = Command::new(butler_tests::part("kind")?);
        said(kind.args(["delete", "cluster", "--name", &self.name, "--kubeconfig", "/dev/null"]))?;
        Ok(())
    }
}

impl Drop for Gone {
    fn drop(&mut self) {
        // There is nobody left to tell.
        let _ = self.delete();
    }
}

/// Tells whoever runs the tests, also when they pass.
fn say(text: fmt::Arguments<'_>) {
    // A stderr that is closed keeps no test from its work.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// What a program said that ended well.
fn said(command: &mut Command) -> Result<String> {
    let Output { status, stdout, stderr } = command.output()?;
    if !status.success() {
        bail!("{command:?} failed ({status}): {}", String::from_utf8_lossy(&stderr));
    }
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}
