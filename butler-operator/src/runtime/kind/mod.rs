//! The temporary control plane in containers: the real `kind` on a container engine.
//!
//! | file | holds |
//! |---|---|
//! | `owner` | the run; mounted into the node, so that the engine itself knows whose it is |
//! | `kind.json` | what `kind` was given |
//! | `made` | there once `kind` has finished |
//! | `kubeconfig` | an administrator's way in (0600); no other kubeconfig is ever touched |
//!
//! - [`engine`]: the container engine; [`program`]: how it and `kind` are run
//! - [`config`]: what `kind` is given; [`certificates`]: whom the node trusts
//! - [`node`]: what is done in a node that runs; [`dns`]: what it resolves
//! - [`pool`]: addresses for load balancers on the engine's network

mod certificates;
mod config;
mod dns;
mod engine;
mod node;
mod pool;
mod program;

use std::{
    fs::Permissions,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use butler_core::{
    bootstrap::config::{Config, ProviderSettings, RuntimeKind},
    event::{EventKind, Reporter, RunId},
    settings::{
        Environment, Home,
        home::{make_private_dir, write_private},
    },
};
use fs_err as fs;

pub use certificates::{BUTLER_CA_CERT_PATH, ca_files};
pub use dns::HostAlias;
pub use pool::load_balancer_pool;

use self::{
    config::{ClusterConfig, Wanted},
    engine::{Container, Engine},
    program::Program,
};
use super::{Runtime, RuntimeError, TemporaryCluster};
use crate::{
    parts::{self, Parts},
    plane,
    process::{Guard, free_mib, listeners},
};

/// The name that everybody's temporary cluster has had so far.
pub const DEFAULT_NAME: &str = "butler-bootstrap";
/// Space for the file system of a node.
const NEEDED_MIB: u64 = 2048;
/// Pulling the image is most of it.
const CREATE_LIMIT: Duration = Duration::from_secs(900);
const DELETE_LIMIT: Duration = Duration::from_secs(120);
const EXPORT_LIMIT: Duration = Duration::from_secs(30);
/// How long the API server of a node that was there may take.
const READY_LIMIT: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Who speaks in events.
const TARGET: &str = "kind";

/// What a [`KindRuntime`] needs.
#[derive(Clone, Debug)]
pub struct KindRuntimeOptions {
    /// A directory of its own in the run's; made when it is missing, gone after [`Runtime::remove`].
    pub dir: PathBuf,
    /// The run that the cluster belongs to.
    pub run: RunId,
    /// Its name; that of the node is `<name>-control-plane`.
    pub name: String,
    /// The node image; the one that `kind` prefers when not given.
    pub image: Option<String>,
    /// Name servers besides those of the node.
    pub name_servers: Vec<IpAddr>,
    /// Certificates of authorities to trust, see [`ca_files`].
    pub certificates: Vec<PathBuf>,
    /// Names that it resolves itself.
    pub host_aliases: Vec<HostAlias>,
    /// The host of the provider's endpoint: this computer may resolve it where a container cannot.
    pub endpoint_host: Option<String>,
    /// Set when the cluster is to become the management cluster itself.
    pub local: Option<LocalOptions>,
    /// Where `kind` is looked for; nothing is installed.
    pub parts: Arc<Parts>,
    /// Where the engine is looked for, and what it is told.
    pub environment: Environment,
    /// Ends the engine's programs and `kind` with this process.
    pub guard: Guard,
}

/// What a cluster has that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalOptions {
    /// Port of this computer at which the console answers.
    pub console_port: u16,
}

/// The name of the cluster that a configuration means: [`DEFAULT_NAME`], or for `local` its own.
pub fn cluster_name(config: &Config) -> &str {
    match config.provider {
        ProviderSettings::Local(_) => &config.cluster.name,
        _ => DEFAULT_NAME,
    }
}

/// Whether the container engine has a cluster of that name, whoever made it. Only looks.
pub async fn exists(name: &str, environment: &Environment) -> Result<bool, RuntimeError> {
    // Ends the engine's program with us, should it hang.
    let guard = Guard::start(environment)?;
    let engine = Engine::find(environment, &guard)?;
    engine.check().await?;
    Ok(!engine.containers(name).await?.is_empty())
}

