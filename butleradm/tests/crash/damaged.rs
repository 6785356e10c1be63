//! A journal that somebody or something has changed is not believed.

use anyhow::{Context, Result, ensure};
use butler_tests::crash::{Bench, Fault, Injection, Scenario};

use crate::bootstrap::Topology;

#[test]
fn a_damaged_line_is_named_and_nothing_is_done_until_it_is_mended() -> Result<()> {
    let bench = Topology::Single.bench()?;
    let killed = Injection::of(Fault::After(8)).on(bench.start(), bench.home(), "journal.ndjson")?.run()?;
    ensure!(killed.status.code().is_none(), "{killed}");
    let path = bench.journal().context("a journal")?;
    let whole = std::fs::read(&path)?;
    let start = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(3).context("five lines")?.0;
    let mut damaged = whole.clone();
    // In the middle of line 5.
    damaged[start + 40] ^= 1;
    std::fs::write(&path, &damaged)?;
    for command in [bench.resume(), bench.destroy()] {
        let refused = command.run()?.failed_with(1)?;
        let text = &refused.stderr;
        ensure!(text.contains("BTL-1304") && text.contains("line 5 "), "{refused}");
        ensure!(text.contains(&path.display().to_string()), "{refused}");
        ensure!(std::fs::read(&path)? == damaged, "the journal was written to");
    }
    std::fs::write(&path, &whole)?;
    let _gone = bench.destroy().run()?.success()?;
    ensure!(bench.left()?.is_empty());
    Ok(())
}

/// Killed when the machine had its configuration; then the line that says that the machine was made is changed.
#[test]
fn a_repaired_run_goes_on_and_makes_nothing_again() -> Result<()> {
    let lab = Topology::Single.lab()?;
    let configured = r#""kind":"Result","step":"talos/configure/"#;
    let killed = Injection::from(Fault::After(1), configured);
    let killed = killed.on(lab.start(), lab.home(), "journal.ndjson")?.run()?;
    ensure!(killed.status.code().is_none(), "{killed}");
    let path = lab.journal().context("a journal")?;
    let text = std::fs::read_to_string(&path)?;
    let is_it = |line: &&str| line.contains(r#""kind":"Result","step":"machine/"#);
    let line = text.lines().find(is_it).context("the machine was made")?;
    let number = text.lines().position(|other| other == line).context("it has a place")? + 1;
    std::fs::write(&path, text.replace(line, &line.replace("machine/", "macchine/")))?;
    let run = path.parent().and_then(|dir| dir.file_name()).context("a run")?.to_string_lossy().into_owned();

    let refused = lab.resume().run()?.failed_with(1)?;
    ensure!(refused.stderr.contains("BTL-1304"), "{refused}");
    ensure!(refused.stderr.contains(&format!("line {number} ")), "{refused}");
    ensure!(refused.stderr.contains(&format!("butleradm bootstrap repair {run} --dry-run")), "{refused}");
    let explained = lab.bootstrap(&["repair", &run, "--dry-run"]).run()?.success()?;
    ensure!(explained.stderr.contains(&format!("line {number}: its checksum does not fit")), "{explained}");
    ensure!(explained.stderr.contains("it is assumed that"), "{explained}");
    let _ready = lab.bootstrap(&["resume", &run, "--repair"]).run()?.success()?;
    let witness = lab.witness()?;
    ensure!(witness == ["created machine crash-cp-0"], "{witness:?}");
    ensure!(!lab.state()?.is_empty());
    let _gone = lab.destroy().run()?.success()?;
    ensure!(lab.left()?.is_empty(), "{:?}", lab.left()?);
    Ok(())
}
