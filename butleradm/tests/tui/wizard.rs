//! From questions to a management cluster: on a full screen, and line by line.

use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result, ensure};
use butler_tests::{Pty, Signal};
use serde_json::json;

use crate::{LIMIT, adm, leave, run::Lab};

/// Goes on, and waits for the page that must come.
fn to(pty: &mut Pty, keys: &str, page: &str) -> Result<()> {
    pty.send(keys)?;
    pty.wait_for(page, LIMIT)
}

const PROVIDER: &str = "Where do the machines come from?";
const DISCOVERY: &str = "new cluster › Discovery";
const CLUSTER: &str = "new cluster › Cluster";
const NETWORK: &str = "new cluster › Network";
const ADDONS: &str = "new cluster › Addons";
const REVIEW: &str = "new cluster › Review";
const PLAN: &str = "enter begins the run";

#[test]
fn a_newcomer_is_led_to_a_cluster_back_and_forth() -> Result<()> {
    let lab = Lab::new()?;
    let mut pty = lab.bootstrap(&[]).pty(100, 30)?;
    pty.wait_for(PROVIDER, LIMIT)?;
    to(&mut pty, "\r", DISCOVERY)?;
    pty.wait_for("This computer", LIMIT)?;
    to(&mut pty, "\x1b", PROVIDER)?;
    to(&mut pty, "\r", DISCOVERY)?;
    to(&mut pty, "\r", CLUSTER)?;
    // A name that cannot be, and a whole file of letters, keep one on the page.
    pty.send("\u{15}No Name")?;
    pty.wait_for("must be a name of a-z", LIMIT)?;
    pty.send(&format!("\x1b[200~{}\x1b[201~", "x".repeat(100 * 1024)))?;
    pty.wait_for("xxxxxxxxxx", LIMIT)?;
    to(&mut pty, "\u{15}newcomer", "newcomer")?;
    pty.resize(20, 10)?;
    // Until it was drawn anew, and not only cut.
    pty.wait_until("a narrow screen", LIMIT, |screen| {
        screen.contains("[0 Bootstrap]") && !screen.contains("Butler")
    })?;
    pty.resize(100, 30)?;
    pty.wait_for("1 machine: 2 cores", LIMIT)?;
    to(&mut pty, "\r\r\r", NETWORK)?;
    pty.wait_for("10.244.0.0 - 10.244.255.255", LIMIT)?;
    to(&mut pty, "\x1b", CLUSTER)?;
    pty.wait_for("newcomer", LIMIT)?;
    to(&mut pty, "\u{e}", NETWORK)?;
    to(&mut pty, "\r\r", ADDONS)?;
    to(&mut pty, "\r", REVIEW)?;
    pty.wait_for("nothing is wrong with it", LIMIT)?;
    to(&mut pty, "nonsense\r", "ctrl-g goes to the next")?;
    to(&mut pty, "\u{7f}".repeat(9).as_str(), "nothing is wrong with it")?;
    to(&mut pty, "\u{e}", PLAN)?;
    pty.wait_for("newcomer-cp-0", LIMIT)?;
    let file = lab.env.work_dir().join("newcomer.yaml");
    let text = std::fs::read_to_string(&file)?;
    let mode = std::fs::metadata(&file)?.permissions().mode() & 0o777;
    ensure!(mode == 0o600, "{mode:o}");
    // Once more through review, and the file is the same.
    to(&mut pty, "\x1b", REVIEW)?;
    to(&mut pty, "\u{e}", PLAN)?;
    assert_eq!(std::fs::read_to_string(&file)?, text);
    to(&mut pty, "\r", "Running newcomer on sandbox")?;
    pty.wait_for("✓ Succeeded", LIMIT)?;
    leave(pty, "q")?;
    let status = lab.status("newcomer")?;
    assert_eq!(status["stage"], json!("Succeeded"));
    let drafts = lab.env.butler_home().join("drafts");
    ensure!(std::fs::read_dir(drafts)?.next().is_none(), "the draft became a run");
    // It runs headless, unchanged.
    let path = file.display().to_string();
    let _valid = lab.bootstrap(&["validate", "--strict", "--config", &path]).run()?.success()?;
    let _gone = lab.bootstrap(&["destroy", "newcomer", "--yes", "newcomer"]).run()?.success()?;
    Ok(())
}

