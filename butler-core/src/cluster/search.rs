//! The order in which places are searched for a cluster and an identity.
//!
//! A place that names an identity ends the search, even when that identity is of no use: going on
//! could act as somebody else, often an administrator.

use std::path::PathBuf;

use fs_err as fs;

use super::{
    connect::{ConnectError, ConnectOptions},
    kubeconfig::first_existing,
};
use crate::{
    auth::{Credentials, Login},
    settings::{Environment, Home, env},
};

/// Where an identity was found.
#[derive(Debug)]
pub(super) enum Found {
    /// A kubeconfig file.
    File(PathBuf),
    /// A login that has not expired.
    Login { server: String, login: Box<Login>, store: PathBuf },
}

/// Searches: `--kubeconfig`, `KUBECONFIG`, the login, the Butler home, `~/.kube/config`. A context
/// is a matter of files, so `--context` skips the login.
pub(super) fn search(options: &ConnectOptions, environment: &Environment) -> Result<Found, ConnectError> {
    if let Some(path) = &options.kubeconfig {
        return Ok(Found::File(path.clone()));
    }
    let listed = environment.paths(env::KUBECONFIG);
    if !listed.is_empty() {
        return match first_existing(listed.clone()) {
            Some(path) => Ok(Found::File(path)),
            None => Err(ConnectError::ListedMissing { listed }),
        };
    }
    let home = Home::resolve(environment).ok();
    if options.context.is_none()
        && let Some(home) = &home
        && let Some(found) = login(home, environment)?
    {
        return Ok(found);
    }
    let own = home.as_ref().and_then(kubeconfig_in);
    let usual = || environment.path(env::HOME).map(|home| home.join(".kube/config"));
    own.or_else(|| usual().filter(|path| path.exists())).map(Found::File).ok_or_else(|| {
        let sandboxes = home.iter().flat_map(Home::sandboxes).map(|dir| dir.join("kubeconfig"));
        ConnectError::NoIdentity { sandboxes: sandboxes.filter(|path| path.exists()).collect() }
    })
}

fn login(home: &Home, environment: &Environment) -> Result<Option<Found>, ConnectError> {
    let store = home.credentials_file();
    let Some((server, login)) = Credentials::read(&store)?.active() else { return Ok(None) };
    let login = login.ok_or_else(|| ConnectError::LoginMissing { server: server.clone() })?;
    if login.is_expired(environment.now()) {
        let who = login.email().unwrap_or_else(|| "unknown".to_owned());
        return Err(ConnectError::LoginExpired { who, server });
    }
    Ok(Some(Found::Login { server, login: Box::new(login), store }))
}

/// What a bootstrap left in the Butler home: the first `<cluster>-kubeconfig`, else `kubeconfig`.
fn kubeconfig_in(home: &Home) -> Option<PathBuf> {
    let mut named: Vec<PathBuf> = fs::read_dir(home.dir())
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(b"-kubeconfig")))
        .collect();
    named.sort();
    named.into_iter().next().or_else(|| first_existing(vec![home.dir().join("kubeconfig")]))
}
