//! What every driver must do, as one test over the trait: a driver's own tests call [`run`] with a
//! provider that is empty, or holds only what is not ours.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use butler_operator::driver::{
    BootData, Deletion, Driver, DriverResult, ErrorClass, Find, ImageSpec, ImageState, LoadBalancer,
    LoadBalancerSpec, Machine, MachineKey, MachineSpec, MachineState, Ownership, Power, Role, Target,
};
use futures::StreamExt;
use jiff::{Timestamp, Unit};

use crate::eventually;

/// Longer than any provider of a test takes to boot a machine.
const LIMIT: Duration = Duration::from_secs(60);

/// A machine that any provider can make.
pub fn machine(owner: &str, name: &str) -> MachineSpec {
    MachineSpec {
        name: name.to_owned(),
        ownership: Ownership::new(owner, "butler-system", name),
        role: Role::Worker,
        cpu: 2,
        memory_mb: 2048,
        disk_gb: 20,
        extra_disks: Vec::new(),
        image: None,
        labels: BTreeMap::from([("tier".to_owned(), "test".to_owned())]),
        user_data: Some(BootData("version: v1alpha1 # hunter2\n".to_owned())),
        network_data: None,
    }
}

/// Waits until a machine is as wanted.
pub async fn becomes(
    driver: &dyn Driver,
    key: &MachineKey,
    wanted: impl Fn(&Machine) -> bool,
) -> Result<Machine> {
    let mut last = None;
    let check = || async { Ok(wanted(&driver.get(key).await?)) };
    let done = eventually("the machine is as wanted", LIMIT, check).await;
    last.replace(driver.get(key).await);
    done.with_context(|| format!("{last:?}"))?;
    Ok(driver.get(key).await?)
}

/// Puts a driver through everything the trait promises.
pub async fn run(driver: &dyn Driver) -> Result<()> {
    machines(driver).await?;
    refusals(driver).await?;
    switches(driver).await?;
    if driver.load_balancers().is_some() {
        load_balancers(driver).await?;
    }
    if driver.images().is_some() {
        images(driver).await?;
    }
    if driver.discover().is_some() {
        discovery(driver).await?;
    }
    if driver.changes().is_some() {
        changes(driver).await?;
    }
    Ok(())
}

fn class<T: std::fmt::Debug>(result: DriverResult<T>) -> Result<ErrorClass> {
    match result {
        Err(error) => {
            ensure!(!error.provider_message().is_empty(), "no words of the provider: {error:?}");
            ensure!(!format!("{error:?}").contains("hunter2"), "boot data in an error");
            Ok(error.class())
        }
        Ok(value) => bail!("expected an error, got {value:?}"),
    }
}

/// Create is idempotent, list and get see it by owner, deletion is idempotent and complete.
async fn machines(driver: &dyn Driver) -> Result<()> {
    let (mine, other) = (machine("suite-a", "suite-a-1"), machine("suite-b", "suite-b-1"));
    let made = driver.create(&mine).await?;
    ensure!(made.name == mine.name && made.ownership == mine.ownership && !made.id.is_empty(), "{made:?}");
    driver.create(&other).await?;
    let again = driver.create(&mine).await?;
    ensure!(again.id == made.id, "a second create makes no second machine: {again:?}");

    let running = becomes(driver, &mine.key(), |machine| machine.state == MachineState::Running).await?;
    ensure!(!running.addresses.is_empty() && running.id == made.id, "{running:?}");
    let by_id = MachineKey { id: Some(made.id.clone()), ..mine.key() };
    ensure!(driver.get(&by_id).await?.name == mine.name);

    let names = |machines: Vec<Machine>| machines.into_iter().map(|machine| machine.name).collect::<Vec<_>>();
    let age = running.created.context("it knows when it was made")?.until(Timestamp::now())?;
    ensure!(age.total(Unit::Second)? >= -1.0 && age.total(Unit::Hour)? < 1.0, "made {age} ago");
    ensure!(driver.get(&running.key()).await?.created == running.created);

    ensure!(names(driver.list(Some("suite-a")).await?) == ["suite-a-1"]);
    ensure!(names(driver.list(Some("suite-nobody")).await?).is_empty());
    let all = names(driver.list(None).await?);
    ensure!(all.contains(&mine.name) && all.contains(&other.name), "{all:?}");

    if let Some(console) = driver.console() {
        let log = console.log(&mine.key(), None).await?;
        ensure!(!log.is_empty() && !log.contains("hunter2"), "a machine that boots says so: {log:?}");
        let last = console.log(&mine.key(), Some(1)).await?;
        ensure!(last.lines().count() == 1 && log.contains(last.trim_end()), "{last:?}");
    }
    for spec in [&mine, &other] {
        gone(driver, &spec.key()).await?;
    }
    Ok(())
}

