//! Starts a supervisor and follows it until it is ready.

use std::{
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    time::{Duration, Instant},
};

use butler_core::{
    event::{EventKind, Outcome, Reporter},
    settings::env,
};
use fs_err as fs;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::ChildStdout,
};

use super::{
    holder,
    wire::{DETACH, Notice, Order},
};
use crate::{
    process::{LockFile, LogTail},
    sandbox::{Place, SandboxError, platform::Programs},
};

/// How long a supervisor that is told to stop may take.
const STOP_LIMIT: Duration = Duration::from_secs(30);
/// How often a lock that another process holds is tried.
const LOCK_RETRY: Duration = Duration::from_millis(50);

/// What to start.
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// The sandbox.
    pub place: Place,
    /// The Butler home, absolute: the supervisor has another working directory.
    pub home: PathBuf,
    /// This program.
    pub program: PathBuf,
    /// The real programs.
    pub programs: Programs,
    /// How long to wait until everything is ready.
    pub limit: Duration,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launch {
    /// A new supervisor runs.
    Started,
    /// One was running.
    Present,
}

/// Makes sure that a supervisor runs and that its platform is ready. Of several callers one starts it,
/// the others wait for that one. Dropping the future before the end stops what it had started, and
/// waits for that.
pub async fn launch(options: &LaunchOptions, reporter: &Reporter) -> Result<Launch, SandboxError> {
    let place = &options.place;
    place.prepare()?;
    let _turn = turn(place, reporter).await?;
    if holder(place).is_some() {
        return Ok(Launch::Present);
    }
    let mut starting = Starting::spawn(options)?;
    let followed = tokio::time::timeout(options.limit, starting.follow(place, reporter)).await;
    match followed {
        Ok(result) => result?,
        Err(_) => {
            let name = place.name().to_owned();
            return Err(SandboxError::NotReady { name, limit: options.limit });
        }
    }
    starting.detach(place)?;
    Ok(Launch::Started)
}

/// Waits until no other process is starting this sandbox.
async fn turn(place: &Place, reporter: &Reporter) -> Result<std::fs::File, SandboxError> {
    let path = place.up_lock();
    let failed = |source| SandboxError::System { action: format!("lock `{}`", path.display()), source };
    let file = LockFile::open(&path).map_err(failed)?;
    let mut said = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(std::fs::TryLockError::Error(error)) => return Err(failed(error)),
            Err(std::fs::TryLockError::WouldBlock) if !said => {
                said = true;
                let message = format!("waiting for another process that starts sandbox `{}`", place.name());
                reporter.emit(EventKind::info("sandbox", message)).await;
            }
            Err(std::fs::TryLockError::WouldBlock) => {}
        }
        tokio::time::sleep(LOCK_RETRY).await;
    }
}

/// A supervisor that has not been let go yet.
struct Starting {
    child: Child,
    input: Option<ChildStdin>,
    notices: Lines<BufReader<ChildStdout>>,
    log: PathBuf,
    log_start: u64,
    detached: bool,
}

impl Starting {
    fn spawn(options: &LaunchOptions) -> Result<Self, SandboxError> {
        let place = &options.place;
        let failed = |source| SandboxError::System {
            action: "start the supervisor of the sandbox".to_owned(),
            source,
        };
        let path = place.supervisor_log();
        let log =
            std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&path).map_err(failed)?;
        let log_start = log.metadata().map_err(failed)?.len();
        let mut child = Command::new(&options.program)
            .args(["sandbox", "supervise", "--verbose", "--name", place.name()])
            .env(env::BUTLER_HOME, &options.home)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(failed)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let mut starting = Self {
            input,
            notices: BufReader::new(
                output
                    .map_or_else(|| Err(std::io::ErrorKind::BrokenPipe.into()), ChildStdout::from_std)
                    .map_err(failed)?,
            )
            .lines(),
            child,
            log: path,
            log_start,
            detached: false,
        };
        let order = Order { programs: options.programs.clone() };
        let order = serde_json::to_string(&order).unwrap_or_default();
        starting.say(&order).map_err(failed)?;
        Ok(starting)
    }

    fn say(&mut self, line: &str) -> std::io::Result<()> {
        match &mut self.input {
            Some(input) => input.write_all(format!("{line}\n").as_bytes()),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Reports what the supervisor says until it is ready.
    async fn follow(&mut self, place: &Place, reporter: &Reporter) -> Result<(), SandboxError> {
        let mut phase: Option<String> = None;
        let result = loop {
            let notice = match self.notices.next_line().await {
                Ok(Some(line)) => serde_json::from_str(&line).ok(),
                Ok(None) | Err(_) => {
                    let log = LogTail::read(&self.log, self.log_start);
                    break Err(SandboxError::Lost { name: place.name().to_owned(), log });
                }
            };
            match notice {
                Some(Notice::Phase { phase: next }) => {
                    finish(&mut phase, Outcome::Succeeded, reporter).await;
                    reporter.emit(EventKind::PhaseStarted { phase: next.clone() }).await;
                    phase = Some(next);
                }
                Some(Notice::Warning { message }) => {
                    reporter.emit(EventKind::warning("sandbox", message)).await;
                }
                Some(Notice::Ready) => break Ok(()),
                Some(Notice::Failed(report)) => break Err(SandboxError::Reported(Box::new(report))),
                // Something else on its stdout is not for us.
                None => {}
            }
        };
        finish(&mut phase, Outcome::of(&result), reporter).await;
        result
    }

    /// Lets it live on without us.
    fn detach(&mut self, place: &Place) -> Result<(), SandboxError> {
        let failed = |_| SandboxError::Lost {
            name: place.name().to_owned(),
            log: LogTail::read(&self.log, self.log_start),
        };
        let said = match &mut self.input {
            Some(input) => input.write_all(format!("{DETACH}\n").as_bytes()),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        };
        said.map_err(failed)?;
        self.detached = true;
        Ok(())
    }
}

async fn finish(phase: &mut Option<String>, result: Outcome, reporter: &Reporter) {
    if let Some(phase) = phase.take() {
        reporter.emit(EventKind::PhaseFinished { phase, result }).await;
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        if self.detached {
            return;
        }
        // The end of its input tells it to stop everything. Nothing else can be done meanwhile, so
        // waiting here keeps the promise that nothing is left.
        self.input = None;
        let end = Instant::now() + STOP_LIMIT;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > end {
                // Its children go with it.
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Reads the [`Order`] and then watches stdin: `stop` when it ends without [`DETACH`]. Blocks its
/// thread, which nobody waits for.
pub fn read_order(
    input: impl std::io::BufRead + Send + 'static,
    stop: impl FnOnce() + Send + 'static,
) -> std::io::Result<Order> {
    let mut lines = input.lines();
    let first = lines.next().ok_or(std::io::ErrorKind::UnexpectedEof)??;
    let order = serde_json::from_str(&first)?;
    std::thread::Builder::new().name("order".to_owned()).spawn(move || {
        let detached = lines.map_while(Result::ok).any(|line| line == DETACH);
        if !detached {
            stop();
        }
    })?;
    Ok(order)
}

/// Removes a file that may not be there.
pub(super) fn remove_file(path: &std::path::Path) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
