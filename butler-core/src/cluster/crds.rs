//! Installing the definitions of our kinds, and waiting until the API server serves them.

use std::time::Duration;

use futures::future::try_join_all;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
    runtime::wait::{Error, await_condition, conditions::is_crd_established},
};

use super::ApiError;
use crate::{
    api::{all_crds, names::managers},
    error::{Code, Diagnose, ErrorKind},
};

/// Why the definitions are not in place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CrdsError {
    /// A call to the API server failed.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// A definition was accepted, but is not served.
    #[error("the definition `{name}` was not established within {}s", timeout.as_secs())]
    NotEstablished {
        /// The definition.
        name: String,
        /// How long we waited.
        timeout: Duration,
    },
}

impl Diagnose for CrdsError {
    fn code(&self) -> Code {
        match self {
            Self::Api(error) => error.code(),
            Self::NotEstablished { .. } => Code::NotEstablished,
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::Api(error) => error.kind(),
            Self::NotEstablished { .. } => self.code().kind(),
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Api(error) => error.hints(),
            Self::NotEstablished { name, .. } => vec![format!("kubectl describe crd {name}")],
        }
    }
}

/// Installs or updates all definitions by server-side apply and returns their names. With `dry_run`
/// the API server checks them and stores nothing.
pub async fn apply(client: &Client, dry_run: bool) -> Result<Vec<String>, CrdsError> {
    let api: &Api<CustomResourceDefinition> = &Api::all(client.clone());
    let params = &PatchParams { dry_run, ..PatchParams::apply(managers::CRDS).force() };
    try_join_all(all_crds().into_iter().map(async |crd| {
        let name = crd.name_any();
        api.patch(&name, params, &Patch::Apply(&crd))
            .await
            .map_err(|e| ApiError::new(format!("apply the definition `{name}`"), e))?;
        Ok(name)
    }))
    .await
}

/// Waits until the API server serves each of the named definitions.
pub async fn established(client: &Client, names: &[String], timeout: Duration) -> Result<(), CrdsError> {
    let api: &Api<CustomResourceDefinition> = &Api::all(client.clone());
    try_join_all(names.iter().map(async |name| {
        match tokio::time::timeout(timeout, await_condition(api.clone(), name, is_crd_established())).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(Error::ProbeFailed(error))) => {
                Err(ApiError::watching(format!("watch the definition `{name}`"), error).into())
            }
            Err(_) => Err(CrdsError::NotEstablished { name: name.clone(), timeout }),
        }
    }))
    .await?;
    Ok(())
}
