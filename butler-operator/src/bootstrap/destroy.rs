//! Removes everything that carries a run's mark, and looks whether it is gone.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc, time::Duration};

use butler_core::{
    bootstrap::run::steps,
    event::{Change, EventKind, ObjectRef, Reporter},
};
use fs_err as fs;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{BootstrapError, Machines, Traces, recorded::recorded};
use crate::{
    driver::{Deletion, Driver},
    ledger::Ledger,
    runtime::Runtime,
    sandbox::supervisor,
};

/// How long the provider may take to let everything go.
const LIMIT: Duration = Duration::from_secs(15 * 60);
const PAUSE: Duration = Duration::from_millis(250);

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Destroyed {
    /// Machines, with their disks and addresses.
    pub machines: Vec<String>,
    /// Load balancers.
    pub load_balancers: Vec<String>,
    /// The sandbox that was made for the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// Files.
    pub files: Vec<String>,
    /// Where it was looked afterwards, and nothing was found.
    pub looked: Vec<String>,
}

/// Removes machines, load balancers, the temporary control plane, credentials and, where one was made for
/// the run, the sandbox. What is gone already is no failure. `ask` is false when the provider was asked
/// before and cannot be asked again.
pub async fn destroy(
    traces: Traces<'_>,
    ask: bool,
    runtime: &dyn Runtime,
    ledger: &Ledger,
    reporter: &Reporter,
) -> Result<Destroyed, BootstrapError> {
    let Traces { config, machines, .. } = traces;
    let mut destroyed = Destroyed::default();
    // Others have machines in it, so it cannot be removed whole: ours are removed one by one.
    let wake =
        ask && !traces.can_ask() && traces.own_sandbox().is_none() && !traces.survey().await?.is_bare();
    if wake {
        machines.host(config, None, ledger, reporter).await?;
    }
    if ask && traces.can_ask() {
        let connect = recorded(machines.connect.clone(), ledger.clone());
        let recording = Machines { connect, ..machines.clone() };
        let driver = recording.driver(config)?;
        if let Some(place) = traces.own_sandbox().filter(|place| supervisor::holder(place).is_some()) {
            supervisor::release(&place).await?;
        }
        let remove = remove_all(&driver, traces.owner(), ledger, reporter);
        (destroyed.machines, destroyed.load_balancers) = reporter.phase("DeletingMachines", remove).await?;
        destroyed.looked.push(format!("machines and load balancers at provider `{}`", driver.name()));
    }
    if traces.has_temporary() || traces.knows_little() {
        let temporary = async {
            match runtime.destroy(reporter).await {
                // There may never have been one, nor what it would have been made with.
                Err(error) if !traces.has_temporary() => {
                    let message = format!("cannot look for a temporary control plane: {error}");
                    reporter.emit(EventKind::warning("destroy", message)).await;
                    Ok(())
                }
                result => Ok::<_, BootstrapError>(result?),
            }
        };
        let removed = ledger.effect(steps::REMOVE_TEMPORARY, json!({}), temporary, |()| json!({}));
        reporter.phase("RemovingTemporaryCluster", removed).await?;
        destroyed.looked.push("the temporary control plane".to_owned());
    }
    match (traces.own_sandbox(), traces.place()) {
        (Some(place), _) => {
            let there = place.dir().exists();
            let remove = async {
                supervisor::halt(&place).await?;
                supervisor::remove(&place)?;
                Ok::<_, BootstrapError>(())
            };
            reporter.phase("RemovingSandbox", remove).await?;
            destroyed.sandbox = there.then(|| place.name().to_owned());
            destroyed.looked.push(format!("sandbox `{}`", place.name()));
        }
        (None, Some(place)) if wake => {
            supervisor::halt(&place).await?;
        }
        _ => {}
    }
    let left = traces.survey().await?;
    if ask && !left.is_bare() {
        let machines = left.machines.iter().map(|item| format!("machine `{}`", item.name));
        let balancers = left.load_balancers.iter().map(|item| format!("load balancer `{}`", item.name));
        return Err(BootstrapError::Left { left: machines.chain(balancers).collect() });
    }
    // What is needed to begin again goes after everything else was seen to be gone.
    let private = traces.private_files();
    let (last, first): (Vec<PathBuf>, Vec<PathBuf>) =
        traces.files().into_iter().partition(|path| private.contains(path));
    destroyed.files = first.iter().chain(&last).map(|path| path.display().to_string()).collect();
    first.iter().try_for_each(remove_path)?;
    let data = serde_json::to_value(&destroyed).unwrap_or_default();
    ledger.append(EventKind::Result { step: steps::DESTROYED.to_owned(), data })?;
    last.iter().try_for_each(remove_path)?;
    Ok(destroyed)
}

async fn remove_all(
    driver: &Arc<dyn Driver>,
    owner: &str,
    ledger: &Ledger,
    reporter: &Reporter,
) -> Result<(Vec<String>, Vec<String>), BootstrapError> {
    let end = Instant::now() + LIMIT;
    // Machines go first: as long as one of them runs, the cluster's own controllers may, and they would make
    // a load balancer that is missing again.
    let mut names = BTreeSet::new();
    loop {
        let found = driver.list(Some(owner)).await?;
        if found.is_empty() {
            break;
        }
        for machine in &found {
            driver.delete(&machine.key()).await?;
            if names.insert(machine.name.clone()) {
                tell("Machine", &machine.name, reporter).await;
            }
        }
        let left = found.into_iter().map(|machine| format!("machine `{}`", machine.name));
        pause(end, left.collect()).await?;
    }
    let mut balancers = BTreeSet::new();
    if let Some(api) = driver.load_balancers() {
        loop {
            let found = api.list(Some(owner)).await?;
            let mut left = Vec::new();
            for balancer in &found {
                if api.delete(&balancer.key()).await? != Deletion::Gone {
                    left.push(format!("load balancer `{}`", balancer.name));
                }
                if balancers.insert(balancer.name.clone()) {
                    tell("LoadBalancer", &balancer.name, reporter).await;
                }
            }
            if found.is_empty() {
                break;
            }
            pause(end, left).await?;
        }
    }
    // The provider lists none of them any more.
    let gone = |step| EventKind::Result { step, data: json!({ "gone": true }) };
    for name in &balancers {
        ledger.append(gone(steps::delete_load_balancer(name)))?;
    }
    for name in &names {
        ledger.append(gone(steps::delete_machine(name)))?;
    }
    Ok((names.into_iter().collect(), balancers.into_iter().collect()))
}

async fn tell(kind: &str, name: &str, reporter: &Reporter) {
    let reference = ObjectRef { kind: kind.to_owned(), namespace: None, name: name.to_owned() };
    reporter.resource(reference, Change::Deleted).await;
}

/// Waits a little before the next look, until time is over.
async fn pause(end: Instant, left: Vec<String>) -> Result<(), BootstrapError> {
    if Instant::now() >= end {
        return Err(BootstrapError::Left { left });
    }
    sleep(PAUSE).await;
    Ok(())
}

pub(super) fn remove_path(path: &PathBuf) -> Result<(), BootstrapError> {
    let gone = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match gone {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(BootstrapError::File { path: path.clone(), source: error })
        }
        _ => Ok(()),
    }
}
