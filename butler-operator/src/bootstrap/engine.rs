//! One run, from a configuration to a management cluster.

use std::{path::PathBuf, sync::Arc, time::Duration};

use butler_core::{
    api::{ClusterBootstrap, names::namespaces},
    bootstrap::{
        addons::{AddonStep, set_addresses},
        config::{Config, ProviderSettings},
        plan::{answers, provider_balancer},
        run::{RunDir, steps},
    },
    cluster::{ApiError, crds},
    event::{Reporter, SecretFile},
    redact::Secret,
    settings::home::{make_private_dir, write_private},
};
use fs_err as fs;
use jiff::Timestamp;
use kube::{Api, Client, config::Kubeconfig};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    BootstrapError, Machines,
    console::{Console, console},
    destroy::remove_path,
    follow::{Follower, Position},
    look::VIP_LIMIT,
    objects,
    recorded::recorded,
    stall::{diagnose::Files, evidence::Witnesses, patiently},
};
use crate::{
    addons::Installer,
    controller::{self, Timing, Workbench},
    ledger::Ledger,
    runtime::{Runtime, TemporaryCluster},
    sandbox::supervisor::{ManagementCluster, manage},
    talos::{secrets::SecretsBundle, talosconfig::Talosconfig},
};

/// The snapshot of etcd that a run begins from, among its secrets.
pub const SNAPSHOT: &str = "etcd-snapshot.db";
/// The network that the sandbox had, if it was one.
pub const NETWORK: &str = "sandbox-network.json";
/// How long definitions may take to be served.
const DEFINITIONS_LIMIT: Duration = Duration::from_secs(60);
/// The longest pause between tries: a person waits.
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// A run, ready to go.
#[derive(Debug)]
pub struct Engine {
    /// What is to be made.
    pub config: Config,
    /// The run's directory.
    pub dir: RunDir,
    /// Where its effects are written down.
    pub ledger: Ledger,
    /// Where machines come from.
    pub machines: Machines,
    /// The temporary control plane.
    pub runtime: Arc<dyn Runtime>,
    /// Installs addons.
    pub installer: Arc<dyn Installer>,
    /// What is installed.
    pub addons: Vec<AddonStep>,
    /// A snapshot that etcd begins from, where the cluster is made from a backup.
    pub recover: Option<PathBuf>,
    /// Leave the temporary control plane behind.
    pub keep_temporary: bool,
    /// A last resort: how long the whole may take.
    pub timeout: Option<Duration>,
    /// After how long without progress the reason is looked for and told.
    pub stall_after: Duration,
}

/// What a run made.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Made {
    /// The cluster.
    pub cluster: String,
    /// Where its API is.
    pub endpoint: String,
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    /// The administrator's talosconfig; none without Talos.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub talosconfig: Option<PathBuf>,
    /// Addresses of the control planes.
    pub control_planes: Vec<String>,
    /// Where the console is, if it was installed and its address is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub console: Option<String>,
    /// Commands that lead to the console and to the password of its `admin`, if it was installed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub console_commands: Vec<String>,
}

impl Engine {
    /// Brings the run to its end. May be repeated after any interruption.
    pub async fn run(&self, reporter: &Reporter) -> Result<Made, BootstrapError> {
        let position = std::sync::Mutex::default();
        let work = async {
            tokio::select! {
                biased;
                error = self.ledger.failure() => Err(error.into()),
                result = self.work(reporter, &position) => result,
            }
        };
        let Some(limit) = self.timeout else { return work.await };
        match tokio::time::timeout(limit, work).await {
            Ok(result) => result,
            Err(_) => {
                let Position { phase, message } =
                    position.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
                let (cluster, run) = (self.config.cluster.name.clone(), self.dir.id().clone());
                Err(BootstrapError::Timeout { cluster, run, limit, phase, message })
            }
        }
    }

