//! One line that a person types.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};

use crate::{output::text::width, tui::Theme};

/// Letters that fit; a paste of a whole file is cut.
const MOST: usize = 1024;

/// Stands for a letter of a secret.
const HIDDEN: char = '•';

/// A line and the place the next letter goes to.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Input {
    letters: Vec<char>,
    at: usize,
    hidden: bool,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Input({:?})", self.shown())
    }
}

impl Input {
    /// A line with a text in it already.
    pub fn with(text: &str) -> Self {
        let mut input = Self::default();
        input.paste(text);
        input
    }

    /// A line that is typed and never shown.
    pub fn secret() -> Self {
        Self { hidden: true, ..Self::default() }
    }

    /// True when it is never shown.
    pub fn is_secret(&self) -> bool {
        self.hidden
    }

    /// What is shown of it.
    pub fn shown(&self) -> String {
        self.letters.iter().map(|c| if self.hidden { HIDDEN } else { *c }).collect()
    }

    /// What was typed.
    pub fn text(&self) -> String {
        self.letters.iter().collect()
    }

    /// True when nothing was typed.
    pub fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.letters.fill(' ');
        self.letters.clear();
        self.at = 0;
    }

    /// Takes a key; false when it is none for a line.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char('u') if ctrl => drop(self.letters.drain(..std::mem::take(&mut self.at))),
            KeyCode::Char('w') if ctrl => self.cut_word(),
            KeyCode::Char('a') if ctrl => self.at = 0,
            KeyCode::Char('e') if ctrl => self.at = self.letters.len(),
            KeyCode::Char('h') if ctrl => self.cut(),
            KeyCode::Char(c) if !ctrl && !alt => self.insert(c),
            KeyCode::Backspace => self.cut(),
            KeyCode::Delete if self.at < self.letters.len() => drop(self.letters.remove(self.at)),
            KeyCode::Left => self.at = self.at.saturating_sub(1),
            KeyCode::Right => self.at = (self.at + 1).min(self.letters.len()),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = self.letters.len(),
            _ => return false,
        }
        true
    }

    /// Takes a text at once: its first line, as far as there is room.
    pub fn paste(&mut self, text: &str) {
        text.lines().next().unwrap_or_default().chars().take(MOST).for_each(|c| self.insert(c));
    }

    fn insert(&mut self, c: char) {
        if !c.is_control() && self.letters.len() < MOST {
            self.letters.insert(self.at, c);
            self.at += 1;
        }
    }

    fn cut(&mut self) {
        if let Some(before) = self.at.checked_sub(1) {
            self.letters.remove(before);
            self.at = before;
        }
    }

    fn cut_word(&mut self) {
        let before = &self.letters[..self.at];
        let end = before.iter().rposition(|c| !c.is_whitespace()).map_or(0, |end| end + 1);
        let start = before[..end].iter().rposition(|c| c.is_whitespace()).map_or(0, |start| start + 1);
        self.letters.drain(start..self.at);
        self.at = start;
    }

    /// The line with its cursor, cut on the left so that the cursor is seen.
    pub fn line<'a>(&self, columns: u16, theme: &Theme) -> Line<'a> {
        let columns = usize::from(columns).max(1);
        let mut start = 0;
        let letters: Vec<char> = self.shown().chars().collect();
        let shown = |start: usize| -> String { letters[start..self.at].iter().collect() };
        while start < self.at && width(&shown(start)) + 1 > columns {
            start += 1;
        }
        let cursor = letters.get(self.at).copied().unwrap_or(' ');
        let after: String = letters.iter().skip(self.at + 1).collect();
        Line::from(vec![
            Span::styled(shown(start), theme.text),
            Span::styled(cursor.to_string(), theme.selected.add_modifier(ratatui::style::Modifier::REVERSED)),
            Span::styled(after, theme.text),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[(KeyCode, KeyModifiers)]) -> Input {
        let mut input = Input::default();
        for (code, modifiers) in keys {
            input.key(KeyEvent::new(*code, *modifiers));
        }
        input
    }

    #[test]
    fn a_line_is_edited_as_in_a_shell() {
        let (none, ctrl) = (KeyModifiers::NONE, KeyModifiers::CONTROL);
        let mut keys: Vec<_> = "ab cd é".chars().map(|c| (KeyCode::Char(c), none)).collect();
        keys.extend([(KeyCode::Char('w'), ctrl), (KeyCode::Left, none), (KeyCode::Backspace, none)]);
        assert_eq!(typed(&keys).text(), "ab c ");
        keys.extend([(KeyCode::Home, none), (KeyCode::Delete, none), (KeyCode::Char('X'), none)]);
        assert_eq!(typed(&keys).text(), "Xb c ");
        keys.extend([(KeyCode::End, none), (KeyCode::Char('u'), ctrl)]);
        assert!(typed(&keys).is_empty());
    }

    #[test]
    fn a_paste_is_one_line_of_harmless_letters() {
        let mut input = Input::default();
        input.paste("a\u{1b}[31mb\nsecond");
        assert_eq!(input.text(), "a[31mb");
        input.paste(&"x".repeat(100 * 1024));
        assert_eq!(input.text().len(), MOST);
    }

    #[test]
    fn the_cursor_is_seen_in_any_width() {
        let input = Input::with("日本語 and more");
        for columns in 0..20 {
            let line = input.line(columns, &Theme::new(crate::tui::theme::Palette::None));
            assert!(width(&line.spans[0].content) < usize::from(columns).max(1), "{columns}: {line}");
        }
    }
}
