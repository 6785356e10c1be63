//! Goes through cases and checks what comes of them.

use std::{
    collections::BTreeMap,
    os::unix::process::ExitStatusExt,
    path::Path,
    sync::Mutex,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use butler_core::{
    bootstrap::run::{RunState, Stage},
    event::{Event, EventKind, journal},
};
use serde_json::Value;

use super::{
    Bench, Case, Fault, Injection, Operation, Reference, Row, Scenario,
    leftovers::{self, until},
    objects::differences,
};
use crate::{Output, Signal};

/// What journals are called.
const JOURNAL: &str = "journal.ndjson";

/// What came of a case.
#[derive(Debug, Default)]
struct Played {
    record: String,
    resume: Option<Duration>,
    removal: Option<String>,
}

/// Runs the scenario without any disturbance and keeps what it is like. It is held to the same demands.
pub fn undisturbed(scenario: &dyn Scenario) -> Result<Reference> {
    let bench = scenario.bench()?;
    let bench = bench.as_ref();
    // Beside the home, so that the log of operations is none itself.
    let log = bench.home().with_extension("operations");
    let noted = Injection { log: Some(log.clone()), ..Injection::default() };
    let began = Instant::now();
    let made = run(&noted, bench.start(), bench)?.success()?;
    let took = began.elapsed();
    let records = words(&events(bench)?);
    // Objects change for a while after the end; what counts is what they come to.
    let mut last = None;
    let state = until("the state stays the same", || {
        let state = bench.state()?;
        let same = last.as_ref() == Some(&state);
        last = Some(state.clone());
        ensure!(same, "it still changes");
        Ok(state)
    })?;
    let witness = bench.witness()?;
    let mut outputs = vec![made];
    let ports = secrets_and_ports(bench, &outputs)?;
    outputs.push(bench.destroy().run()?.success()?);
    gone(bench, &ports)?;
    let removal = words(&events(bench)?).split_off(records.len());
    let operations = Operation::read(&log)?;
    std::fs::remove_file(log)?;
    Ok(Reference { state, witness, records, removal, operations, took })
}

/// Goes through a case.
pub fn play(scenario: &dyn Scenario, reference: &Reference, case: &Case) -> Row {
    let began = Instant::now();
    let mut played = Played::default();
    let result = go(scenario, reference, case, &mut played);
    Row {
        scenario: scenario.name().to_owned(),
        case: case.name.clone(),
        record: played.record,
        resume: played.resume,
        removal: played.removal,
        took: began.elapsed(),
        failure: result.err().map(|error| format!("{error:#}")),
    }
}

/// Goes through cases, several at a time, and tells of each by its place among them.
pub fn play_all(
    work: &[(&dyn Scenario, &Reference, Case)],
    at_once: usize,
    tell: impl Fn(usize, Row) + Sync,
) {
    let next = Mutex::new(0);
    let turn = || {
        let mut next = next.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *next += 1;
        *next - 1
    };
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let place = turn();
                    let Some((scenario, reference, case)) = work.get(place) else { break };
                    tell(place, play(*scenario, reference, case));
                }
            });
        }
    });
}

fn go(scenario: &dyn Scenario, reference: &Reference, case: &Case, played: &mut Played) -> Result<()> {
    let bench = scenario.bench()?;
    let bench = bench.as_ref();
    let first = run(&case.first, bench.start(), bench)?;
    played.record = words(&events(bench)?).pop().unwrap_or_else(|| "none".to_owned());
    judge(&case.first, &first, bench).context("the first process")?;
    let mut outputs = vec![first];
    if let Some(disturbance) = case.between {
        bench.disturb(disturbance).with_context(|| format!("{disturbance:?}"))?;
    }
    for (index, injection) in case.again.iter().enumerate() {
        let again = run(injection, bench.resume(), bench)?;
        judge(injection, &again, bench).with_context(|| format!("resume {}", index + 1))?;
        outputs.push(again);
    }
    let began = Instant::now();
    match position(&events(bench)?) {
        Position::Nothing => outputs.push(run(&case.last, bench.start(), bench)?.success()?),
        Position::Begun => outputs.push(run(&case.last, bench.resume(), bench)?.success().context("resume")?),
        Position::Over => {}
    }
    if outputs.len() > case.again.len() + 1 {
        played.resume = Some(began.elapsed());
    }
    until("the end state is that of an undisturbed run", || same(&reference.state, &bench.state()?))?;
    let witness = bench.witness()?;
    ensure!(
        witness == reference.witness,
        "made: {witness:?}, and without any disturbance: {:?}",
        reference.witness
    );
    let ports = secrets_and_ports(bench, &outputs)?;
    if let Some(fault) = case.removal {
        let before = events(bench)?.len();
        let injection = Injection::of(fault);
        let stopped = run(&injection, bench.destroy(), bench)?;
        judge(&injection, &stopped, bench).context("the removal")?;
        let removal = words(&events(bench)?).split_off(before);
        played.removal = Some(removal.last().cloned().unwrap_or_default());
        outputs.push(stopped);
    }
    outputs.push(bench.destroy().run()?.success().context("the removal")?);
    gone(bench, &ports)
}

