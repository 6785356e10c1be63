//! A world that does not play along: secrets, providers, names, addresses, disks. Each is told with its code
//! and the right exit status, and leaves nothing that the journal does not know.

use std::{
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use butler_core::{bootstrap::plan::Plan, event::EventKind};
use butler_operator::process::LockFile;
use butler_tests::{
    Output,
    host::FakeHost,
    http::{Reply, Request},
};
use serde_json::{Value, json};

use super::{LIMIT, Lab, example_path};

/// What is said, with which exit status.
struct Expected {
    status: i32,
    words: &'static [&'static str],
}

impl Expected {
    fn check(&self, output: Output) -> Result<()> {
        let output = output.failed_with(self.status)?;
        for words in self.words {
            ensure!(output.stderr.contains(words), "no `{words}` in {output}");
        }
        ensure!(!output.stderr.contains("hunter2") && !output.stdout.contains("hunter2"), "{output}");
        Ok(())
    }
}

impl Lab {
    /// Demands that no effect was begun that is not over, that nothing runs, and that the name is free.
    fn nothing_half_made(&self) -> Result<()> {
        for event in self.journal()? {
            if let EventKind::Intent { step, .. } = &event.kind {
                let known = ["run", "session", "sandbox"].contains(&step.as_str());
                ensure!(known, "`{step}` was begun");
            }
        }
        let listed = self.bootstrap(&["list", "-o", "json"]).run()?.success()?.json()?;
        ensure!(listed["items"][0]["stage"] == "Failed", "{listed}");
        ensure!(self.processes().is_empty(), "{:?}", self.processes());
        Ok(())
    }

    /// A configuration that is given to the program as it is.
    fn write(&self, name: &str, text: &str) -> Result<String> {
        let path = self.env.work_dir().join(name);
        std::fs::write(&path, text)?;
        Ok(path.display().to_string())
    }

    fn secret(&self, name: &str, mode: u32) -> Result<PathBuf> {
        let path = self.env.work_dir().join(name);
        std::fs::write(&path, "hunter2\n")?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))?;
        Ok(path)
    }
}

#[test]
fn a_secret_that_cannot_be_had_is_named_before_a_run_is_begun() -> Result<()> {
    let lab = Lab::new()?;
    let text = std::fs::read_to_string(example_path("nutanix.yaml"))?;
    let shared = format!("{{file: {}}}", lab.secret("shared", 0o644)?.display());
    let table = [
        (
            "{env: PRISM_PASSWORD}",
            Expected { status: 2, words: &["BTL-1213", "`PRISM_PASSWORD` is not set"] },
        ),
        ("{file: /no/such/file}", Expected { status: 2, words: &["BTL-1214", "/no/such/file"] }),
        ("{file: .}", Expected { status: 2, words: &["BTL-1214", "no file"] }),
        ("{file: /dev/null}", Expected { status: 2, words: &["BTL-1214"] }),
        (shared.as_str(), Expected { status: 2, words: &["BTL-1215", "644", "chmod 600"] }),
        ("{keyring: prism}", Expected { status: 2, words: &["keyring"] }),
    ];
    for (reference, expected) in table {
        let text = text.replace("{env: NUTANIX_PASSWORD}", reference);
        ensure!(text.contains(reference), "the example has another password");
        let config = lab.write("bad.yaml", &text)?;
        for verb in [&["run"][..], &["nutanix"]] {
            let run = lab.bootstrap(&[verb, &["--config", &config, "--runtime", "process"]].concat());
            expected.check(run.env("NUTANIX_USERNAME", "svc").run()?).context(reference.to_owned())?;
        }
        ensure!(!lab.home.join("runs").exists(), "a run was begun: {reference}");
    }
    Ok(())
}

/// A provider that has something under these names, of somebody else.
fn occupied(request: &Request) -> Reply {
    let ownership = json!({ "owner": "somebody", "object": "n.x" });
    match (request.method.as_str(), request.path.split('?').next()) {
        ("GET", Some("/v1/machines")) => Reply::json(&json!([{
            "id": "vm-1", "name": "bad-cp-0", "state": "running", "ownership": ownership, "addresses": [],
        }])),
        _ => Reply::status(500, ""),
    }
}

