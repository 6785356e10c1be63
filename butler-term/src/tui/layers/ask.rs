//! A question before something is done: a yes, or the name of what will be gone.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};

use super::{Reply, window};
use crate::tui::{
    Theme,
    widgets::{input::Input, put, text::wrap, words},
};

/// What answers a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// `y`.
    Yes,
    /// This name, letter by letter.
    Name(String),
}

/// A question.
#[derive(Clone, Debug)]
pub struct Ask<T> {
    title: String,
    text: String,
    need: Need,
    typed: Input,
    wrong: bool,
    task: T,
    otherwise: Option<T>,
}

impl<T: Clone> Ask<T> {
    /// `text` says what will happen; `task` is what happens.
    pub fn new(title: impl Into<String>, text: impl Into<String>, need: Need, task: T) -> Self {
        Self {
            title: title.into(),
            text: text.into(),
            need,
            typed: Input::default(),
            wrong: false,
            task,
            otherwise: None,
        }
    }

    /// What happens after a no; without it, nothing does.
    pub fn otherwise(mut self, task: T) -> Self {
        self.otherwise = Some(task);
        self
    }

    pub(super) fn key<A>(&mut self, key: KeyEvent) -> Reply<A, T> {
        match &self.need {
            Need::Yes => match key.code {
                KeyCode::Char('y' | 'Y') => Reply::Do(self.task.clone()),
                KeyCode::Char('n' | 'N') => self.otherwise.clone().map_or(Reply::Close, Reply::Do),
                KeyCode::Char('q') => Reply::Close,
                _ => Reply::Stay,
            },
            Need::Name(name) if key.code == KeyCode::Enter => {
                self.wrong = self.typed.text() != *name;
                if self.wrong { Reply::Stay } else { Reply::Do(self.task.clone()) }
            }
            Need::Name(_) => {
                self.wrong = false;
                self.typed.key(key);
                Reply::Stay
            }
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        if matches!(self.need, Need::Name(_)) {
            self.typed.paste(text);
        }
    }

    pub(super) fn draw(&self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let width = area.width.min(72);
        let lines = wrap(&self.text, width.saturating_sub(4));
        let height = u16::try_from(lines.len() + 5).unwrap_or(u16::MAX);
        let title = Line::styled(format!(" {} ", self.title), theme.warn);
        let inside = window(buffer, area, (width, height), title, theme);
        for (row, line) in (0..).zip(&lines) {
            put(buffer, inside, row, &Line::from(vec![Span::raw(" "), words(line, theme.text)]));
        }
        // The answer is seen even when the text is not.
        let row = u16::try_from(lines.len() + 1).unwrap_or(u16::MAX).min(inside.height.saturating_sub(2));
        let key = |text: &'static str| Span::styled(text, theme.key);
        match &self.need {
            Need::Yes => {
                let mut answers = vec![key(" y"), Span::raw(" yes   "), key("n"), Span::raw(" no")];
                if self.otherwise.is_some() {
                    answers.extend([key("   esc"), Span::raw(" neither")]);
                }
                put(buffer, inside, row, &Line::from(answers));
            }
            Need::Name(name) => {
                let mut line = Line::from(vec![Span::raw(" Type "), words(name, theme.key), Span::raw(": ")]);
                let room = inside.width.saturating_sub(u16::try_from(line.width()).unwrap_or(0));
                line.spans.extend(self.typed.line(room, theme).spans);
                put(buffer, inside, row, &line);
                let below = if self.wrong {
                    Line::styled(" ✗ that is not the name", theme.bad)
                } else {
                    Line::from(vec![
                        key(" enter"),
                        Span::raw(" go on   "),
                        key("esc"),
                        Span::raw(" leave it"),
                    ])
                };
                put(buffer, inside, row + 1, &below);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;

    use super::*;
    use crate::tui::layers::Layer;

    fn press(layer: &mut Layer<(), u8>, keys: &str) -> Reply<(), u8> {
        let mut reply = Reply::Stay;
        for c in keys.chars() {
            let code = match c {
                '\n' => KeyCode::Enter,
                '\x1b' => KeyCode::Esc,
                c => KeyCode::Char(c),
            };
            reply = layer.key(KeyEvent::new(code, KeyModifiers::NONE));
        }
        reply
    }

    #[test]
    fn only_the_whole_name_is_a_yes() {
        let ask = || Layer::Ask(Ask::new("Delete", "gone", Need::Name("dev".into()), 7));
        assert_eq!(press(&mut ask(), "dev\n"), Reply::Do(7));
        assert_eq!(press(&mut ask(), "de\n"), Reply::Stay);
        assert_eq!(press(&mut ask(), "y"), Reply::Stay);
        assert_eq!(press(&mut ask(), "dev\x1b"), Reply::Close);
    }

    #[test]
    fn enter_is_no_yes() {
        let ask = || Layer::Ask(Ask::new("Stop", "stops", Need::Yes, 7));
        assert_eq!(press(&mut ask(), "\n"), Reply::Stay);
        assert_eq!(press(&mut ask(), "y"), Reply::Do(7));
        assert_eq!(press(&mut ask(), "n"), Reply::Close);
        let ask = || Layer::Ask(Ask::new("Keep", "kept", Need::Yes, 7).otherwise(8));
        assert_eq!(press(&mut ask(), "n"), Reply::Do(8));
        assert_eq!(press(&mut ask(), "\x1b"), Reply::Close);
    }
}
