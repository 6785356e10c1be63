//! Where the machines of a run come from: a provider, or a sandbox that is made for the run.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use butler_core::{
    api::ProviderConfig,
    bootstrap::{
        config::{Config, ProviderSettings},
        objects,
        run::steps,
    },
    event::Reporter,
    redact::Secret,
    settings::{
        Home,
        home::{make_private_dir, write_private},
    },
};
use serde_json::json;

use super::BootstrapError;
use crate::{
    driver::{
        Driver,
        registry::{Connect, Credentials},
    },
    ledger::Ledger,
    parts::Parts,
    sandbox::{
        Place,
        platform::{PARTS, Programs},
        supervisor::{LaunchOptions, launch},
    },
};

/// How long the host of a sandbox may take to start.
const SANDBOX_LIMIT: Duration = Duration::from_secs(60);

/// Where the machines of a run come from.
#[derive(Clone)]
pub struct Machines {
    /// The Butler home.
    pub home: Home,
    /// This program, which is also the host of simulated machines.
    pub program: PathBuf,
    /// The real programs that simulated machines run.
    pub parts: Arc<Parts>,
    /// What the secrets of the configuration are.
    pub secrets: BTreeMap<&'static str, Secret>,
    /// Makes drivers.
    pub connect: Connect,
}

impl std::fmt::Debug for Machines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machines").field("home", &self.home).finish_non_exhaustive()
    }
}

impl Machines {
    /// The sandbox that a configuration means, if its machines are simulated.
    pub fn place(&self, config: &Config) -> Option<Place> {
        let ProviderSettings::Sandbox(sandbox) = &config.provider else { return None };
        Some(Place::new(&self.home, sandbox.name.as_deref().unwrap_or(&config.cluster.name)))
    }

    /// Makes sure that the sandbox runs whose machines are used. What such a sandbox holds is only what
    /// this run made in it. A new one takes the network that is remembered, if nobody else has it.
    pub(super) async fn host(
        &self,
        config: &Config,
        remembered: Option<PathBuf>,
        ledger: &Ledger,
        reporter: &Reporter,
    ) -> Result<(), BootstrapError> {
        let Some(place) = self.place(config) else { return Ok(()) };
        // A sandbox that is somebody's platform is refused before anything is announced.
        place.check_layout()?;
        place.only_machines()?;
        let work = async {
            if let Some(path) = remembered.filter(|_| !place.exists() && !place.network().exists()) {
                let read = fs_err::read(&path);
                let network = read.map_err(|source| BootstrapError::File { path, source })?;
                make_private_dir(place.dir())?;
                write_private(&place.network(), &network)?;
            }
            let found = self.parts.install(&PARTS, reporter).await?;
            let mut paths = found.into_iter().map(|installed| installed.found.path);
            let programs = Programs::new(std::array::from_fn(|_| paths.next().unwrap_or_default()));
            let programs = programs.with_recovery(&self.parts).await;
            let home = std::path::absolute(self.home.dir()).unwrap_or_else(|_| self.home.dir().to_owned());
            let options = LaunchOptions {
                place: place.clone(),
                home,
                program: self.program.clone(),
                programs,
                limit: SANDBOX_LIMIT,
            };
            // Its phases are not those of the run.
            launch(&options, &Reporter::null()).await?;
            Ok::<_, BootstrapError>(())
        };
        ledger.effect(steps::SANDBOX, json!({ "name": place.name() }), work, |()| json!({})).await
    }

    /// The values of the credentials Secret.
    pub(super) fn secrets(&self, config: &Config) -> BTreeMap<&'static str, Secret> {
        let mut secrets = self.secrets.clone();
        if let Some(place) = self.place(config) {
            secrets.insert(objects::SANDBOX_SOCKET, place.host_socket().display().to_string().into());
        }
        secrets
    }

    /// The credentials as drivers and addons take them.
    pub(super) fn credentials(&self, config: &Config) -> Credentials {
        let secret = objects::credentials(config, &self.secrets(config)).unwrap_or_default();
        Credentials::from(&secret)
    }

    /// A driver of the provider.
    pub fn driver(&self, config: &Config) -> Result<Arc<dyn Driver>, BootstrapError> {
        let provider: ProviderConfig = objects::provider_config(config, &objects::provider_name(config));
        Ok((self.connect)(&provider, &self.credentials(config))?)
    }
}
