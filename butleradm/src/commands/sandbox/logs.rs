//! `sandbox logs`: what the parts and machines write.

use std::{
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    time::Duration,
};

use butler_operator::sandbox::{Place, SandboxError, supervisor::log_files};
use butler_term::{CommandError, CommandResult, run::Session};
use clap::Args;

/// Pause between two looks at logs that are followed.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A log is read from no further back than this.
const FARTHEST: u64 = 4 << 20;

/// Show the logs of the sandbox
///
/// Of one part or machine, or of all, each line with its name before it. Works also when the sandbox is
/// stopped.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm sandbox logs
  butleradm sandbox logs kube-apiserver --tail 100
  butleradm sandbox logs cp-0 -f")]
pub(crate) struct LogsArgs {
    /// Part or machine; all if none is given
    #[arg(value_name = "PART", add = super::parts())]
    part: Option<String>,

    /// Go on, and show what is added
    #[arg(short, long)]
    follow: bool,

    /// How many lines of each log to begin with
    #[arg(long, value_name = "N", default_value_t = 20)]
    tail: usize,
}

/// A log and how far it was shown.
struct Log {
    label: Option<String>,
    path: PathBuf,
    at: u64,
    rest: String,
}

/// Runs the command.
pub(crate) fn run(args: &LogsArgs, place: &Place, session: &Session) -> CommandResult {
    if !place.dir().exists() {
        return Err(SandboxError::NotRunning { name: place.name().to_owned() }.into());
    }
    let mut logs = chosen(args, place)?;
    let width = logs.iter().filter_map(|log| log.label.as_ref().map(String::len)).max().unwrap_or_default();
    for log in &mut logs {
        let text = log.begin(args.tail).map_err(|error| unreadable(&log.path, error))?;
        session.ui.text(&labelled(&text, log.label.as_deref(), width))?;
    }
    if !args.follow {
        return Ok(());
    }
    session.follow(async {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            for log in &mut logs {
                // A log that is being exchanged is there again at the next look.
                let text = log.added().unwrap_or_default();
                if !text.is_empty() {
                    session.ui.text(&labelled(&text, log.label.as_deref(), width))?;
                }
            }
        }
    })
}

fn chosen(args: &LogsArgs, place: &Place) -> CommandResult<Vec<Log>> {
    let files = log_files(place);
    let known: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
    let log = |label, path| Log { label, path, at: 0, rest: String::new() };
    match &args.part {
        None => Ok(files.into_iter().map(|(name, path)| log(Some(name), path)).collect()),
        Some(part) => match files.into_iter().find(|(name, _)| name == part) {
            Some((_, path)) => Ok(vec![log(None, path)]),
            None => {
                let name = place.name().to_owned();
                Err(SandboxError::NoSuchPart { name, part: part.clone(), known }.into())
            }
        },
    }
}

impl Log {
    /// The last lines.
    fn begin(&mut self, lines: usize) -> std::io::Result<String> {
        let length = std::fs::metadata(&self.path).map_or(0, |meta| meta.len());
        self.at = length.saturating_sub(FARTHEST);
        let text = self.added()?;
        let skip = text.lines().count().saturating_sub(lines);
        Ok(text.lines().skip(skip).map(|line| format!("{line}\n")).collect())
    }

    /// Whole lines that were added since the last look. One that was cut is read from its begin.
    fn added(&mut self) -> std::io::Result<String> {
        let mut file = match std::fs::File::open(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(String::new()),
            file => file?,
        };
        if file.metadata()?.len() < self.at {
            self.at = 0;
        }
        file.seek(SeekFrom::Start(self.at))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        self.at += bytes.len() as u64;
        self.rest += &String::from_utf8_lossy(&bytes);
        let end = self.rest.rfind('\n').map_or(0, |end| end + 1);
        Ok(self.rest.drain(..end).collect())
    }
}

fn labelled(text: &str, label: Option<&str>, width: usize) -> String {
    match label {
        None => text.to_owned(),
        Some(label) => text.lines().map(|line| format!("{label:width$}  {line}\n")).collect(),
    }
}

fn unreadable(path: &Path, source: std::io::Error) -> CommandError {
    SandboxError::Read { path: path.to_owned(), source }.into()
}
