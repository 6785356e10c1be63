//! The keyring of this user, asked through the program that comes with the desktop: `secret-tool` (Secret
//! Service) on Linux, `security` on macOS.
//!
//! A program keeps a D-Bus client and its cryptography out of ours, and it is the one the user stored the
//! entry with. The secret comes through a pipe; it is never an argument.

use std::{
    io::{self, Read},
    path::PathBuf,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use butler_core::{
    bootstrap::config::{Keyring, KeyringError},
    redact::Secret,
    settings::{Environment, env},
};

/// Service of every entry of ours.
const SERVICE: &str = "butler";
/// How long a person may take to unlock the keyring.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the program is looked after.
const GLANCE: Duration = Duration::from_millis(20);

/// The keyring behind a program.
#[derive(Clone, Debug)]
pub struct ProgramKeyring {
    path: Vec<PathBuf>,
    patience: Duration,
}

impl ProgramKeyring {
    /// Looks for the program on the search path of this environment, when it is needed.
    pub fn new(environment: &Environment) -> Self {
        Self { path: environment.paths(env::PATH), patience: PATIENCE }
    }

    fn program(&self) -> Result<PathBuf, KeyringError> {
        let name = program_name();
        let found = self.path.iter().map(|dir| dir.join(name)).find(|path| path.is_file());
        found.ok_or_else(|| KeyringError::Absent(format!("`{name}` is not on the search path")))
    }
}

fn program_name() -> &'static str {
    if cfg!(target_os = "macos") { "security" } else { "secret-tool" }
}

fn arguments(account: &str) -> Vec<&str> {
    if cfg!(target_os = "macos") {
        vec!["find-generic-password", "-s", SERVICE, "-a", account, "-w"]
    } else {
        vec!["lookup", "service", SERVICE, "account", account]
    }
}

impl Keyring for ProgramKeyring {
    fn lookup(&self, account: &str) -> Result<Secret, KeyringError> {
        let mut child = Command::new(self.program()?)
            .args(arguments(account))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(KeyringError::Failed)?;
        let output = child.stdout.take();
        // Read beside the wait: a long secret must not fill the pipe while nobody empties it.
        let reader = thread::spawn(move || -> io::Result<String> {
            let mut text = String::new();
            output.map_or(Ok(0), |mut output| output.read_to_string(&mut text))?;
            Ok(text)
        });
        let deadline = Instant::now() + self.patience;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(KeyringError::Failed)? {
                break status;
            }
            if Instant::now() > deadline {
                child.kill().and_then(|()| child.wait()).map_err(KeyringError::Failed)?;
                return Err(KeyringError::Failed(io::Error::from(io::ErrorKind::TimedOut)));
            }
            thread::sleep(GLANCE);
        };
        let text = reader
            .join()
            .map_err(|_| KeyringError::Failed(io::Error::other("the answer could not be read")))?
            .map_err(KeyringError::Failed)?;
        let secret = text.strip_suffix('\n').unwrap_or(&text);
        match status.success() && !secret.is_empty() {
            true => Ok(secret.into()),
            false => Err(KeyringError::NoEntry),
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    /// A keyring whose program is this script.
    fn keyring(script: &str) -> (tempfile::TempDir, ProgramKeyring) {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("secret-tool");
        // Written by another process: a child that another test starts meanwhile would hold our descriptor,
        // and what somebody writes cannot be executed.
        let text = format!("#!/bin/sh\n{script}\n");
        let write = r#"printf %s "$1" >"$0" && chmod 755 "$0""#;
        let written = Command::new("sh").args(["-c", write]).arg(&program).arg(text).status();
        assert!(written.unwrap().success());
        let environment = Environment::of([("PATH", dir.path())]);
        let keyring =
            ProgramKeyring { patience: Duration::from_secs(20), ..ProgramKeyring::new(&environment) };
        (dir, keyring)
    }

    #[test]
    fn the_entry_is_asked_for_by_service_and_account() {
        let (_dir, keyring) =
            keyring(r#"[ "$*" = "lookup service butler account prism" ] && printf hunter2"#);
        assert_eq!(keyring.lookup("prism").unwrap().expose(), "hunter2");
        assert!(matches!(keyring.lookup("other"), Err(KeyringError::NoEntry)));
    }

    #[test]
    fn a_computer_without_a_keyring_says_so() {
        let keyring = ProgramKeyring::new(&Environment::of([("PATH", "/nowhere")]));
        let error = keyring.lookup("prism").unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no keyring on this computer: `secret-tool` is not on the search path"
        );
    }

    #[test]
    fn a_long_secret_comes_whole_and_a_locked_keyring_is_not_waited_for_forever() {
        let (_dir, long) = keyring("head -c 300000 /dev/zero | tr '\\0' x");
        assert_eq!(long.lookup("any").unwrap().expose().len(), 300_000);
        let (_dir, mut stuck) = keyring("exec sleep 600");
        stuck.patience = Duration::from_millis(100);
        assert!(matches!(stuck.lookup("any"), Err(KeyringError::Failed(_))));
    }
}
