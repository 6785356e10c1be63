//! How it looks: panels beside each other where there is room, else one column that is scrolled.

use std::collections::BTreeMap;

use butler_core::{
    bootstrap::run::RunState,
    platform::{Level, Workload, status},
};
use ratatui::{
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
};

use crate::{
    dashboard::{
        tabs::clusters::happened,
        world::{RunRow, Store, World},
    },
    output::age,
    tui::{
        Fault, Remote, Theme,
        widgets::{explain, gauge::bar, instead, panel, put, stale, text::Scroll, words},
    },
};

/// The narrowest screen with panels beside each other.
const BESIDE: u16 = 80;
/// The lowest.
const HIGH: u16 = 20;

pub(super) fn draw(world: &World, scroll: &Scroll, theme: &Theme, buffer: &mut Buffer, area: Rect) {
    if let (Some(fault), None) = (world.link.fault(), world.link.value()) {
        return disconnected(world, fault, theme, buffer, area);
    }
    let parts =
        [health(world, theme), capacity(world, theme), tenants(world, theme, area.width), runs(world, theme)];
    let events = events(world, theme);
    if area.width < BESIDE || area.height < HIGH {
        let mut lines = Vec::new();
        for (title, content) in parts.into_iter().chain([events]) {
            lines.push(title);
            lines.extend(content);
            lines.push(Line::default());
        }
        return scroll.draw(buffer, area, &lines, theme);
    }
    let [upper, lower] = Layout::vertical([Constraint::Fill(3), Constraint::Fill(2)]).areas(area);
    let columns = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]);
    let [left, right] = columns.areas(upper);
    let [capacity, health] = {
        let content = u16::try_from(parts[1].1.len() + 2).unwrap_or(u16::MAX);
        Layout::vertical([Constraint::Length(content), Constraint::Min(4)]).areas(left)
    };
    let [tenants, runs] = {
        let content = u16::try_from(parts[2].1.len() + 2).unwrap_or(u16::MAX).max(4);
        Layout::vertical([Constraint::Length(content), Constraint::Min(4)]).areas(right)
    };
    let places = [health, capacity, tenants, runs];
    for ((title, content), place) in parts.into_iter().zip(places).chain([(events, lower)]) {
        let inside = panel(buffer, place, title, false, theme);
        let hidden = content.len().saturating_sub(usize::from(inside.height));
        for (row, line) in (0..).zip(content.iter().take(usize::from(inside.height))) {
            put(buffer, inside, row, line);
        }
        if hidden > 0 && inside.height > 0 {
            let text = format!(" … {} more ", hidden + 1);
            let row = inside.height - 1;
            put(
                buffer,
                inside,
                row,
                &Line::styled(format!("{text:width$}", width = usize::from(inside.width)), theme.dim),
            );
        }
    }
}

/// Without a cluster there is still what to do, and the runs on this machine.
fn disconnected(world: &World, fault: &Fault, theme: &Theme, buffer: &mut Buffer, area: Rect) {
    let [upper, lower] = Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
    let title = Line::styled(" Not connected ", theme.bad);
    let inside = panel(buffer, upper, title, false, theme);
    let mut lines = explain(fault, theme);
    lines.push(Line::styled("It is tried again by itself; r tries at once, 0 shows bootstraps.", theme.dim));
    crate::dashboard::tabs::clusters::paragraph(buffer, inside, lines);
    let (title, content) = runs(world, theme);
    let inside = panel(buffer, lower, title, false, theme);
    for (row, line) in (0..).zip(&content) {
        put(buffer, inside, row, line);
    }
}

type Section<'a> = (Line<'a>, Vec<Line<'a>>);

fn heading<'a, T>(text: &'static str, remote: &Remote<T>, world: &World, theme: &Theme) -> Line<'a> {
    let mut line = Line::styled(format!(" {text} "), theme.title);
    line.spans.extend(stale(remote, world.now, theme));
    line
}

fn health<'a>(world: &World, theme: &Theme) -> Section<'a> {
    let title = heading("Health", &world.deployments, world, theme);
    let absent = instead(&world.deployments, "deployments", world.tick, theme)
        .or_else(|| instead(&world.daemons, "daemon sets", world.tick, theme))
        .or_else(|| instead(&world.link, "the platform", world.tick, theme));
    if let Some(lines) = absent {
        return (title, lines);
    }
    let stores = [&world.deployments, &world.daemons];
    let workloads: Vec<Workload> =
        stores.into_iter().filter_map(Remote::value).flat_map(Store::values).cloned().collect();
    let basics = world.link.value().map(|link| &link.basics);
    let sandbox = basics.is_some_and(|basics| basics.sandbox);
    let flux = workloads.iter().any(|workload| workload.namespace == "flux-system");
    let mut lines = Vec::new();
    if basics.is_some_and(|basics| !basics.butler) {
        lines.push(Line::styled(" ✗ Butler's API is not installed: butleradm crds apply", theme.bad));
    }
    if sandbox {
        lines.push(Line::styled(" a sandbox: its parts are processes, not Pods", theme.dim));
    }
    for section in status::sections(&workloads, sandbox, flux) {
        let wanted: Vec<_> = section.components.iter().filter(|one| one.level != Level::Skip).collect();
        let good = wanted.iter().filter(|one| one.level == Level::Pass).count();
        if wanted.is_empty() {
            continue;
        }
        let style = if good == wanted.len() { theme.good } else { theme.warn };
        let mark = if good == wanted.len() { "✓" } else { "!" };
        lines.push(Line::from(vec![
            Span::styled(format!(" {mark} "), style),
            Span::styled(format!("{:24}", section.title), theme.text),
            Span::styled(format!("{good} of {} work", wanted.len()), style),
        ]));
        for component in wanted.into_iter().filter(|one| one.level != Level::Pass) {
            let (word, style) = match (component.ready, component.desired) {
                (Some(ready), Some(desired)) => (format!("! {ready} of {desired} ready"), theme.warn),
                _ => ("✗ missing".to_owned(), theme.bad),
            };
            lines.push(Line::from(vec![
                Span::styled(format!("     {:22}", component.name), theme.text),
                Span::styled(word, style),
            ]));
        }
    }
    (title, lines)
}

