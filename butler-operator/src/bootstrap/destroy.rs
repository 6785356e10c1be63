//! Removes everything that carries a run's mark, and looks whether it is gone.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use butler_core::{
    bootstrap::{
        config::Config,
        run::{RunDir, steps},
    },
    event::{Change, Event, EventKind, ObjectRef, Reporter},
};
use fs_err as fs;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{BootstrapError, Machines, recorded::recorded};
use crate::{
    driver::{Deletion, Driver, LoadBalancerKey, Machine, MachineKey, Ownership},
    ledger::Ledger,
    runtime::Runtime,
    sandbox::{Composition, Place, supervisor},
};

/// How long the provider may take to let everything go.
const LIMIT: Duration = Duration::from_secs(15 * 60);
const PAUSE: Duration = Duration::from_millis(250);

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Destroyed {
    /// Machines.
    pub machines: Vec<String>,
    /// Load balancers.
    pub load_balancers: Vec<String>,
    /// Files of the person.
    pub files: Vec<String>,
}

/// Removes machines, load balancers, the temporary control plane, credentials and, where one was made for
/// the run, the sandbox. What is gone already is no failure.
pub async fn destroy(
    config: &Config,
    dir: &RunDir,
    past: &[Event],
    machines: &Machines,
    runtime: &dyn Runtime,
    ledger: &Ledger,
    reporter: &Reporter,
) -> Result<Destroyed, BootstrapError> {
    let mut destroyed = Destroyed::default();
    let place = machines.place(config);
    let owner = dir.id().as_str();
    // A sandbox that does not run has its machines on disk; it is removed whole below.
    let asks_provider = match &place {
        Some(place) => supervisor::holder(place).is_some(),
        None => config.provider_kind() != butler_core::api::common::ProviderKind::Local,
    };
    if asks_provider {
        let connect = recorded(machines.connect.clone(), ledger.clone());
        let machines = Machines { connect, ..machines.clone() };
        let driver = machines.driver(config)?;
        let remove = remove_all(&driver, owner, past, ledger, reporter);
        (destroyed.machines, destroyed.load_balancers) = reporter.phase("DeletingMachines", remove).await?;
    }
    let temporary = async { Ok::<_, BootstrapError>(runtime.destroy(reporter).await?) };
    let removed = ledger.effect(steps::REMOVE_TEMPORARY, json!({}), temporary, |()| json!({}));
    reporter.phase("RemovingTemporaryCluster", removed).await?;
    if let Some(place) = place.as_ref().filter(|place| is_only_ours(place, past)) {
        let remove = async {
            supervisor::halt(place).await?;
            supervisor::remove(place)?;
            Ok::<_, BootstrapError>(())
        };
        reporter.phase("RemovingSandbox", remove).await?;
    }
    destroyed.files = remove_files(config, dir, machines)?;
    let data = serde_json::to_value(&destroyed).unwrap_or_default();
    ledger.append(EventKind::Result { step: steps::DESTROYED.to_owned(), data })?;
    Ok(destroyed)
}

/// True for a sandbox that was made for bootstraps and holds no machine of another run.
fn is_only_ours(place: &Place, past: &[Event]) -> bool {
    let ours = |name: &str| {
        let step = steps::machine(name);
        past.iter()
            .any(|event| matches!(&event.kind, EventKind::Intent { step: known, .. } if *known == step))
    };
    let entries = fs::read_dir(place.machines()).into_iter().flatten().flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    place.composition() == Composition::Machines && names.all(|name| name.starts_with('.') || ours(&name))
}

async fn remove_all(
    driver: &Arc<dyn Driver>,
    owner: &str,
    past: &[Event],
    ledger: &Ledger,
    reporter: &Reporter,
) -> Result<(Vec<String>, Vec<String>), BootstrapError> {
    let mut balancers = Vec::new();
    if let Some(api) = driver.load_balancers() {
        for key in balancers_of(past) {
            let end = Instant::now() + LIMIT;
            while api.delete(&key).await? != Deletion::Gone {
                if Instant::now() >= end {
                    return Err(BootstrapError::Left { left: vec![format!("load balancer `{}`", key.name)] });
                }
                sleep(PAUSE).await;
            }
            balancers.push(key.name);
        }
    }
    let end = Instant::now() + LIMIT;
    let mut names = std::collections::BTreeSet::new();
    loop {
        let found = driver.list(Some(owner)).await?;
        if found.is_empty() {
            break;
        }
        if Instant::now() >= end {
            let left = found.into_iter().map(|machine| format!("machine `{}`", machine.name)).collect();
            return Err(BootstrapError::Left { left });
        }
        for machine in &found {
            driver.delete(&key(machine)).await?;
            if names.insert(machine.name.clone()) {
                let reference =
                    ObjectRef { kind: "Machine".to_owned(), namespace: None, name: machine.name.clone() };
                reporter.resource(reference, Change::Deleted).await;
            }
        }
        sleep(PAUSE).await;
    }
    // The provider lists none of them any more.
    for name in &names {
        let (step, data) = (steps::delete_machine(name), json!({ "gone": true }));
        ledger.append(EventKind::Result { step, data })?;
    }
    Ok((names.into_iter().collect(), balancers))
}

fn key(machine: &Machine) -> MachineKey {
    MachineKey {
        name: machine.name.clone(),
        ownership: machine.ownership.clone(),
        id: Some(machine.id.clone()),
    }
}

/// The load balancers that were announced.
fn balancers_of(past: &[Event]) -> Vec<LoadBalancerKey> {
    let mut keys = BTreeMap::new();
    for event in past {
        if let EventKind::Intent { step, data } = &event.kind
            && let Some(name) = step.strip_prefix("load-balancer/")
            && let Ok(ownership) = serde_json::from_value::<Ownership>(data["ownership"].clone())
        {
            let key = LoadBalancerKey { name: name.to_owned(), ownership, id: None };
            keys.insert(name.to_owned(), key);
        }
    }
    keys.into_values().collect()
}

fn remove_files(config: &Config, dir: &RunDir, machines: &Machines) -> Result<Vec<String>, BootstrapError> {
    let cluster = &config.cluster.name;
    let home = machines.home.dir();
    let files = [
        home.join(format!("{cluster}-kubeconfig")),
        home.join(format!("{cluster}-talosconfig")),
        dir.secret("talos.yaml"),
        dir.work(),
    ];
    let mut removed = Vec::new();
    for path in files {
        let gone = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match gone {
            Ok(()) => removed.push(path.display().to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(BootstrapError::File { path, source }),
        }
    }
    Ok(removed)
}
