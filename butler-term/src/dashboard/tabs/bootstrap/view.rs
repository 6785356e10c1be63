//! How runs look: the list, and one of them with its phases, machines, addons and log.

use butler_core::{
    bootstrap::run::{PhaseTime, RunState, Stage},
    event::{Outcome, elapsed},
};
use ratatui::{
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
};

use super::{
    Bootstrap,
    model::{Part, RunModel},
};
use crate::{
    dashboard::{
        tabs::clusters::paragraph,
        world::{RunRow, World},
    },
    output::age,
    tui::{
        Theme,
        widgets::{
            explain,
            gauge::{bar, seconds, span},
            instead, panel, put, spinner,
            table::{Column, Table, Value},
            tree::{Node, lines},
            words,
        },
    },
};

const COLUMNS: &[Column] = &[
    Column { title: "CLUSTER", least: 8, rank: 0 },
    Column { title: "STAGE", least: 9, rank: 1 },
    Column { title: "PHASE", least: 8, rank: 3 },
    Column { title: "PROVIDER", least: 7, rank: 5 },
    Column { title: "STARTED", least: 4, rank: 2 },
    Column { title: "TOOK", least: 4, rank: 4 },
    Column { title: "MACHINES", least: 8, rank: 6 },
    Column { title: "RUN", least: 10, rank: 7 },
];

impl Bootstrap {
    pub(super) fn list(&self, world: &World, theme: &Theme, buffer: &mut Buffer, area: Rect) {
        let mut area = area;
        if let Some((what, fault)) = &self.trouble {
            let height = area.height.min(9);
            let [upper, lower] =
                Layout::vertical([Constraint::Length(height), Constraint::Min(0)]).areas(area);
            let inside = panel(buffer, upper, Line::styled(format!(" ✗ {what} "), theme.bad), false, theme);
            paragraph(buffer, inside, explain(fault, theme));
            area = lower;
        }
        if self.awaited.is_some() {
            let text = format!(" {} a run begins …", spinner(world.tick));
            put(buffer, area, 0, &Line::styled(text, theme.busy));
            area = Rect { y: area.y + 1.min(area.height), height: area.height.saturating_sub(1), ..area };
        }
        if self.alone {
            return;
        }
        let title = Line::styled(" Bootstrap runs on this machine ", theme.title);
        let inside = panel(buffer, area, title, true, theme);
        if let Some(lines) = instead(&world.runs, "runs", world.tick, theme) {
            return paragraph(buffer, inside, lines);
        }
        let runs = world.runs.value().map(Vec::as_slice).unwrap_or_default();
        if runs.is_empty() {
            let lines = vec![
                Line::styled("No management cluster was made from this machine yet.", theme.text),
                Line::default(),
                Line::styled(
                    "c asks for one, question by question; it can be tried without any hardware.",
                    theme.text,
                ),
                Line::styled("n begins a run from a configuration file.", theme.text),
            ];
            return paragraph(buffer, inside, lines);
        }
        let row =
            |at: usize| runs.get(runs.len() - 1 - at).map(|row| cells(row, world, theme)).unwrap_or_default();
        let table = Table { columns: COLUMNS, sorted: None, rows: runs.len(), row, focused: true };
        table.draw(buffer, inside, &self.table, theme);
    }
}

/// A stage in its style, with its mark: a run that runs is on its way.
fn stage(stage: Stage, theme: &Theme) -> (ratatui::style::Style, &'static str) {
    if stage == Stage::Running { (theme.busy, "◐") } else { theme.phase(stage.as_str()) }
}