#[test]
fn what_was_answered_is_found_again() -> Result<()> {
    let lab = Lab::new()?;
    let mut pty = adm(&lab.env, &["tui"]).pty(80, 24)?;
    pty.send("0")?;
    to(&mut pty, "c", PROVIDER)?;
    to(&mut pty, "\x1b[B\x1b[B\x1b[B", "● nutanix")?;
    to(&mut pty, "\r", "How to sign in")?;
    to(&mut pty, "127.0.0.1", "127.0.0.1")?;
    // A kill leaves what was there when the page began; leaving asks.
    to(&mut pty, "\u{3}", "Keep the answers?")?;
    to(&mut pty, "y", "the draft is kept as")?;
    leave(pty, "q")?;
    let draft = lab.env.butler_home().join("drafts/bootstrap.json");
    let mode = std::fs::metadata(&draft)?.permissions().mode() & 0o777;
    ensure!(mode == 0o600, "{mode:o}");

    let mut pty = lab.bootstrap(&["--resume"]).pty(80, 24)?;
    pty.wait_for("127.0.0.1", LIMIT)?;
    to(&mut pty, "\t\t\tadmin\t\thunter2", "•••••••")?;
    to(&mut pty, "\r", DISCOVERY)?;
    // The draft was kept before anybody was asked.
    pty.wait_for("ctrl-r asks again", LIMIT)?;
    pty.signal(Signal::TERM)?;
    assert_eq!(pty.wait(LIMIT)?.exit_code(), 130);
    assert!(pty.is_sane(), "{}", pty.screen());
    let text = std::fs::read_to_string(&draft)?;
    ensure!(!text.contains("hunter2"), "{text}");
    let secrets = std::fs::read_dir(lab.env.butler_home().join("secrets"))?.flatten();
    let secret = secrets.last().context("no secret was kept")?.path();
    ensure!(std::fs::metadata(&secret)?.permissions().mode() & 0o777 == 0o600);
    assert_eq!(std::fs::read_to_string(&secret)?, "hunter2");

    let mut pty = lab.bootstrap(&["--resume"]).pty(80, 24)?;
    pty.wait_for(DISCOVERY, LIMIT)?;
    to(&mut pty, "\u{3}", "Keep the answers?")?;
    pty.send("n")?;
    ensure!(pty.wait(LIMIT)?.success(), "{}", pty.screen());
    let mut pty = lab.bootstrap(&["--resume"]).pty(80, 24)?;
    pty.wait_for("error[BTL-1217]", LIMIT)?;
    pty.send("q")?;
    ensure!(pty.wait(LIMIT)?.exit_code() == 2, "{}", pty.screen());
    Ok(())
}

#[test]
fn line_by_line_it_comes_to_the_same() -> Result<()> {
    let lab = Lab::new()?;
    let mut pty = lab.bootstrap(&["--plain"]).pty(120, 40)?;
    to(&mut pty, "", "Provider [sandbox]")?;
    to(&mut pty, "nothing\r", "is none of them")?;
    to(&mut pty, "1\r", "Name [sandbox]")?;
    to(&mut pty, "No\r", "must be a name of a-z")?;
    to(&mut pty, "plain\r", "Topology [single-node]")?;
    to(&mut pty, "\r", "Size [small]")?;
    // Back keeps the answer.
    to(&mut pty, "<\r", "Provider [sandbox]")?;
    to(&mut pty, "\r", "Name [plain]")?;
    to(&mut pty, "\r\r\r", "Pods [10.244.0.0/16]")?;
    to(&mut pty, "\r\r", "Addons [none]")?;
    to(&mut pty, "\r", "Enter goes on")?;
    to(&mut pty, "\r", "Begin the run? [y/N]")?;
    to(&mut pty, "y\r", "cluster `plain` is ready")?;
    ensure!(pty.wait(LIMIT)?.success(), "{}", pty.screen());
    let file = lab.env.work_dir().join("plain.yaml");
    let text = std::fs::read_to_string(&file)?;
    ensure!(text.contains("name: plain") && text.contains("topology: single-node"), "{text}");
    let _gone = lab.bootstrap(&["destroy", "plain", "--yes", "plain"]).run()?.success()?;
    Ok(())
}

#[test]
fn where_nobody_can_answer_nobody_is_asked() -> Result<()> {
    let lab = Lab::new()?;
    let help = lab.bootstrap(&[]).run()?.success()?;
    ensure!(help.stdout.contains("Usage: butleradm bootstrap"), "{help}");
    let plain = lab.bootstrap(&["--plain"]).run()?.failed_with(2)?;
    ensure!(plain.stderr.contains("without a terminal"), "{plain}");
    let nothing = lab.bootstrap(&["--dry-run"]).run()?.failed_with(2)?;
    ensure!(nothing.stderr.contains("error[BTL-1211]"), "{nothing}");
    Ok(())
}
