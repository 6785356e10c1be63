//! Orphans: what carries the mark of a run that nobody answers for any more.
//!
//! Four witnesses must agree before something may be removed: its tag, its age, the journal of its run, and
//! its owner, a process or a management cluster that lives.

use std::{collections::BTreeMap, io::ErrorKind, net::SocketAddr, sync::Arc, time::Duration};

use butler_core::{
    bootstrap::run::{Runs, Stage},
    event::{RunId, journal::Holder},
};
use futures::future::join_all;
use jiff::Timestamp;
use serde::Serialize;
use tokio::{
    net::TcpStream,
    time::{Instant, sleep, timeout},
};

use super::BootstrapError;
use crate::{
    driver::{Deletion, Driver, LoadBalancer, Machine, MachineState},
    sandbox::{Place, Stored},
};

/// Where the API server of a management cluster answers.
const API_PORT: u16 = 6443;
/// How long it may take to do so.
const PROBE_LIMIT: Duration = Duration::from_secs(2);
/// How long the provider may take to let something go.
const LIMIT: Duration = Duration::from_secs(15 * 60);
const PAUSE: Duration = Duration::from_millis(250);

/// Something at the provider that carries an owner's mark.
#[derive(Clone, Debug)]
pub enum Object {
    /// A machine.
    Machine(Machine),
    /// A load balancer.
    LoadBalancer(LoadBalancer),
}

impl Object {
    fn owner(&self) -> &str {
        match self {
            Self::Machine(machine) => &machine.ownership.owner,
            Self::LoadBalancer(balancer) => &balancer.ownership.owner,
        }
    }

    fn created(&self) -> Option<Timestamp> {
        match self {
            Self::Machine(machine) => machine.created,
            Self::LoadBalancer(balancer) => balancer.created,
        }
    }
}

/// What the journal of a run says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalSays {
    /// There is none on this computer.
    Nothing,
    /// The run stands here.
    Stage(Stage),
    /// It cannot be read, and why.
    Damaged(String),
}

/// Who lives that may need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alive {
    /// Nobody.
    Nobody,
    /// A process works on the run.
    Process(Holder),
    /// An API server answers on a machine of the run.
    Cluster(SocketAddr),
    /// Nobody can tell: no answer and no refusal came from there.
    Unknown(SocketAddr),
}

/// What is known of something.
#[derive(Clone, Debug)]
pub struct Evidence<'a> {
    /// Its mark.
    pub owner: &'a str,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// The journal of its run.
    pub journal: &'a JournalSays,
    /// Its owner.
    pub alive: &'a Alive,
    /// What counts as old.
    pub older_than: Duration,
    /// The time.
    pub now: Timestamp,
}

/// What one of the four witnesses says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// `tag`, `age`, `journal` or `owner`.
    pub witness: &'static str,
    /// Whether it takes it for an orphan.
    pub orphan: bool,
    /// Why.
    pub why: String,
}

/// Asks the four witnesses.
pub fn judge(evidence: &Evidence<'_>) -> Vec<Check> {
    let Evidence { owner, created, journal, alive, older_than, now } = evidence;
    let check = |witness, (orphan, why)| Check { witness, orphan, why };
    let tag = match RunId::parse(owner) {
        Some(_) => (true, "of a run".to_owned()),
        None => (false, format!("`{owner}` is no run but a management cluster, which looks after its own")),
    };
    let age = match created.map(|created| now.duration_since(created)) {
        None => (false, "the provider does not say how old it is".to_owned()),
        Some(age) if age.unsigned_abs() >= *older_than && !age.is_negative() => {
            (true, format!("older than {}", words(*older_than)))
        }
        Some(_) => (false, format!("younger than {}", words(*older_than))),
    };
    let journal = match journal {
        JournalSays::Nothing => (true, "there is none on this computer".to_owned()),
        JournalSays::Stage(Stage::Destroyed) => (true, "the run was destroyed".to_owned()),
        JournalSays::Stage(Stage::Succeeded) => {
            (false, "the run succeeded: its cluster is in use".to_owned())
        }
        JournalSays::Stage(stage) => {
            (false, format!("the run is {}: `bootstrap resume` or `bootstrap destroy`", stage.as_str()))
        }
        JournalSays::Damaged(why) => (false, format!("it cannot be read: {why}")),
    };
    let owner = match alive {
        Alive::Nobody => (true, "nobody works on the run, and no cluster answers".to_owned()),
        Alive::Process(holder) => (false, format!("{holder} works on the run")),
        Alive::Cluster(address) => (false, format!("a cluster answers at {address}")),
        Alive::Unknown(address) => (false, format!("it cannot be told whether a cluster lives at {address}")),
    };
    vec![check("tag", tag), check("age", age), check("journal", journal), check("owner", owner)]
}

