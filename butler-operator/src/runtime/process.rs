//! The temporary control plane as children of this program: etcd and kube-apiserver on loopback.
//!
//! | file | holds |
//! |---|---|
//! | `lock` | the process that runs it |
//! | `kubeconfig` | an administrator's way in (0600) |
//! | `ports.json` | where it listened the last time |
//! | `pki/`, `etcd/` | identities and data |
//! | `etcd.log`, `kube-apiserver.log` | what the programs say |
//!
//! Children end with this process, however it ends; the data stays and serves the next start.

use std::{
    fmt,
    fs::Permissions,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use butler_core::{
    bootstrap::config::RuntimeKind,
    event::{EventKind, Reporter},
    pki::Usage,
    settings::home::{make_private_dir, write_private},
};
use fs_err as fs;
use jiff::Timestamp;
use kube::Client;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::{Runtime, RuntimeError, TemporaryCluster};
use crate::{
    parts::{self, Parts},
    plane::{self, API_NAMES, ApiServer, Etcd, ISSUER, PkiDir, PlaneError, SERVICE_RANGE, TlsFiles},
    process::{
        Child, Guard, LockError, LockFile, ProcessError, Signal, Streams, free_mib,
        ports::{self, Port},
    },
};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Space without which etcd does not even begin, and some to work with.
const NEEDED_MIB: u64 = 400;
/// How long the programs may take on a machine that is busy; on an idle one it is three seconds.
const READY_LIMIT: Duration = Duration::from_secs(120);
/// How long processes may take to vanish once they are killed.
const VANISH_LIMIT: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// How often a start is tried when a stranger takes a port.
const ATTEMPTS: u32 = 3;
/// Who speaks in events.
const TARGET: &str = "runtime";

/// What a [`ProcessRuntime`] needs.
#[derive(Clone, Debug)]
pub struct ProcessRuntimeOptions {
    /// A directory of its own; made when it is missing, gone after [`Runtime::remove`].
    pub dir: PathBuf,
    /// Where etcd and kube-apiserver are looked for; nothing is installed.
    pub parts: Arc<Parts>,
    /// Ends the children with this process.
    pub guard: Guard,
}

/// etcd and kube-apiserver as children of this program.
pub struct ProcessRuntime {
    place: Place,
    parts: Arc<Parts>,
    guard: Guard,
    running: Mutex<Option<Running>>,
}

struct Running {
    // Killed in this order: nobody writes any more when etcd goes.
    api_server: Child,
    etcd: Child,
    client: Client,
    /// Held so that none of our processes gives them away.
    _ports: Ports,
    _lock: LockFile,
}

impl ProcessRuntime {
    /// Starts nothing and touches nothing.
    pub fn new(options: ProcessRuntimeOptions) -> Self {
        let ProcessRuntimeOptions { dir, parts, guard } = options;
        let dir = std::path::absolute(&dir).unwrap_or(dir);
        Self { place: Place { dir }, parts, guard, running: Mutex::new(None) }
    }

    async fn programs(&self) -> Result<(PathBuf, PathBuf), RuntimeError> {
        let (etcd, api_server) =
            tokio::try_join!(self.parts.find(&parts::ETCD), self.parts.find(&parts::KUBE_APISERVER))?;
        Ok((etcd.path, api_server.path))
    }

    /// Starts both programs and waits until they answer.
    async fn start(&self, reporter: &Reporter) -> Result<(Running, bool), RuntimeError> {
        let place = &self.place;
        place.prepare()?;
        let lock = place.lock()?;
        // Children of a process that was killed go a moment after it. Two etcd on one directory, and the
        // second one takes the data for damaged.
        place.unused().await?;
        check_space(&place.dir)?;
        let programs = self.programs().await?;
        let mut had_data = place.has_data();
        let mut attempt = 1;
        loop {
            let ports = Ports::choose(&place.ports(), attempt == 1)?;
            let identities = match Identities::ensure(place, &ports) {
                Err(PlaneError::Pki(_) | PlaneError::Read { .. }) => {
                    let message =
                        "the certificates of the temporary control plane are damaged; new ones are made";
                    reporter.emit(EventKind::warning(TARGET, message)).await;
                    fs::remove_dir_all(place.pki()).map_err(RuntimeError::system("remove damaged keys"))?;
                    Identities::ensure(place, &ports)?
                }
                other => other?,
            };
            match self.launch(&programs, &ports, &identities).await {
                Ok((etcd, api_server, client)) => {
                    let running = Running { api_server, etcd, client, _ports: ports, _lock: lock };
                    return Ok((running, had_data));
                }
                Err(RuntimeError::Process(error)) if lost_port(&error) && attempt < ATTEMPTS => attempt += 1,
                Err(RuntimeError::Process(error)) if had_data && gave_up(&error) => {
                    had_data = false;
                    let message = format!(
                        "the data of the temporary control plane cannot be used ({error}); it begins anew"
                    );
                    reporter.emit(EventKind::warning(TARGET, message)).await;
                    fs::remove_dir_all(place.etcd()).map_err(RuntimeError::system("remove damaged data"))?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn launch(
        &self,
        (etcd, api_server): &(PathBuf, PathBuf),
        ports: &Ports,
        identities: &Identities,
    ) -> Result<(Child, Child, Client), RuntimeError> {
        let place = &self.place;
        let client = plane::client(&place.kubeconfig()).await?;
        let start = |name: &str, program: &Path, args: Vec<String>| {
            let log = Streams::Log(place.dir.join(format!("{name}.log")));
            // Collecting garbage less often makes the start a quarter quicker.
            let command = self.guard.command(program, log).args(args).envs([("GOGC", "400")]);
            self.guard.spawn(&command.current_dir(&place.dir))
        };
        // The API server waits for etcd by itself, so both begin at once.
        let etcd = start("etcd", etcd, place.etcd_args(ports, identities))?;
        let api_server = start("kube-apiserver", api_server, place.api_server_args(ports, identities))?;
        tokio::select! {
            result = api_server.ready(READY_LIMIT, || plane::ready(&client)) => result?,
            // Should etcd end, the server would wait for it to the last.
            result = etcd.ready(READY_LIMIT, || async { false }) => result?,
        }
        Ok((etcd, api_server, client))
    }
}

#[async_trait]
impl Runtime for ProcessRuntime {
    fn kind(&self) -> RuntimeKind {
        RuntimeKind::Process
    }

    async fn check(&self) -> Result<(), RuntimeError> {
        self.programs().await?;
        let there = self.place.dir.ancestors().find(|dir| dir.exists()).unwrap_or(Path::new("/"));
        let writable = rustix::fs::access(there, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK);
        writable
            .map_err(io::Error::from)
            .map_err(RuntimeError::system(format!("write to `{}`", there.display())))?;
        check_space(there)
    }

    async fn ensure(&self, reporter: &Reporter) -> Result<TemporaryCluster, RuntimeError> {
        let mut running = self.running.lock().await;
        let kubeconfig = self.place.kubeconfig();
        if let Some(known) = running.as_ref() {
            let alive = known.etcd.exited().is_none() && known.api_server.exited().is_none();
            if alive && plane::ready(&known.client).await {
                return Ok(TemporaryCluster { kubeconfig, reused: true });
            }
        }
        *running = None;
        let (started, reused) = self.start(reporter).await?;
        *running = Some(started);
        Ok(TemporaryCluster { kubeconfig, reused })
    }

    async fn remove(&self, _reporter: &Reporter) -> Result<(), RuntimeError> {
        let mut running = self.running.lock().await;
        let place = &self.place;
        let _lock = match running.take() {
            Some(Running { api_server, etcd, _lock, .. }) => {
                for child in [api_server, etcd] {
                    // Nothing of it is needed any more.
                    child.signal(Signal::KILL);
                    child.wait().await;
                }
                _lock
            }
            None if !place.dir.exists() => return Ok(()),
            None => place.lock()?,
        };
        place.unused().await?;
        match fs::remove_dir_all(&place.dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(RuntimeError::system("remove the temporary control plane")(error));
            }
            _ => {}
        }
        match place.left().as_slice() {
            [] => Ok(()),
            left => Err(RuntimeError::Leftovers { what: left.to_vec() }),
        }
    }
}

impl fmt::Debug for ProcessRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessRuntime").field("dir", &self.place.dir).finish_non_exhaustive()
    }
}

/// True when a program could not listen. The programs have no better way to say so than their log.
fn lost_port(error: &ProcessError) -> bool {
    matches!(error, ProcessError::Ended { log, .. }
        if log.lines.iter().any(|line| line.contains("address already in use")))
}

/// True when etcd itself decided to end: nobody killed it, and it was not merely slow.
fn gave_up(error: &ProcessError) -> bool {
    matches!(error, ProcessError::Ended { program, status, .. }
        if program == parts::ETCD.name && status.code().is_some())
}

fn check_space(dir: &Path) -> Result<(), RuntimeError> {
    match free_mib(dir) {
        Some(free) if free < NEEDED_MIB => {
            Err(RuntimeError::NoSpace { dir: dir.to_owned(), free, needed: NEEDED_MIB })
        }
        // A system that does not say is believed.
        _ => Ok(()),
    }
}

/// The directory, and what is where in it.
struct Place {
    dir: PathBuf,
}

impl Place {
    fn kubeconfig(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }

    fn ports(&self) -> PathBuf {
        self.dir.join("ports.json")
    }

    fn pki(&self) -> PathBuf {
        self.dir.join("pki")
    }

    fn etcd(&self) -> PathBuf {
        self.dir.join("etcd")
    }

    fn has_data(&self) -> bool {
        self.etcd().join("member").exists()
    }

    fn prepare(&self) -> Result<(), RuntimeError> {
        make_private_dir(&self.dir)?;
        // It may have been made by somebody less careful.
        fs::set_permissions(&self.dir, Permissions::from_mode(0o700))
            .map_err(RuntimeError::system("make the directory private"))
    }

    fn lock(&self) -> Result<LockFile, RuntimeError> {
        LockFile::take(&self.dir.join("lock")).map_err(|error| match error {
            LockError::Held(pid) => RuntimeError::Busy { dir: self.dir.clone(), pid },
            LockError::System { path, source } => {
                RuntimeError::System { action: format!("lock `{}`", path.display()), source }
            }
        })
    }

    /// Waits until no program works on this directory any more.
    async fn unused(&self) -> Result<(), RuntimeError> {
        let end = Instant::now() + VANISH_LIMIT;
        loop {
            let users = self.users();
            if users.is_empty() {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(RuntimeError::Leftovers { what: users });
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Programs that work on this directory, in words: those that were told so by a flag of ours.
    fn users(&self) -> Vec<String> {
        let flags = [self.data_flag(), self.cert_flag()];
        let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
        pids.filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            let ours =
                words.split(|byte| *byte == 0).any(|word| flags.iter().any(|flag| flag.as_bytes() == word));
            ours.then(|| format!("process {pid}"))
        })
        .collect()
    }

    /// What should be gone and is not.
    fn left(&self) -> Vec<String> {
        let dir = self.dir.exists().then(|| format!("`{}`", self.dir.display()));
        self.users().into_iter().chain(dir).collect()
    }

    fn cert_dir(&self) -> PathBuf {
        self.pki().join("kube-apiserver")
    }

    /// The flags as [`plane`] writes them.
    fn data_flag(&self) -> String {
        format!("--data-dir={}", self.etcd().display())
    }

    fn cert_flag(&self) -> String {
        format!("--cert-dir={}", self.cert_dir().display())
    }

    fn etcd_args(&self, ports: &Ports, identities: &Identities) -> Vec<String> {
        let name = "butler-bootstrap".to_owned();
        Etcd {
            members: vec![(name.clone(), format!("https://{}", ports.etcd_peer.address()))],
            name,
            data_dir: self.etcd(),
            client: ports.etcd.address(),
            peer: ports.etcd_peer.address(),
            joins: false,
            serving: identities.etcd_server.clone(),
            peering: identities.etcd_server.clone(),
            // What it holds can be made again from the journal.
            durable: false,
        }
        .args()
    }

    fn api_server_args(&self, ports: &Ports, identities: &Identities) -> Vec<String> {
        ApiServer {
            bind: ports.api.address(),
            etcd: vec![ports.etcd.address()],
            etcd_tls: identities.etcd_client.clone(),
            serving: identities.api_server.clone(),
            service_range: SERVICE_RANGE.to_owned(),
            issuer: ISSUER.to_owned(),
            // A private key says the public one too.
            token_public_key: identities.token_key.clone(),
            token_key: identities.token_key.clone(),
            cert_dir: self.cert_dir(),
            extra: vec![
                "--anonymous-auth=false".to_owned(),
                "--authorization-mode=RBAC".to_owned(),
                // No controller makes the service accounts that it would demand of Pods.
                "--disable-admission-plugins=ServiceAccount".to_owned(),
            ],
        }
        .args()
    }
}

struct Identities {
    etcd_server: TlsFiles,
    etcd_client: TlsFiles,
    api_server: TlsFiles,
    token_key: PathBuf,
}

impl Identities {
    /// Reads them, makes what is missing, and writes the kubeconfig for these ports.
    fn ensure(place: &Place, ports: &Ports) -> Result<Self, PlaneError> {
        let now = Timestamp::now();
        let etcd = PkiDir::open(&place.pki().join("etcd"), "etcd", now)?;
        let cluster = PkiDir::open(&place.pki().join("cluster"), "kubernetes", now)?;
        let names = ["localhost", "127.0.0.1"];
        let admin = plane::person("admin", Some("system:masters"), now);
        let admin = cluster.identity("admin", &admin, now)?;
        let server = format!("https://{}", ports.api.address());
        cluster.kubeconfig(&place.kubeconfig(), "butler-bootstrap", &server, "admin", &admin)?;
        Ok(Self {
            etcd_server: etcd.identity("server", &plane::server(&names, Usage::Both, now), now)?,
            etcd_client: etcd.identity("client", &plane::person("kube-apiserver", None, now), now)?,
            api_server: cluster.identity("server", &plane::server(&API_NAMES, Usage::Server, now), now)?,
            token_key: cluster.token_key()?,
        })
    }
}

/// Ports that are held as long as the programs may listen on them.
struct Ports {
    etcd: Port,
    etcd_peer: Port,
    api: Port,
}

#[derive(PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PortsFile {
    etcd: SocketAddr,
    etcd_peer: SocketAddr,
    api: SocketAddr,
}

impl Ports {
    /// Those of the last time where they are free, so that an exported kubeconfig stays good.
    fn choose(path: &Path, again: bool) -> Result<Self, RuntimeError> {
        let known: Option<PortsFile> =
            fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let port = |of: fn(&PortsFile) -> SocketAddr| {
            let known = known.as_ref().filter(|_| again).map(of).filter(|known| known.ip() == LOOPBACK);
            known.and_then(ports::take).map_or_else(|| ports::reserve(LOOPBACK), Ok)
        };
        let chosen = Self {
            etcd: port(|file| file.etcd)?,
            etcd_peer: port(|file| file.etcd_peer)?,
            api: port(|file| file.api)?,
        };
        let file = PortsFile {
            etcd: chosen.etcd.address(),
            etcd_peer: chosen.etcd_peer.address(),
            api: chosen.api.address(),
        };
        if known.as_ref() != Some(&file) {
            write_private(path, &serde_json::to_vec_pretty(&file).unwrap_or_default())?;
        }
        Ok(chosen)
    }
}
