//! From a configuration to what a run works with.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use butler_core::{
    api::common::ProviderKind,
    bootstrap::{
        addons::{AddonAction, AddonInput, AddonStep, ChartSource, plan_addons},
        config::{Config, RuntimeKind, SecretError},
        objects,
        run::RunDir,
    },
    error::Code,
    event::Reporter,
    redact::Secret,
    settings::{Environment, Home, env, keys::duration},
};
use butler_operator::{
    addons::{HelmInstaller, Mirror},
    bootstrap::{BootstrapError, Engine, Machines, SNAPSHOT, STALL_AFTER, Started, programs},
    driver::registry,
    keyring::ProgramKeyring,
    parts::{ETCDUTL, Parts},
    process::Guard,
    runtime::{
        KindRuntime, KindRuntimeOptions, ProcessRuntime, ProcessRuntimeOptions, Runtime, RuntimeError,
    },
};
use butler_term::{CommandError, CommandResult, run::Session};

/// Everything around a run that does not depend on how far it is.
#[derive(Debug)]
pub(in crate::commands) struct Setup<'a> {
    session: &'a Session,
    pub(super) home: Home,
    pub(in crate::commands) machines: Machines,
    parts: Arc<Parts>,
    guard: Guard,
}

impl<'a> Setup<'a> {
    /// Looks up the secrets of the configuration; one that is not there ends it.
    pub(in crate::commands) fn new(config: &Config, session: &'a Session) -> CommandResult<Self> {
        Self::with(secrets(config, session)?, session)
    }

    /// With these secrets.
    pub(super) fn with(secrets: BTreeMap<&'static str, Secret>, session: &'a Session) -> CommandResult<Self> {
        let home = Home::resolve(&session.environment)?;
        let parts = Arc::new(Parts::new(&session.environment, &home).with_settings(session.settings()?));
        let program = std::env::current_exe().map_err(|error| {
            CommandError::new(Code::Internal, "cannot tell where this program is").caused_by(&error)
        })?;
        let machines = machines(&home, program, parts.clone(), secrets);
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
                let options =
                    KindRuntimeOptions::of(config, place, id, parts, environment, &self.home, guard)?;
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
        // A journal that was repaired may not say it any more.
        let restored = started.state.facts.as_ref().is_some_and(|facts| facts.restored.is_some())
            || dir.secret(SNAPSHOT).exists();
        if restored && config.provider_kind() == ProviderKind::Sandbox {
            // Real machines bring their own.
            self.parts.install(&[&ETCDUTL], reporter).await?;
        }
        let found = self.parts.install(&programs(config.bootstrap_cluster.runtime), reporter).await?;
        let helm = found.into_iter().last().map(|installed| installed.found.path).unwrap_or_default();
        let mirror = config.charts.mirror.as_deref().map(Mirror::parse);
        let addons = addons(&config, mirror.as_ref(), dir.id().as_str());
        let environment = &self.session.environment;
        let installer = HelmInstaller::new(helm, self.guard.clone(), &dir.work(), mirror, environment)?;
        Ok(Engine {
            runtime: self.runtime(&config, &dir)?,
            machines: self.machines.clone(),
            ledger: started.ledger.clone(),
            installer: Arc::new(installer),
            addons,
            recover: restored.then(|| dir.secret(SNAPSHOT)),
            keep_temporary,
            timeout,
            stall_after: stall_after(environment),
            config,
            dir,
        })
    }
}

fn machines(
    home: &Home,
    program: PathBuf,
    parts: Arc<Parts>,
    secrets: BTreeMap<&'static str, Secret>,
) -> Machines {
    Machines { home: home.clone(), program, parts, secrets, connect: Arc::new(registry::connect) }
}

/// Where machines come from, for a look: with the secrets that can be had, and for the others why not.
pub(super) fn looking(
    config: &Config,
    session: &Session,
) -> CommandResult<(Machines, BTreeMap<&'static str, String>)> {
    let home = Home::resolve(&session.environment)?;
    let parts = Arc::new(Parts::new(&session.environment, &home).with_settings(session.settings()?));
    let (mut found, mut missing) = (BTreeMap::new(), BTreeMap::new());
    for (key, secret) in resolved(config, session) {
        match secret {
            Ok(secret) => drop(found.insert(key, secret)),
            Err(error) => drop(missing.insert(key, error.to_string())),
        }
    }
    Ok((machines(&home, PathBuf::new(), parts, found), missing))
}

/// After how long without progress a run looks for the reason.
fn stall_after(environment: &Environment) -> Duration {
    environment.get(env::BUTLER_STALL_AFTER).and_then(|text| duration(text).ok()).unwrap_or(STALL_AFTER)
}

/// The addons of a configuration, with what only a run knows.
pub(super) fn addons(config: &Config, mirror: Option<&Mirror>, owner: &str) -> Vec<AddonStep> {
    let input = AddonInput {
        bootstrap: objects::cluster_bootstrap(config).spec,
        provider: objects::provider_config(config, &objects::provider_name(config)).spec,
        multi_tenancy: config.multi_tenancy_mode.clone(),
        no_catalog: !config.catalog,
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
    resolved(config, session).into_iter().map(|(key, secret)| Ok((key, secret?))).collect()
}

fn resolved(config: &Config, session: &Session) -> Vec<(&'static str, Result<Secret, SecretError>)> {
    let keyring = ProgramKeyring::new(&session.environment);
    let sources = config.provider.secrets().into_iter();
    sources.map(|(key, source)| (key, source.resolve(&session.environment, &keyring))).collect()
}