    async fn work(
        &self,
        reporter: &Reporter,
        position: &std::sync::Mutex<Position>,
    ) -> Result<Made, BootstrapError> {
        let enter = |phase: &str| {
            let mut position = position.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            *position = Position { phase: phase.to_owned(), message: String::new() };
            phase.to_owned()
        };
        let checked = async {
            self.machines.host(&self.config, self.remembered(), &self.ledger, reporter).await?;
            self.check(reporter).await?;
            self.talos_secrets()
        };
        let talos = reporter.phase(&enter("CheckingTheWorld"), checked).await?;
        let temporary = reporter.phase(&enter("StartingTemporaryCluster"), self.temporary(reporter)).await?;
        let client = client(&temporary).await?;
        let (config, addons) = &self.settle(reporter).await?;
        let definitions = async {
            let names = crds::apply(&client, false).await?;
            crds::established(&client, &names, DEFINITIONS_LIMIT).await?;
            Ok::<_, BootstrapError>(())
        };
        reporter.phase(&enter("DeployingCRDs"), definitions).await?;
        let kubeconfig = match self.config.provider {
            ProviderSettings::Local(_) => Some(read(&temporary.kubeconfig)?),
            _ => None,
        };
        let written = objects::write(&client, config, &self.machines, &talos, kubeconfig.as_ref(), reporter);
        reporter.phase(&enter("CreatingBootstrap"), written).await?;

        let bootstrap = self.controllers(&client, &temporary, &talos, addons, reporter, position).await?;
        let saved = self.save(&client, &bootstrap, &talos, kubeconfig);
        let made = reporter.phase(&enter("SavingCredentials"), saved).await?;
        if let Some(place) = self.machines.place(&self.config) {
            // Simulated machines run no containers, so the host runs our controllers in their place.
            let work = async {
                let kubeconfig = read(&made.kubeconfig)?;
                write_private(&place.kubeconfig(), kubeconfig.expose().as_bytes())?;
                let cluster = ManagementCluster { owner: self.dir.id().to_string() };
                Ok::<_, BootstrapError>(manage(&place, &cluster).await?)
            };
            reporter.phase(&enter("StartingControllers"), work).await?;
        }
        let keep = self.keep_temporary || matches!(self.config.provider, ProviderSettings::Local(_));
        if !keep {
            let remove = async { Ok::<_, BootstrapError>(self.runtime.remove(reporter).await?) };
            let removed = self.ledger.effect(steps::REMOVE_TEMPORARY, json!({}), remove, |()| json!({}));
            reporter.phase(&enter("RemovingTemporaryCluster"), removed).await?;
        }
        if let Some(snapshot) = &self.recover {
            // The cluster has it now, and it holds every secret of it.
            remove_path(snapshot)?;
        }
        Ok(made)
    }

    /// The network of the sandbox that was backed up.
    fn remembered(&self) -> Option<PathBuf> {
        self.recover.as_ref().map(|_| self.dir.secret(NETWORK)).filter(|path| path.exists())
    }

    /// Looks for what would keep the run from its end, before anything is made.
    async fn check(&self, reporter: &Reporter) -> Result<(), BootstrapError> {
        self.runtime.check().await?;
        if matches!(self.config.provider, ProviderSettings::Local(_)) {
            return Ok(());
        }
        let driver = self.machines.driver(&self.config)?;
        let bootstrap = butler_core::bootstrap::objects::cluster_bootstrap(&self.config);
        let wanted = controller::machine_names(&bootstrap);
        let owner = self.dir.id().as_str();
        let list = async || driver.list(None).await;
        let taken = patiently(reporter, self.stall_after, "list machines", list).await?;
        let foreign = |machine: &&crate::driver::Machine| {
            wanted.contains(&machine.name) && machine.ownership.owner != owner
        };
        if let Some(machine) = taken.iter().find(foreign) {
            return Err(BootstrapError::NameTaken { what: "machine", name: machine.name.clone() });
        }
        if let Some((name, api)) = provider_balancer(&self.config).zip(driver.load_balancers()) {
            let list = async || api.list(None).await;
            let all = patiently(reporter, self.stall_after, "list load balancers", list).await?;
            if all.iter().any(|balancer| balancer.name == name && balancer.ownership.owner != owner) {
                return Err(BootstrapError::NameTaken { what: "load balancer", name: name.to_owned() });
            }
        }
        let is_new = !taken.iter().any(|machine| machine.ownership.owner == owner);
        if let Some(vip) = self.config.network.vip.filter(|_| is_new)
            && answers((vip, 6443).into(), VIP_LIMIT).await
        {
            return Err(BootstrapError::VipAnswers { address: format!("{vip}:6443") });
        }
        Ok(())
    }

