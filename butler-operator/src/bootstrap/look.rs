//! What a plan sees of the world. Only looks: nothing is started, made or written, here or elsewhere.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use butler_core::{
    bootstrap::{
        config::{Config, RuntimeKind},
        objects,
        plan::{SeenRun, Taken, World, answers, fingerprint, provider_balancer, salt},
        run::Runs,
    },
    redact::Secret,
    settings::Environment,
};

use super::{BootstrapError, Machines, session::claim};
use crate::{
    controller,
    driver::{Driver, DriverError},
    parts::{self, Part},
    runtime::kind,
    sandbox::{host::at_rest, supervisor},
};

/// How long something that answers at the shared address may take to do so.
pub(super) const VIP_LIMIT: Duration = Duration::from_secs(1);

/// What to look with.
#[derive(Debug)]
pub struct Look<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Its text.
    pub text: &'a Secret,
    /// Where machines come from; its secrets are those that could be had.
    pub machines: &'a Machines,
    /// Secrets that could not be had, with the reason.
    pub missing: &'a BTreeMap<&'static str, String>,
    /// Every run of this home.
    pub runs: &'a Runs,
    /// Where a container engine is looked for.
    pub environment: &'a Environment,
    /// What the plan that this one is compared with made its fingerprints with.
    pub salt: Option<String>,
}

/// The programs that a run needs on this computer.
pub fn programs(runtime: RuntimeKind) -> Vec<&'static Part> {
    match runtime {
        RuntimeKind::Process => vec![&parts::ETCD, &parts::KUBE_APISERVER, &parts::HELM],
        RuntimeKind::Kind => vec![&parts::KIND, &parts::HELM],
    }
}

impl Look<'_> {
    /// Looks at everything. What cannot be looked at is told with the reason.
    pub async fn world(&self) -> Result<World, BootstrapError> {
        let mut world = World::of(self.text.expose().as_bytes());
        self.secrets(&mut world);
        self.provider(&mut world).await;
        if let Some(vip) = self.config.network.vip {
            world.vip_answers = Some(answers(SocketAddr::from((vip, 6443)), VIP_LIMIT).await);
        }
        if self.config.bootstrap_cluster.runtime == RuntimeKind::Kind {
            match kind::exists(kind::cluster_name(self.config), self.environment).await {
                Ok(exists) => world.temporary_cluster = Some(exists),
                Err(error) => unseen(&mut world, "temporaryCluster", error.to_string()),
            }
        }
        let holder = claim(self.runs, &self.config.cluster.name)?;
        let seen = holder.map(|(id, stage)| SeenRun { id: id.to_string(), stage: stage.as_str().to_owned() });
        world.runs = Some(seen.into_iter().collect());
        for part in programs(self.config.bootstrap_cluster.runtime) {
            // One that is missing is installed by the run.
            if let Ok(found) = self.machines.parts.find(part).await {
                world.programs.insert(part.name.to_owned(), found.version.to_string());
            }
        }
        Ok(world)
    }

    /// Fingerprints of the secrets that stand outside of the configuration.
    fn secrets(&self, world: &mut World) {
        for (key, why) in self.missing {
            unseen(world, &format!("secrets.{key}"), why.clone());
        }
        let sources = self.config.provider.secrets();
        let outside = sources.iter().filter(|(_, source)| !source.is_plain());
        let salt = self.salt.clone().unwrap_or_else(salt);
        for (key, _) in outside {
            if let Some(secret) = self.machines.secrets.get(key) {
                world.secrets.insert((*key).to_owned(), fingerprint(secret, &salt));
                world.secrets_salt = Some(salt.clone());
            }
        }
    }

    /// What the provider has under names of the plan.
    async fn provider(&self, world: &mut World) {
        let bootstrap = objects::cluster_bootstrap(self.config);
        let names = controller::machine_names(&bootstrap);
        if names.is_empty() {
            return;
        }
        let balancer: Vec<String> = provider_balancer(self.config).into_iter().map(str::to_owned).collect();
        if let Some(place) = self.machines.place(self.config)
            && supervisor::holder(&place).is_none()
        {
            // It does not run, and is not started for a look.
            let [machines, balancers] = at_rest(place.dir()).map(|found| {
                found.into_iter().map(|(name, owner)| Taken { name, owner: owner.map(|o| o.owner) })
            });
            world.machines = Some(among(machines, &names));
            world.load_balancers = Some(among(balancers, &balancer));
            return;
        }
        let driver = match self.machines.driver(self.config) {
            Ok(driver) => driver,
            Err(error) => return unseen(world, "machines", reason(&error)),
        };
        match driver.list(None).await {
            Ok(found) => {
                let found = found.into_iter().map(|machine| taken(machine.name, machine.ownership.owner));
                world.machines = Some(among(found, &names));
            }
            Err(error) => unseen(world, "machines", in_words(&error)),
        }
        if !balancer.is_empty() {
            self.load_balancers(&*driver, &balancer, world).await;
        }
    }

    async fn load_balancers(&self, driver: &dyn Driver, names: &[String], world: &mut World) {
        let Some(api) = driver.load_balancers() else {
            return unseen(world, "loadBalancers", "this provider has none".to_owned());
        };
        match api.list(None).await {
            Ok(found) => {
                let found = found.into_iter().map(|balancer| taken(balancer.name, balancer.ownership.owner));
                world.load_balancers = Some(among(found, names));
            }
            Err(error) => unseen(world, "loadBalancers", in_words(&error)),
        }
    }
}

fn taken(name: String, owner: String) -> Taken {
    Taken { name, owner: Some(owner) }
}

fn among(found: impl Iterator<Item = Taken>, names: &[String]) -> Vec<Taken> {
    let mut found: Vec<Taken> = found.filter(|taken| names.contains(&taken.name)).collect();
    found.sort();
    found
}

fn unseen(world: &mut World, what: &str, why: String) {
    world.unseen.insert(what.to_owned(), why);
}

fn in_words(error: &DriverError) -> String {
    format!("{error}: {}", error.provider_message())
}

fn reason(error: &BootstrapError) -> String {
    match error {
        BootstrapError::Driver(error) => in_words(error),
        error => error.to_string(),
    }
}