/// Deletes until nothing is left, and once more.
async fn gone(driver: &dyn Driver, key: &MachineKey) -> Result<()> {
    let check = || async { Ok(driver.delete(key).await? == Deletion::Gone) };
    eventually("the machine is gone", LIMIT, check).await?;
    ensure!(driver.delete(key).await? == Deletion::Gone, "what does not exist is gone");
    ensure!(class(driver.get(key).await)? == ErrorClass::NotFound);
    ensure!(driver.list(None).await?.iter().all(|machine| machine.name != key.name));
    Ok(())
}

/// Nobody reads, takes or removes what is another's.
async fn refusals(driver: &dyn Driver) -> Result<()> {
    let mine = machine("suite-a", "suite-owned");
    driver.create(&mine).await?;
    let theirs = MachineSpec { ownership: Ownership::new("suite-b", "butler-system", "x"), ..mine.clone() };
    ensure!(class(driver.create(&theirs).await)? == ErrorClass::Conflict);
    ensure!(class(driver.get(&theirs.key()).await)? == ErrorClass::NotFound);
    ensure!(class(driver.power(&theirs.key(), Power::Off).await)? == ErrorClass::NotFound);
    ensure!(driver.delete(&theirs.key()).await? == Deletion::Gone, "theirs does not exist");
    if let Some(console) = driver.console() {
        ensure!(class(console.log(&theirs.key(), None).await)? == ErrorClass::NotFound);
    }
    ensure!(driver.get(&mine.key()).await?.ownership == mine.ownership, "ours is untouched");
    let strange =
        MachineSpec { image: Some("no-such-image".to_owned()), ..machine("suite-a", "suite-strange") };
    ensure!(class(driver.create(&strange).await)? == ErrorClass::Invalid);
    ensure!(class(driver.get(&strange.key()).await)? == ErrorClass::NotFound, "nothing half made");
    gone(driver, &mine.key()).await
}

/// Off stops, on starts, the machine stays the same one.
async fn switches(driver: &dyn Driver) -> Result<()> {
    let spec = machine("suite-a", "suite-power");
    driver.create(&spec).await?;
    let key = spec.key();
    let running = |machine: &Machine| machine.state == MachineState::Running;
    let first = becomes(driver, &key, running).await?;
    driver.power(&key, Power::On).await?;
    driver.power(&key, Power::Off).await?;
    becomes(driver, &key, |machine| machine.state == MachineState::Stopped).await?;
    driver.power(&key, Power::Off).await?;
    driver.power(&key, Power::On).await?;
    let second = becomes(driver, &key, running).await?;
    ensure!(second.id == first.id && second.addresses == first.addresses, "{first:?} {second:?}");
    driver.power(&key, Power::Reset).await?;
    becomes(driver, &key, running).await?;
    gone(driver, &key).await?;
    ensure!(class(driver.power(&key, Power::On).await)? == ErrorClass::NotFound);
    Ok(())
}

