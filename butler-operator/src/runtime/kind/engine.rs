//! The container engine, through its program: whether it answers, what it runs, and commands in its
//! containers. Answers are read as JSON; the words people see are never taken apart.

use std::{
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use butler_core::{
    event::{EventKind, Reporter},
    settings::Environment,
};
use semver::Version;
use serde::Deserialize;
use serde_json::Value;
use tokio::net::UnixStream;

use super::{TARGET, program::Program};
use crate::{parts::programs, process::Guard, runtime::RuntimeError};

const ASK_LIMIT: Duration = Duration::from_secs(20);
const EXEC_LIMIT: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The label by which `kind` knows its containers.
const CLUSTER_LABEL: &str = "io.x-k8s.kind.cluster";
const PROVIDER_VARIABLE: &str = "KIND_EXPERIMENTAL_PROVIDER";

/// An engine that `kind` can use.
struct Known {
    /// Its program, and the value of `KIND_EXPERIMENTAL_PROVIDER`.
    name: &'static str,
    /// The oldest version that works.
    oldest: Version,
    /// Where its server listens unless the environment says otherwise; none when it has no server.
    socket: Option<&'static str>,
}

/// In the order in which they are looked for.
static KNOWN: [Known; 3] = [
    Known { name: "docker", oldest: Version::new(20, 10, 0), socket: Some("/var/run/docker.sock") },
    Known { name: "nerdctl", oldest: Version::new(1, 7, 0), socket: None },
    Known { name: "podman", oldest: Version::new(3, 0, 0), socket: None },
];

/// The container engine of this computer.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    pub(super) name: &'static str,
    pub(super) program: Program,
    oldest: &'static Version,
    socket: Option<&'static str>,
    host: Option<String>,
}

/// A container of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Container {
    pub(super) name: String,
    pub(super) running: bool,
    /// What of this computer is mounted into it.
    pub(super) mounts: Vec<PathBuf>,
}

impl Engine {
    /// Finds the program: that of the provider that is asked for, else the first that is there.
    pub(super) fn find(environment: &Environment, guard: &Guard) -> Result<Self, RuntimeError> {
        let wanted = environment.get(PROVIDER_VARIABLE).filter(|name| !name.is_empty());
        let candidates: Vec<&'static Known> =
            KNOWN.iter().filter(|known| wanted.is_none_or(|wanted| wanted == known.name)).collect();
        let found =
            candidates.iter().find_map(|known| Some((*known, programs(environment, known.name).next()?)));
        let Some((known, path)) = found else {
            let names = match wanted {
                Some(wanted) => vec![wanted.to_owned()],
                None => KNOWN.iter().map(|known| known.name.to_owned()).collect(),
            };
            return Err(RuntimeError::EngineMissing { names });
        };
        Ok(Self {
            name: known.name,
            program: Program::new(path, environment, guard),
            oldest: &known.oldest,
            socket: known.socket,
            host: environment.get("DOCKER_HOST").map(str::to_owned),
        })
    }

    /// `kind` with this engine.
    pub(super) fn kind(&self, path: PathBuf, environment: &Environment, guard: &Guard) -> Program {
        Program::new(path, environment, guard).with_env(PROVIDER_VARIABLE, self.name)
    }

    /// Makes sure that it answers and is new enough.
    pub(super) async fn check(&self) -> Result<(), RuntimeError> {
        let args = ["version", "--format", "{{json .}}"];
        let (status, stdout, stderr) = self.program.output(&args, b"", ASK_LIMIT).await?;
        let Some(found) = server_version(self.name, &stdout) else {
            return Err(self.why_silent(status.to_string(), &stderr).await);
        };
        if found < *self.oldest {
            return Err(RuntimeError::EngineTooOld { engine: self.name, found, oldest: self.oldest.clone() });
        }
        Ok(())
    }

    /// Why there is no answer: we knock at its socket ourselves.
    async fn why_silent(&self, status: String, stderr: &[u8]) -> RuntimeError {
        let host = self.endpoint().await;
        let knock = match host.as_deref().and_then(|host| host.strip_prefix("unix://")) {
            Some(socket) => Some((PathBuf::from(socket), UnixStream::connect(socket).await.map(drop))),
            None => None,
        };
        let said = String::from_utf8_lossy(stderr).trim().to_owned();
        silence(self.name, host, knock).unwrap_or_else(|| RuntimeError::Command {
            command: format!("{} version", self.name),
            status,
            said,
        })
    }

