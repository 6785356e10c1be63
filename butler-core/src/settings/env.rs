//! Every environment variable the programs read, and the only place that reads them.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use jiff::Timestamp;

/// When to use colours: `auto`, `always` or `never`.
pub const BUTLER_COLOR: &str = "BUTLER_COLOR";
/// Set by the completion scripts to the name of the shell that asks for candidates.
pub const BUTLER_COMPLETE: &str = "BUTLER_COMPLETE";
/// Directory of credentials, settings, runs and tools. Default: `~/.butler`.
pub const BUTLER_HOME: &str = "BUTLER_HOME";
/// Namespace of tenant clusters when no flag, team or setting names one.
pub const BUTLER_NAMESPACE: &str = "BUTLER_NAMESPACE";
/// Present: no colours, as `NO_COLOR`.
pub const BUTLER_NO_COLOR: &str = "BUTLER_NO_COLOR";
/// Output format when no flag names one.
pub const BUTLER_OUTPUT: &str = "BUTLER_OUTPUT";
/// How long one request may take, such as `30s`.
pub const BUTLER_REQUEST_TIMEOUT: &str = "BUTLER_REQUEST_TIMEOUT";
/// After how long without progress a run looks for the reason, such as `20s`; for tests, which do not wait
/// that long.
pub const BUTLER_STALL_AFTER: &str = "BUTLER_STALL_AFTER";
/// The settings file of this machine. Default: `/etc/butler/config.toml`.
pub const BUTLER_SYSTEM_CONFIG: &str = "BUTLER_SYSTEM_CONFIG";
/// Whether missing parts may be downloaded: `true` or `false`.
pub const BUTLER_TOOLS_DOWNLOAD: &str = "BUTLER_TOOLS_DOWNLOAD";
/// Directory searched first for etcd, kube-apiserver and the other parts.
pub const BUTLER_TOOLS_DIR: &str = "BUTLER_TOOLS_DIR";
/// Fixes the clock (RFC 3339), so that ages in test output are stable.
pub const BUTLER_CLOCK: &str = "BUTLER_CLOCK";
/// What keys do in full-screen views, such as `quit=Q`.
pub const BUTLER_TUI_KEYS: &str = "BUTLER_TUI_KEYS";
/// Whether full-screen views listen to the mouse: `true` or `false`.
pub const BUTLER_TUI_MOUSE: &str = "BUTLER_TUI_MOUSE";
/// Colours of full-screen views.
pub const BUTLER_TUI_THEME: &str = "BUTLER_TUI_THEME";
/// Colours of the terminal, as some tell them: `foreground;background`.
pub const COLORFGBG: &str = "COLORFGBG";
/// Set where a terminal has more than sixteen colours.
pub const COLORTERM: &str = "COLORTERM";
/// The user's home directory.
pub const HOME: &str = "HOME";
/// Proxy to the API server, unless it is on this machine.
pub const HTTPS_PROXY: &str = "HTTPS_PROXY";
/// List of kubeconfig files.
pub const KUBECONFIG: &str = "KUBECONFIG";
/// Directory with etcd and kube-apiserver, as used by controller test suites.
pub const KUBEBUILDER_ASSETS: &str = "KUBEBUILDER_ASSETS";
/// Set in every Pod: where the API server of its cluster is.
pub const KUBERNETES_SERVICE_HOST: &str = "KUBERNETES_SERVICE_HOST";
/// Hosts that are reached without a proxy.
pub const NO_PROXY: &str = "NO_PROXY";
/// Present: no colours.
pub const NO_COLOR: &str = "NO_COLOR";
/// What long texts are read with. Default: `less`.
pub const PAGER: &str = "PAGER";
/// Search path for programs.
pub const PATH: &str = "PATH";
/// Kind of terminal; `dumb` has no colours and no cursor movement.
pub const TERM: &str = "TERM";

/// The environment of the process, captured once.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    vars: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Reads the environment of this process.
    pub fn capture() -> Self {
        Self { vars: std::env::vars_os().collect() }
    }

    /// An environment made of the given pairs only.
    pub fn of<K: Into<OsString>, V: Into<OsString>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        Self { vars: pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect() }
    }

    /// The value of a variable; an empty value counts as unset.
    pub fn get_os(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// The value of a variable, if it is set, not empty and valid UTF-8.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_os(name).and_then(OsStr::to_str)
    }

    /// True when the variable exists, even empty.
    pub fn has(&self, name: &str) -> bool {
        self.vars.contains_key(OsStr::new(name))
    }

    /// The value of a variable as a path.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.get_os(name).map(PathBuf::from)
    }

    /// The value of a variable as a list of paths, without empty entries.
    pub fn paths(&self, name: &str) -> Vec<PathBuf> {
        self.get_os(name)
            .map(|list| std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()).collect())
            .unwrap_or_default()
    }

    /// Every variable, for a program that is to see the same environment.
    pub fn vars(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.vars.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The present time, or the one that [`BUTLER_CLOCK`] fixes.
    pub fn now(&self) -> Timestamp {
        self.get(BUTLER_CLOCK).and_then(|text| text.parse().ok()).unwrap_or_else(Timestamp::now)
    }
}
