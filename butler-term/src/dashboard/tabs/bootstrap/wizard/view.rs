//! How the pages look.

use butler_core::bootstrap::{
    config::{Problem, Severity},
    wizard::{Amount, PageId, Resource, Survey, map::map, sizes},
};
use ratatui::{
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
};

use super::{Questions, fields, picture};
use crate::{
    dashboard::{tabs::clusters::paragraph, world::World},
    output::text::width,
    tui::{
        Remote, Theme,
        widgets::{explain, instead, panel, put, spinner, text::wrap, words},
    },
};

/// Problems that are shown below the configuration.
const SHOWN: usize = 4;

impl Questions {
    pub(in super::super) fn view(&self, world: &World, theme: &Theme, buffer: &mut Buffer, area: Rect) {
        let bar = self.steps(theme);
        let fits = bar.width() <= usize::from(area.width) && area.height > 12;
        let rows = [Constraint::Length(u16::from(fits)), Constraint::Min(0)];
        let [top, rest] = Layout::vertical(rows).areas(area);
        if fits {
            put(buffer, top, 0, &bar);
        }
        let page = self.wizard.page();
        let (at, of) = self.position();
        let title = vec![
            Span::styled(format!(" {} ", page.title), theme.title),
            Span::styled(format!("{at} of {of} · {} ", page.about), theme.dim),
        ];
        let inside = panel(buffer, rest, Line::from(title), true, theme);
        match page.id {
            PageId::Review => self.review(theme, buffer, inside),
            PageId::Plan => self.planned(world, theme, buffer, inside),
            _ => self.questions(world, theme, buffer, inside),
        }
    }

    /// Which page of how many.
    fn position(&self) -> (usize, usize) {
        let here = self.wizard.page().id;
        let pages: Vec<PageId> = self.wizard.pages().map(|page| page.id).collect();
        (pages.iter().filter(|id| **id <= here).count(), pages.len())
    }

    /// Every page by name, and which one it is.
    fn steps<'a>(&self, theme: &Theme) -> Line<'a> {
        let here = self.wizard.page().id;
        let mut line = Line::default();
        for page in self.wizard.pages() {
            let (mark, style) = match page.id.cmp(&here) {
                std::cmp::Ordering::Less => ("✓", theme.good),
                std::cmp::Ordering::Equal => ("▸", theme.focus),
                std::cmp::Ordering::Greater => ("·", theme.dim),
            };
            line.push_span(Span::styled(format!(" {mark}{} ", page.title), style));
        }
        line
    }

    /// Questions above, what follows from the answers below.
    fn questions(&self, world: &World, theme: &Theme, buffer: &mut Buffer, area: Rect) {
        let mut below = self.follows(area.width, world, theme);
        below.extend(self.elsewhere(area.width, theme));
        let most = if self.asked.is_empty() { area.height } else { area.height / 2 };
        let height = u16::try_from(below.len() + 1).unwrap_or(u16::MAX).min(most);
        let height = if below.is_empty() { 0 } else { height };
        let [upper, lower] = Layout::vertical([Constraint::Min(0), Constraint::Length(height)]).areas(area);
        if self.asked.is_empty() {
            return self.scroll.draw(buffer, area, &below, theme);
        }
        self.form.draw(buffer, upper, theme);
        if self.keeping > 0 {
            put(
                buffer,
                lower,
                0,
                &Line::styled(format!("{} keeping the secret …", spinner(world.tick)), theme.busy),
            );
        }
        let lower =
            Rect { y: lower.y + 1.min(lower.height), height: lower.height.saturating_sub(1), ..lower };
        self.scroll.draw(buffer, lower, &below, theme);
    }

    /// What follows from the answers of this page.
    fn follows<'a>(&self, columns: u16, world: &World, theme: &Theme) -> Vec<Line<'a>> {
        let answers = self.wizard.answers();
        match self.wizard.page().id {
            PageId::Discovery => self.surveyed(columns, world, theme),
            PageId::Cluster if !answers.on(&["local"]) => self.totals(theme),
            PageId::Network | PageId::Tenants => picture::lines(&map(answers), columns, theme),
            _ => Vec::new(),
        }
    }

    fn surveyed<'a>(&self, columns: u16, world: &World, theme: &Theme) -> Vec<Line<'a>> {
        let typed = "What was not found can be typed.";
        if let Some(lines) = instead(&self.survey, "what the provider has", world.tick, theme) {
            let Remote::Failed(fault) = &self.survey else { return lines };
            let mut lines: Vec<Line<'_>> = wrapped(&explain(fault, theme), columns, theme);
            lines.push(Line::styled(format!("ctrl-r asks again. {typed}"), theme.dim));
            return lines;
        }
        let Some(survey) = self.survey.value() else { return Vec::new() };
        let column = survey.facts.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
        let mut lines: Vec<Line<'_>> = survey
            .facts
            .iter()
            .map(|(name, value)| {
                let pad = " ".repeat(column - width(name));
                Line::from(vec![words(&format!("{name}{pad}  "), theme.dim), words(value, theme.text)])
            })
            .collect();
        lines.extend(Resource::ALL.iter().filter_map(|what| found(*what, survey, theme)));
        lines
    }

