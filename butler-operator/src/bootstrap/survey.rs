//! What there is of a run, by its mark and on this computer.

use butler_core::{
    api::common::ProviderKind,
    bootstrap::{
        config::Config,
        run::{RunDir, RunState, Runs, Stage, steps},
    },
};
use jiff::Timestamp;
use serde::Serialize;

use super::{BootstrapError, Machines};
use crate::{
    driver::{LoadBalancer, Machine},
    sandbox::{Composition, Place, Stored, supervisor},
};

/// A run whose traces are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Traces<'a> {
    /// What it was to make.
    pub config: &'a Config,
    /// Its directory.
    pub dir: &'a RunDir,
    /// How far it is.
    pub state: &'a RunState,
    /// Where its machines come from.
    pub machines: &'a Machines,
    /// Every run: what another one uses is not touched.
    pub runs: &'a Runs,
}

/// What there is of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Survey {
    /// Machines, with their disks and addresses.
    pub machines: Vec<Item>,
    /// Load balancers.
    pub load_balancers: Vec<Item>,
    /// True when the temporary control plane may be there.
    pub temporary_cluster: bool,
    /// The sandbox that was made for the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// Files.
    pub files: Vec<String>,
    /// Effects that were announced and of which nothing more is known.
    pub open: Vec<String>,
}

/// A machine or load balancer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Its name.
    pub name: String,
    /// The provider's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
}

impl Survey {
    /// True when nothing of it is at the provider.
    pub fn is_bare(&self) -> bool {
        self.machines.is_empty() && self.load_balancers.is_empty()
    }
}

impl From<&Machine> for Item {
    fn from(Machine { id, name, created, .. }: &Machine) -> Self {
        Self { name: name.clone(), id: Some(id.clone()), created: *created }
    }
}

impl From<&LoadBalancer> for Item {
    fn from(LoadBalancer { id, name, created, .. }: &LoadBalancer) -> Self {
        Self { name: name.clone(), id: Some(id.clone()), created: *created }
    }
}

impl Traces<'_> {
    /// The mark of the run.
    pub(super) fn owner(&self) -> &str {
        self.dir.id().as_str()
    }

    /// The sandbox whose machines are used, if they are simulated.
    pub(super) fn place(&self) -> Option<Place> {
        self.machines.place(self.config)
    }

    /// True when there is a provider that can be asked: `local` has none, and a sandbox must run.
    pub(super) fn can_ask(&self) -> bool {
        match self.place() {
            Some(place) => supervisor::holder(&place).is_some(),
            None => self.config.provider_kind() != ProviderKind::Local,
        }
    }

    /// Looks for everything. Changes nothing.
    pub async fn survey(&self) -> Result<Survey, BootstrapError> {
        let (machines, load_balancers) = if self.can_ask() {
            self.at_provider().await?
        } else {
            let stored = self.place().map(|place| place.inventory()).unwrap_or_default();
            let ours = stored.into_iter().filter(|item| self.is_ours(item));
            let (machines, balancers): (Vec<_>, Vec<_>) = ours.partition(|item| item.is_machine);
            let item = |Stored { name, created, .. }: Stored| Item { name, id: None, created };
            (machines.into_iter().map(item).collect(), balancers.into_iter().map(item).collect())
        };
        let sandbox = self.own_sandbox().filter(|place| place.dir().exists());
        Ok(Survey {
            machines,
            load_balancers,
            temporary_cluster: self.has_temporary() && !self.state.seen_gone,
            sandbox: sandbox.map(|place| place.name().to_owned()),
            files: self.files().into_iter().map(|path| path.display().to_string()).collect(),
            open: self.state.open.clone(),
        })
    }

    async fn at_provider(&self) -> Result<(Vec<Item>, Vec<Item>), BootstrapError> {
        let driver = self.machines.driver(self.config)?;
        let machines = driver.list(Some(self.owner())).await?;
        let balancers = match driver.load_balancers() {
            Some(balancers) => balancers.list(Some(self.owner())).await?,
            None => Vec::new(),
        };
        Ok((machines.iter().map(Item::from).collect(), balancers.iter().map(Item::from).collect()))
    }

    /// One whose owner cannot be read any more is ours when the journal announced it.
    fn is_ours(&self, item: &Stored) -> bool {
        match &item.ownership {
            Some(ownership) => ownership.owner == self.owner(),
            None => self.state.announced.contains(&steps::machine(&item.name)),
        }
    }

    /// The sandbox, when it was made for bootstraps and neither holds anything of another run nor is used
    /// by one.
    pub(super) fn own_sandbox(&self) -> Option<Place> {
        let place = self.place().filter(|place| place.composition() == Composition::Machines)?;
        let ours = place.inventory().iter().all(|item| self.is_ours(item));
        (ours && !self.others().any(|state| sandbox_of(&state).as_deref() == Some(place.name())))
            .then_some(place)
    }

    /// Other runs of which something may be left.
    fn others(&self) -> impl Iterator<Item = RunState> {
        let states = self.runs.list().unwrap_or_default().into_iter().filter_map(|(_, state)| state.ok());
        let id = self.dir.id().clone();
        states.filter(move |state| {
            state.run_id != id
                && state.stage != Stage::Destroyed
                && (state.holder.is_some() || state.has_effects())
        })
    }

    /// True when a temporary control plane was begun.
    pub(super) fn has_temporary(&self) -> bool {
        self.state.announced.contains(steps::TEMPORARY) || self.dir.temporary().exists()
    }

    /// True when the journal cannot tell whether one was begun.
    pub(super) fn knows_little(&self) -> bool {
        self.state.lost > 0 || self.state.records == 0
    }

    /// Files that go: credentials of the cluster, unless another run has made it anew, and what the run
    /// worked with.
    pub(super) fn files(&self) -> Vec<std::path::PathBuf> {
        let cluster = &self.config.cluster.name;
        let home = self.machines.home.dir();
        let mut files = Vec::new();
        if !self.others().any(|state| state.cluster.as_ref() == Some(cluster)) {
            files.push(home.join(format!("{cluster}-kubeconfig")));
            files.push(home.join(format!("{cluster}-talosconfig")));
        }
        files.push(self.dir.work());
        files.extend(self.private_files());
        files.retain(|path| path.exists());
        files
    }

    /// Files without which the removal could not be begun again; they go last.
    pub(super) fn private_files(&self) -> [std::path::PathBuf; 2] {
        [self.dir.secrets(), self.dir.config()]
    }
}

/// The sandbox that a run uses, as its journal says.
fn sandbox_of(state: &RunState) -> Option<String> {
    let facts = state.facts.as_ref()?;
    if facts.rehearsal {
        return Some(format!("rehearsal-{}", facts.cluster));
    }
    let named =
        || Some(state.given.as_ref()?.document["providerConfig"]["sandbox"]["name"].as_str()?.to_owned());
    (facts.provider == "sandbox").then(|| named().unwrap_or_else(|| facts.cluster.clone()))
}
