//! What `bootstrap status` prints.

use std::fmt::Write;

use butler_core::{
    api::API_VERSION,
    bootstrap::run::{PhaseTime, RunDir, RunState, Stage, Verb},
    event::{Outcome, elapsed},
};
use butler_term::{
    output::{Cell, Render, Table, View, age, counted, one_line},
    theme,
};
use jiff::Timestamp;
use serde::Serialize;

/// Columns of the bars that show when phases ran.
const BAR: usize = 24;
/// The narrowest terminal that has room for them.
const ROOM: usize = 80;

/// How far a run is; also what `-o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatusReport {
    api_version: &'static str,
    kind: &'static str,
    #[serde(flatten)]
    pub(super) state: RunState,
    directory: String,
    /// The command that goes on with it, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
}

impl StatusReport {
    pub(super) fn of(dir: &RunDir, state: RunState) -> Self {
        let next = next(&state);
        let directory = dir.path().display().to_string();
        Self { api_version: API_VERSION, kind: "BootstrapRun", state, directory, next }
    }

    /// Every fact that may change, as a line; a watch prints those it has not printed before.
    pub(super) fn lines(&self) -> Vec<String> {
        let state = &self.state;
        let session = state.sessions.len();
        let mut lines = vec![state.stage.as_str().to_owned()];
        if let Some(holder) = &state.holder {
            lines.push(format!("worked on by {holder}"));
        }
        for phase in &state.phases {
            lines.push(format!("▸ {}", phase.phase));
            if let (Some(finished), Some(result)) = (phase.finished, &phase.result) {
                let (mark, _) = mark(result);
                lines.push(format!("{mark} {} ({})", phase.phase, elapsed(phase.started, finished)));
            }
        }
        for (name, machine) in &state.machines {
            lines.push(format!("machine {name} announced"));
            lines.extend(machine.id.as_ref().map(|id| format!("machine {name} made: {id}")));
            lines.extend(machine.removed.then(|| format!("machine {name} removed")));
        }
        lines.extend(state.addons.iter().map(|addon| format!("addon {addon} installed")));
        if let Some(stall) = &state.stall {
            // Told again with other seconds, it is the same stall.
            lines.push(format!("stalled: {} ({})", stall.what, stall.code));
        }
        lines.extend(self.error().map(|(code, message)| format!("error {code}: {message}")));
        // Whoever takes a run up goes through its phases again; these are other facts.
        lines.iter_mut().for_each(|line| *line = format!("{}{line}", "\0".repeat(session.saturating_sub(1))));
        lines
    }

    fn error(&self) -> Option<(&str, &str)> {
        match self.state.outcome.as_ref()? {
            Outcome::Failed { code, message } => Some((code, message)),
            _ => None,
        }
    }

    fn headline(&self, view: &View) -> String {
        let state = &self.state;
        let (word, style) = (state.stage.as_str(), style(state.stage));
        let half = if state.half_destroyed { ", half destroyed" } else { "" };
        let mut text = format!("run {}: {style}{word}{style:#}{half}\n", state.run_id);
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "  {name:9}  {}", one_line(&value));
        };
        if let Some(facts) = &state.facts {
            let rehearsal = if facts.rehearsal { ", rehearsal" } else { "" };
            let (cluster, provider, runtime) = (&facts.cluster, &facts.provider, &facts.runtime);
            line("Cluster", format!("{cluster} ({provider}, temporary cluster by {runtime}{rehearsal})"));
        }
        if let Some(started) = state.started {
            let took = duration(state, view.now).map(|took| format!(", {took}")).unwrap_or_default();
            let ago = age(state.started, view.now);
            line("Started", format!("{} ({ago} ago{took})", started.strftime("%F %T UTC")));
        }
        match (&state.holder, state.sessions.last()) {
            (Some(holder), session) => {
                let verb = session.map_or("run", |session| word_of(session.verb));
                line("Worked on", format!("by {holder}: {verb}"));
            }
            (None, Some(session)) => {
                let (verb, pid, host) = (word_of(session.verb), session.pid, &session.host);
                line("Last", format!("{verb} by process {pid} on `{host}`"));
            }
            (None, None) => {}
        }
        if state.lost > 0 {
            line("Lost", format!("{}, when the journal was damaged", counted(state.lost as usize, "record")));
        }
        line("Directory", self.directory.clone());
        text
    }

    fn phases(&self, view: &View) -> Table {
        let timeline = view.width.is_none_or(|width| width >= ROOM);
        let columns = ["phase", "result", "started", "took"];
        let mut table = Table::new(columns.into_iter().chain(timeline.then_some("timeline")));
        let phases = &self.state.phases;
        let running = self.state.stage == Stage::Running;
        let last = if running { Some(view.now) } else { self.state.updated };
        let (Some(begin), Some(end)) = (phases.first().map(|phase| phase.started), last) else {
            return table;
        };
        for phase in phases {
            let until = phase.finished.unwrap_or(end);
            let (word, style) = match &phase.result {
                Some(result) => (word(result), mark(result).1),
                None if running => ("running", theme::PROGRESS),
                None => ("broken off", theme::WARNING),
            };
            let mut row = vec![
                phase.phase.clone().into(),
                Cell::styled(word, style),
                phase.started.strftime("%T").to_string().into(),
                elapsed(phase.started, until).into(),
            ];
            row.extend(timeline.then(|| Cell::styled(bar(phase, begin, end, until), style)));
            table.push(row);
        }
        table
    }

    fn machines(&self) -> Table {
        let mut table = Table::new(["machine", "state", "id"]);
        for (name, machine) in &self.state.machines {
            let (word, style) = match (machine.removed, &machine.id) {
                (true, _) => ("removed", theme::DIM),
                (false, Some(_)) => ("made", theme::SUCCESS),
                (false, None) => ("announced", theme::PROGRESS),
            };
            let id = machine.id.clone().unwrap_or_else(|| "-".to_owned());
            table.push([name.clone().into(), Cell::styled(word, style), id.into()]);
        }
        table
    }
}