fn cells(row: &RunRow, world: &World, theme: &Theme) -> Vec<Value> {
    let plain = |text: String| (text, theme.text);
    let state = match &row.state {
        Ok(state) => state,
        Err(fault) => {
            let damaged = vec![plain("-".into()), (format!("✗ Damaged {}", fault.code), theme.bad)];
            let dashes = (2..COLUMNS.len() - 1).map(|_| plain("-".into()));
            return damaged.into_iter().chain(dashes).chain([plain(row.id.to_string())]).collect();
        }
    };
    let (style, mark) = stage(state.stage, theme);
    let there = state.machines.values().filter(|machine| machine.id.is_some() && !machine.removed).count();
    let end = if state.stage == Stage::Running { Some(world.now) } else { state.updated };
    let took = state.started.zip(end).map(|(from, to)| elapsed(from, to)).unwrap_or_default();
    vec![
        plain(state.cluster.clone().unwrap_or_else(|| "-".into())),
        (format!("{mark} {}", state.stage.as_str()), style),
        plain(state.phase().unwrap_or("-").to_owned()),
        plain(state.facts.as_ref().map_or_else(|| "-".into(), |facts| facts.provider.clone())),
        (age(state.started, world.now), theme.dim),
        plain(took),
        plain(format!("{there}/{}", state.machines.len())),
        (row.id.to_string(), theme.dim),
    ]
}

/// One run.
pub(super) fn run(
    run: &RunModel,
    typing: bool,
    world: &World,
    theme: &Theme,
    buffer: &mut Buffer,
    area: Rect,
) {
    let head = summary(run, world, theme);
    let height = u16::try_from(head.len()).unwrap_or(3).min(area.height);
    let [top, rest] = Layout::vertical([Constraint::Length(height), Constraint::Min(0)]).areas(area);
    for (row, line) in (0..).zip(&head) {
        put(buffer, top, row, line);
    }
    let draw = |part: Part, buffer: &mut Buffer, place: Rect| {
        let focused = run.part == part;
        match part {
            Part::Phases => scrolled(
                run,
                0,
                "Phases",
                phases(run, world, theme, place.width),
                focused,
                theme,
                buffer,
                place,
            ),
            Part::Machines => {
                scrolled(run, 1, "Machines", machines(run, theme), focused, theme, buffer, place)
            }
            Part::Addons => {
                scrolled(run, 2, "Addons", addons(run, world, theme), focused, theme, buffer, place)
            }
            Part::Log => log(run, typing, focused, theme, buffer, place),
        }
    };
    // Where there is no room for all, the one the keyboard is at has it.
    if run.zoom || rest.width < 60 || rest.height < 12 {
        return draw(run.part, buffer, rest);
    }
    let phases = u16::try_from(run.phases().len() + 2).unwrap_or(u16::MAX);
    let most = rest.height.saturating_sub(8).max(6);
    let [upper, lower] =
        Layout::vertical([Constraint::Length(phases.clamp(6, most)), Constraint::Min(4)]).areas(rest);
    let [left, right] = Layout::horizontal([Constraint::Fill(5), Constraint::Fill(3)]).areas(upper);
    let [machines, addons] = Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).areas(right);
    draw(Part::Phases, buffer, left);
    draw(Part::Machines, buffer, machines);
    draw(Part::Addons, buffer, addons);
    draw(Part::Log, buffer, lower);
}

#[expect(clippy::too_many_arguments, reason = "a part, its content, and where and how it is drawn")]
fn scrolled(
    run: &RunModel,
    at: usize,
    title: &'static str,
    content: Vec<Line<'_>>,
    focused: bool,
    theme: &Theme,
    buffer: &mut Buffer,
    area: Rect,
) {
    let inside = panel(buffer, area, Line::styled(format!(" {title} "), theme.title), focused, theme);
    run.scrolls[at].draw(buffer, inside, &content, theme);
}