/// `24h`, `30m`.
fn words(duration: Duration) -> String {
    match duration.as_secs() {
        0 => "nothing".to_owned(),
        seconds if seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}

/// Something with a mark, and what the witnesses say of it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// `machine` or `load-balancer`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// The provider's id.
    pub id: String,
    /// Its mark: the run, or the management cluster.
    pub run: String,
    /// When it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// True when every witness takes it for an orphan.
    pub orphan: bool,
    /// True when it was removed.
    pub removed: bool,
    /// What the witnesses say.
    pub checks: Vec<Check>,
    #[serde(skip)]
    object: Object,
}

/// Looks at everything that carries a mark. Changes nothing.
pub async fn look(
    driver: &Arc<dyn Driver>,
    runs: &Runs,
    older_than: Duration,
    now: Timestamp,
) -> Result<Vec<Candidate>, BootstrapError> {
    let mut objects: Vec<Object> = driver.list(None).await?.into_iter().map(Object::Machine).collect();
    if let Some(balancers) = driver.load_balancers() {
        objects.extend(balancers.list(None).await?.into_iter().map(Object::LoadBalancer));
    }
    Ok(judge_all(objects, runs, older_than, now).await)
}

/// As [`look`], at a sandbox that does not run.
pub async fn look_at_disk(
    place: &Place,
    runs: &Runs,
    older_than: Duration,
    now: Timestamp,
) -> Vec<Candidate> {
    let object = |Stored { is_machine, name, ownership, created }: Stored| {
        let (id, ownership) = (format!("sandbox://{}/{name}", place.name()), ownership?);
        Some(if is_machine {
            let (state, addresses) = (MachineState::Stopped, Vec::new());
            Object::Machine(Machine { id, name, ownership, state, addresses, mac: None, zone: None, created })
        } else {
            let (endpoint, ready, targets) = (None, false, 0);
            Object::LoadBalancer(LoadBalancer { id, name, ownership, endpoint, ready, targets, created })
        })
    };
    judge_all(place.inventory().into_iter().filter_map(object).collect(), runs, older_than, now).await
}

async fn judge_all(
    objects: Vec<Object>,
    runs: &Runs,
    older_than: Duration,
    now: Timestamp,
) -> Vec<Candidate> {
    let mut owners: BTreeMap<String, (JournalSays, Alive)> = BTreeMap::new();
    for object in &objects {
        if !owners.contains_key(object.owner()) {
            let known = of_owner(object.owner(), &objects, runs).await;
            owners.insert(object.owner().to_owned(), known);
        }
    }
    let candidate = |object: Object| {
        let (journal, alive) = &owners[object.owner()];
        let (owner, created) = (object.owner().to_owned(), object.created());
        let evidence = Evidence { owner: &owner, created, journal, alive, older_than, now };
        let checks = judge(&evidence);
        let (kind, name, id) = match &object {
            Object::Machine(machine) => ("machine", machine.name.clone(), machine.id.clone()),
            Object::LoadBalancer(one) => ("load-balancer", one.name.clone(), one.id.clone()),
        };
        let orphan = checks.iter().all(|check| check.orphan);
        Candidate { kind, name, id, run: owner, created, orphan, removed: false, checks, object }
    };
    objects.into_iter().map(candidate).collect()
}

/// What is known of an owner.
async fn of_owner(owner: &str, objects: &[Object], runs: &Runs) -> (JournalSays, Alive) {
    let Some(id) = RunId::parse(owner) else { return (JournalSays::Nothing, Alive::Nobody) };
    let dir = runs.dir(&id);
    let journal = match dir.state() {
        _ if !dir.path().exists() => JournalSays::Nothing,
        Ok(state) => JournalSays::Stage(state.stage),
        Err(error) => JournalSays::Damaged(error.to_string()),
    };
    if let Some(holder) = dir.holder() {
        return (journal, Alive::Process(holder));
    }
    let running = objects.iter().filter_map(|object| match object {
        Object::Machine(machine) if machine.ownership.owner == owner => Some(machine),
        _ => None,
    });
    let running = running.filter(|machine| machine.state == MachineState::Running);
    let addresses = running.flat_map(|machine| &machine.addresses).map(|ip| SocketAddr::new(*ip, API_PORT));
    let answers = join_all(addresses.map(probe)).await;
    let alive = answers.into_iter().max_by_key(|alive| match alive {
        Alive::Nobody => 0,
        Alive::Unknown(_) => 1,
        Alive::Cluster(_) | Alive::Process(_) => 2,
    });
    (journal, alive.unwrap_or(Alive::Nobody))
}