    /// The Talos secrets: made once for the run and kept in a file, so that every temporary control plane
    /// gets the same.
    fn talos_secrets(&self) -> Result<Secret, BootstrapError> {
        let path = self.dir.secret("talos.yaml");
        if path.exists() {
            return read(&path);
        }
        if self.dir.state()?.has_announced("talos/configure/") {
            // Machines trust what they were configured with, and nothing that is made now.
            return Err(BootstrapError::SecretsLost { run: self.dir.id().clone(), path });
        }
        make_private_dir(path.parent().unwrap_or(self.dir.path()))?;
        let text = SecretsBundle::generate(Timestamp::now())?.to_yaml()?;
        let bytes = text.expose().as_bytes().to_vec();
        let file = SecretFile::store(&path, &bytes.into())?;
        let data = serde_json::to_value(&file).unwrap_or_default();
        self.ledger
            .append(butler_core::event::EventKind::Result { step: steps::SECRETS.to_owned(), data })?;
        Ok(text)
    }

    async fn temporary(&self, reporter: &Reporter) -> Result<TemporaryCluster, BootstrapError> {
        let intent = json!({ "runtime": self.runtime.kind().as_str() });
        let work = async { Ok::<_, BootstrapError>(self.runtime.ensure(reporter).await?) };
        let made = |cluster: &TemporaryCluster| json!({ "reused": cluster.reused });
        self.ledger.effect(steps::TEMPORARY, intent, work, made).await
    }

    /// What is made and installed, with what only the temporary control plane tells: the addresses for load
    /// balancers of a cluster that lives in its network.
    async fn settle(&self, reporter: &Reporter) -> Result<(Config, Vec<AddonStep>), BootstrapError> {
        let (mut config, mut addons) = (self.config.clone(), self.addons.clone());
        let is_local = matches!(config.provider, ProviderSettings::Local(_));
        if is_local && config.network.load_balancer_pool.is_none() {
            config.network.load_balancer_pool = self.runtime.load_balancer_pool(reporter).await?;
            if let Some((first, last)) = config.network.load_balancer_pool {
                set_addresses(&mut addons, first, last);
            }
        }
        Ok((config, addons))
    }

    /// Runs the controllers until the ClusterBootstrap is at its end.
    async fn controllers(
        &self,
        client: &Client,
        temporary: &TemporaryCluster,
        talos: &Secret,
        addons: &[AddonStep],
        reporter: &Reporter,
        position: &std::sync::Mutex<Position>,
    ) -> Result<ClusterBootstrap, BootstrapError> {
        let bench = Workbench {
            ledger: self.ledger.clone(),
            installer: self.installer.clone(),
            addons: addons.to_vec(),
            credentials: Arc::new(self.machines.credentials(&self.config)),
            work: self.dir.work(),
            recover: self.recover.clone(),
        };
        let options = controller::Options {
            controllers: Vec::new(),
            metrics: None,
            election: None,
            identity: controller::identity(),
            owner: Some(self.dir.id().to_string()),
            connect: recorded(self.machines.connect.clone(), self.ledger.clone()),
            timing: Timing { pending: Duration::from_secs(1), retry: LONGEST_RETRY, ..Timing::default() },
            bootstrap: Some(Arc::new(bench)),
        };
        let service = controller::Service::new(client.clone(), options).await?;
        let stop = CancellationToken::new();
        let cluster = &self.config.cluster.name;
        let bootstraps: Api<ClusterBootstrap> = Api::namespaced(client.clone(), namespaces::SYSTEM);
        let witnesses = Witnesses {
            client: client.clone(),
            // Nothing is asked of it that has an effect, so nothing is written down.
            driver: self.machines.driver(&self.config).ok(),
            talos: talos.clone(),
            owner: self.dir.id().to_string(),
            files: Files {
                run: self.dir.id().to_string(),
                temporary: temporary.kubeconfig.clone(),
                kubeconfig: self.dir.work().join("kubeconfig"),
                talosconfig: self.dir.work().join("talosconfig"),
            },
        };
        let (run, after) = (self.dir.id().clone(), self.stall_after);
        let follower = Follower::new(reporter, run, self.addons.len(), position, after, witnesses);
        let mut running = std::pin::pin!(service.run(stop.clone()));
        let followed = tokio::select! {
            followed = follower.follow(bootstraps, cluster) => followed,
            // It ends only when it is told to.
            () = &mut running => std::future::pending().await,
        };
        stop.cancel();
        running.await;
        followed
    }

