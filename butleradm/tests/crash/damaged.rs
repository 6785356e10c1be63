//! A journal that somebody or something has changed is not believed.

use anyhow::{Context, Result, ensure};
use butler_tests::crash::{Fault, Injection, Scenario};

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
