//! A management cluster that is lost with everything around it, and made again from its backup.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use anyhow::{Context, Result, ensure};
use butler_core::event::{EventKind, journal};
use butler_operator::process::Signal;
use butler_tests::crash::{Objects, differences};
use serde_json::Value;

use super::{LIMIT, Lab, mode, send, until};

/// What a person made in the cluster.
const MADE: &str = r#"
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: Team
metadata: {name: kept}
spec: {displayName: "Kept over the loss"}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: NetworkPool
metadata: {name: kept, namespace: butler-system}
spec: {cidr: 10.7.0.0/24}
---
apiVersion: v1
kind: Secret
metadata: {name: kept, namespace: butler-system}
stringData: {password: planted-in-a-secret}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kept, namespace: default}
data: {word: planted-in-a-config-map}
"#;
/// What is compared: what a person made, and what the cluster says of itself.
const KINDS: &str = "teams,networkpools,providerconfigs,machinerequests,clusterbootstraps,butlerconfigs,\
                     addondefinitions,configmaps,secrets,nodes,namespaces,serviceaccounts,clusterroles";

/// The file of a backup, and what opens it.
struct Kept {
    file: String,
    identity: String,
}

impl Lab {
    fn path(&self, name: &str) -> String {
        self.env.work_dir().join(name).display().to_string()
    }

    /// Everything that can be compared, without what differs between two days of one cluster.
    fn objects(&self, kubeconfig: &str, old: &[(String, &str)]) -> Result<BTreeMap<String, Value>> {
        let get = ["--kubeconfig", kubeconfig, "get", KINDS, "-A", "-o", "json"];
        let list = self.kubectl("any", &get)?.run()?.success()?.json()?;
        let mut objects = Objects::default();
        old.iter().for_each(|(text, name)| objects.replace(text.clone(), *name));
        objects.replace(self.home.display().to_string(), "[home]");
        let mut all = objects.of(&list)?;
        // What a node or a controller says of a moment is not part of what was kept.
        for object in all.values_mut() {
            object["status"] = Value::Null;
            if object["kind"] == "Node" {
                object["metadata"]["annotations"] = Value::Null;
                object["spec"] = Value::Null;
            }
        }
        Ok(all)
    }

    fn uid(&self, kubeconfig: &str) -> Result<String> {
        let get = ["--kubeconfig", kubeconfig, "get", "ns", "kube-system", "-o", "jsonpath={.metadata.uid}"];
        Ok(self.kubectl("any", &get)?.run()?.success()?.stdout)
    }

    /// Ends every process and forgets every file of this home; what follows has another one.
    fn lose_everything(&mut self, next: &str) -> Result<()> {
        until("every process is gone", Duration::from_secs(30), || {
            let left = self.processes();
            left.iter()
                .filter(|(_, name)| name.starts_with("butleradm"))
                .for_each(|(pid, _)| send(*pid, Signal::KILL));
            Ok(left.is_empty())
        })?;
        std::fs::remove_dir_all(&self.home)?;
        self.home = self.env.work_dir().join(next);
        Ok(())
    }

    /// Begins a restore or goes on with one, and kills it when its journal has this record.
    fn killed_in_restore(&self, args: &[&str], record: fn(&EventKind) -> bool) -> Result<()> {
        let before = self.run_dir().and_then(|_| self.journal()).map_or(0, |events| events.len());
        let run = self.adm(args).spawn()?;
        until("the record is written", LIMIT, || {
            let events = self.run_dir().and_then(|_| self.journal()).unwrap_or_default();
            Ok(events.iter().skip(before).any(|event| record(&event.kind)))
        })?;
        run.signal(Signal::KILL);
        drop(run);
        let journal = self.run_dir()?.join("journal.ndjson");
        until("nobody holds the journal", LIMIT, || Ok(journal::holder(&journal).is_none()))
    }

    /// Makes a cluster with something in it, and its backup.
    fn backed_up(&self, cluster: &str) -> Result<Kept> {
        let config = self.config(cluster, "single-node")?;
        let _ready = self.bootstrap(&["--config", &config]).run()?.success()?;
        let made = self.kubectl(cluster, &["apply", "-f", "-"])?.stdin(MADE);
        let _made = made.run()?.success()?;
        let identity = self.path("backup.key");
        let recipient = self.adm(&["backup", "keygen", "--out", &identity]).run()?.success()?;
        ensure!(mode(&PathBuf::from(&identity))? == 0o600);
        let args = ["backup", "create", cluster, "--recipient", recipient.stdout.trim(), "-o", "json"];
        let created = self.adm(&args).run()?.success()?.json()?;
        let path = created["path"].as_str().context("a path")?;
        ensure!(mode(&PathBuf::from(path))? == 0o600);
        let bytes = std::fs::read(path)?;
        ensure!(!String::from_utf8_lossy(&bytes).contains("planted-in"), "it is not encrypted");
        let listed = self.adm(&["backup", "list", "-o", "json"]).run()?.success()?.json()?;
        ensure!(listed["items"][0]["cluster"] == cluster && listed["items"][0]["path"] == path, "{listed}");
        let file = self.path("kept.butler-backup");
        std::fs::copy(path, &file)?;
        Ok(Kept { file, identity })
    }
}

fn is_recovery(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Intent { step, .. } if step == "talos/bootstrap")
}

fn is_settled(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Intent { step, .. } if step == "recover/settle")
}

