//! Builds parts from their pinned Go modules, where no download is to be had.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use butler_core::settings::Environment;
use fs_err as fs;
use semver::Version;
use tokio::process::Command;

use super::{find::programs, sources::Module, table::Part};

/// How often a build tells that it is alive.
const BEAT: Duration = Duration::from_secs(1);
/// As much of a failed build's log as is shown with the error.
const TAIL_LINES: usize = 5;

/// Why a part was not built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no Go.
    #[error("there is no `go` on PATH")]
    NoGo,
    /// There is a `go` that does not work.
    #[error("cannot use `{}`", path.display())]
    BadGo {
        /// The program.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The Go that is there is too old for the pinned sources.
    #[error("`{}` is Go {found}, and {wanted} or newer is needed", path.display())]
    OldGo {
        /// The program.
        path: PathBuf,
        /// Its version.
        found: Version,
        /// The oldest that works.
        wanted: Version,
    },
    /// The sources or the log cannot be written.
    #[error("cannot write to `{}`", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Go said no.
    #[error("`go build` ended with {status}; its log is `{}`", log.display())]
    Failed {
        /// How it ended.
        status: ExitStatus,
        /// All it printed.
        log: PathBuf,
        /// The last lines of it.
        #[source]
        tail: Tail,
    },
    /// The program that came out is not what was asked for.
    #[error("the program that was built is not usable; the log is `{}`", log.display())]
    Unusable {
        /// All that Go printed.
        log: PathBuf,
        /// What is wrong.
        #[source]
        source: Box<super::PartError>,
    },
}

/// The end of a log, as a cause.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Tail(String);

impl BuildError {
    pub(super) fn log(&self) -> Option<&Path> {
        match self {
            Self::Failed { log, .. } | Self::Unusable { log, .. } => Some(log),
            _ => None,
        }
    }
}

/// A Go toolchain that can be used.
#[derive(Debug)]
pub(super) struct Go {
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl Go {
    /// Finds the first `go` on `PATH` and checks that it is new enough for a module.
    pub(super) async fn find(environment: &Environment, module: &Module) -> Result<Self, BuildError> {
        let path = programs(environment, "go").next().ok_or(BuildError::NoGo)?;
        let bad = |source| BuildError::BadGo { path: path.clone(), source };
        let mut go = Self { program: path.clone(), environment: environment_for_go(environment) };
        let output = go.command().args(["env", "GOVERSION", "GOPROXY"]).output().await.map_err(bad)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text.lines();
        let found = lines
            .next()
            .and_then(go_version)
            .filter(|_| output.status.success())
            .ok_or_else(|| bad(io::Error::other(format!("`go env` ended with {}", output.status))))?;
        if let Some(wanted) = module.go().filter(|wanted| found < *wanted) {
            return Err(BuildError::OldGo { path, found, wanted });
        }
        go.environment.push(("GOPROXY".into(), proxy(lines.next().unwrap_or_default()).into()));
        Ok(go)
    }

    /// Builds parts of one module into `out`; `beat` hears once a second how many packages Go has
    /// named: it names each when it is compiled.
    pub(super) async fn build(
        &self,
        module: &Module,
        parts: &[&Part],
        work: &Path,
        out: &Path,
        log: &Path,
        beat: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<(), BuildError> {
        let write = |path: &Path| {
            let path = path.to_owned();
            move |source| BuildError::Write { path, source }
        };
        for (name, text) in module.files {
            fs::write(work.join(name), text).map_err(write(work))?;
        }
        let log_file = fs::File::create(log).map_err(write(log))?.into_parts().0;
        let log_copy = log_file.try_clone().map_err(write(log))?;
        // A trailing slash makes it a directory, with one file per package.
        let mut target = out.as_os_str().to_owned();
        target.push("/");
        let mut command = self.command();
        command
            .current_dir(work)
            .args(["build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", module.ldflags, "-o"])
            .arg(target)
            .args(parts.iter().map(|part| part.package))
            .stdout(log_file)
            .stderr(log_copy);
        let mut child =
            command.spawn().map_err(|source| BuildError::BadGo { path: self.program.clone(), source })?;
        let mut ticks = tokio::time::interval(BEAT);
        let status = loop {
            tokio::select! {
                ended = child.wait() => {
                    break ended.map_err(|source| BuildError::BadGo { path: self.program.clone(), source })?;
                }
                _ = ticks.tick() => beat(tail(log, usize::MAX).lines().count() as u64),
            }
        };
        if status.success() {
            return Ok(());
        }
        Err(BuildError::Failed { status, log: log.to_owned(), tail: Tail(tail(log, TAIL_LINES)) })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .envs(self.environment.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            // Ctrl-C reaches the whole group of a terminal: were Go in ours, its end could be taken for
            // a failed build before we know that the person stopped it.
            .process_group(0)
            .kill_on_drop(true);
        command
    }
}

/// The user's environment, but for what would make the build another one: a cross-compilation, a
/// workspace, a newer toolchain fetched behind our back, flags of another project.
fn environment_for_go(environment: &Environment) -> Vec<(OsString, OsString)> {
    let fixed = [
        ("CGO_ENABLED", "0"),
        ("GO111MODULE", "on"),
        ("GOARCH", ""),
        ("GOFLAGS", "-mod=readonly"),
        ("GOOS", ""),
        ("GOTOOLCHAIN", "local"),
        ("GOWORK", "off"),
    ];
    let theirs = environment.vars().map(|(key, value)| (key.to_owned(), value.to_owned()));
    theirs.chain(fixed.map(|(key, value)| (key.into(), value.into()))).collect()
}

/// `go1.26.8` as a version; a vendor's suffix does not matter.
fn go_version(text: &str) -> Option<Version> {
    let mut numbers =
        text.strip_prefix("go")?.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse().ok());
    Some(Version::new(numbers.next()?, numbers.next()?, numbers.next().unwrap_or(0)))
}

/// The module proxies without `direct`: fetching from the authors' hosts needs git and, on a machine
/// without a way out, hangs where a proxy refuses at once.
fn proxy(setting: &str) -> String {
    let proxies: Vec<&str> =
        setting.split([',', '|']).map(str::trim).filter(|entry| !matches!(*entry, "direct" | "")).collect();
    if proxies.is_empty() { setting.to_owned() } else { proxies.join(",") }
}

/// The last lines of a file; nothing if it cannot be read.
fn tail(file: &Path, lines: usize) -> String {
    let text = fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("https://proxy.example,direct", "https://proxy.example")]
    #[case("https://a.example|https://b.example|direct", "https://a.example,https://b.example")]
    #[case("direct", "direct")]
    #[case("off", "off")]
    fn the_authors_hosts_are_left_out_when_there_is_a_proxy(#[case] setting: &str, #[case] used: &str) {
        assert_eq!(proxy(setting), used);
    }

    #[rstest]
    #[case("go1.26.8", Some(Version::new(1, 26, 8)))]
    #[case("go1.27", Some(Version::new(1, 27, 0)))]
    #[case("go1.26.8 X:nodwarf5", Some(Version::new(1, 26, 8)))]
    #[case("devel", None)]
    fn go_versions_are_read(#[case] text: &str, #[case] version: Option<Version>) {
        assert_eq!(go_version(text), version);
    }
}
