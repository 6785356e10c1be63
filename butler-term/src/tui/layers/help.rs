//! Every key of where one is, and the name that settings know it by.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};

use super::{Reply, window};
use crate::tui::{Keymap, Theme, widgets::text::Scroll};

/// The help of some places.
#[derive(Clone, Debug)]
pub struct Help {
    scopes: Vec<&'static str>,
    scroll: Scroll,
}

impl Help {
    /// Of these places, the innermost first.
    pub fn new(scopes: Vec<&'static str>) -> Self {
        Self { scopes, scroll: Scroll::default() }
    }

    pub(super) fn key<A, T>(&mut self, key: KeyEvent) -> Reply<A, T> {
        match key.code {
            KeyCode::Down | KeyCode::Char('j') => self.scroll.by(1),
            KeyCode::Up | KeyCode::Char('k') => self.scroll.by(-1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.scroll.page(1),
            KeyCode::PageUp => self.scroll.page(-1),
            KeyCode::Home | KeyCode::Char('g') => self.scroll.top(),
            KeyCode::End | KeyCode::Char('G') => self.scroll.bottom(),
            KeyCode::Char('q' | '?') | KeyCode::Enter => return Reply::Close,
            _ => {}
        }
        Reply::Stay
    }

    pub(super) fn draw<A: Copy + PartialEq>(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        keymap: &Keymap<A>,
        theme: &Theme,
    ) {
        let mut lines = Vec::new();
        for scope in &self.scopes {
            let scopes = [*scope];
            let mut rows = keymap.of(&scopes).peekable();
            if rows.peek().is_none() {
                continue;
            }
            if !lines.is_empty() {
                lines.push(Line::default());
            }
            lines.push(Line::styled(format!(" {scope}"), theme.title));
            for row in rows {
                let keys: Vec<String> = row.keys.iter().map(ToString::to_string).collect();
                lines.push(Line::from(vec![
                    Span::styled(format!("   {:18}", keys.join(" ")), theme.key),
                    Span::styled(format!("{:30}", row.label), theme.text),
                    Span::styled(row.name, theme.dim),
                ]));
            }
        }
        lines.push(Line::default());
        lines.push(Line::styled(
            " Keys are changed with `tui.keys` in config.toml: tui.keys = \"quit=Q\"",
            theme.dim,
        ));
        let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
        let title = Line::styled(" Help · esc closes ", theme.title);
        let inside = window(buffer, area, (76, height), title, theme);
        self.scroll.draw(buffer, inside, &lines, theme);
    }
}