    fn totals<'a>(&self, theme: &Theme) -> Vec<Line<'a>> {
        let (machines, total) = sizes::totals(self.wizard.answers());
        let plural = if machines == 1 { "" } else { "s" };
        let mut lines = vec![Line::from(vec![
            Span::styled(format!("{machines} machine{plural}: "), theme.text),
            Span::styled(total.to_string(), theme.title),
        ])];
        let simulated = self.wizard.answers().on(&["sandbox"]);
        if simulated {
            lines
                .push(Line::styled("They are simulated: only what runs on them takes room here.", theme.dim));
        }
        if let Some(there) = self.survey.value().and_then(|survey| survey.capacity).filter(|_| !simulated) {
            lines.push(Line::styled(format!("There is: {there}"), theme.dim));
            lines.extend(short(&total, &there, theme));
        }
        lines
    }

    /// What is wrong on pages before this one.
    fn elsewhere<'a>(&self, columns: u16, theme: &Theme) -> Vec<Line<'a>> {
        let here = self.wizard.page().id;
        let earlier = |problem: &&Problem| {
            problem.is_error() && self.wizard.about(problem).is_some_and(|(page, _)| page < here)
        };
        let earlier: Vec<&Problem> = self.problems.iter().filter(earlier).collect();
        let Some(first) = earlier.first() else { return Vec::new() };
        let more = match earlier.len() - 1 {
            0 => String::new(),
            more => format!(" ({more} more)"),
        };
        let told = wrap(&format!("✗ on a page before: {}{more}", fields::words(first)), columns);
        told.iter().map(|text| Line::from(words(text, theme.bad))).collect()
    }

    /// The configuration, and what is wrong with it.
    fn review(&self, theme: &Theme, buffer: &mut Buffer, area: Rect) {
        let count = |severity| self.problems.iter().filter(|problem| problem.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        let verdict = match (errors, warnings) {
            (0, 0) => Line::styled("✓ nothing is wrong with it", theme.good),
            (0, some) => Line::styled(format!("! {some} to know"), theme.warn),
            (some, _) => Line::styled(format!("✗ {some} wrong; ctrl-g goes to the next"), theme.bad),
        };
        let told: Vec<Line<'_>> =
            self.problems.iter().take(SHOWN).map(|problem| said(problem, theme)).collect();
        let height = u16::try_from(told.len() + 1).unwrap_or(1).min(area.height / 2);
        let [upper, lower] = Layout::vertical([Constraint::Min(0), Constraint::Length(height)]).areas(area);
        if let Some(editor) = &self.editor {
            editor.draw(buffer, upper, theme);
        }
        let mut first = verdict;
        if self.wizard.is_edited() {
            first.push_span(Span::styled(" · changed by hand", theme.warn));
        }
        first.push_span(Span::styled(" · ctrl-n saves it and makes the plan", theme.dim));
        put(buffer, lower, 0, &first);
        for (row, line) in (1..).zip(&told) {
            put(buffer, lower, row, line);
        }
    }

    /// What would be done.
    fn planned(&self, world: &World, theme: &Theme, buffer: &mut Buffer, area: Rect) {
        if let Some(lines) = instead(&self.plan, "the plan", world.tick, theme) {
            return paragraph(buffer, area, lines);
        }
        let saved = self.wizard.file().display().to_string();
        let mut lines = vec![
            Line::from(vec![
                Span::styled("enter begins the run. ", theme.key),
                words(&format!("The configuration is saved as {saved}"), theme.text),
            ]),
            Line::default(),
        ];
        let plan = self.plan.value().map(String::as_str).unwrap_or_default();
        lines.extend(plan.lines().map(|line| Line::from(words(line, theme.text))));
        self.scroll.draw(buffer, area, &lines, theme);
    }
}

/// What was found of a kind, or why not; nothing when nobody looked.
fn found<'a>(what: Resource, survey: &Survey, theme: &Theme) -> Option<Line<'a>> {
    Some(match survey.found.get(&what)? {
        Ok(found) if found.is_empty() => Line::styled(format!("○ no {what} found; type it"), theme.warn),
        Ok(found) => Line::styled(format!("✓ {what}: {} found", found.len()), theme.good),
        Err(why) => Line::from(words(&format!("✗ {what}: {why}"), theme.bad)),
    })
}

fn short<'a>(total: &Amount, there: &Amount, theme: &Theme) -> Option<Line<'a>> {
    sizes::shortage(total, there).map(|words| Line::styled(format!("! {words}"), theme.warn))
}

fn said<'a>(problem: &Problem, theme: &Theme) -> Line<'a> {
    let (mark, style) = if problem.is_error() { ("✗", theme.bad) } else { ("!", theme.warn) };
    Line::from(vec![
        Span::styled(format!("{mark} {}:{} ", problem.line, problem.column), style),
        words(&fields::words(problem), theme.text),
    ])
}

/// Lines that are too long, broken; their styles give way to the one of ordinary words.
fn wrapped<'a>(lines: &[Line<'_>], columns: u16, theme: &Theme) -> Vec<Line<'a>> {
    let broken = lines.iter().flat_map(|line| wrap(&line.to_string(), columns));
    broken.map(|text| Line::from(words(&text, theme.text))).collect()
}