    /// Where the program looks for its server.
    async fn endpoint(&self) -> Option<String> {
        let usual = format!("unix://{}", self.socket?);
        if let Some(host) = &self.host {
            return Some(host.clone());
        }
        let context = self.json(&["context", "inspect", "--format", "{{json .}}"]).await.ok();
        let host = context.as_ref().and_then(|context| context.pointer("/Endpoints/docker/Host")?.as_str());
        Some(host.map_or(usual, str::to_owned))
    }

    /// The server's socket, if it has one on this computer.
    pub(super) async fn socket(&self) -> Option<PathBuf> {
        self.endpoint().await?.strip_prefix("unix://").map(PathBuf::from)
    }

    /// Where it keeps its data, if it says.
    pub(super) async fn data_dir(&self) -> Option<PathBuf> {
        let info = self.json(&["info", "--format", "{{json .}}"]).await.ok()?;
        let dir = info.get("DockerRootDir").or_else(|| info.pointer("/store/graphRoot"));
        Some(dir?.as_str()?.into())
    }

    /// The containers of a cluster of `kind`, running or not.
    pub(super) async fn containers(&self, cluster: &str) -> Result<Vec<Container>, RuntimeError> {
        let filter = format!("label={CLUSTER_LABEL}={cluster}");
        let list = ["ps", "--all", "--no-trunc", "--filter", &filter, "--format", "{{.ID}}"];
        let end = Instant::now() + ASK_LIMIT;
        loop {
            let ids = self.program.run(&list, ASK_LIMIT).await?.text();
            let ids: Vec<&str> = ids.lines().map(str::trim).filter(|id| !id.is_empty()).collect();
            if ids.is_empty() {
                return Ok(Vec::new());
            }
            let args: Vec<&str> = ["inspect", "--type", "container"].into_iter().chain(ids).collect();
            match self.program.run(&args, ASK_LIMIT).await {
                Ok(answer) => {
                    return containers(&answer.stdout)
                        .ok_or_else(|| RuntimeError::Answer { command: format!("{} inspect", self.name) });
                }
                // One that comes or goes this moment is listed, and nothing else is known of it.
                Err(RuntimeError::Command { .. }) if Instant::now() < end => {
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes sure that it has an image; one that it lacks is pulled.
    pub(super) async fn image(
        &self,
        image: &str,
        limit: Duration,
        reporter: &Reporter,
    ) -> Result<(), RuntimeError> {
        if self.program.run(&["image", "inspect", "--format", "{{.Id}}", image], ASK_LIMIT).await.is_ok() {
            return Ok(());
        }
        reporter.emit(EventKind::info(TARGET, format!("{} pulls `{image}`", self.name))).await;
        match self.program.run(&["pull", "--quiet", image], limit).await {
            Ok(_) => Ok(()),
            Err(RuntimeError::Command { said, .. }) => {
                Err(RuntimeError::NodeImage { engine: self.name, image: image.to_owned(), said })
            }
            Err(error) => Err(error),
        }
    }

    /// What the engine says of a network.
    pub(super) async fn network(&self, name: &str) -> Result<Value, RuntimeError> {
        self.json(&["network", "inspect", name]).await
    }

    pub(super) async fn start(&self, container: &str) -> Result<(), RuntimeError> {
        self.program.run(&["start", container], EXEC_LIMIT).await.map(drop)
    }

    /// Runs a command in a container; there is no shell between.
    pub(super) async fn exec(&self, container: &str, command: &[&str]) -> Result<String, RuntimeError> {
        let args: Vec<&str> = ["exec", container].into_iter().chain(command.iter().copied()).collect();
        Ok(self.program.run(&args, EXEC_LIMIT).await?.text())
    }

    /// Adds text to the end of a file in a container.
    pub(super) async fn append(&self, container: &str, file: &str, text: &str) -> Result<(), RuntimeError> {
        let args = ["exec", "-i", container, "tee", "-a", file];
        self.program.feed(&args, text.as_bytes(), EXEC_LIMIT).await.map(drop)
    }

    async fn json(&self, args: &[&str]) -> Result<Value, RuntimeError> {
        let answer = self.program.run(args, ASK_LIMIT).await?;
        serde_json::from_slice(&answer.stdout)
            .map_err(|_| RuntimeError::Answer { command: format!("{} {}", self.name, args.join(" ")) })
    }
}

/// What it means when the engine says nothing: where it was asked, and what came of knocking at its
/// socket. None when the engine is there, and its own words must do.
fn silence(
    engine: &'static str,
    host: Option<String>,
    knock: Option<(PathBuf, io::Result<()>)>,
) -> Option<RuntimeError> {
    let host = host?;
    Some(match knock {
        Some((_, Ok(()))) => return None,
        Some((socket, Err(error))) if error.kind() == io::ErrorKind::PermissionDenied => {
            RuntimeError::EngineDenied { engine, socket }
        }
        _ => RuntimeError::EngineNotRunning { engine, host },
    })
}

/// The version of the server, or of the program where there is no server.
fn server_version(engine: &str, answer: &[u8]) -> Option<Version> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let version = match engine {
        "docker" => answer.pointer("/Server/Version")?,
        _ => answer.pointer("/Client/Version")?,
    };
    lenient(version.as_str()?)
}

/// Engines write `20.10.24+dfsg1`, `v1.7.6` and `4.9`.
fn lenient(text: &str) -> Option<Version> {
    let text = text.trim_start_matches('v');
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let mut numbers = text[..end].split('.').map(|number| number.parse::<u64>().ok());
    let major = numbers.next()??;
    Some(Version::new(major, numbers.next().flatten().unwrap_or(0), numbers.next().flatten().unwrap_or(0)))
}

/// What `inspect` says, as far as we need it.
fn containers(answer: &[u8]) -> Option<Vec<Container>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Inspected {
        name: String,
        state: State,
        #[serde(default)]
        mounts: Vec<Mount>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct State {
        running: bool,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Mount {
        #[serde(default)]
        source: PathBuf,
    }
    let all: Vec<Inspected> = serde_json::from_slice(answer).ok()?;
    let container = |found: Inspected| Container {
        name: found.name.trim_start_matches('/').to_owned(),
        running: found.state.running,
        mounts: found.mounts.into_iter().map(|mount| mount.source).collect(),
    };
    Some(all.into_iter().map(container).collect())
}

impl Container {
    /// True when this file of ours is mounted into it.
    pub(super) fn has(&self, file: &Path) -> bool {
        self.mounts.iter().any(|source| source == file)
    }
}

#[cfg(test)]
mod tests {
    use butler_core::error::{Code, Diagnose};
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("20.10.24+dfsg1", (20, 10, 24))]
    #[case("v1.7.6", (1, 7, 6))]
    #[case("29.0.0-rc.1", (29, 0, 0))]
    #[case("4.9", (4, 9, 0))]
    fn versions_of_engines_are_read_as_they_write_them(#[case] text: &str, #[case] wanted: (u64, u64, u64)) {
        assert_eq!(lenient(text), Some(Version::new(wanted.0, wanted.1, wanted.2)));
    }

    #[test]
    fn a_server_that_does_not_answer_has_no_version() {
        let off = json!({ "Client": { "Version": "27.3.1" }, "Server": null }).to_string();
        assert_eq!(server_version("docker", off.as_bytes()), None);
        assert!(server_version("podman", off.as_bytes()).is_some(), "it has no server to ask");
        assert_eq!(server_version("docker", b"Cannot connect"), None);
        assert_eq!(lenient("unknown"), None);
    }

    #[test]
    fn silence_is_explained_by_what_the_socket_does() {
        let socket = PathBuf::from("/var/run/docker.sock");
        let host = || Some("unix:///var/run/docker.sock".to_owned());
        let knock = |kind: io::ErrorKind| Some((socket.clone(), Err(kind.into())));
        let denied = silence("docker", host(), knock(io::ErrorKind::PermissionDenied)).unwrap();
        assert_eq!(denied.code(), Code::EngineDenied);
        assert_eq!(denied.hints(), ["ls -l /var/run/docker.sock", "sudo usermod -aG docker $USER"]);
        for kind in [io::ErrorKind::NotFound, io::ErrorKind::ConnectionRefused] {
            let off = silence("docker", host(), knock(kind)).unwrap();
            assert_eq!(
                (off.code(), off.hints()[0].as_str()),
                (Code::EngineNotRunning, "sudo systemctl start docker")
            );
        }
        let far = silence("docker", Some("ssh://build".to_owned()), None).unwrap();
        assert!(far.to_string().ends_with("at ssh://build"), "{far}");
        assert!(silence("docker", host(), Some((socket.clone(), Ok(())))).is_none());
    }

    #[test]
    fn containers_are_read_with_what_is_mounted_into_them() {
        let answer = json!([{
            "Id": "f00", "Name": "/butler-bootstrap-control-plane",
            "State": { "Status": "exited", "Running": false },
            "Mounts": [{ "Type": "bind", "Source": "/run/1/owner", "Destination": "/butler/owner" }, { "Type": "volume" }],
        }]);
        let found = containers(answer.to_string().as_bytes()).unwrap();
        assert_eq!(found[0].name, "butler-bootstrap-control-plane");
        assert!(!found[0].running && found[0].has(Path::new("/run/1/owner")));
        assert_eq!(containers(b"[{}]"), None);
    }
}