impl KindRuntimeOptions {
    /// What a configuration asks for, under [`cluster_name`].
    pub fn of(
        config: &Config,
        dir: PathBuf,
        run: RunId,
        parts: Arc<Parts>,
        environment: &Environment,
        home: &Home,
        guard: Guard,
    ) -> Result<Self, RuntimeError> {
        let (aliases, endpoint): (&[String], _) = match &config.provider {
            ProviderSettings::Nutanix(config) => (&config.host_aliases, Some(&config.settings.endpoint)),
            ProviderSettings::Proxmox(config) => (&config.host_aliases, Some(&config.settings.endpoint)),
            _ => (&[], None),
        };
        let local = match &config.provider {
            ProviderSettings::Local(local) => Some(LocalOptions { console_port: local.console_port }),
            _ => None,
        };
        let kind = &config.bootstrap_cluster.kind;
        Ok(Self {
            dir,
            run,
            name: cluster_name(config).to_owned(),
            image: kind.image.clone(),
            name_servers: kind.name_servers.clone(),
            certificates: ca_files(environment, home)?,
            host_aliases: aliases.iter().map(|alias| alias.parse()).collect::<Result<_, _>>()?,
            endpoint_host: endpoint.and_then(|endpoint| node::host_of(endpoint)),
            local,
            parts,
            environment: environment.clone(),
            guard,
        })
    }
}

/// A cluster of containers, made by `kind`.
#[derive(Debug)]
pub struct KindRuntime {
    options: KindRuntimeOptions,
}

/// The programs.
struct Tools {
    engine: Engine,
    kind: Program,
}

/// Whose cluster there is.
enum Found {
    Nothing,
    Ours(Vec<Container>),
}

impl KindRuntime {
    /// Starts nothing and touches nothing.
    pub fn new(mut options: KindRuntimeOptions) -> Self {
        options.dir = std::path::absolute(&options.dir).unwrap_or(options.dir);
        Self { options }
    }

    /// The name of the cluster.
    pub fn name(&self) -> &str {
        &self.options.name
    }