/// A provider whose load balancer has another owner.
fn balanced(request: &Request) -> Reply {
    match (request.method.as_str(), request.path.split('?').next()) {
        ("GET", Some("/v1/machines")) => Reply::json(&json!([])),
        ("GET", Some("/v1/load-balancers")) => Reply::json(&json!([{
            "id": "lb-1", "name": "bad", "endpoint": null, "ready": true, "targets": 0,
            "ownership": { "owner": "somebody", "object": "n.x" },
        }])),
        _ => Reply::status(500, ""),
    }
}

fn refuses(_: &Request) -> Reply {
    Reply::typed(403, "application/json", r#"{"class":"auth","message":"the token has expired"}"#)
}

#[test]
fn a_provider_that_does_not_answer_as_it_should_ends_the_run_before_anything_is_made() -> Result<()> {
    type Host = fn(&Request) -> Reply;
    let table: [(&str, Host, Expected); 3] = [
        ("single-node", refuses, Expected { status: 5, words: &["BTL-1605", "the token has expired"] }),
        ("single-node", occupied, Expected { status: 1, words: &["BTL-2012", "machine `bad-cp-0` exists"] }),
        ("ha", balanced, Expected { status: 1, words: &["BTL-2012", "load balancer `bad` exists"] }),
    ];
    for (topology, script, expected) in table {
        let lab = Lab::new()?;
        let config = lab.config("bad", topology)?;
        let plan = ["plan", "--config", &config, "--out", "plan.json"];
        let _plan = lab.bootstrap(&plan).run()?.success()?;
        let host = FakeHost::start(&lab.home.join("sandbox/bad"), script)?;
        if let ["BTL-2012", words] = expected.words {
            // Whoever has a plan learns it before a run is begun.
            let words = words.replace(" exists", " exists at the provider now, of `somebody`");
            let run = lab.bootstrap(&["run", "--config", &config, "--plan", "plan.json"]).run()?;
            let moved = run.failed_with(1)?;
            ensure!(moved.stderr.contains("BTL-2006") && moved.stderr.contains(&words), "{moved}");
            ensure!(!lab.home.join("runs").exists(), "a run was begun");
        }
        expected.check(lab.bootstrap(&["--config", &config]).run()?)?;
        let changing: Vec<_> =
            host.requests().into_iter().filter(|request| request.method != "GET").collect();
        ensure!(changing.is_empty(), "{changing:?}");
        drop(host);
        lab.nothing_half_made()?;
        // Once the provider is well, the same configuration works.
        let _plan = lab.bootstrap(&["plan", "--config", &config]).run()?.success()?;
    }
    Ok(())
}

#[test]
fn a_provider_that_cannot_be_reached_is_named() -> Result<()> {
    let lab = Lab::new()?;
    let config = lab.config("bad", "single-node")?;
    let place = lab.home.join("sandbox/bad");
    std::fs::create_dir_all(&place)?;
    // A host that is starting for ever: it has the lock, and nobody answers.
    let lock = LockFile::take(&place.join("lock"))?;
    let expected = Expected { status: 1, words: &["BTL-1603", "cannot list machines"] };
    expected.check(lab.bootstrap(&["--config", &config]).run()?)?;
    drop(lock);
    lab.nothing_half_made()
}

#[test]
fn an_address_that_answers_already_is_refused() -> Result<()> {
    let lab = Lab::new()?;
    let config = lab.config("bad", "ha")?;
    let number = std::process::id();
    let address = format!("127.91.{}.{}", (number >> 8) & 0xff, (number & 0xff).clamp(1, 254));
    let text = std::fs::read_to_string(&config)? + &format!("\nnetwork: {{vip: {address}}}\n");
    std::fs::write(&config, text)?;
    let before = lab.bootstrap(&["plan", "--config", &config, "--out", "plan.json"]).run()?.success()?;
    ensure!(before.stdout.contains("Address answers    no"), "{before}");
    let listener = TcpListener::bind((address.as_str(), 6443))?;
    let moved = lab.bootstrap(&["run", "--config", &config, "--plan", "plan.json"]).run()?;
    let expected = Expected { status: 1, words: &["BTL-2006", "something answers at the address"] };
    expected.check(moved)?;
    ensure!(!lab.home.join("runs").exists(), "a run was begun");
    let refused = Expected { status: 1, words: &["BTL-2013", "answers already"] };
    refused.check(lab.bootstrap(&["--config", &config]).run()?)?;
    drop(listener);
    // What the run made is the host of simulated machines; it says so, and it can be removed.
    let listed = lab.bootstrap(&["list", "-o", "json"]).run()?.success()?.json()?;
    ensure!(listed["items"][0]["stage"] == "Failed", "{listed}");
    lab.destroy("bad")?;
    lab.nothing_left("bad")
}

/// Runs a command of ours in a file system of its own, mounted at the home: `options` are those of mount.
fn mounted(lab: &Lab, options: &str, script: &str) -> Result<Output> {
    std::fs::create_dir_all(&lab.home)?;
    let program = Path::new(env!("CARGO_BIN_EXE_butleradm"));
    let script = format!(
        "mount -t tmpfs -o {options} tmpfs \"$BUTLER_HOME\" || exit 99\nadm() {{ {} \"$@\"; }}\n{script}",
        program.display()
    );
    let mut args = vec!["--mount"];
    if !rustix::process::geteuid().is_root() {
        args.extend(["--user", "--map-root-user"]);
    }
    let shell = lab.env.command(Path::new("/usr/bin/unshare")).args(args).args(["/bin/sh", "-c", &script]);
    shell.env("BUTLER_HOME", &lab.home).env("BUTLER_TOOLS_DIR", lab.tools()).timeout(LIMIT).run()
}

#[test]
fn a_full_disk_is_told_and_nothing_is_made() -> Result<()> {
    let lab = Lab::new()?;
    let config = lab.config("full", "single-node")?;
    // No room for the run itself, then for its journal, then for what it would start.
    for size in ["4k", "8k", "12k", "64k", "8m"] {
        let script =
            format!("adm bootstrap --config {config}\necho \"status $?\"\nadm bootstrap list -o json");
        let output = mounted(&lab, &format!("size={size}"), &script)?;
        ensure!(output.stdout.contains("status 1\n"), "{size}: {output}");
        let told = ["No space left", "MiB free"].iter().any(|words| output.stderr.contains(words));
        ensure!(told && output.stderr.contains("error[BTL-"), "{size}: {output}");
        let listed = output.stdout.split_once("status 1\n").context("a list")?.1;
        let listed: Value = serde_json::from_str(listed)?;
        for run in listed["items"].as_array().into_iter().flatten() {
            ensure!(
                ["Failed", "Interrupted", "NeverStarted"]
                    .contains(&run["stage"].as_str().unwrap_or_default()),
                "{listed}"
            );
            ensure!(run["machines"].as_array().is_none_or(Vec::is_empty), "{listed}");
        }
        ensure!(lab.processes().is_empty(), "{size}: {:?}", lab.processes());
    }
    Ok(())
}

#[test]
fn a_home_that_cannot_be_written_is_told_and_a_plan_does_without() -> Result<()> {
    let lab = Lab::new()?;
    let config = lab.config("fixed", "single-node")?;
    let script = format!(
        "adm bootstrap plan --config {config} -o json || exit 98\nadm bootstrap --config {config} >&2\necho \"status $?\""
    );
    let output = mounted(&lab, "ro", &script)?;
    let (plan, status) = output.stdout.rsplit_once("status ").context("a status")?;
    ensure!(status.trim() == "1", "{output}");
    ensure!(Plan::from_json(plan)?.cluster == "fixed");
    for words in ["error[BTL-", "Read-only file system"] {
        ensure!(output.stderr.contains(words), "no `{words}` in {output}");
    }
    ensure!(lab.processes().is_empty(), "{:?}", lab.processes());
    Ok(())
}