/// A machine that refuses has no API server; one that says nothing may be out of reach.
async fn probe(address: SocketAddr) -> Alive {
    match timeout(PROBE_LIMIT, TcpStream::connect(address)).await {
        Ok(Ok(_)) => Alive::Cluster(address),
        Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => Alive::Nobody,
        _ => Alive::Unknown(address),
    }
}

/// Removes the orphans among the candidates, and looks whether they are gone. Journal and owner are asked once
/// more before each: since they were listed, somebody may have gone on with the run.
pub async fn remove(
    driver: &Arc<dyn Driver>,
    runs: &Runs,
    older_than: Duration,
    now: Timestamp,
    candidates: &mut [Candidate],
) -> Result<(), BootstrapError> {
    let objects: Vec<Object> = candidates.iter().map(|candidate| candidate.object.clone()).collect();
    for candidate in candidates.iter_mut().filter(|candidate| candidate.orphan) {
        let (journal, alive) = &of_owner(&candidate.run, &objects, runs).await;
        let (owner, created) = (candidate.run.as_str(), candidate.created);
        candidate.checks = judge(&Evidence { owner, created, journal, alive, older_than, now });
        candidate.orphan = candidate.checks.iter().all(|check| check.orphan);
        if !candidate.orphan {
            continue;
        }
        let end = Instant::now() + LIMIT;
        loop {
            let deletion = match (&candidate.object, driver.load_balancers()) {
                (Object::Machine(machine), _) => driver.delete(&machine.key()).await?,
                (Object::LoadBalancer(one), Some(balancers)) => balancers.delete(&one.key()).await?,
                (Object::LoadBalancer(_), None) => Deletion::Gone,
            };
            if deletion == Deletion::Gone {
                break;
            }
            if Instant::now() >= end {
                let left = vec![format!("{} `{}`", candidate.kind, candidate.name)];
                return Err(BootstrapError::Left { left });
            }
            sleep(PAUSE).await;
        }
        candidate.removed = true;
    }
    let mut there: Vec<String> = driver.list(None).await?.into_iter().map(|machine| machine.id).collect();
    if let Some(balancers) = driver.load_balancers() {
        there.extend(balancers.list(None).await?.into_iter().map(|one| one.id));
    }
    let left = candidates.iter().filter(|one| one.removed && there.contains(&one.id));
    let left: Vec<String> = left.map(|one| format!("{} `{}`", one.kind, one.name)).collect();
    if left.is_empty() { Ok(()) } else { Err(BootstrapError::Left { left }) }
}

#[cfg(test)]
mod tests {
    use butler_core::{
        event::{EventKind, Journal},
        settings::{Environment, Home},
    };
    use rstest::rstest;

    use super::*;
    use crate::driver::{DriverResult, MachineKey, MachineSpec, Ownership, Power};