    /// Writes the files for the person.
    async fn save(
        &self,
        client: &Client,
        bootstrap: &ClusterBootstrap,
        talos: &Secret,
        local: Option<Secret>,
    ) -> Result<Made, BootstrapError> {
        let cluster = &self.config.cluster.name;
        let is_local = local.is_some();
        let kubeconfig = match local {
            Some(kubeconfig) => kubeconfig,
            None => controller::kubeconfig(client, bootstrap).await?,
        };
        let status = bootstrap.status.clone().unwrap_or_default();
        let control_planes: Vec<String> = status
            .machines
            .iter()
            .filter(|machine| machine.role == butler_core::api::common::MachineRole::ControlPlane)
            .filter_map(|machine| machine.ip_address.clone())
            .collect();
        let home = self.machines.home.dir();
        let Console { url, commands } = console(&self.config, &self.addons);
        let made = Made {
            cluster: cluster.clone(),
            endpoint: status.control_plane_endpoint.unwrap_or_default(),
            kubeconfig: home.join(format!("{cluster}-kubeconfig")),
            talosconfig: (!is_local).then(|| home.join(format!("{cluster}-talosconfig"))),
            control_planes,
            console: url,
            console_commands: commands,
        };
        let work = async {
            write_private(&made.kubeconfig, kubeconfig.expose().as_bytes())?;
            if let Some(path) = &made.talosconfig {
                let bundle = SecretsBundle::from_yaml(talos)?;
                let endpoints = made.control_planes.clone();
                let mut config = Talosconfig::admin(cluster, &bundle, endpoints, Timestamp::now())?;
                if let Some(context) = config.contexts.get_mut(cluster) {
                    context.nodes.clone_from(&made.control_planes);
                }
                write_private(path, config.to_yaml()?.expose().as_bytes())?;
            }
            Ok::<_, BootstrapError>(())
        };
        let intent = json!({ "kubeconfig": made.kubeconfig, "talosconfig": made.talosconfig });
        self.ledger.effect(steps::CREDENTIALS, intent, work, |()| json!({})).await?;
        Ok(made)
    }
}

fn read(path: &std::path::Path) -> Result<Secret, BootstrapError> {
    let text = fs::read_to_string(path);
    text.map(Secret::from).map_err(|source| BootstrapError::File { path: path.to_owned(), source })
}

async fn client(temporary: &TemporaryCluster) -> Result<Client, BootstrapError> {
    let kubeconfig = Kubeconfig::read_from(&temporary.kubeconfig).map_err(BootstrapError::Kubeconfig)?;
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default())
        .await
        .map_err(BootstrapError::Kubeconfig)?;
    // It is on this machine, whatever the environment says of proxies.
    config.proxy_url = None;
    Ok(Client::try_from(config).map_err(|error| ApiError::new("make a client", error))?)
}
