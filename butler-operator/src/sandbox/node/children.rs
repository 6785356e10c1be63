//! Real programs under watch: started again with a growing pause, judged by a check, stopped in order.

use std::{future::Future, path::PathBuf, process::ExitStatus, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::{
    config::full,
    context::{Node, until},
};
use crate::process::Streams;

const GRACE: Duration = Duration::from_secs(8);
/// How often a program is looked at, before it is healthy and after.
const CHECK_SOON: Duration = Duration::from_millis(150);
const CHECK: Duration = Duration::from_secs(3);
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Whoever ran this long is given a fresh start.
const SETTLED: Duration = Duration::from_secs(30);

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) log: PathBuf,
}

/// What happens to a program.
#[derive(Debug)]
pub(super) enum Report {
    Started(u32),
    Healthy,
    Unhealthy(String),
    /// It ended by itself and is started again.
    Ended(ExitStatus),
    /// It could not be started.
    Failed(String),
    /// It was asked to stop.
    Stopped,
}

/// A program of this node.
pub(super) trait Part: Send + Sync {
    /// The service it is to people.
    fn id(&self) -> &str;

    /// What to run; asked again before each start and after each change of the configuration.
    fn program(&self) -> Result<Program, String>;

    /// Looks after it.
    fn check(&self) -> impl Future<Output = Result<(), String>> + Send;

    /// Hears what happens.
    fn report(&self, report: Report);

    /// After what time it is killed, when that fault is set.
    fn lifetime(&self) -> Option<Duration> {
        None
    }
}

enum End {
    Stop,
    Again,
    Ended,
}

/// Keeps a part running until the workload ends.
pub(super) async fn supervise<P: Part>(node: Arc<Node>, part: P) {
    let mut pause = FIRST_PAUSE;
    loop {
        let mut held = node.held.subscribe();
        tokio::select! {
            () = node.workload.cancelled() => return part.report(Report::Stopped),
            () = until(&mut held, |held| !held.contains(part.id())) => {}
        }
        let began = Instant::now();
        match once(&node, &part).await {
            End::Stop => return,
            End::Again => pause = FIRST_PAUSE,
            End::Ended => {
                if began.elapsed() > SETTLED {
                    pause = FIRST_PAUSE;
                }
                tokio::select! {
                    () = node.workload.cancelled() => return part.report(Report::Stopped),
                    () = tokio::time::sleep(pause) => {}
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

async fn once<P: Part>(node: &Node, part: &P) -> End {
    let (mut held, mut restarts, mut config) =
        (node.held.subscribe(), node.restarts.subscribe(), node.config.subscribe());
    let wanted = restarts.borrow_and_update().get(part.id()).copied();
    let started = part.program().and_then(|program| {
        node.machine.disk.room().map_err(|error| error.to_string())?;
        let guard = &node.machine.guard;
        let spawn = guard.command(&program.path, Streams::Log(program.log.clone())).args(&program.args);
        let child = guard.spawn(&spawn).map_err(|error| full(&error))?;
        Ok((program, child))
    });
    let (program, child) = match started {
        Ok(started) => started,
        Err(error) => {
            part.report(Report::Failed(error));
            return End::Ended;
        }
    };
    part.report(Report::Started(child.pid()));
    let deadline = part.lifetime().map(|life| Instant::now() + life);
    let mut next = Instant::now();
    loop {
        let dies = async {
            match deadline {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = node.workload.cancelled() => {
                child.stop(GRACE).await;
                part.report(Report::Stopped);
                return End::Stop;
            }
            status = child.wait() => {
                part.report(Report::Ended(status));
                return End::Ended;
            }
            () = until(&mut held, |held| held.contains(part.id())) => {
                child.stop(GRACE).await;
                part.report(Report::Stopped);
                return End::Again;
            }
            () = until(&mut restarts, |all| all.get(part.id()).copied() != wanted) => {
                child.stop(GRACE).await;
                return End::Again;
            }
            Ok(()) = config.changed() => {
                if part.program().is_ok_and(|new| new.args != program.args) {
                    child.stop(GRACE).await;
                    return End::Again;
                }
            }
            () = dies => {
                child.signal(crate::process::Signal::KILL);
                part.report(Report::Ended(child.wait().await));
                return End::Ended;
            }
            () = sleep_until(next) => {
                let healthy = tokio::select! {
                    biased;
                    () = node.workload.cancelled() => continue,
                    healthy = part.check() => healthy,
                };
                next = Instant::now() + if healthy.is_ok() { CHECK } else { CHECK_SOON };
                match healthy {
                    Ok(()) => part.report(Report::Healthy),
                    Err(error) => part.report(Report::Unhealthy(error)),
                }
            }
        }
    }
}