async fn load_balancers(driver: &dyn Driver) -> Result<()> {
    let balancers = driver.load_balancers().context("they were there")?;
    let ip = "127.0.0.1".parse()?;
    let target = Target { ip: Some(ip), instance_id: None, instance_name: None };
    let spec = LoadBalancerSpec {
        name: "suite-lb".to_owned(),
        ownership: Ownership::new("suite-a", "butler-system", "suite-lb"),
        port: 6443,
        health_check_port: 6443,
        targets: vec![target.clone()],
    };
    let key = spec.key();
    ensure!(class(balancers.get(&key).await)? == ErrorClass::NotFound);
    let made = balancers.ensure(&spec).await?;
    ensure!(made.ownership == spec.ownership && made.targets == 1, "{made:?}");
    let more = LoadBalancerSpec { targets: vec![target.clone(), target], ..spec.clone() };
    let changed = balancers.ensure(&more).await?;
    ensure!(changed.id == made.id && changed.targets == 2, "{changed:?}");
    let ready = || async {
        let seen = balancers.get(&key).await?;
        Ok(seen.ready && seen.endpoint.is_some())
    };
    eventually("the load balancer is ready", LIMIT, ready).await?;
    let names = |all: Vec<LoadBalancer>| all.into_iter().map(|one| one.name).collect::<Vec<_>>();
    ensure!(names(balancers.list(Some("suite-a")).await?) == ["suite-lb"]);
    ensure!(names(balancers.list(Some("suite-nobody")).await?).is_empty());
    let listed = balancers.list(None).await?.into_iter().find(|one| one.id == made.id);
    let listed = listed.context("it is among all of them")?;
    ensure!(listed.ownership == spec.ownership && listed.created.is_some(), "{listed:?}");
    ensure!(balancers.get(&listed.key()).await?.created == listed.created);
    let theirs = LoadBalancerSpec { ownership: Ownership::new("suite-b", "x", "y"), ..spec.clone() };
    ensure!(class(balancers.ensure(&theirs).await)? == ErrorClass::Conflict);
    ensure!(class(balancers.get(&theirs.key()).await)? == ErrorClass::NotFound);
    balancers.delete(&theirs.key()).await?;
    ensure!(balancers.get(&key).await?.id == made.id, "ours is untouched");
    let check = || async { Ok(balancers.delete(&key).await? == Deletion::Gone) };
    eventually("the load balancer is gone", LIMIT, check).await?;
    ensure!(class(balancers.get(&key).await)? == ErrorClass::NotFound);
    ensure!(names(balancers.list(None).await?).iter().all(|name| *name != spec.name));
    Ok(())
}

async fn images(driver: &dyn Driver) -> Result<()> {
    let images = driver.images().context("they were there")?;
    let url = "https://factory.talos.dev/image/0000/v1.10.3/nocloud-amd64.raw.xz";
    let spec = ImageSpec { name: "suite-image".to_owned(), url: url.to_owned(), sha256: None };
    let ready = || async { Ok(images.ensure(&spec).await?.state == ImageState::Ready) };
    eventually("the image is ready", LIMIT, ready).await?;
    let image = images.ensure(&spec).await?;
    let machine = MachineSpec { image: Some(image.id), ..machine("suite-a", "suite-imaged") };
    driver.create(&machine).await?;
    gone(driver, &machine.key()).await?;
    let check = || async { Ok(images.delete(&spec.name).await? == Deletion::Gone) };
    eventually("the image is gone", LIMIT, check).await?;
    ensure!(images.delete(&spec.name).await? == Deletion::Gone);
    Ok(())
}

async fn discovery(driver: &dyn Driver) -> Result<()> {
    let discover = driver.discover().context("it was there")?;
    discover.probe().await?;
    for kind in [Find::Networks, Find::Images, Find::Sizes, Find::Storage, Find::Zones] {
        let found = discover.find(kind, None).await?;
        ensure!(found.iter().all(|found| !found.id.is_empty() && !found.name.is_empty()), "{found:?}");
    }
    ensure!(!discover.find(Find::Networks, None).await?.is_empty(), "a machine needs a network");
    Ok(())
}

/// A subscriber hears of a machine that is made and of its end.
async fn changes(driver: &dyn Driver) -> Result<()> {
    let changes = driver.changes().context("they were there")?;
    let spec = machine("suite-a", "suite-changes");
    let mut stream = changes.subscribe();
    // The subscription stands once it delivers something; until then the machine is switched to and fro.
    driver.create(&spec).await?;
    let heard = async {
        loop {
            tokio::select! {
                change = stream.next() => match change {
                    Some(ownership) if ownership == spec.ownership => return Ok(()),
                    Some(_) => {}
                    None => bail!("the stream ended"),
                },
                () = tokio::time::sleep(Duration::from_millis(200)) => driver.power(&spec.key(), Power::Reset).await?,
            }
        }
    };
    tokio::time::timeout(LIMIT, heard).await.context("nothing was heard of a new machine")??;
    gone(driver, &spec.key()).await?;
    let heard = async { while stream.next().await.is_some_and(|ownership| ownership != spec.ownership) {} };
    tokio::time::timeout(LIMIT, heard).await.context("nothing was heard of its end")?;
    Ok(())
}