    const RUN: &str = "20261114-101112-00ff00";
    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_second(hours * 3600).unwrap()
    }

    fn here() -> SocketAddr {
        ([127, 0, 0, 1], API_PORT).into()
    }

    fn holder() -> Holder {
        Holder { pid: 7, host: "desk".into(), since: Timestamp::UNIX_EPOCH }
    }

    #[rstest]
    #[case::lost_journal(RUN, Some(at(0)), JournalSays::Nothing, Alive::Nobody, &[])]
    #[case::left_by_a_destroy(RUN, Some(at(0)), JournalSays::Stage(Stage::Destroyed), Alive::Nobody, &[])]
    #[case::exactly_old_enough(RUN, Some(at(24)), JournalSays::Nothing, Alive::Nobody, &[])]
    #[case::young(RUN, Some(at(47)), JournalSays::Nothing, Alive::Nobody, &["age"])]
    #[case::made_in_the_future(RUN, Some(at(100)), JournalSays::Nothing, Alive::Nobody, &["age"])]
    #[case::of_unknown_age(RUN, None, JournalSays::Nothing, Alive::Nobody, &["age"])]
    #[case::of_a_cluster("3f7c-uid", Some(at(0)), JournalSays::Nothing, Alive::Nobody, &["tag"])]
    #[case::of_a_ready_cluster(RUN, Some(at(0)), JournalSays::Stage(Stage::Succeeded), Alive::Nobody, &["journal"])]
    #[case::to_be_resumed(RUN, Some(at(0)), JournalSays::Stage(Stage::Interrupted), Alive::Nobody, &["journal"])]
    #[case::failed(RUN, Some(at(0)), JournalSays::Stage(Stage::Failed), Alive::Nobody, &["journal"])]
    #[case::damaged(RUN, Some(at(0)), JournalSays::Damaged("line 3".into()), Alive::Nobody, &["journal"])]
    #[case::worked_on(RUN, Some(at(0)), JournalSays::Stage(Stage::Running), Alive::Process(holder()), &["journal", "owner"])]
    #[case::made_elsewhere_and_alive(RUN, Some(at(0)), JournalSays::Nothing, Alive::Cluster(here()), &["owner"])]
    #[case::out_of_reach(RUN, Some(at(0)), JournalSays::Nothing, Alive::Unknown(here()), &["owner"])]
    fn an_orphan_is_what_all_four_take_for_one(
        #[case] owner: &str,
        #[case] created: Option<Timestamp>,
        #[case] journal: JournalSays,
        #[case] alive: Alive,
        #[case] against: &[&str],
    ) {
        let (journal, alive) = (&journal, &alive);
        let checks = judge(&Evidence { owner, created, journal, alive, older_than: DAY, now: at(48) });
        assert_eq!(
            checks.iter().map(|check| check.witness).collect::<Vec<_>>(),
            ["tag", "age", "journal", "owner"]
        );
        let not: Vec<&str> = checks.iter().filter(|check| !check.orphan).map(|check| check.witness).collect();
        assert_eq!(not, against, "{checks:?}");
    }

    /// A provider with one machine.
    #[derive(Debug, Default)]
    struct Fake {
        deleted: std::sync::atomic::AtomicBool,
    }

    #[async_trait::async_trait]
    impl Driver for Fake {
        fn name(&self) -> &'static str {
            "fake"
        }

        async fn create(&self, spec: &MachineSpec) -> DriverResult<Machine> {
            self.get(&spec.key()).await
        }

        async fn get(&self, machine: &MachineKey) -> DriverResult<Machine> {
            Ok(Machine {
                id: "vm-1".into(),
                name: machine.name.clone(),
                ownership: machine.ownership.clone(),
                state: MachineState::Stopped,
                addresses: Vec::new(),
                mac: None,
                zone: None,
                created: Some(at(0)),
            })
        }

        async fn list(&self, _: Option<&str>) -> DriverResult<Vec<Machine>> {
            if self.deleted.load(std::sync::atomic::Ordering::Relaxed) {
                return Ok(Vec::new());
            }
            let key = MachineKey { name: "a".into(), ownership: Ownership::new(RUN, "n", "a"), id: None };
            Ok(vec![self.get(&key).await?])
        }

        async fn delete(&self, _: &MachineKey) -> DriverResult<Deletion> {
            self.deleted.store(true, std::sync::atomic::Ordering::Relaxed);
            Ok(Deletion::Gone)
        }

        async fn power(&self, _: &MachineKey, _: Power) -> DriverResult<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_run_that_comes_back_while_a_person_thinks_keeps_its_machines() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::of([("BUTLER_HOME", home.path().to_str().unwrap())]);
        let runs = Runs::new(&Home::resolve(&environment).unwrap());
        let driver: Arc<dyn Driver> = Arc::new(Fake::default());
        let mut found = look(&driver, &runs, DAY, at(48)).await.unwrap();
        assert!(found[0].orphan);
        let id = RunId::parse(RUN).unwrap();
        let (mut journal, _) = Journal::open(&runs.dir(&id).journal(), id).unwrap();
        journal.append(EventKind::info("a", "goes on")).unwrap();
        remove(&driver, &runs, DAY, at(48), &mut found).await.unwrap();
        let against: Vec<_> = found[0].checks.iter().filter(|check| !check.orphan).collect();
        assert_eq!(against.iter().map(|check| check.witness).collect::<Vec<_>>(), ["journal", "owner"]);
        assert!(!found[0].orphan && !found[0].removed);
        assert_eq!(driver.list(None).await.unwrap().len(), 1);

        drop(journal);
        std::fs::remove_dir_all(home.path().join("runs")).unwrap();
        let mut found = look(&driver, &runs, DAY, at(48)).await.unwrap();
        remove(&driver, &runs, DAY, at(48), &mut found).await.unwrap();
        assert!(found[0].removed && driver.list(None).await.unwrap().is_empty());
    }
}