/// What it is, how far, and what is wrong.
fn summary<'a>(run: &RunModel, world: &World, theme: &Theme) -> Vec<Line<'a>> {
    let RunState { run_id, facts, stage: at, started, holder, .. } = &run.state;
    let (style, mark) = stage(*at, theme);
    let mut first = Line::from(Span::styled(format!(" {mark} {} ", at.as_str()), style));
    if run.replay {
        first.push_span(Span::styled("(shown again) ", theme.dim));
    }
    if let Some(facts) = facts {
        let rehearsal = if facts.rehearsal { ", rehearsal" } else { "" };
        first.push_span(words(&facts.cluster, theme.title));
        first.push_span(words(&format!(" on {}{rehearsal} ", facts.provider), theme.text));
    }
    first.push_span(words(&format!("· run {run_id} "), theme.dim));
    if let Some(holder) = holder {
        first.push_span(words(&format!("· process {}", holder.pid), theme.dim));
    }
    let mut lines = vec![first];
    let phases = run.phases();
    let is_done = |time: &PhaseTime| time.result == Some(Outcome::Succeeded);
    let done = phases.iter().filter(|row| row.before || row.time.is_some_and(is_done)).count() as u64;
    let all = phases.len() as u64;
    let took = started.map(|started| elapsed(started, run.now(world.now))).unwrap_or_default();
    let should = run.expected().map(|whole| format!(" of about {}", seconds(whole))).unwrap_or_default();
    lines.push(Line::from(vec![
        Span::styled(format!(" {} ", bar(done, all, 20)), style),
        Span::styled(format!("{done}/{all} phases · {took}{should}"), theme.text),
    ]));
    for (task, progress) in &run.live.tasks {
        let amount = progress
            .total
            .map_or_else(|| progress.done.to_string(), |total| format!("{} of {total}", progress.done));
        let filled = bar(progress.done, progress.total.unwrap_or(0), 20);
        lines.push(Line::from(vec![
            Span::styled(format!(" {filled} "), theme.busy),
            words(&format!("{task} {amount}"), theme.text),
        ]));
    }
    if let Some(fault) = &run.fault {
        lines.push(Line::from(words(&format!(" ✗ {} ({})", fault.message, fault.code), theme.bad)));
    } else if let Some(stall) = run.stall(world.now) {
        lines.push(Line::from(words(&format!(" ! {stall}"), theme.warn)));
    } else if let Some((good, ending)) = run.ending() {
        let (mark, style) = if good { ("✓", theme.good) } else { ("✗", theme.bad) };
        lines.push(Line::from(words(&format!(" {mark} {ending}"), style)));
    }
    lines
}

fn phases<'a>(run: &RunModel, world: &World, theme: &Theme, columns: u16) -> Vec<Line<'a>> {
    let rows = run.phases();
    let now = run.now(world.now);
    let begin = run.state.phases.first().map_or(now, |phase| phase.started);
    let timeline = usize::from(columns.saturating_sub(54)).min(40);
    let line = |row: &super::model::PhaseRow<'_>| {
        let expected = row.expected.map(|expected| format!("~{}", seconds(expected))).unwrap_or_default();
        let Some(time) = row.time else {
            let (mark, word) = if row.before {
                (Span::styled(" ✓ ", theme.good), "before")
            } else {
                (Span::styled(" ○ ", theme.dim), "")
            };
            return Line::from(vec![
                mark,
                Span::styled(format!("{:25}", row.name), theme.dim),
                Span::styled(format!("{word:>10}"), theme.dim),
                Span::styled(format!("{expected:>9}"), theme.dim),
            ]);
        };
        let goes = run.state.stage == Stage::Running;
        let (mark, style) = match &time.result {
            Some(Outcome::Succeeded) => ("✓", theme.good),
            Some(Outcome::Failed { .. }) => ("✗", theme.bad),
            Some(_) => ("!", theme.warn),
            None if goes => (spinner(world.tick), theme.busy),
            None => ("!", theme.warn),
        };
        let until = time.finished.unwrap_or(now);
        let took = elapsed(time.started, until);
        let late = row.expected.is_some_and(|expected| {
            until.duration_since(time.started).as_secs()
                > i64::try_from(expected * 2).unwrap_or(i64::MAX).max(10)
        });
        let mut line = Line::from(vec![
            Span::styled(format!(" {mark} "), style),
            words(&format!("{:25}", time.phase), theme.text),
            Span::styled(format!("{took:>10}"), if late { theme.warn } else { theme.text }),
            Span::styled(format!("{expected:>9}"), theme.dim),
        ]);
        if timeline >= 8 {
            line.push_span(Span::raw("  "));
            line.push_span(Span::styled(span(time.started, until, begin, now, timeline), style));
        }
        line
    };
    rows.iter().map(line).collect()
}

