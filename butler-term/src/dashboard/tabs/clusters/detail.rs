//! One tenant cluster: what it is, its conditions as a tree, what happened to it, the object itself.

use butler_core::{
    live::{EventRow, Seen},
    tenant::Summary,
};
use jiff::Timestamp;
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};
use serde_json::Value;

use super::view::paragraph;
use crate::{
    dashboard::{
        tabs::TabNews,
        world::{Store, World, learn},
    },
    output::{age, to_yaml},
    tui::{
        Remote, Theme,
        widgets::{
            instead, panel, stale,
            text::Scroll,
            tree::{Node, lines},
            words,
        },
    },
};

/// A page of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Conditions,
    Events,
    Yaml,
}

const PARTS: [(Part, &str); 3] =
    [(Part::Conditions, "Conditions"), (Part::Events, "Events"), (Part::Yaml, "YAML")];

/// What is known of it.
pub(super) struct Detail {
    ticket: u64,
    pub(super) namespace: String,
    pub(super) name: String,
    part: Part,
    object: Remote<Store<Value>>,
    events: Remote<Store<EventRow>>,
    pub(super) scroll: Scroll,
    /// Its deletion was asked for before it was loaded.
    pub(super) delete: bool,
}

impl Detail {
    pub(super) fn new(ticket: u64, namespace: String, name: String, part: Part) -> Self {
        let (object, events, scroll) = (Remote::Loading, Remote::Loading, Scroll::default());
        Self { ticket, namespace, name, part, object, events, scroll, delete: false }
    }

    pub(super) fn learn(&mut self, news: &mut TabNews, now: Timestamp) {
        match news {
            TabNews::Object(ticket, news) if *ticket == self.ticket => {
                // An object that is gone stays on the screen until the list says the same.
                let news: Vec<Seen<Value>> = std::mem::take(news);
                learn(&mut self.object, news, now);
            }
            TabNews::ObjectEvents(ticket, news) if *ticket == self.ticket => {
                learn(&mut self.events, std::mem::take(news), now);
            }
            _ => {}
        }
    }

    pub(super) fn loads(&self) -> bool {
        matches!(self.object, Remote::Loading)
    }

    fn object(&self) -> Option<&Value> {
        self.object.value()?.values().next()
    }

    pub(super) fn uid(&self) -> Option<String> {
        Some(self.object()?.pointer("/metadata/uid")?.as_str()?.to_owned())
    }

    pub(super) fn yaml(&self) -> Option<String> {
        to_yaml(self.object()?).ok()
    }

    pub(super) fn show(&mut self, part: Part) {
        self.part = part;
        self.scroll.top();
    }

    pub(super) fn turn(&mut self, forward: bool) {
        let at = PARTS.iter().position(|(part, _)| *part == self.part).unwrap_or(0);
        let step = if forward { 1 } else { PARTS.len() - 1 };
        self.show(PARTS[(at + step) % PARTS.len()].0);
    }

    pub(super) fn view(&self, world: &World, theme: &Theme, buffer: &mut Buffer, area: Rect) {
        let mut title = Line::styled(format!(" {} ", self.name), theme.title);
        for (part, name) in PARTS {
            let here = part == self.part;
            let (text, style) =
                if here { (format!("[{name}]"), theme.focus) } else { (format!(" {name} "), theme.dim) };
            title.push_span(Span::styled(text, style));
        }
        title.push_span(Span::raw(" "));
        title.spans.extend(stale(&self.object, world.now, theme));
        let inside = panel(buffer, area, title, true, theme);
        if let Some(lines) = instead(&self.object, "the cluster", world.tick, theme) {
            return paragraph(buffer, inside, lines);
        }
        let Some(object) = self.object() else {
            let gone = vec![
                Line::styled("↓ It is gone.", theme.leaving),
                Line::styled("hint: esc goes back to the list", theme.dim),
            ];
            return paragraph(buffer, inside, gone);
        };
        let lines = match self.part {
            Part::Conditions => facts(object, world.now, inside.width, theme),
            Part::Events => self.happened(world, theme),
            Part::Yaml => yaml(object, theme),
        };
        self.scroll.draw(buffer, inside, &lines, theme);
    }

    fn happened<'a>(&self, world: &World, theme: &Theme) -> Vec<Line<'a>> {
        if let Some(lines) = instead(&self.events, "events", world.tick, theme) {
            return lines;
        }
        let mut events: Vec<&EventRow> = self.events.value().into_iter().flat_map(Store::values).collect();
        events.sort_by_key(|event| std::cmp::Reverse(event.time));
        if events.is_empty() {
            return vec![Line::styled(" Nothing was recorded.", theme.dim)];
        }
        events.into_iter().map(|event| happened(event, world.now, theme)).collect()
    }
}