    /// Deletes the cluster, also one that is to stay, and looks whether it is gone. Idempotent; the cluster
    /// of another is left alone.
    pub async fn delete(&self, reporter: &Reporter) -> Result<(), RuntimeError> {
        if !self.options.dir.exists() {
            return Ok(());
        }
        let tools = self.tools().await?;
        let ours = match self.look(&tools.engine).await {
            // Ours is gone, and another run has made one of the same name.
            Err(RuntimeError::NotOurs { .. }) => false,
            found => matches!(found?, Found::Ours(_)),
        };
        if ours {
            reporter.emit(EventKind::info(TARGET, format!("deleting KIND cluster `{}`", self.name()))).await;
            self.delete_cluster(&tools).await?;
        }
        match fs::remove_dir_all(&self.options.dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(RuntimeError::system("remove the directory of the KIND cluster")(error))
            }
            _ => Ok(()),
        }
    }

    async fn tools(&self) -> Result<Tools, RuntimeError> {
        let KindRuntimeOptions { environment, guard, .. } = &self.options;
        let engine = Engine::find(environment, guard)?;
        engine.check().await?;
        let kind = self.options.parts.find(&parts::KIND).await?;
        let kind = engine.kind(kind.path, environment, guard);
        Ok(Tools { engine, kind })
    }

    /// Whose cluster there is; another's is an error.
    async fn look(&self, engine: &Engine) -> Result<Found, RuntimeError> {
        let containers = engine.containers(self.name()).await?;
        if containers.is_empty() {
            return Ok(Found::Nothing);
        }
        let owner = self.owner();
        if containers.iter().any(|container| container.has(&owner)) {
            return Ok(Found::Ours(containers));
        }
        let made_in = containers.iter().flat_map(|container| &container.mounts).find_map(|mount| {
            (mount.file_name()? == OWNER).then(|| mount.parent().map(Path::to_owned)).flatten()
        });
        Err(RuntimeError::NotOurs { name: self.name().to_owned(), made_in })
    }

    async fn delete_cluster(&self, tools: &Tools) -> Result<(), RuntimeError> {
        let kubeconfig = self.kubeconfig().display().to_string();
        let args = ["delete", "cluster", "--name", self.name(), "--kubeconfig", &kubeconfig];
        tools.kind.run(&args, DELETE_LIMIT).await?;
        let left = tools.engine.containers(self.name()).await?;
        if left.is_empty() {
            return Ok(());
        }
        let what = left.into_iter().map(|container| format!("container `{}`", container.name)).collect();
        Err(RuntimeError::Leftovers { what })
    }

    async fn create(&self, tools: &Tools, reporter: &Reporter) -> Result<(), RuntimeError> {
        let options = &self.options;
        remove_file(&self.made())?;
        let socket = match options.local {
            Some(_) => tools.engine.socket().await,
            None => None,
        };
        let owner = self.owner();
        let wanted = Wanted {
            run: options.run.as_str(),
            image: options.image.as_deref(),
            owner: &owner,
            certificates: &options.certificates,
            console_port: options.local.map(|local| local.console_port),
            socket: socket.as_deref(),
        };
        if let Some(image) = &options.image {
            tools.engine.image(image, CREATE_LIMIT, reporter).await?;
        }
        let file = self.file("kind.json");
        write_private(&file, ClusterConfig::new(&wanted).to_text().as_bytes())?;
        // Before anything exists: whatever is left of this attempt says whose it is.
        write_private(&owner, format!("{}\n", options.run).as_bytes())?;
        let message = format!("creating KIND cluster `{}` with {}", self.name(), tools.engine.name);
        reporter.emit(EventKind::info(TARGET, message)).await;
        let (file, kubeconfig) = (file.display().to_string(), self.kubeconfig().display().to_string());
        let mut args = vec!["create", "cluster", "--name", self.name(), "--config", &file];
        args.extend(["--kubeconfig", &kubeconfig]);
        if options.local.is_some() {
            // In a temporary cluster nothing but the API server is used, so nothing else is awaited.
            args.extend(["--wait", "180s"]);
        }
        tools.kind.run(&args, CREATE_LIMIT).await?;
        Ok(write_private(&self.made(), b"")?)
    }

    /// Brings a cluster that this run made back into use. False when it cannot be, and may be replaced.
    async fn revive(
        &self,
        tools: &Tools,
        containers: &[Container],
        reporter: &Reporter,
    ) -> Result<bool, RuntimeError> {
        if !self.made().exists() {
            let message = format!("KIND cluster `{}` was not finished; it is made anew", self.name());
            reporter.emit(EventKind::warning(TARGET, message)).await;
            return Ok(false);
        }
        let back = async {
            for container in containers.iter().filter(|container| !container.running) {
                tools.engine.start(&container.name).await?;
            }
            let kubeconfig = self.kubeconfig().display().to_string();
            let args = ["export", "kubeconfig", "--name", self.name(), "--kubeconfig", &kubeconfig];
            tools.kind.run(&args, EXPORT_LIMIT).await?;
            self.wait_ready().await
        };
        match back.await {
            Ok(()) => Ok(true),
            // It is somebody's management cluster by now.
            Err(error) if self.options.local.is_some() => Err(error),
            Err(error) => {
                let message = format!(
                    "KIND cluster `{}` does not answer any more ({error}); it is made anew",
                    self.name()
                );
                reporter.emit(EventKind::warning(TARGET, message)).await;
                Ok(false)
            }
        }
    }

    async fn wait_ready(&self) -> Result<(), RuntimeError> {
        let kubeconfig = self.kubeconfig();
        fs::set_permissions(&kubeconfig, Permissions::from_mode(0o600))
            .map_err(RuntimeError::system("make the kubeconfig private"))?;
        let client = plane::client(&kubeconfig).await?;
        let end = Instant::now() + READY_LIMIT;
        while !plane::ready(&client).await {
            if Instant::now() > end {
                return Err(RuntimeError::NotReady { name: self.name().to_owned(), limit: READY_LIMIT });
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    fn check_settings(&self) -> Result<(), RuntimeError> {
        let options = &self.options;
        let name = options.name.as_str();
        // What `kind` demands; the container's name is longer, and a host name.
        let good =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
        if !(1..=49).contains(&name.len()) || !name.bytes().all(good) || name.starts_with(['-', '.']) {
            return Err(RuntimeError::Settings {
                what: format!("the name `{name}` of the KIND cluster"),
                why: "it has up to 49 of a-z, 0-9, `-` and `.`".to_owned(),
            });
        }
        match options.name_servers.iter().find(|server| server.is_loopback() || server.is_unspecified()) {
            Some(server) => Err(RuntimeError::Settings {
                what: format!("the name server {server}"),
                why: "a container has another loopback than this computer".to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// The port of the console must be free, unless it is our own cluster that has it.
    fn check_port(&self) -> Result<(), RuntimeError> {
        let Some(LocalOptions { console_port }) = self.options.local else { return Ok(()) };
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), console_port);
        if TcpListener::bind(address).is_ok() {
            return Ok(());
        }
        let holder = listeners::who_has(address).unwrap_or_else(|| "another process".to_owned());
        Err(RuntimeError::PortTaken { address, holder })
    }

    async fn check_space(&self, engine: &Engine) -> Result<(), RuntimeError> {
        let Some(dir) = engine.data_dir().await else { return Ok(()) };
        match free_mib(&dir) {
            Some(free) if free < NEEDED_MIB => Err(RuntimeError::NoSpace { dir, free, needed: NEEDED_MIB }),
            // An engine elsewhere has its own disk.
            _ => Ok(()),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.options.dir.join(name)
    }

    /// As the engine names it: without links.
    fn owner(&self) -> PathBuf {
        fs::canonicalize(&self.options.dir).unwrap_or_else(|_| self.options.dir.clone()).join(OWNER)
    }

    fn made(&self) -> PathBuf {
        self.file("made")
    }

    fn kubeconfig(&self) -> PathBuf {
        self.file("kubeconfig")
    }
}

const OWNER: &str = "owner";

#[async_trait]
impl Runtime for KindRuntime {
    fn kind(&self) -> RuntimeKind {
        RuntimeKind::Kind
    }

    async fn check(&self) -> Result<(), RuntimeError> {
        self.check_settings()?;
        let tools = self.tools().await?;
        if let Found::Nothing = self.look(&tools.engine).await? {
            self.check_port()?;
            self.check_space(&tools.engine).await?;
        }
        Ok(())
    }

    async fn ensure(&self, reporter: &Reporter) -> Result<TemporaryCluster, RuntimeError> {
        self.check_settings()?;
        make_private_dir(&self.options.dir)?;
        fs::set_permissions(&self.options.dir, Permissions::from_mode(0o700))
            .map_err(RuntimeError::system("make the directory private"))?;
        let tools = self.tools().await?;
        let tried_before = self.owner().exists();
        let reused = match self.look(&tools.engine).await? {
            Found::Ours(containers) => {
                let revived = self.revive(&tools, &containers, reporter).await?;
                if !revived {
                    self.delete_cluster(&tools).await?;
                }
                revived
            }
            Found::Nothing => false,
        };
        if !reused {
            self.check_port()?;
            self.check_space(&tools.engine).await?;
            match self.create(&tools, reporter).await {
                // What an attempt that was cut off had asked of the engine may have come only now.
                Err(RuntimeError::Command { .. })
                    if tried_before && matches!(self.look(&tools.engine).await?, Found::Ours(_)) =>
                {
                    self.delete_cluster(&tools).await?;
                    self.create(&tools, reporter).await?;
                }
                made => made?,
            }
            self.wait_ready().await?;
        }
        self.furnish(&tools.engine, reporter).await;
        Ok(TemporaryCluster { kubeconfig: self.kubeconfig(), reused })
    }

    async fn load_balancer_pool(
        &self,
        reporter: &Reporter,
    ) -> Result<Option<(Ipv4Addr, Ipv4Addr)>, RuntimeError> {
        let KindRuntimeOptions { environment, guard, .. } = &self.options;
        let engine = Engine::find(environment, guard)?;
        let network = environment.get("KIND_EXPERIMENTAL_DOCKER_NETWORK").unwrap_or("kind");
        let found = engine.network(network).await.ok().and_then(|answer| load_balancer_pool(&answer));
        if found.is_none() {
            let (first, last) = pool::USUAL;
            let message = format!(
                "{} does not say which addresses its network `{network}` has; load balancers get {first} to {last}",
                engine.name
            );
            reporter.emit(EventKind::warning(TARGET, message)).await;
        }
        Ok(Some(found.unwrap_or(pool::USUAL)))
    }

    async fn destroy(&self, reporter: &Reporter) -> Result<(), RuntimeError> {
        self.delete(reporter).await
    }

    async fn remove(&self, reporter: &Reporter) -> Result<(), RuntimeError> {
        if self.options.local.is_some() {
            let message = format!("KIND cluster `{}` is the management cluster and stays", self.name());
            reporter.emit(EventKind::info(TARGET, message)).await;
            return Ok(());
        }
        self.delete(reporter).await
    }
}

fn remove_file(path: &Path) -> Result<(), RuntimeError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(RuntimeError::system(format!("remove `{}`", path.display()))(error))
        }
        _ => Ok(()),
    }
}
