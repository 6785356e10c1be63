//! Every action, found by some of its letters.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};

use super::{Reply, window};
use crate::tui::{
    Keymap, Theme,
    widgets::{input::Input, put},
};

/// Rows that are shown at once.
const ROWS: u16 = 12;

/// An action that can be chosen.
#[derive(Clone, Debug)]
struct Choice<A> {
    action: A,
    name: &'static str,
    label: &'static str,
    key: String,
}

/// The actions, what was typed, and what is chosen.
#[derive(Clone, Debug)]
pub struct Palette<A> {
    all: Vec<Choice<A>>,
    found: Vec<usize>,
    typed: Input,
    at: usize,
}

impl<A: Copy + PartialEq> Palette<A> {
    /// Every action of a keymap.
    pub fn new(keymap: &Keymap<A>) -> Self {
        let all = keymap.rows().iter().map(|row| Choice {
            action: row.action,
            name: row.name,
            label: row.label,
            key: row.keys.first().map(ToString::to_string).unwrap_or_default(),
        });
        let mut palette = Self { all: all.collect(), found: Vec::new(), typed: Input::default(), at: 0 };
        palette.search();
        palette
    }

    fn search(&mut self) {
        let typed = self.typed.text();
        let score = |choice: &Choice<A>| score(&typed, choice.label).max(score(&typed, choice.name));
        let mut found: Vec<(u32, usize)> =
            self.all.iter().enumerate().filter_map(|(at, choice)| Some((score(choice)?, at))).collect();
        // Best first; equals in the order of the table.
        found.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
        self.found = found.into_iter().map(|(_, at)| at).collect();
        self.at = 0;
    }

    pub(super) fn key<T>(&mut self, key: KeyEvent) -> Reply<A, T> {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let last = self.found.len().saturating_sub(1);
        match key.code {
            KeyCode::Enter => {
                let chosen = self.found.get(self.at).and_then(|at| self.all.get(*at));
                return chosen.map_or(Reply::Close, |choice| Reply::Act(choice.action));
            }
            KeyCode::Down | KeyCode::Tab => self.at = (self.at + 1).min(last),
            KeyCode::Char('n') if ctrl => self.at = (self.at + 1).min(last),
            KeyCode::Up | KeyCode::BackTab => self.at = self.at.saturating_sub(1),
            KeyCode::Char('p') if ctrl => self.at = self.at.saturating_sub(1),
            _ => {
                if self.typed.key(key) {
                    self.search();
                }
            }
        }
        Reply::Stay
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.typed.paste(text);
        self.search();
    }

    pub(super) fn draw(&self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let title = Line::styled(" Do what? ", theme.title);
        let inside = window(buffer, area, (64, ROWS + 4), title, theme);
        let mut prompt = Line::from(Span::styled(": ", theme.key));
        prompt.spans.extend(self.typed.line(inside.width.saturating_sub(2), theme).spans);
        put(buffer, inside, 0, &prompt);
        if self.found.is_empty() {
            put(buffer, inside, 1, &Line::styled("  nothing is called that", theme.dim));
        }
        let rows = usize::from(inside.height.saturating_sub(1));
        let offset = (self.at + 1).saturating_sub(rows);
        for (row, (index, at)) in (1..).zip(self.found.iter().enumerate().skip(offset).take(rows)) {
            let Some(choice) = self.all.get(*at) else { continue };
            let chosen = index == self.at;
            let style = if chosen { theme.selected } else { theme.text };
            let mark = if chosen { "▌ " } else { "  " };
            put(
                buffer,
                inside,
                row,
                &Line::from(vec![
                    Span::styled(format!("{mark}{:32}", choice.label), style),
                    Span::styled(format!("{:10}", choice.key), theme.key),
                    Span::styled(choice.name, theme.dim),
                ]),
            );
        }
    }
}

/// How well letters fit a text: all of them in order, the better the closer together and the nearer to
/// beginnings of words. None when they do not.
fn score(letters: &str, text: &str) -> Option<u32> {
    let text: Vec<char> = text.to_lowercase().chars().collect();
    let mut total = 0;
    let mut from = 0;
    let mut streak = 0;
    for letter in letters.to_lowercase().chars().filter(|c| !c.is_whitespace()) {
        let at = from + text[from..].iter().position(|c| *c == letter)?;
        let begins = at == 0 || !text[at - 1].is_alphanumeric();
        streak = if at == from && from > 0 { streak + 1 } else { 0 };
        total += 1 + 2 * streak + if begins { 4 } else { 0 };
        from = at + 1;
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::Binding;

    const fn row(action: u8, name: &'static str, label: &'static str) -> Binding<u8> {
        Binding { scope: "all", action, name, keys: "", label, hint: false, changes: false }
    }

    const TABLE: &[Binding<u8>] = &[
        row(1, "clusters.delete", "delete the cluster"),
        row(2, "log.level", "next level of the log"),
        row(3, "quit", "quit"),
    ];

    #[test]
    fn some_letters_find_an_action() {
        let keymap = Keymap::new(TABLE, &[], false).unwrap();
        for (typed, action) in [("del", 1), ("dclu", 1), ("log", 2), ("q", 3), ("", 1)] {
            let mut palette = Palette::new(&keymap);
            palette.paste(typed);
            let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
            assert_eq!(palette.key::<()>(enter), Reply::Act(action), "{typed}");
        }
        let mut palette = Palette::new(&keymap);
        palette.paste("xyz");
        assert!(palette.found.is_empty());
    }
}
