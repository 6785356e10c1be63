//! The frame around the tabs: a line above, a line below, dialogs on top.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
};

use super::Dashboard;
use crate::{
    output::text::width,
    tui::{
        Remote,
        widgets::{put, spinner, words},
    },
};

impl Dashboard {
    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let noticed = u16::from(self.notice.is_some() && area.height > 3);
        let rows = [
            Constraint::Length(1),
            Constraint::Min(0),
            Constraint::Length(noticed),
            Constraint::Length(u16::from(area.height > 2)),
        ];
        let [head, body, notice, foot] = Layout::vertical(rows).areas(area);
        let buffer = frame.buffer_mut();
        buffer.set_style(area, self.theme.text);
        self.head(buffer, head);
        if let Some(tab) = self.tabs.get(self.at) {
            tab.view(&self.world, &self.theme, buffer, body);
        }
        if let Some(said) = &self.notice {
            let style = if said.bad { self.theme.bad } else { self.theme.busy };
            put(buffer, notice, 0, &Line::from(vec![Span::raw(" "), words(&said.text, style)]));
        }
        self.foot(buffer, foot);
        for layer in &self.layers {
            layer.draw(buffer, body, &self.keymap, &self.theme);
        }
    }

    fn head(&self, buffer: &mut ratatui::buffer::Buffer, area: Rect) {
        let theme = &self.theme;
        buffer.set_style(area, theme.bar);
        let mut drawn = self.drawn.borrow_mut();
        drawn.tabs.clear();
        let wide = area.width >= 60;
        let mut line = Line::default();
        if wide {
            line.push_span(Span::styled(" Butler ", theme.title));
        }
        for (at, tab) in self.tabs.iter().enumerate() {
            let here = at == self.at;
            if !wide && !here {
                continue;
            }
            let text = if here {
                format!("[{} {}]", tab.number(), tab.title())
            } else {
                format!(" {} {} ", tab.number(), tab.title())
            };
            let x = area.x + u16::try_from(line.width()).unwrap_or(u16::MAX).min(area.width);
            let place = Rect { x, width: u16::try_from(width(&text)).unwrap_or(0), ..area };
            drawn.tabs.push((place.intersection(area), at));
            let style = if here { theme.focus } else { theme.text };
            line.push_span(Span::styled(text, style));
        }
        if let Some(place) = self.tabs.get(self.at).and_then(|tab| tab.place()) {
            line.push_span(words(&format!(" › {place} "), theme.text));
        }
        put(buffer, area, 0, &line);
        let used = u16::try_from(line.width()).unwrap_or(u16::MAX);
        self.link(buffer, area, used);
    }

    /// The state of the connection, at the right where there is room.
    fn link(&self, buffer: &mut ratatui::buffer::Buffer, area: Rect, used: u16) {
        let theme = &self.theme;
        if !self.connects {
            return;
        }
        let (text, style) = match &self.world.link {
            Remote::Loading => (format!("{} connecting", spinner(self.world.tick)), theme.busy),
            Remote::Ready(link) => (format!("✓ {} {}", link.server, link.basics.version), theme.good),
            Remote::Stale(_, _, fault) => (format!("! no answer ({})", fault.code), theme.warn),
            Remote::Failed(fault) => (format!("✗ not connected ({})", fault.code), theme.bad),
        };
        let room = area.width.saturating_sub(used + 2);
        let full = u16::try_from(width(&text)).unwrap_or(u16::MAX);
        // One mark is better than half a word.
        let text = if full <= room { text } else { text.chars().take(1).collect() };
        let columns = u16::try_from(width(&text)).unwrap_or(0);
        if columns <= room {
            let place = Rect { x: area.right().saturating_sub(columns + 1), width: columns, ..area };
            put(buffer, place, 0, &words(&text, style).into());
        }
    }

    fn foot(&self, buffer: &mut ratatui::buffer::Buffer, area: Rect) {
        let theme = &self.theme;
        buffer.set_style(area, theme.bar);
        let scopes = self.scopes();
        let hints: Vec<_> = self.keymap.of(&scopes).filter(|row| row.hint && !row.keys.is_empty()).collect();
        let size = |row: &&crate::tui::keymap::Row<super::keys::Action>| {
            row.keys.first().map_or(0, |key| width(&key.to_string())) + 2 + width(row.label) + 1
        };
        // Those of every screen come last and are the way to all others: they stay.
        let (own, common): (Vec<_>, Vec<_>) =
            hints.into_iter().partition(|row| row.scope != super::keys::scope::EVERYWHERE);
        let room = usize::from(area.width);
        let mut kept: Vec<_> = Vec::new();
        let mut used = 0;
        for row in common.into_iter().rev() {
            if used + size(&row) <= room {
                used += size(&row);
                kept.insert(0, row);
            }
        }
        let mut shown = Vec::new();
        for row in own {
            if used + size(&row) <= room {
                used += size(&row);
                shown.push(row);
            }
        }
        let mut line = Line::default();
        for row in shown.into_iter().chain(kept) {
            let key = row.keys.first().map(ToString::to_string).unwrap_or_default();
            line.push_span(Span::styled(format!(" {key}"), theme.key));
            line.push_span(Span::styled(format!(" {} ", row.label), theme.text));
        }
        put(buffer, area, 0, &line);
    }
}
