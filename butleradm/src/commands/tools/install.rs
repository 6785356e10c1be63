//! `tools install`: downloads or builds what is missing, and keeps the person informed.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use butler_operator::parts::{self, DownloadError, Installed, Origin, Part, Parts, Update};
use butler_term::{CommandResult, Ui, run::Session};
use clap::Args;

/// Silence longer than this looks like a hang.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Install the programs Butler works with
///
/// Installs those that are missing, into the Butler home. Programs that are found elsewhere are left
/// alone. A second run goes on where the first one stopped; several at once do the work only once.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm tools install
  butleradm tools install kubectl helm")]
pub(crate) struct InstallArgs {
    /// Names of programs; all if none is given
    #[arg(value_name = "NAME", value_parser = super::part_parser())]
    parts: Vec<&'static Part>,
}

/// Runs the command.
pub(crate) fn run(args: InstallArgs, parts: &Parts, session: &Session) -> CommandResult {
    let chosen: Vec<&'static Part> =
        parts::ALL.into_iter().filter(|part| args.parts.is_empty() || args.parts.contains(part)).collect();
    let talk = Talk::new(&session.ui);
    let installed =
        session.block_on(async { Ok(parts.install(&chosen, &|update| talk.hear(&update)).await?) })?;
    let count = |origin| installed.iter().filter(|installed| installed.origin == origin).count();
    session.ui.status(format_args!(
        "{} ready in {}: {} found, {} downloaded, {} built",
        plural(installed.len()),
        short(talk.start.elapsed()),
        count(Origin::Present),
        count(Origin::Downloaded),
        count(Origin::Built),
    ));
    Ok(())
}

/// Turns updates, which come by the second, into lines that are worth reading.
struct Talk<'a> {
    ui: &'a Ui,
    start: Instant,
    /// What is going on, and when that was last said.
    current: Mutex<(String, Instant)>,
}

impl<'a> Talk<'a> {
    fn new(ui: &'a Ui) -> Self {
        let now = Instant::now();
        Self { ui, start: now, current: Mutex::new((String::new(), now)) }
    }

    fn hear(&self, update: &Update<'_>) {
        match update {
            Update::Waiting { parts, elapsed } => {
                let task = format!("waiting for another process that installs {}", names(parts));
                self.beat(task, "", || short(*elapsed));
            }
            Update::Downloading { part, done, total } => {
                self.beat(format!("downloading {part} {}", part.version), "", || match total {
                    Some(total) => format!("{} of {}", mebibytes(*done), mebibytes(*total)),
                    None => mebibytes(*done),
                });
            }
            Update::NotDownloaded {
                part,
                error: error @ (DownloadError::Offline | DownloadError::NotAllowed),
            } => {
                self.ui.detail(format_args!("{part} is not downloaded: {error}"));
            }
            Update::NotDownloaded { part, error } => {
                self.ui.status(format_args!("{part} is not downloaded: {error}"));
            }
            Update::Building { parts, elapsed, usual, said } => {
                let usually = format!(" (about {} with nothing cached)", short(*usual));
                self.beat(format!("building {} with Go", names(parts)), &usually, || {
                    // Go names packages as it compiles them, and is silent while it links.
                    let at = if said.is_empty() { String::new() } else { format!(", now at {said}") };
                    format!("{}{at}", short(*elapsed))
                });
            }
            Update::Done(Installed { found, origin: Origin::Present }) => {
                self.ui.detail(format_args!(
                    "{} {} is there: {}",
                    found.part,
                    found.version,
                    found.path.display()
                ));
            }
            Update::Done(Installed { found, .. }) => {
                self.ui.status(format_args!("{} {} is installed", found.part, found.version));
            }
            _ => {}
        }
    }

    /// Says a task when it begins, and from time to time how far it is.
    fn beat(&self, task: String, expectation: &str, state: impl FnOnce() -> String) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let (said, when) = &mut *current;
        if *said != task {
            self.ui.status(format_args!("{task}{expectation}"));
        } else if when.elapsed() >= HEARTBEAT {
            self.ui.status(format_args!("still {task}: {}", state()));
        } else {
            return;
        }
        *current = (task, Instant::now());
    }
}

fn names(parts: &[&Part]) -> String {
    parts.iter().map(|part| part.name).collect::<Vec<_>>().join(", ")
}

fn plural(count: usize) -> String {
    if count == 1 { "1 program".to_owned() } else { format!("{count} programs") }
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / 1_048_576.0)
}

/// `850ms`, `12s` or `2m5s`.
fn short(duration: Duration) -> String {
    match duration.as_secs() {
        0 => format!("{}ms", duration.as_millis()),
        seconds @ 1..60 => format!("{seconds}s"),
        seconds if seconds % 60 == 0 => format!("{}m", seconds / 60),
        seconds => format!("{}m{}s", seconds / 60, seconds % 60),
    }
}