fn capacity<'a>(world: &World, theme: &Theme) -> Section<'a> {
    let title = heading("Capacity", &world.nodes, world, theme);
    if let Some(lines) = instead(&world.nodes, "nodes", world.tick, theme) {
        return (title, lines);
    }
    let nodes: Vec<_> = world.nodes.value().into_iter().flat_map(Store::values).collect();
    let ready = nodes.iter().filter(|node| node.ready).count();
    let cores = nodes.iter().map(|node| node.cpu).sum::<u64>() as f64 / 1000.0;
    let memory = nodes.iter().map(|node| node.memory).sum::<u64>() as f64 / f64::from(1 << 30);
    let style = if ready == nodes.len() { theme.good } else { theme.warn };
    let mark = if ready == nodes.len() { "✓" } else { "!" };
    let mut lines = vec![Line::from(vec![
        Span::styled(format!(" {mark} {ready} of {} nodes ready", nodes.len()), style),
        Span::styled(format!(" · {cores:.0} cores · {memory:.0} GiB"), theme.text),
    ])];
    match &world.pools {
        Remote::Ready(pools) | Remote::Stale(pools, ..) => lines.extend(pools.values().map(|pool| {
            let full = pool.total > 0 && pool.allocated * 10 >= pool.total * 9;
            let (mark, style) = if full { ("!", theme.warn) } else { (" ", theme.good) };
            Line::from(vec![
                Span::styled(format!(" {mark} "), style),
                words(&format!("{:14} ", pool.name), theme.text),
                Span::styled(bar(pool.allocated, pool.total, 10), style),
                Span::styled(format!(" {} of {} IPs", pool.allocated, pool.total), theme.text),
            ])
        })),
        Remote::Loading => {}
        Remote::Failed(fault) => {
            lines.push(Line::from(words(&format!("   no pools: {}", fault.code), theme.dim)));
        }
    }
    (title, lines)
}

fn tenants<'a>(world: &World, theme: &Theme, columns: u16) -> Section<'a> {
    let title = heading("Tenant clusters", &world.tenants, world, theme);
    if let Some(lines) = instead(&world.tenants, "tenant clusters", world.tick, theme) {
        return (title, lines);
    }
    let mut phases: BTreeMap<&str, u64> = BTreeMap::new();
    let mut all = 0;
    for tenant in world.tenants.value().into_iter().flat_map(Store::values) {
        *phases.entry(tenant.phase()).or_default() += 1;
        all += 1;
    }
    if all == 0 {
        return (title, vec![Line::styled(" ○ none yet", theme.dim)]);
    }
    let width = usize::from((columns / 8).clamp(6, 20));
    let mut lines = vec![Line::styled(format!("   {all} in all"), theme.text)];
    let mut phases: Vec<_> = phases.into_iter().collect();
    phases.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    lines.extend(phases.into_iter().map(|(phase, count)| {
        let (style, mark) = theme.phase(phase);
        Line::from(vec![
            Span::styled(format!(" {mark} "), style),
            words(&format!("{phase:13}"), style),
            Span::styled(bar(count, all, width), style),
            Span::styled(format!(" {count}"), theme.text),
        ])
    }));
    (title, lines)
}

fn runs<'a>(world: &World, theme: &Theme) -> Section<'a> {
    let title = heading("Bootstrap runs on this machine", &world.runs, world, theme);
    if let Some(lines) = instead(&world.runs, "runs", world.tick, theme) {
        return (title, lines);
    }
    let runs = world.runs.value().map(Vec::as_slice).unwrap_or_default();
    if runs.is_empty() {
        return (title, vec![Line::styled(" ○ none yet; 0 begins one", theme.dim)]);
    }
    // The newest first.
    (title, runs.iter().rev().map(|row| run(row, world, theme)).collect())
}

fn run<'a>(row: &RunRow, world: &World, theme: &Theme) -> Line<'a> {
    let (word, cluster, started) = match &row.state {
        Ok(RunState { stage, cluster, started, .. }) => {
            (stage.as_str(), cluster.clone().unwrap_or_else(|| "-".to_owned()), *started)
        }
        Err(_) => ("Damaged", row.id.to_string(), None),
    };
    // A run that runs is on its way; a cluster that runs is there.
    let (style, mark) = if word == "Running" { (theme.busy, "◐") } else { theme.phase(word) };
    Line::from(vec![
        Span::styled(format!(" {mark} {word:12}"), style),
        words(&format!("{cluster:16} "), theme.text),
        Span::styled(
            started.map(|time| format!("{} ago", age(Some(time), world.now))).unwrap_or_default(),
            theme.dim,
        ),
    ])
}

fn events<'a>(world: &World, theme: &Theme) -> Section<'a> {
    let title = heading("Recent events", &world.events, world, theme);
    if let Some(lines) = instead(&world.events, "events", world.tick, theme) {
        return (title, lines);
    }
    let latest = world.latest(50);
    if latest.is_empty() {
        return (title, vec![Line::styled(" ○ nothing happened lately", theme.dim)]);
    }
    let line = |event: &&butler_core::live::EventRow| {
        let mut line = happened(event, world.now, theme);
        line.spans.insert(1, words(&format!("{} ", event.about), theme.title));
        line
    };
    (title, latest.iter().map(line).collect())
}
