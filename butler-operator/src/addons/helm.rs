//! The helm program: how it is started, and what it said.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use butler_core::{
    error::ErrorKind,
    settings::{Environment, env, home::make_private_dir},
};

use super::AddonError;
use crate::process::{Guard, Streams};

/// How long helm may take to write down that it was stopped.
const GRACE: Duration = Duration::from_secs(5);
/// How much of what helm says is kept as the cause.
const TAIL_LINES: usize = 12;
/// What a way out may need, and nothing else of our environment.
const INHERITED: [&str; 9] = [
    env::PATH,
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// The helm program, with a home of its own.
#[derive(Debug)]
pub(super) struct Helm {
    program: PathBuf,
    guard: Guard,
    vars: Vec<(OsString, OsString)>,
}

/// How helm ended.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) success: bool,
    /// It was stopped because its time was over.
    pub(super) late: bool,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

impl Helm {
    pub(super) fn new(
        program: PathBuf,
        guard: Guard,
        home: &Path,
        environment: &Environment,
    ) -> Result<Self, AddonError> {
        let mut vars: Vec<(OsString, OsString)> = INHERITED
            .into_iter()
            .filter_map(|name| Some((name.into(), environment.get_os(name)?.to_owned())))
            .collect();
        for (name, dir) in [
            (env::HOME, "home"),
            ("TMPDIR", "tmp"),
            ("HELM_CACHE_HOME", "cache"),
            ("HELM_CONFIG_HOME", "config"),
            ("HELM_DATA_HOME", "data"),
        ] {
            let dir = home.join(dir);
            make_private_dir(&dir)?;
            vars.push((name.into(), dir.into()));
        }
        Ok(Self { program, guard, vars })
    }

    /// Runs helm to its end. What it is given on standard input is seen by nobody else; dropping the
    /// future ends it.
    pub(super) async fn run(
        &self,
        args: Vec<OsString>,
        kubeconfig: Option<&Path>,
        input: Vec<u8>,
        limit: Duration,
    ) -> Result<Outcome, AddonError> {
        let kubeconfig = kubeconfig.map(|path| ("KUBECONFIG", path.as_os_str()));
        let spawn = self
            .guard
            .command(&self.program, Streams::Piped)
            .env_clear()
            .envs(self.vars.iter().map(|(name, value)| (name, value)))
            .envs(kubeconfig)
            .args(args);
        let done = self.guard.finish(&spawn, input, limit, GRACE).await?;
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        let success = done.status.success() && !done.late;
        Ok(Outcome { success, late: done.late, stdout: done.stdout, stderr })
    }
}

impl Outcome {
    /// The last lines of what it said.
    pub(super) fn words(&self) -> String {
        let lines: Vec<_> = self.stderr.lines().filter(|line| !line.trim().is_empty()).collect();
        match lines.len() {
            0 if self.late => "it said nothing before its time was over".to_owned(),
            0 => "it said nothing".to_owned(),
            count => lines[count.saturating_sub(TAIL_LINES)..].join("\n"),
        }
    }

    /// Why a chart could not be pulled. helm has one exit status for everything, so its words decide; what
    /// is not known may pass.
    pub(super) fn pull_kind(&self) -> ErrorKind {
        let said = self.stderr.to_ascii_lowercase();
        let says = |parts: &[&str]| parts.iter().any(|part| said.contains(part));
        if self.late {
            ErrorKind::Timeout
        } else if says(&["not found", "404", "manifest unknown", "invalid reference", "improper constraint"])
        {
            ErrorKind::Invalid
        } else if says(&["401", "403", "unauthorized", "denied"]) {
            ErrorKind::Unauthenticated
        } else {
            ErrorKind::Transient
        }
    }

    /// Why a release did not come about.
    pub(super) fn release_kind(&self) -> ErrorKind {
        let said = &self.stderr;
        let says = |parts: &[&str]| parts.iter().any(|part| said.contains(part));
        if self.late || says(&["timed out waiting", "context deadline exceeded", "client rate limiter Wait"])
        {
            ErrorKind::Timeout
        } else if says(&["another operation (install/upgrade/rollback) is in progress"]) {
            ErrorKind::Conflict
        } else if says(&[
            "cluster unreachable",
            "connection refused",
            "connection reset",
            "i/o timeout",
            "TLS handshake",
            "failed calling webhook",
            "etcdserver",
            "unexpected EOF",
            "http2: client connection lost",
            "no matches for kind",
        ]) {
            ErrorKind::Transient
        } else if says(&[
            "values don't meet the specifications of the schema",
            "YAML parse error",
            "parse error at",
            "execution error at",
            "error calling include",
            "template: ",
            "error validating",
            "is invalid: ",
            "unknown field",
            "Chart.yaml file is missing",
            "file does not appear to be a gzipped archive",
            "incompatible with Kubernetes",
            "cannot be imported into the current release",
        ]) {
            ErrorKind::Invalid
        } else if says(&["forbidden: "]) {
            ErrorKind::Forbidden
        } else {
            ErrorKind::Failed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(stderr: &str) -> Outcome {
        Outcome { success: false, late: false, stdout: Vec::new(), stderr: stderr.to_owned() }
    }

    #[test]
    fn the_words_of_helm_decide_whether_to_try_again() {
        for (words, kind) in [
            ("Error: ghcr.io/a/b:1: not found", ErrorKind::Invalid),
            (
                "Error: GET http://127.0.0.1/v2/: response status code 401: Unauthorized",
                ErrorKind::Unauthenticated,
            ),
            ("Error: dial tcp 127.0.0.1:9: connect: connection refused", ErrorKind::Transient),
            ("Error: response status code 500: Internal Server Error", ErrorKind::Transient),
        ] {
            assert_eq!(said(words).pull_kind(), kind, "{words}");
        }
        for (words, kind) in [
            ("Error: context deadline exceeded", ErrorKind::Timeout),
            (
                "Error: UPGRADE FAILED: another operation (install/upgrade/rollback) is in progress",
                ErrorKind::Conflict,
            ),
            ("Error: Kubernetes cluster unreachable: Get \"https://127.0.0.1\"", ErrorKind::Transient),
            ("Error: execution error at (web/templates/a.yaml:1:3): say a name", ErrorKind::Invalid),
            ("Error: failed pre-install: job failed: BackoffLimitExceeded", ErrorKind::Failed),
        ] {
            assert_eq!(said(words).release_kind(), kind, "{words}");
        }
    }

    #[test]
    fn only_the_end_of_a_long_speech_is_kept() {
        let speech: String = (0..40).map(|line| format!("line {line}\n\n")).collect();
        let words = said(&speech).words();
        assert_eq!(words.lines().count(), TAIL_LINES);
        assert!(words.ends_with("line 39"));
        assert_eq!(said("").words(), "it said nothing");
    }
}
