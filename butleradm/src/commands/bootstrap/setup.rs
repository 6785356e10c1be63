//! From a configuration to what a run works with.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use butler_core::{
    api::{cluster_bootstrap::BootstrapAddons, common::ProviderKind},
    bootstrap::{
        addons::{AddonAction, AddonInput, AddonStep, ChartSource, plan_addons},
        config::{self, Config, KindConfig, ProviderSettings, RuntimeKind, Source},
        objects,
        run::{RunDir, RunFacts},
    },
    error::Code,
    event::Reporter,
    redact::Secret,
    settings::{Home, env},
};
use butler_operator::{
    addons::{HelmInstaller, Mirror},
    bootstrap::{BootstrapError, Engine, Machines, Started},
    driver::registry,
    keyring::ProgramKeyring,
    parts::{self, Parts},
    process::Guard,
    runtime::{
        KindRuntime, KindRuntimeOptions, ProcessRuntime, ProcessRuntimeOptions, Runtime, RuntimeError,
    },
};
use butler_term::{CommandError, CommandResult, run::Session};

/// Everything around a run that does not depend on how far it is.
#[derive(Debug)]
pub(super) struct Setup<'a> {
    session: &'a Session,
    pub(super) home: Home,
    pub(super) machines: Machines,
    parts: Arc<Parts>,
    guard: Guard,
}

impl<'a> Setup<'a> {
    /// Looks up the secrets of the configuration; one that is not there ends it.
    pub(super) fn new(config: &Config, session: &'a Session) -> CommandResult<Self> {
        let home = Home::resolve(&session.environment)?;
        let parts = Arc::new(Parts::new(&session.environment, &home).with_settings(session.settings()?));
        let program = std::env::current_exe().map_err(|error| {
            CommandError::new(Code::Internal, "cannot tell where this program is").caused_by(&error)
        })?;
        let machines = Machines {
            home: home.clone(),
            program,
            parts: parts.clone(),
            secrets: secrets(config, session)?,
            connect: Arc::new(registry::connect),
        };
        let guard = Guard::start(&session.environment)?;
        Ok(Self { session, home, machines, parts, guard })
    }

    /// The temporary control plane of a run.
    pub(super) fn runtime(&self, config: &Config, dir: &RunDir) -> Result<Arc<dyn Runtime>, RuntimeError> {
        let (parts, guard) = (self.parts.clone(), self.guard.clone());
        let (place, id) = (dir.temporary(), dir.id().clone());
        Ok(match config.bootstrap_cluster.runtime {
            RuntimeKind::Process => {
                Arc::new(ProcessRuntime::new(ProcessRuntimeOptions { dir: place, parts, guard }))
            }
            RuntimeKind::Kind => {
                let environment = &self.session.environment;
                let options = KindRuntimeOptions::of(config, place, id, parts, environment, &self.home)?;
                Arc::new(KindRuntime::new(options))
            }
        })
    }

    /// The engine of a run. Programs that are missing are installed first.
    pub(super) async fn engine(
        &self,
        config: Config,
        started: &Started,
        timeout: Option<Duration>,
        keep_temporary: bool,
        reporter: &Reporter,
    ) -> Result<Engine, BootstrapError> {
        let dir = started.dir.clone();
        let wanted = match config.bootstrap_cluster.runtime {
            RuntimeKind::Process => vec![&parts::ETCD, &parts::KUBE_APISERVER, &parts::HELM],
            RuntimeKind::Kind => vec![&parts::KIND, &parts::HELM],
        };
        let found = self.parts.install(&wanted, reporter).await?;
        let helm = found.into_iter().last().map(|installed| installed.found.path).unwrap_or_default();
        let base = std::env::current_dir().unwrap_or_default();
        let mirror = config.charts.mirror.as_deref().map(|mirror| Mirror::parse(mirror, &base));
        let addons = addons(&config, mirror.as_ref(), dir.id().as_str());
        let environment = &self.session.environment;
        let installer = HelmInstaller::new(helm, self.guard.clone(), &dir.work(), mirror, environment)?;
        Ok(Engine {
            runtime: self.runtime(&config, &dir)?,
            machines: self.machines.clone(),
            ledger: started.ledger.clone(),
            installer: Arc::new(installer),
            addons,
            keep_temporary,
            timeout,
            config,
            dir,
        })
    }
}

/// The addons of a configuration, with what only a run knows.
pub(super) fn addons(config: &Config, mirror: Option<&Mirror>, owner: &str) -> Vec<AddonStep> {
    let input = AddonInput {
        bootstrap: objects::cluster_bootstrap(config).spec,
        provider: objects::provider_config(config, &objects::provider_name(config)).spec,
        multi_tenancy: config.multi_tenancy_mode.clone(),
        network_pool: config.network_pool.as_ref().map(|pool| (pool.name.clone(), pool.spec.clone())),
        offered: mirror.map(Mirror::offered).unwrap_or_default(),
    };
    let mut steps = plan_addons(&input);
    for step in &mut steps {
        if let AddonAction::Chart(release) = &mut step.action
            && release.source == ChartSource::Embedded
        {
            // The machines carry the mark of the run that made them.
            release.values["owner"] = owner.into();
        }
    }
    steps
}

fn secrets(config: &Config, session: &Session) -> CommandResult<BTreeMap<&'static str, Secret>> {
    let keyring = ProgramKeyring::new(&session.environment);
    let resolve = |(key, source): (&'static str, &config::SecretSource)| {
        Ok((key, source.resolve(&session.environment, &keyring)?))
    };
    config.provider.secrets().into_iter().map(resolve).collect()
}

/// Reads the configuration of an earlier run again.
pub(super) fn reread(dir: &RunDir, facts: &RunFacts, session: &Session) -> CommandResult<Config> {
    let path = dir.config();
    let text = std::fs::read_to_string(&path).map_err(|error| {
        CommandError::new(Code::FileUnreadable, format!("cannot read `{}`", path.display())).caused_by(&error)
    })?;
    let home = session.environment.path(env::HOME);
    let source = Source {
        name: &path.display().to_string(),
        text: &text,
        directory: Path::new(&facts.directory),
        home: home.as_deref(),
        shared: None,
    };
    let provider = ProviderKind::from(facts.provider.as_str());
    let mut config = config::read(&source, (!facts.rehearsal).then_some(&provider))?.config;
    if facts.rehearsal {
        config = rehearsal(config);
    }
    config.bootstrap_cluster.runtime = match facts.runtime.as_str() {
        "process" => RuntimeKind::Process,
        _ => RuntimeKind::Kind,
    };
    Ok(config)
}

/// The same cluster on simulated machines. They have loopback addresses, so the shared address of the
/// real network gives way to a load balancer; addons come along where a mirror has their charts, because
/// nothing outside is asked.
pub(super) fn rehearsal(mut config: Config) -> Config {
    if config.charts.mirror.is_none() {
        config.addons = BootstrapAddons::default();
    }
    let name = format!("rehearsal-{}", config.cluster.name);
    config.provider = ProviderSettings::Sandbox(config::SandboxConfig { name: Some(name) });
    config.network.vip = None;
    config.network.load_balancer_pool = None;
    config.bootstrap_cluster.runtime = RuntimeKind::Process;
    config.bootstrap_cluster.kind = KindConfig::default();
    config
}
