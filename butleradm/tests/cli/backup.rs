//! `backup` without a cluster: help, keys, files that are no backups. With one it is in `tests/bootstrap/backup.rs`.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use anyhow::Result;
use butler_core::event::{EventKind, Journal, Outcome, RunId};
use butler_tests::{Env, Invocation};
use serde_json::json;

const ID: &str = "20261114-101112-00ff00";

struct Lab(Env);

impl Lab {
    fn new() -> Result<Self> {
        Ok(Self(Env::new()?))
    }

    fn backup(&self, args: &[&str]) -> Invocation {
        self.0.command(env!("CARGO_BIN_EXE_butleradm")).arg("backup").args(args)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.work_dir().join(name)
    }

    /// A run that came to this end.
    fn run(&self, provider: &str, outcome: Option<Outcome>) -> Result<()> {
        let dir = self.0.butler_home().join("runs").join(ID);
        let id = RunId::parse(ID).ok_or_else(|| anyhow::anyhow!("an id"))?;
        let (mut journal, _) = Journal::open(&dir.join("journal.ndjson"), id)?;
        let facts = json!({
            "cluster": "lab", "provider": provider, "runtime": "process", "configSha256": "", "version": "0",
            "directory": "/",
        });
        let runtime = if provider == "local" { "kind" } else { "process" };
        let text = format!(
            "provider: {provider}\ncluster: {{name: lab, topology: single-node, controlPlane: {{replicas: 1, cpu: 2, \
             memoryMB: 2048, diskGB: 20}}}}\nbootstrapCluster: {{runtime: {runtime}}}\n"
        );
        fs::write(dir.join("config.yaml"), text)?;
        journal.append(EventKind::Intent { step: "run".into(), data: facts })?;
        let session = json!({"verb": "run", "pid": 1, "host": "h"});
        journal.append(EventKind::Intent { step: "session".into(), data: session })?;
        if let Some(outcome) = outcome {
            journal.append(EventKind::finished(outcome))?;
        }
        Ok(())
    }
}

#[test]
fn keys_are_made_once_and_only_the_public_half_is_shown() -> Result<()> {
    let lab = Lab::new()?;
    let made = lab.backup(&["keygen", "--out", "backup.key"]).run()?.success()?;
    let recipient = made.stdout.trim().to_owned();
    assert!(recipient.starts_with("age1"), "{made}");
    let text = fs::read_to_string(lab.file("backup.key"))?;
    let secret = text.lines().last().unwrap_or_default();
    assert!(secret.starts_with("AGE-SECRET-KEY-1") && !made.stderr.contains(secret), "{made}");
    assert_eq!(fs::metadata(lab.file("backup.key"))?.permissions().mode() & 0o777, 0o600);
    insta::assert_snapshot!(lab.backup(&["keygen", "--out", "backup.key"]).run()?, @r"
    exit 1
    [stderr]
    error[BTL-1303]: `backup.key` is there already; nothing was written

    hint: butleradm backup keygen --out ANOTHER-FILE
    ");
    assert_eq!(fs::read_to_string(lab.file("backup.key"))?, text);
    Ok(())
}

#[test]
fn what_is_no_key_is_refused_and_never_repeated_when_it_may_be_secret() -> Result<()> {
    let lab = Lab::new()?;
    lab.run("sandbox", Some(Outcome::Succeeded))?;
    insta::assert_snapshot!(lab.backup(&["create", "lab", "-r", "age1nonsense"]).run()?, @r"
    exit 2
    [stderr]
    error[BTL-2052]: recipient `age1nonsense` is not usable: invalid Bech32 encoding

    hint: butleradm backup keygen --out FILE
    ");
    let _made = lab.backup(&["keygen", "--out", "backup.key"]).run()?.success()?;
    let text = fs::read_to_string(lab.file("backup.key"))?;
    let secret = text.lines().last().unwrap_or_default();
    let refused = lab.backup(&["create", "lab", "-r", secret]).run()?.failed_with(2)?;
    assert!(refused.stderr.contains("an identity in place of a recipient"), "{refused}");
    assert!(!refused.stderr.contains(secret), "{refused}");

    fs::set_permissions(lab.file("backup.key"), fs::Permissions::from_mode(0o644))?;
    insta::assert_snapshot!(lab.backup(&["verify", "nothing", "-i", "backup.key"]).run()?, @r"
    exit 2
    [stderr]
    error[BTL-1215]: other users can read the secret in `backup.key`: its mode is 644

    hint: chmod 600 backup.key
    ");
    Ok(())
}

#[test]
fn only_a_cluster_that_was_made_can_be_backed_up() -> Result<()> {
    let recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";
    let lab = Lab::new()?;
    insta::assert_snapshot!(lab.backup(&["create", "lab", "-r", recipient]).run()?, @r"
    exit 3
    [stderr]
    error[BTL-2001]: no run is named `lab`, and none made a cluster of that name

    hint: butleradm bootstrap list
    ");
    lab.run("sandbox", None)?;
    insta::assert_snapshot!(lab.backup(&["create", "lab", "-r", recipient]).run()?, @r"
    exit 1
    [stderr]
    error[BTL-2054]: run `20261114-101112-00ff00` of cluster `lab` has nothing that could be backed up: it is Interrupted

    hint: butleradm bootstrap status 20261114-101112-00ff00
    ");
    let lab = Lab::new()?;
    lab.run("local", Some(Outcome::Succeeded))?;
    let refused = lab.backup(&["create", "lab", "-r", recipient]).run()?.failed_with(1)?;
    assert!(refused.stderr.contains("`local` have no nodes with Talos"), "{refused}");
    Ok(())
}

#[test]
fn files_that_are_no_backups_are_told_apart() -> Result<()> {
    let lab = Lab::new()?;
    insta::assert_snapshot!(lab.backup(&["list"]).run()?, @r"
    exit 0
    [stdout]
    CLUSTER  AGE  SIZE  KUBERNETES  FILE
    [stderr]
    no backups in [TEMP]/butler/backups
    ");
    fs::write(lab.file("old.butler-backup"), "not a backup")?;
    insta::assert_snapshot!(lab.backup(&["list", "--dir", "."]).run()?, @r"
    exit 0
    [stdout]
    CLUSTER  AGE  SIZE  KUBERNETES  FILE
    [stderr]
    warning: `./old.butler-backup` is no backup that can be read: it is not of that kind (BTL-2053)
    no backups in .
    ");
    insta::assert_snapshot!(lab.backup(&["verify", "old.butler-backup"]).run()?, @r"
    exit 2
    [stderr]
    error[BTL-2053]: `old.butler-backup` is no backup that can be read: it is not of that kind

    hint: butleradm backup list --dir DIRECTORY
    hint: butleradm version
    ");
    insta::assert_snapshot!(lab.backup(&["verify", "missing"]).run()?, @r"
    exit 1
    [stderr]
    error[BTL-1302]: cannot read `missing`
      1: No such file or directory (os error 2)

    hint: ls -l FILE
    ");
    Ok(())
}

#[test]
fn the_help_says_what_a_backup_is() -> Result<()> {
    let lab = Lab::new()?;
    let help = lab.backup(&["--help"]).run()?.success()?;
    for word in ["age", "create", "list", "verify", "restore", "keygen", "docs/backup.md"] {
        assert!(help.stdout.contains(word), "{word}: {help}");
    }
    Ok(())
}
