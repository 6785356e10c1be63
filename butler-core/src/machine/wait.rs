//! Waiting for a machine, by watching its request.

use std::{pin::pin, time::Duration};

use futures::StreamExt;
use kube::{
    Api, Client,
    runtime::{WatchStreamExt, watcher::watch_object},
};
use tokio::time::timeout;

use crate::{
    api::{
        MachineRequest,
        conditions::{status, types},
        machine_request::MachineRequestPhase as Phase,
    },
    cluster::ApiError,
    error::{Code, Diagnose, ErrorKind},
};

/// Why a machine is not what was waited for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The API server could not be asked.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The controllers gave up.
    #[error("machine `{name}` failed ({reason})")]
    Failed {
        /// Namespace of the request.
        namespace: String,
        /// The request.
        name: String,
        /// Why, in one word.
        reason: String,
        /// The provider's words.
        #[source]
        message: Words,
    },
    /// The request was removed while we waited.
    #[error("machine request `{name}` was removed while it was waited for")]
    Removed {
        /// The request.
        name: String,
    },
    /// It takes longer.
    #[error("machine `{name}` was not {wanted} within {}s; it is {phase}", limit.as_secs())]
    NotYet {
        /// Namespace of the request.
        namespace: String,
        /// The request.
        name: String,
        /// What was waited for.
        wanted: &'static str,
        /// The phase it is in.
        phase: String,
        /// How long we waited.
        limit: Duration,
    },
}

/// Somebody else's words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Words(String);

impl Diagnose for MachineError {
    fn code(&self) -> Code {
        match self {
            Self::Api(error) => error.code(),
            Self::Failed { .. } => Code::MachineFailed,
            Self::Removed { .. } => Code::ObjectNotFound,
            Self::NotYet { .. } => Code::MachineNotReady,
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::Api(error) => error.kind(),
            other => other.code().kind(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Failed { namespace, name, .. } | Self::NotYet { namespace, name, .. } => vec![
                format!("butleradm machine get {name} -n {namespace}"),
                format!("kubectl describe machinerequest {name} -n {namespace}"),
            ],
            _ => Vec::new(),
        }
    }
}

/// Waits until a machine is ready; `tell` hears each phase. Interruptions of the API server are borne.
pub async fn ready(
    client: &Client,
    namespace: &str,
    name: &str,
    limit: Duration,
    tell: impl FnMut(&str),
) -> Result<MachineRequest, MachineError> {
    let judge = |request: Option<MachineRequest>| {
        let Some(request) = request else {
            return Some(Err(MachineError::Removed { name: name.to_owned() }));
        };
        let found = request.status.clone().unwrap_or_default();
        let is_ready = |condition: &&_| is_ready(condition);
        match found.phase {
            Some(Phase::Running) if found.conditions.iter().find(is_ready).is_some() => Some(Ok(request)),
            Some(Phase::Failed) => Some(Err(MachineError::Failed {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                reason: found.failure_reason.unwrap_or_else(|| "Failed".to_owned()),
                message: Words(found.failure_message.unwrap_or_else(|| "no reason was given".to_owned())),
            })),
            _ => None,
        }
    };
    follow(client, (namespace, name), (limit, "ready"), tell, judge).await
}

fn is_ready(condition: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition) -> bool {
    condition.type_ == types::READY && condition.status == status::TRUE
}

/// Waits until a request is gone, and so its machine.
pub async fn gone(
    client: &Client,
    namespace: &str,
    name: &str,
    limit: Duration,
    tell: impl FnMut(&str),
) -> Result<(), MachineError> {
    let judge = |request: Option<MachineRequest>| request.is_none().then_some(Ok(()));
    follow(client, (namespace, name), (limit, "gone"), tell, judge).await
}

async fn follow<T>(
    client: &Client,
    (namespace, name): (&str, &str),
    (limit, wanted): (Duration, &'static str),
    mut tell: impl FnMut(&str),
    judge: impl Fn(Option<MachineRequest>) -> Option<Result<T, MachineError>>,
) -> Result<T, MachineError> {
    let api: Api<MachineRequest> = Api::namespaced(client.clone(), namespace);
    let mut phase = Phase::Pending.to_string();
    let mut told = None;
    let watched = async {
        let mut changes = pin!(watch_object(api, name).default_backoff());
        while let Some(change) = changes.next().await {
            let request = match change {
                Ok(request) => request,
                Err(error) => {
                    let error = ApiError::watching(format!("watch machine request `{name}`"), error);
                    if error.kind().is_retryable() {
                        continue;
                    }
                    return Err(error.into());
                }
            };
            if let Some(found) = request.as_ref().and_then(|request| request.status.as_ref()?.phase.as_ref())
            {
                phase = found.to_string();
                if told.as_ref() != Some(&phase) {
                    tell(&phase);
                    told = Some(phase.clone());
                }
            }
            if let Some(result) = judge(request) {
                return result;
            }
        }
        Err(MachineError::Removed { name: name.to_owned() })
    };
    match timeout(limit, watched).await {
        Ok(result) => result,
        Err(_) => {
            let (namespace, name) = (namespace.to_owned(), name.to_owned());
            Err(MachineError::NotYet { namespace, name, wanted, phase, limit })
        }
    }
}
