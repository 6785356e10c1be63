//! The printed result: a Markdown table, ours beside theirs, with the goal and whether it was met; and a
//! second one of figures that have nothing to stand beside.

use std::{io::Write, time::Duration};

use anyhow::Result;

use crate::cost::Cost;

/// What a subject found.
#[derive(Default)]
pub(crate) struct Results {
    pub(crate) rows: Vec<Row>,
    pub(crate) figures: Vec<Figure>,
}

impl Results {
    pub(crate) fn extend(&mut self, more: Self) {
        self.rows.extend(more.rows);
        self.figures.extend(more.figures);
    }
}

impl From<Vec<Row>> for Results {
    fn from(rows: Vec<Row>) -> Self {
        Self { rows, figures: Vec::new() }
    }
}

/// A quantity on its own.
pub(crate) struct Figure {
    pub(crate) job: String,
    /// What was reached.
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    /// What it may be at most.
    pub(crate) goal: Option<f64>,
}

/// One comparison.
pub(crate) struct Row {
    pub(crate) job: String,
    pub(crate) against: String,
    pub(crate) ours: Cost,
    pub(crate) theirs: Cost,
    /// How much of their time ours may take.
    pub(crate) time_goal: Option<f64>,
    /// How much of their memory ours may take.
    pub(crate) memory_goal: Option<f64>,
    /// What else is worth a word, such as the number of requests.
    pub(crate) note: String,
}

impl Row {
    /// A comparison without goals or note.
    pub(crate) fn new(job: impl Into<String>, ours: Cost, against: impl Into<String>, theirs: Cost) -> Self {
        Self {
            job: job.into(),
            against: against.into(),
            ours,
            theirs,
            time_goal: None,
            memory_goal: None,
            note: String::new(),
        }
    }

    pub(crate) fn time_goal(self, ratio: f64) -> Self {
        Self { time_goal: Some(ratio), ..self }
    }

    pub(crate) fn memory_goal(self, ratio: f64) -> Self {
        Self { memory_goal: Some(ratio), ..self }
    }

    pub(crate) fn note(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }
}

pub(crate) fn print(results: &Results) -> Result<()> {
    if !results.rows.is_empty() {
        comparisons(&results.rows)?;
    }
    if !results.figures.is_empty() {
        figures(&results.figures)?;
    }
    Ok(())
}

fn figures(figures: &[Figure]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n| job | reached | goal |\n|---|---|---|")?;
    for Figure { job, value, unit, goal } in figures {
        let goal =
            goal.map(|goal| format!("≤ {goal} {unit} {}", if *value <= goal { "met" } else { "MISSED" }));
        writeln!(out, "| {job} | {value:.1} {unit} | {} |", goal.unwrap_or_default())?;
    }
    Ok(())
}

fn comparisons(rows: &[Row]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| job | against | time, ours / theirs | ratio | memory, ours / theirs | ratio | goals | |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|")?;
    for row in rows {
        let time = row.ours.wall.as_secs_f64() / row.theirs.wall.as_secs_f64();
        let (ours, theirs) = (row.ours.memory, row.theirs.memory);
        let memory = ours as f64 / theirs as f64;
        let goals = [verdict("time", time, row.time_goal), verdict("memory", memory, row.memory_goal)];
        let goals: Vec<String> = goals.into_iter().flatten().collect();
        writeln!(
            out,
            "| {} | {} | {} / {} | {} | {} / {} | {} | {} | {} |",
            row.job,
            row.against,
            millis(row.ours.wall),
            millis(row.theirs.wall),
            ratio(time),
            mib(ours),
            mib(theirs),
            if memory.is_nan() { "–".to_owned() } else { ratio(memory) },
            goals.join("; "),
            row.note,
        )?;
    }
    Ok(())
}

fn verdict(what: &str, reached: f64, goal: Option<f64>) -> Option<String> {
    let goal = goal?;
    let word = if reached <= goal { "met" } else { "MISSED" };
    Some(format!("{what} ≤ {} {word}", ratio(goal)))
}

fn ratio(value: f64) -> String {
    if value < 1.0 { format!("1/{:.1}", 1.0 / value) } else { format!("{value:.2} ×") }
}

fn millis(wall: Duration) -> String {
    let millis = wall.as_secs_f64() * 1e3;
    if millis < 100.0 { format!("{millis:.1} ms") } else { format!("{millis:.0} ms") }
}

/// Nothing where memory was not looked at.
fn mib(kib: u64) -> String {
    if kib == 0 { "–".to_owned() } else { format!("{:.1} MiB", kib as f64 / 1024.0) }
}
