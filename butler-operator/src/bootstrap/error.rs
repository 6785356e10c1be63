//! What keeps a bootstrap from its end.

use std::path::PathBuf;

use butler_core::{
    bootstrap::run::{RunError, Stage},
    cluster::{ApiError, crds::CrdsError},
    error::{Code, Diagnose, ErrorKind},
    event::{JournalError, RunId},
    settings::HomeError,
};

use crate::{
    driver::DriverError, parts::PartError, process::ProcessError, runtime::RuntimeError,
    sandbox::SandboxError, talos::DocumentError,
};

/// Why a bootstrap did not reach its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BootstrapError {
    /// The ClusterBootstrap failed.
    #[error("cluster `{cluster}` was not made: {message}")]
    Failed {
        /// The cluster.
        cluster: String,
        /// The run.
        run: RunId,
        /// The word for it.
        reason: String,
        /// What `explain` knows of the cause.
        code: Code,
        /// What happened.
        message: String,
    },
    /// It took too long.
    #[error("cluster `{cluster}` was not ready within {}; last phase `{phase}`{}", words(*limit), after(message))]
    Timeout {
        /// The cluster.
        cluster: String,
        /// The run.
        run: RunId,
        /// The limit.
        limit: std::time::Duration,
        /// How far it was.
        phase: String,
        /// What it waited for.
        message: String,
    },
    /// There is something of that name at the provider.
    #[error("{what} `{name}` exists at the provider and is not of this run")]
    NameTaken {
        /// A machine, or a load balancer.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Something answers at the address that the control planes are to share.
    #[error("`{address}` answers already, so it cannot be the address of a new cluster")]
    VipAnswers {
        /// The address.
        address: String,
    },
    /// Another run makes or made this cluster.
    #[error("cluster `{cluster}` belongs to run `{run}`, which is {stage}")]
    ClusterTaken {
        /// The cluster.
        cluster: String,
        /// The run.
        run: RunId,
        /// Where it stands.
        stage: &'static str,
    },
    /// The run cannot be gone on with.
    #[error("run `{run}` is {stage} and cannot be taken up")]
    NotResumable {
        /// The run.
        run: RunId,
        /// Where it stands.
        stage: &'static str,
        /// What can be done with it.
        next: &'static str,
    },
    /// Its machines were configured with secrets that are gone.
    #[error("the secrets of run `{run}` are gone, and its machines were configured with them: `{}`", path.display())]
    SecretsLost {
        /// The run.
        run: RunId,
        /// The file.
        path: PathBuf,
    },
    /// Something was left after everything was removed.
    #[error("after the removal there is still: {}", left.join(", "))]
    Left {
        /// What.
        left: Vec<String>,
    },
    /// A file cannot be written.
    #[error("cannot use `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: std::io::Error,
    },
    /// The kubeconfig of the temporary control plane cannot be used.
    #[error("cannot use the kubeconfig of the temporary control plane")]
    Kubeconfig(#[source] kube::config::KubeconfigError),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Runs on disk.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Files of the home.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The temporary control plane.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// An API server.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The definitions.
    #[error(transparent)]
    Crds(#[from] CrdsError),
    /// The provider.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// Programs.
    #[error(transparent)]
    Parts(#[from] PartError),
    /// Processes.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The sandbox.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// Documents of Talos.
    #[error(transparent)]
    Talos(#[from] DocumentError),
    /// Addons.
    #[error(transparent)]
    Addon(#[from] crate::addons::AddonError),
    /// Controllers.
    #[error(transparent)]
    Controller(#[from] crate::controller::ControllerError),
}

impl BootstrapError {
    fn inner(&self) -> Option<&dyn Diagnose> {
        Some(match self {
            Self::Journal(error) => error,
            Self::Run(error) => error,
            Self::Home(error) => error,
            Self::Runtime(error) => error,
            Self::Api(error) => error,
            Self::Crds(error) => error,
            Self::Driver(error) => error,
            Self::Parts(error) => error,
            Self::Process(error) => error,
            Self::Sandbox(error) => error,
            Self::Talos(error) => error,
            Self::Addon(error) => error,
            Self::Controller(error) => error,
            _ => return None,
        })
    }
}

/// A limit as a person gives one.
fn words(limit: std::time::Duration) -> String {
    match limit.as_secs() {
        seconds if seconds > 0 && seconds % 60 == 0 => format!("{} min", seconds / 60),
        _ => format!("{limit:?}"),
    }
}

/// What was waited for, where anything was.
fn after(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

impl Diagnose for BootstrapError {
    fn code(&self) -> Code {
        match self {
            Self::Failed { code, .. } => *code,
            Self::Timeout { .. } => Code::BootstrapTimeout,
            Self::NameTaken { .. } => Code::MachineNameTaken,
            Self::VipAnswers { .. } => Code::VipAnswers,
            Self::ClusterTaken { .. } => Code::ClusterTaken,
            Self::NotResumable { .. } => Code::RunNotResumable,
            Self::SecretsLost { .. } => Code::RunSecretsLost,
            Self::Left { .. } => Code::DestroyIncomplete,
            Self::File { .. } => Code::FileUnwritable,
            Self::Kubeconfig(_) => Code::KubeconfigUnreadable,
            _ => self.inner().map_or(Code::Internal, Diagnose::code),
        }
    }

    fn kind(&self) -> ErrorKind {
        // Whatever the cause: a run that gave up ends with the status for that.
        if matches!(self, Self::Failed { .. }) {
            return ErrorKind::Bootstrap;
        }
        self.inner().map_or_else(|| self.code().kind(), Diagnose::kind)
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Failed { run, .. } | Self::Timeout { run, .. } => vec![
                format!("butleradm bootstrap status {run}"),
                format!("butleradm bootstrap resume {run}"),
                format!("butleradm bootstrap destroy {run}"),
            ],
            Self::ClusterTaken { run, cluster, stage } => {
                // What is done, or what another process does, cannot be taken up.
                let may_resume = [Stage::Interrupted, Stage::Stopped, Stage::Failed]
                    .iter()
                    .any(|resumable| resumable.as_str() == *stage);
                let resume = Some(format!("butleradm bootstrap resume {run}")).filter(|_| may_resume);
                let status = format!("butleradm bootstrap status {cluster}");
                let destroy = format!("butleradm bootstrap destroy {run}");
                std::iter::once(status).chain(resume).chain([destroy]).collect()
            }
            Self::NotResumable { run, next, .. } => vec![format!("butleradm bootstrap {next} {run}")],
            Self::SecretsLost { run, .. } => vec![format!("butleradm bootstrap destroy {run}")],
            Self::NameTaken { .. } => vec!["choose another cluster.name".to_owned()],
            Self::VipAnswers { .. } => vec!["choose another network.vip".to_owned()],
            _ => self.inner().map(Diagnose::hints).unwrap_or_default(),
        }
    }

    fn problems(&self) -> Vec<String> {
        self.inner().map(Diagnose::problems).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_limit_is_told_as_it_was_given() {
        let told = |limit, message: &str| {
            let run = RunId::new(jiff::Timestamp::UNIX_EPOCH);
            let (cluster, phase) = ("m".to_owned(), "Pivoting".to_owned());
            BootstrapError::Timeout { cluster, run, limit, phase, message: message.to_owned() }.to_string()
        };
        let expected = "cluster `m` was not ready within 90s; last phase `Pivoting`";
        assert_eq!(told(Duration::from_secs(90), ""), expected);
        let expected = "cluster `m` was not ready within 30 min; last phase `Pivoting`: nodes";
        assert_eq!(told(Duration::from_secs(1800), "nodes"), expected);
    }
}
