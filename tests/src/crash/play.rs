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
    Bench, Case, Fault, Injection, Operation, Reference, Row, Scenario, Secrets,
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
    spent: Vec<(&'static str, Duration)>,
}

impl Played {
    /// Notes how long a part of the case takes.
    fn part<T>(&mut self, name: &'static str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let began = Instant::now();
        let result = work();
        self.spent.push((name, began.elapsed()));
        result
    }
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
    let looks = Looks::at(bench)?;
    let removed = bench.destroy().run()?.success()?;
    looks.gone(bench, &[made, removed])?;
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
        spent: played.spent,
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
    let first = played.part("first", || run(&case.first, bench.start(), bench))?;
    played.record = words(&events(bench)?).pop().unwrap_or_else(|| "none".to_owned());
    judge(&case.first, &first, bench).context("the first process")?;
    let mut outputs = vec![first];
    if let Some(disturbance) = case.between {
        let disturb = || bench.disturb(disturbance).with_context(|| format!("{disturbance:?}"));
        played.part("between", disturb)?;
    }
    for (index, injection) in case.again.iter().enumerate() {
        let program = match position(&events(bench)?) {
            Position::Nothing => bench.start(),
            Position::Begun | Position::Over => bench.resume(),
        };
        let again = played.part("again", || run(injection, program, bench))?;
        judge(injection, &again, bench).with_context(|| format!("resume {}", index + 1))?;
        outputs.push(again);
    }
    if case.ends_there {
        outputs.push(played.part("removal", || bench.destroy().run()?.success().context("the removal"))?);
        return played.part("gone", || nothing_left(bench, &[]));
    }
    let last = match position(&events(bench)?) {
        Position::Nothing => Some(bench.start()),
        Position::Begun => Some(bench.resume()),
        Position::Over => None,
    };
    if let Some(program) = last {
        let began = Instant::now();
        let made = played.part("resume", || run(&case.last, program, bench)?.success().context("resume"))?;
        played.resume = Some(began.elapsed());
        outputs.push(made);
    }
    let wanted = "the end state is that of an undisturbed run";
    played.part("compare", || until(wanted, || same(&reference.state, &bench.state()?)))?;
    let witness = bench.witness()?;
    ensure!(
        witness == reference.witness,
        "made: {witness:?}, and without any disturbance: {:?}",
        reference.witness
    );
    let looks = Looks::at(bench)?;
    if let Some(fault) = case.removal {
        let before = events(bench)?.len();
        let injection = Injection::of(fault);
        let stopped = played.part("removal killed", || run(&injection, bench.destroy(), bench))?;
        judge(&injection, &stopped, bench).context("the removal")?;
        let removal = words(&events(bench)?).split_off(before);
        played.removal = Some(removal.last().cloned().unwrap_or_default());
        outputs.push(stopped);
    }
    let removal = || bench.destroy().run()?.success().context("the removal");
    outputs.push(played.part("removal", removal)?);
    played.part("gone", || looks.gone(bench, &outputs))
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

fn nothing_left(bench: &dyn Bench, ports: &[std::net::SocketAddr]) -> Result<()> {
    leftovers::none(bench.home(), ports, &bench.temp_dir())?;
    let left = bench.left()?;
    ensure!(left.is_empty(), "left: {}", left.join(", "));
    Ok(())
}

/// What must be looked at before the removal, and again after it.
struct Looks {
    secrets: Secrets,
    ports: Vec<std::net::SocketAddr>,
}

impl Looks {
    /// Demands that no secret is told, and notes where its processes listen.
    fn at(bench: &dyn Bench) -> Result<Self> {
        let secrets = bench.secrets()?;
        let texts = bench.texts();
        ensure!(!secrets.is_empty() && !texts.is_empty(), "nothing to look for");
        secrets.in_no_file(&texts)?;
        let open = leftovers::open_words(bench.home());
        ensure!(!open.is_empty(), "nobody runs");
        for (process, words) in open {
            let found = secrets.found(&format!("process {process:?}"), &words);
            ensure!(found.is_empty(), "{}", found.join("\n"));
        }
        Ok(Self { secrets, ports: leftovers::ports(bench.home()) })
    }

    /// Demands that everything is gone and that no process told a secret, nor the records of the removal.
    fn gone(&self, bench: &dyn Bench, outputs: &[Output]) -> Result<()> {
        nothing_left(bench, &self.ports)?;
        self.secrets.in_no_file(&bench.texts())?;
        let told = outputs.iter().flat_map(|output| {
            let stdout = self.secrets.found("stdout", &output.stdout);
            stdout.into_iter().chain(self.secrets.found("stderr", &output.stderr))
        });
        let told: Vec<String> = told.collect();
        ensure!(told.is_empty(), "{}", told.join("\n"));
        Ok(())
    }
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
