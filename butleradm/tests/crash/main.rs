//! `butleradm bootstrap`, killed anywhere, taken up again, and held against a run that nobody disturbed.
//!
//! `cargo test` tries a sample that changes with the day, or with `BUTLER_CRASH_SEED`; `make test-crash` tries
//! everything, or what `BUTLER_CRASH_CASES`, a regular expression, leaves of it.

mod bootstrap;
mod cases;
mod damaged;

use std::{
    collections::BTreeMap,
    io::Write,
    path::PathBuf,
    sync::Mutex,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, Result, ensure};
use bootstrap::Topology;
use butler_core::settings::Environment;
use butler_tests::crash::{Case, Reference, Report, Row, Scenario, Seed, play_all, sample, undisturbed};
use regex::Regex;

/// How many cases of a sample; together with the undisturbed run they take two minutes.
const SAMPLE: usize = 4;
/// More at once only wait for each other on a small machine.
const AT_ONCE: usize = 2;
const DAY: u64 = 24 * 60 * 60;

#[test]
fn a_sample_of_crashes_ends_like_an_undisturbed_run() -> Result<()> {
    let number = match Environment::capture().get("BUTLER_CRASH_SEED") {
        Some(text) => text.parse().context("BUTLER_CRASH_SEED is no number")?,
        None => SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / DAY,
    };
    say(&format!("crash test: BUTLER_CRASH_SEED={number}"));
    let mut seed = Seed(number);
    let reference = undisturbed(&Topology::Single)?;
    let kills = sample(cases::every_record(&reference), SAMPLE / 2, &mut seed);
    let others = [cases::disturbed(&reference), cases::full_disk(&reference)].concat();
    let chosen = [kills, sample(others, SAMPLE - SAMPLE / 2, &mut seed)].concat();
    let report =
        play_and_tell(chosen.into_iter().map(|case| (&Topology::Single as _, &reference, case)).collect());
    ensure!(report.failures() == 0, "BUTLER_CRASH_SEED={number}\n{report}");
    Ok(())
}

#[test]
#[ignore = "takes hours; `make test-crash` runs it"]
fn every_crash_ends_like_an_undisturbed_run() -> Result<()> {
    let wanted = Environment::capture().get("BUTLER_CRASH_CASES").unwrap_or_default().to_owned();
    let wanted = Regex::new(&wanted).context("BUTLER_CRASH_CASES is no regular expression")?;
    let (single, ha) = (undisturbed(&Topology::Single)?, undisturbed(&Topology::Ha)?);
    let of_single =
        [cases::every_record(&single), cases::disturbed(&single), cases::full_disk(&single)].concat();
    let of_ha = [cases::every_record(&ha), cases::disturbed(&ha)].concat();
    let mut work: Vec<(&dyn Scenario, &Reference, Case)> = Vec::new();
    for (topology, reference, cases) in [(&Topology::Single, &single, of_single), (&Topology::Ha, &ha, of_ha)]
    {
        let name = topology.name();
        say(&format!(
            "{name}: {} records, {:.1} s undisturbed",
            reference.records.len(),
            reference.took.as_secs_f64()
        ));
        let cases = cases.into_iter().filter(|case| wanted.is_match(&format!("{name}: {}", case.name)));
        work.extend(cases.map(|case| (topology as &dyn Scenario, reference, case)));
    }
    ensure!(!work.is_empty(), "no case is called so");
    let report = play_and_tell(work);
    say(&report.to_string());
    ensure!(report.failures() == 0, "{} cases failed", report.failures());
    Ok(())
}

/// Tells of each case as it ends, and keeps the report on disk up to date.
fn play_and_tell(work: Vec<(&dyn Scenario, &Reference, Case)>) -> Report {
    let rows = Mutex::new(BTreeMap::new());
    let report = |rows: &BTreeMap<usize, Row>| Report { rows: rows.values().cloned().collect() };
    play_all(&work, AT_ONCE, |place, row| {
        let mut rows = rows.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        say(&format!("[{}/{}] {row}", rows.len() + 1, work.len()));
        if let Some(failure) = &row.failure {
            say(failure);
        }
        rows.insert(place, row);
        if let Err(error) = target_dir().and_then(|dir| report(&rows).write(&dir)) {
            say(&format!("the report cannot be written: {error:#}"));
        }
    });
    report(&rows.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// Where cargo puts what it makes: this program is in `debug/deps` there.
fn target_dir() -> Result<PathBuf> {
    Ok(std::env::current_exe()?.ancestors().nth(3).context("a target directory")?.to_owned())
}

/// Past the capture of cargo: whoever waits wants to see how far it is.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