impl Render for StatusReport {
    fn text(&self, view: &View) -> String {
        let mut text = self.headline(view);
        if !self.state.phases.is_empty() {
            text = format!("{text}\n{}", self.phases(view).render(view.width));
        }
        if !self.state.machines.is_empty() {
            text = format!("{text}\n{}", self.machines().render(view.width));
        }
        for (title, items) in [("Addons", &self.state.addons), ("Open effects", &self.state.open)] {
            if !items.is_empty() {
                text += &format!("\n{title}\n");
                items.iter().for_each(|item| text += &format!("  {}\n", one_line(item)));
            }
        }
        if let Some(stall) = &self.state.stall {
            let style = theme::WARNING;
            text += &format!("\n{style}Stalled {}{style:#}: {}\n", stall.code, one_line(&stall.what));
            stall.evidence.iter().for_each(|line| text += &format!("  {}\n", one_line(line)));
            stall.next.iter().for_each(|line| text += &format!("  next: {}\n", one_line(line)));
        }
        if let Some((code, message)) = self.error() {
            let style = theme::ERROR;
            text += &format!("\n{style}Error {code}{style:#}: {}\n", one_line(message));
        }
        text
    }

    fn names(&self) -> Vec<String> {
        vec![format!("run/{}", self.state.run_id)]
    }
}

/// What goes on with a run that is not worked on and not done.
fn next(state: &RunState) -> Option<String> {
    let verb = match state.stage {
        Stage::Running | Stage::Succeeded | Stage::Destroyed => return None,
        Stage::NeverStarted => "destroy",
        _ if state.half_destroyed => "destroy",
        _ => "resume",
    };
    Some(format!("butleradm bootstrap {verb} {}", state.run_id))
}

/// A stage in its colour.
pub(super) fn stage(stage: Stage) -> Cell {
    Cell::styled(stage.as_str(), style(stage))
}

fn style(stage: Stage) -> anstyle::Style {
    match stage {
        Stage::Running => theme::PROGRESS,
        Stage::Interrupted | Stage::Stopped => theme::WARNING,
        Stage::Failed => theme::ERROR,
        Stage::Succeeded => theme::SUCCESS,
        Stage::Destroyed | Stage::NeverStarted => theme::DIM,
    }
}

/// From the first record to the last; to now while somebody works on it.
pub(super) fn duration(state: &RunState, now: Timestamp) -> Option<String> {
    let end = if state.stage == Stage::Running { Some(now) } else { state.updated };
    Some(elapsed(state.started?, end?))
}

fn mark(result: &Outcome) -> (char, anstyle::Style) {
    match result {
        Outcome::Succeeded => ('✓', theme::SUCCESS),
        Outcome::Failed { .. } => ('✗', theme::ERROR),
        _ => ('✗', theme::WARNING),
    }
}

fn word(result: &Outcome) -> &'static str {
    match result {
        Outcome::Succeeded => "done",
        Outcome::Failed { .. } => "failed",
        _ => "cancelled",
    }
}

fn word_of(verb: Verb) -> &'static str {
    match verb {
        Verb::Run => "run",
        Verb::Resume => "resume",
        Verb::Abort => "abort",
        Verb::Destroy => "destroy",
    }
}

/// When a phase ran, between the beginning of the first and the end of the last.
fn bar(phase: &PhaseTime, begin: Timestamp, end: Timestamp, until: Timestamp) -> String {
    let whole = end.duration_since(begin).as_millis().max(1);
    let width = BAR as i128;
    let at = |time: Timestamp| (time.duration_since(begin).as_millis() * width / whole).clamp(0, width);
    let from = at(phase.started).min(width - 1);
    let to = at(until).max(from + 1);
    let part = |text: &str, count: i128| text.repeat(usize::try_from(count).unwrap_or_default());
    format!("{}{}", part("·", from), part("█", to - from)) + &part("·", width - to)
}