fn run(injection: &Injection, program: crate::Invocation, bench: &dyn Bench) -> Result<Output> {
    injection.on(program, bench.home(), JOURNAL)?.run()
}

/// Did to the process happen what should have?
fn judge(injection: &Injection, output: &Output, bench: &dyn Bench) -> Result<()> {
    match injection.fault {
        Some(fault) if fault.kills() => {
            let killed = output.status.signal() == Some(Signal::KILL.as_raw());
            ensure!(killed, "it was not killed at {fault:?}\n{output}");
        }
        Some(Fault::Full(_) | Fault::FullOnce(_)) => no_room(output, bench.home())?,
        Some(_) | None => bail!("nothing should have stopped it\n{output}"),
    }
    Ok(())
}

/// A process that found no room says so, with the file, and fails as the class of its error demands.
fn no_room(output: &Output, home: &Path) -> Result<()> {
    ensure!(output.status.code() == Some(1), "a full disk is a plain failure\n{output}");
    let (text, home) = (&output.stderr, home.display().to_string());
    ensure!(text.contains("error[BTL-"), "no code\n{output}");
    ensure!(text.contains(&home) && text.contains("No space left on device"), "no file or reason\n{output}");
    Ok(())
}

enum Position {
    /// There is no record of anything.
    Nothing,
    /// Something is left to do.
    Begun,
    /// It reached its end, and only its process was killed.
    Over,
}

fn position(events: &[Event]) -> Position {
    let Some(event) = events.first() else { return Position::Nothing };
    match RunState::of(&event.run_id, events, None).stage {
        Stage::Succeeded => Position::Over,
        _ => Position::Begun,
    }
}

fn same(wanted: &BTreeMap<String, Value>, found: &BTreeMap<String, Value>) -> Result<()> {
    let said = differences(wanted, found);
    ensure!(said.is_empty(), "{}", said.join("\n"));
    Ok(())
}

/// Demands that no secret is told, and says where its processes listen.
fn secrets_and_ports(bench: &dyn Bench, outputs: &[Output]) -> Result<Vec<std::net::SocketAddr>> {
    let secrets = bench.secrets()?;
    let texts = bench.texts();
    ensure!(!secrets.is_empty() && !texts.is_empty(), "nothing to look for");
    secrets.in_no_file(&texts)?;
    let told = outputs.iter().flat_map(|output| {
        let stdout = secrets.found("stdout", &output.stdout);
        stdout.into_iter().chain(secrets.found("stderr", &output.stderr))
    });
    let told: Vec<String> = told.collect();
    ensure!(told.is_empty(), "{}", told.join("\n"));
    Ok(leftovers::ports(bench.home()))
}

fn gone(bench: &dyn Bench, ports: &[std::net::SocketAddr]) -> Result<()> {
    leftovers::none(bench.home(), ports, &bench.temp_dir())?;
    let left = bench.left()?;
    ensure!(left.is_empty(), "left: {}", left.join(", "));
    Ok(())
}

fn events(bench: &dyn Bench) -> Result<Vec<Event>> {
    Ok(match bench.journal() {
        Some(path) => journal::read(&path)?,
        None => Vec::new(),
    })
}

/// Records as a person reads them.
fn words(events: &[Event]) -> Vec<String> {
    let word = |event: &Event| {
        let text = match &event.kind {
            EventKind::Intent { step, .. } => format!("intent {step}"),
            EventKind::Result { step, .. } => format!("result {step}"),
            EventKind::PhaseStarted { phase } => format!("begin {phase}"),
            EventKind::PhaseFinished { phase, .. } => format!("end {phase}"),
            EventKind::Resource { reference, change } => {
                format!("{change:?} {} {}", reference.kind, reference.name).to_lowercase()
            }
            EventKind::Log { .. } => "log".to_owned(),
            EventKind::Finished { .. } => "finished".to_owned(),
            _ => "state".to_owned(),
        };
        format!("{} {text}", event.seq)
    };
    events.iter().map(word).collect()
}