/// Machines as the live state tells them; what it does not tell is in the journal.
fn machines<'a>(run: &RunModel, theme: &Theme) -> Vec<Line<'a>> {
    if run.machines.is_empty() && run.live.snapshot.objects.is_empty() {
        return vec![Line::styled(" ○ none yet", theme.dim)];
    }
    let mut names: Vec<&str> = run.machines.keys().map(String::as_str).collect();
    names.extend(run.live.snapshot.objects.iter().map(|object| object.reference.name.as_str()));
    names.sort_unstable();
    names.dedup();
    let line = |name: &str| {
        let facts = run.machines.get(name);
        let live = run.live.snapshot.objects.iter().find(|object| object.reference.name == name);
        let known = run.state.machines.get(name);
        let removed = known.is_some_and(|machine| machine.removed);
        let word = match (facts, live) {
            _ if removed => "Removed",
            (_, Some(live)) => live.phase.as_str(),
            (Some(facts), None) if facts.configured.done.is_some() => "Configured",
            (Some(facts), None) if facts.configured.begun.is_some() => "Configuring",
            (Some(facts), None) if facts.made.done.is_some() => "Created",
            _ => "Creating",
        };
        let (style, mark) = theme.phase(word);
        let configured = if facts.is_some_and(|facts| facts.configured.done.is_some()) {
            "talos ✓"
        } else {
            "talos –"
        };
        let role = facts.and_then(|facts| facts.role.clone()).unwrap_or_default();
        let address = live.and_then(|live| live.message.clone()).unwrap_or_default();
        Line::from(vec![
            Span::styled(format!(" {mark} "), style),
            words(&format!("{name:20} "), theme.text),
            words(&format!("{word:11} "), style),
            Span::styled(format!("{configured} "), theme.dim),
            words(&format!("{address} "), theme.text),
            words(&role, theme.dim),
        ])
    };
    names.into_iter().map(line).collect()
}

/// Addons as a tree: what is installed hangs on the whole, what goes on says so.
fn addons<'a>(run: &RunModel, world: &World, theme: &Theme) -> Vec<Line<'a>> {
    if run.addons.is_empty() {
        return vec![Line::styled(" ○ none yet", theme.dim)];
    }
    let done = run.addons.iter().filter(|addon| addon.times.done.is_some()).count();
    let goes = run.state.stage == Stage::Running;
    let leaf = |addon: &super::model::AddonFacts| {
        let (mark, style, word) = match (addon.times.begun, addon.times.done) {
            (Some(begun), Some(done)) => ("✓", theme.good, elapsed(begun, done)),
            (Some(begun), None) if goes => {
                (spinner(world.tick), theme.busy, elapsed(begun, run.now(world.now)))
            }
            _ => ("!", theme.warn, "broken off".to_owned()),
        };
        let line = Line::from(vec![
            Span::styled(format!("{mark} "), style),
            words(&addon.key, theme.text),
            Span::styled(format!(" {word}"), theme.dim),
        ]);
        let named = addon.title != addon.key;
        let children = named.then(|| Node::leaf(Line::from(words(&addon.title, theme.dim))));
        Node { line, children: children.into_iter().collect() }
    };
    let count = match run.live.tasks.get("addons").and_then(|task| task.total) {
        Some(total) => format!(" {done} of {total} installed"),
        None => format!(" {done} installed"),
    };
    let root =
        Node { line: Line::styled(count, theme.text), children: run.addons.iter().map(leaf).collect() };
    lines(vec![root], theme)
}

fn log(run: &RunModel, typing: bool, focused: bool, theme: &Theme, buffer: &mut Buffer, area: Rect) {
    let mut title = Line::styled(" Log ", theme.title);
    let level = format!("{:?}", run.log.level).to_lowercase();
    let follow = if run.log.follows() { "following" } else { "held; f follows" };
    title.push_span(Span::styled(format!("· {level} and above · {follow} "), theme.dim));
    let (_, gone) = run.log.counts();
    if gone > 0 {
        title.push_span(Span::styled(format!("· {gone} earlier lines are in run.log "), theme.warn));
    }
    let mut inside = panel(buffer, area, title, focused, theme);
    if typing || !run.log.filter.is_empty() {
        let mut line = Line::from(Span::styled("/", theme.key));
        if typing {
            line.spans.extend(run.log.filter.line(inside.width.saturating_sub(1), theme).spans);
        } else {
            line.push_span(words(&run.log.filter.text(), theme.busy));
        }
        put(buffer, inside, 0, &line);
        inside =
            Rect { y: inside.y + 1.min(inside.height), height: inside.height.saturating_sub(1), ..inside };
    }
    run.log.draw(buffer, inside, theme);
}