/// An event as a line.
pub(in crate::dashboard) fn happened<'a>(event: &EventRow, now: Timestamp, theme: &Theme) -> Line<'a> {
    let (mark, style) = if event.warning { ("!", theme.warn) } else { ("·", theme.dim) };
    Line::from(vec![
        Span::styled(format!(" {:>4} ", age(event.time, now)), theme.dim),
        Span::styled(format!("{mark} "), style),
        words(&event.reason, style),
        Span::raw(" "),
        words(&event.message, theme.text),
    ])
}

fn facts<'a>(object: &Value, now: Timestamp, columns: u16, theme: &Theme) -> Vec<Line<'a>> {
    let summary = Summary::of(object);
    let (style, mark) = theme.phase(summary.phase());
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let fact = |name: &str, value: String, style| {
        Line::from(vec![Span::styled(format!(" {name:11}"), theme.dim), words(&value, style)])
    };
    let mut all = vec![
        fact("Phase", format!("{mark} {}", summary.phase()), style),
        fact("Kubernetes", or_dash(&summary.version), theme.text),
        fact("Workers", summary.workers.to_string(), theme.text),
        fact("Endpoint", or_dash(&summary.endpoint), theme.text),
        fact("Provider", or_dash(&summary.provider), theme.text),
        fact("Tenant in", or_dash(&summary.tenant_namespace), theme.text),
        fact("Age", age(summary.created, now), theme.text),
    ];
    all.extend(
        summary.problem.map(|field| fact("Problem", format!("the field {field} cannot be read"), theme.bad)),
    );
    all.push(Line::default());
    all.extend(lines(vec![tree(object, now, columns, theme)], theme));
    all
}

/// What `Ready` hangs on: every other condition, those that are not so first.
fn tree<'a>(object: &Value, now: Timestamp, columns: u16, theme: &Theme) -> Node<'a> {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let text = |condition: &Value, field: &str| {
        condition.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let mut all: Vec<&Value> = conditions.into_iter().flatten().collect();
    all.sort_by_key(|condition| (text(condition, "status") == "True", text(condition, "type")));
    let node = |condition: &&Value| {
        let status = text(condition, "status");
        // `Degraded` and `Progressing` are good when they are not so.
        let inverse = matches!(text(condition, "type").as_str(), "Degraded" | "Progressing");
        let meaning = match (status.as_str(), inverse) {
            ("True", true) => "working",
            ("False", true) => "done",
            (status, _) => status,
        };
        let (style, mark) = theme.phase(meaning);
        let since = text(condition, "lastTransitionTime").parse().ok();
        let line = Line::from(vec![
            Span::styled(format!("{mark} "), style),
            words(&text(condition, "type"), theme.text),
            words(&format!(" {status}"), style),
            Span::raw(" "),
            words(&text(condition, "reason"), theme.text),
            Span::styled(format!(" {}", age(since, now)), theme.dim),
        ]);
        let message = text(condition, "message");
        let wrapped = crate::tui::widgets::text::wrap(&message, columns.saturating_sub(10));
        let children = wrapped.iter().map(|line| Node::leaf(Line::from(words(line, theme.dim)))).collect();
        Node { line, children }
    };
    let ready = all.iter().position(|condition| text(condition, "type") == "Ready").map(|at| all.remove(at));
    let mut root = match &ready {
        Some(ready) => node(ready),
        None if all.is_empty() => Node::leaf(Line::styled("○ no condition yet", theme.dim)),
        None => Node::leaf(Line::styled("○ Ready is not known yet", theme.dim)),
    };
    root.line.spans.insert(0, Span::raw(" "));
    root.children.extend(all.iter().map(node));
    root
}

/// YAML with its keys told from its values.
fn yaml<'a>(object: &Value, theme: &Theme) -> Vec<Line<'a>> {
    let text = to_yaml(object).unwrap_or_default();
    let line = |line: &str| {
        let start = line.len() - line.trim_start_matches([' ', '-']).len();
        match line[start..].split_once(": ").or_else(|| line[start..].strip_suffix(':').map(|key| (key, "")))
        {
            Some((key, value)) if !key.contains(['"', '\'', ' ']) => Line::from(vec![
                Span::raw(format!(" {}", &line[..start])),
                words(key, theme.title),
                Span::raw(": "),
                words(value, theme.text),
            ]),
            _ => Line::from(vec![Span::raw(" "), words(line, theme.text)]),
        }
    };
    text.lines().map(line).collect()
}