#[test]
fn a_cluster_that_was_lost_with_everything_is_the_same_again() -> Result<()> {
    let mut lab = Lab::new()?;
    let Kept { file, identity } = lab.backed_up("same")?;
    let verified = lab.adm(&["backup", "verify", &file, "-i", &identity, "-o", "json"]).run()?.success()?;
    let found = verified.json()?;
    ensure!(found["contents"]["objects"]["Team"] == 1, "{found}");
    ensure!(found["contents"]["snapshotBytes"].as_u64().is_some_and(|bytes| bytes > 100_000), "{found}");
    let lives = lab.adm(&["backup", "restore", &file, "-i", &identity]).run()?.failed_with(1)?;
    ensure!(lives.stderr.contains("BTL-2014"), "{lives}");

    let kubeconfig = lab.path("kubeconfig.before");
    std::fs::copy(lab.home.join("same-kubeconfig"), &kubeconfig)?;
    let old = lab.home.join("same-talosconfig");
    let talosconfig = lab.path("talosconfig.before");
    std::fs::copy(&old, &talosconfig)?;
    let (id, uid) = (lab.run_dir()?, lab.uid(&kubeconfig)?);
    let id = id.file_name().and_then(|name| name.to_str()).context("an id")?.to_owned();
    let before = lab.objects(&kubeconfig, &[(id, "[run]")])?;
    ensure!(before.contains_key("Team kept") && before.contains_key("Secret butler-system/kept"));

    lab.lose_everything("another-home")?;
    let dry = lab.adm(&["backup", "restore", &file, "-i", &identity, "--dry-run", "-o", "json"]);
    let dry = dry.run()?.success()?.json()?;
    ensure!(dry["machines"][0] == "same-cp-0", "{dry}");
    ensure!(
        !lab.home.join("runs").join("same.claim").exists() && lab.run_dir().is_err(),
        "a dry run begins nothing"
    );
    let _again = lab.adm(&["backup", "restore", &file, "-i", &identity]).run()?.success()?;

    // Who had a way in has it still.
    assert_eq!(lab.uid(&kubeconfig)?, uid, "it is another cluster");
    let get = ["--kubeconfig", &kubeconfig, "get", "nodes", "--no-headers"];
    let nodes = lab.kubectl("same", &get)?.run()?.success()?;
    ensure!(nodes.stdout.contains("same-cp-0") && nodes.stdout.contains(" Ready "), "{nodes}");
    let talos = lab.env.command(butler_tests::part("talosctl")?).args(["version", "--short"]).timeout(LIMIT);
    let version = talos.env("TALOSCONFIG", &talosconfig).run()?.success()?;
    ensure!(version.stdout.contains("Server"), "{version}");
    let secret = ["-n", "butler-system", "get", "secret", "kept", "-o", "jsonpath={.data.password}"];
    assert_eq!(lab.kubectl("same", &secret)?.run()?.success()?.stdout, "cGxhbnRlZC1pbi1hLXNlY3JldA==");
    let id = lab.run_dir()?.file_name().and_then(|name| name.to_str()).context("an id")?.to_owned();
    let after = lab.objects(&kubeconfig, &[(id, "[run]")])?;
    let said = differences(&before, &after);
    ensure!(said.is_empty(), "{}", said.join("\n"));
    // The controllers of the cluster know the new machine as theirs.
    let wait = ["-n", "butler-system", "wait", "mr/same-cp-0", "--for=jsonpath={.status.phase}=Running"];
    let _adopted = lab.kubectl("same", &[&wait[..], &["--timeout=60s"]].concat())?.run()?.success()?;
    assert_eq!(lab.machines_made("same")?, ["same-cp-0"]);
    ensure!(!lab.run_dir()?.join("secrets/etcd-snapshot.db").exists(), "the snapshot is left");
    ensure!(lab.run_dir()?.join("journal.before.ndjson").exists());
    ensure!(lab.status("same")?["stage"] == "Succeeded");
    lab.destroy("same")?;
    lab.nothing_left("same")
}

#[test]
fn a_restore_that_is_killed_goes_on_where_it_was() -> Result<()> {
    let mut lab = Lab::new()?;
    let Kept { file, identity } = lab.backed_up("again")?;
    let uid = lab.uid(&lab.home.join("again-kubeconfig").display().to_string())?;
    lab.lose_everything("another-home")?;
    lab.killed_in_restore(&["backup", "restore", &file, "-i", &identity], is_recovery)?;
    lab.killed_in_restore(&["bootstrap", "resume", "again"], is_settled)?;
    let _ready = lab.bootstrap(&["resume", "again"]).run()?.success()?;
    assert_eq!(lab.uid(&lab.home.join("again-kubeconfig").display().to_string())?, uid);
    let team = lab.kubectl("again", &["get", "team", "kept", "-o", "name"])?.run()?.success()?;
    ensure!(team.stdout.contains("kept"), "{team}");
    assert_eq!(lab.machines_made("again")?, ["again-cp-0"]);
    // Its own backup is one of the cluster that it made.
    let text = std::fs::read_to_string(&identity)?;
    let recipient =
        text.lines().find_map(|line| line.strip_prefix("# recipient: ")).context("a recipient")?;
    let made =
        lab.adm(&["backup", "create", "again", "-r", recipient, "-o", "json"]).run()?.success()?.json()?;
    ensure!(made["header"]["clusterId"] == uid.as_str(), "{made}");
    lab.destroy("again")?;
    lab.nothing_left("again")
}
