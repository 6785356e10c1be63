//! Asks programs for their version, and remembers the answers: a file that has not changed since
//! (same path, time and size) is not started again.

use std::{
    collections::BTreeMap,
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use butler_core::settings::home;
use fs_err as fs;
use semver::Version;
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use super::table::Part;

/// How long a program may take to say its version.
const DEADLINE: Duration = Duration::from_secs(5);

/// Why the version of a program is not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VersionError {
    /// It cannot be started.
    #[error("it cannot be started")]
    Start(#[source] io::Error),
    /// It did not end in time.
    #[error("it did not say its version within {} s", DEADLINE.as_secs())]
    Deadline,
    /// It failed, or printed something else.
    #[error("it printed no version ({status})")]
    NoAnswer {
        /// How it ended.
        status: std::process::ExitStatus,
    },
}

/// The answers so far, in one file. Losing it costs some process starts and nothing else, so a
/// torn, foreign or unwritable file is no error.
#[derive(Clone, Debug)]
pub(super) struct Versions {
    file: PathBuf,
}

type Answers = BTreeMap<PathBuf, Answer>;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Answer {
    #[serde(flatten)]
    stamp: Stamp,
    version: Version,
}

/// What changes when a file does.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Stamp {
    seconds: i64,
    nanoseconds: i64,
    size: u64,
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let meta = fs::metadata(path)?;
        Ok(Self { seconds: meta.mtime(), nanoseconds: meta.mtime_nsec(), size: meta.size() })
    }
}

impl Versions {
    pub(super) fn new(tools: &Path) -> Self {
        Self { file: tools.join("versions.json") }
    }

    /// The version of the program at `path`: remembered, else asked.
    pub(super) async fn of(&self, part: &Part, path: &Path) -> Result<Version, VersionError> {
        let stamp = Stamp::of(path).map_err(VersionError::Start)?;
        if let Some(answer) = self.read().remove(path).filter(|answer| answer.stamp == stamp) {
            return Ok(answer.version);
        }
        let version = ask(part, path).await?;
        self.remember(path, &version);
        Ok(version)
    }

    /// Keeps an answer for the next process.
    pub(super) fn remember(&self, path: &Path, version: &Version) {
        let Ok(stamp) = Stamp::of(path) else { return };
        let mut answers = self.read();
        answers.retain(|path, _| path.exists());
        answers.insert(path.to_owned(), Answer { stamp, version: version.clone() });
        let saved = self.file.parent().map_or(Ok(()), home::make_private_dir).and_then(|()| {
            home::write_private(&self.file, serde_json::to_string(&answers).unwrap_or_default().as_bytes())
        });
        if let Err(error) = saved {
            tracing::debug!(%error, "versions of parts are not remembered");
        }
    }

    fn read(&self) -> Answers {
        fs::read(&self.file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }
}

/// Starts the program and reads its version from what it prints. It gets an empty environment, so
/// that plugins and settings of the user have no say.
pub(super) async fn ask(part: &Part, path: &Path) -> Result<Version, VersionError> {
    let answer = async {
        loop {
            let mut command = Command::new(path);
            command.args(part.ask).env_clear().stdin(Stdio::null()).kill_on_drop(true);
            // Ctrl-C at the terminal is for us: a program that it ended would seem to have no version.
            command.process_group(0);
            match command.output().await {
                // Somebody forked while the file was open for writing; it closes at their exec.
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                other => return other,
            }
        }
    };
    let output = tokio::time::timeout(DEADLINE, answer)
        .await
        .map_err(|_| VersionError::Deadline)?
        .map_err(VersionError::Start)?;
    let status = output.status;
    Some(String::from_utf8_lossy(&output.stdout))
        .filter(|_| status.success())
        .and_then(|text| first_version(&text))
        .ok_or(VersionError::NoAnswer { status })
}

/// The first word that is a version, with or without a leading `v`.
fn first_version(text: &str) -> Option<Version> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || ".+-".contains(c)))
        .find_map(|word| Version::parse(word.strip_prefix('v').unwrap_or(word)).ok())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn a_configuration_for_the_sandbox_names_the_versions_that_run_there() {
        use butler_core::bootstrap::config::{SANDBOX_KUBERNETES, SANDBOX_TALOS};

        assert_eq!(SANDBOX_KUBERNETES, crate::parts::KUBE_APISERVER.version);
        assert_eq!(SANDBOX_TALOS, crate::parts::TALOSCTL.version);
    }

    #[rstest]
    #[case("etcd Version: 3.6.4\nGit SHA: Not provided\nGo Version: go1.26.8\n", "3.6.4")]
    #[case("Kubernetes v1.34.4\n", "1.34.4")]
    #[case(r#"{"clientVersion": {"major": "1", "minor": "34", "gitVersion": "v1.34.4"}}"#, "1.34.4")]
    #[case("v3.22.0+g1a2b3c4\n", "3.22.0+g1a2b3c4")]
    #[case("kind v0.33.0 go1.26.8 linux/amd64\n", "0.33.0")]
    fn versions_are_read_from_what_the_programs_print(#[case] text: &str, #[case] version: &str) {
        assert_eq!(first_version(text).unwrap().to_string(), version);
    }

    #[test]
    fn text_without_a_version_gives_none() {
        assert_eq!(first_version("usage: kind [go1.26.8] 1.2 v.3"), None);
    }
}
