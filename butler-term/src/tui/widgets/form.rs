//! Questions that are answered together.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};

use super::{input::Input, put, words};
use crate::tui::Theme;

/// One question.
#[derive(Clone, Debug)]
pub struct Field {
    /// What is asked for.
    pub label: &'static str,
    /// What helps to answer.
    pub note: &'static str,
    /// The answer.
    pub answer: Answer,
}

/// How a question is answered.
#[derive(Clone, Debug)]
pub enum Answer {
    /// By typing.
    Text(Input),
    /// By choosing one of these.
    Choice(&'static [&'static str], usize),
}

impl Answer {
    /// The answer as text.
    pub fn text(&self) -> String {
        match self {
            Self::Text(input) => input.text(),
            Self::Choice(options, chosen) => options.get(*chosen).copied().unwrap_or_default().to_owned(),
        }
    }
}

/// The questions, and which one the keyboard is at.
#[derive(Clone, Debug)]
pub struct Form {
    /// The questions.
    pub fields: Vec<Field>,
    at: usize,
    /// Why the answers cannot be taken.
    pub problem: Option<String>,
}

/// What became of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// The form goes on.
    Going,
    /// The person is done.
    Done,
}

impl Form {
    /// Begins at the first question.
    pub fn new(fields: Vec<Field>) -> Self {
        Self { fields, at: 0, problem: None }
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) -> Filled {
        let last = self.fields.len().saturating_sub(1);
        match key.code {
            KeyCode::Enter if self.at == last => return Filled::Done,
            KeyCode::Enter | KeyCode::Tab | KeyCode::Down => self.at = (self.at + 1).min(last),
            KeyCode::BackTab | KeyCode::Up => self.at = self.at.saturating_sub(1),
            _ => match self.fields.get_mut(self.at).map(|field| &mut field.answer) {
                Some(Answer::Text(input)) => {
                    input.key(key);
                    self.problem = None;
                }
                Some(Answer::Choice(options, chosen)) => match key.code {
                    KeyCode::Right | KeyCode::Char(' ' | 'l') => {
                        *chosen = (*chosen + 1) % options.len().max(1)
                    }
                    KeyCode::Left | KeyCode::Char('h') => {
                        *chosen = chosen.checked_sub(1).unwrap_or(options.len().saturating_sub(1));
                    }
                    _ => {}
                },
                None => {}
            },
        }
        Filled::Going
    }

    /// Takes a text at once.
    pub fn paste(&mut self, text: &str) {
        if let Some(Field { answer: Answer::Text(input), .. }) = self.fields.get_mut(self.at) {
            input.paste(text);
            self.problem = None;
        }
    }

    /// Lines that it takes.
    pub fn height(&self) -> u16 {
        u16::try_from(self.fields.len() * 2 + 1).unwrap_or(u16::MAX)
    }

    /// Draws the questions with their answers.
    pub fn draw(&self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let column = self.fields.iter().map(|field| field.label.len() + 2).max().unwrap_or(0);
        for (at, field) in self.fields.iter().enumerate() {
            let here = at == self.at;
            let row = u16::try_from(at * 2).unwrap_or(u16::MAX);
            let label = if here { theme.focus } else { theme.text };
            let mark = if here { "▸ " } else { "  " };
            let mut line = Line::from(Span::styled(format!("{mark}{:column$}", field.label), label));
            let room = area.width.saturating_sub(u16::try_from(column + 2).unwrap_or(0));
            match &field.answer {
                Answer::Text(input) if here => line.spans.extend(input.line(room, theme).spans),
                Answer::Text(input) => line.push_span(words(&input.text(), theme.text)),
                Answer::Choice(options, chosen) => {
                    for (index, option) in options.iter().enumerate() {
                        let (mark, style) =
                            if index == *chosen { ("●", theme.focus) } else { ("○", theme.dim) };
                        line.push_span(Span::styled(format!("{mark} {option}  "), style));
                    }
                }
            }
            put(buffer, area, row, &line);
            let note = Line::styled(format!("    {}", field.note), theme.dim);
            if here && row < area.height.saturating_sub(1) {
                put(buffer, area, row + 1, &note);
            }
        }
        if let Some(problem) = &self.problem {
            let row = area.height.saturating_sub(1);
            put(
                buffer,
                area,
                row,
                &Line::from(vec![Span::styled("✗ ", theme.bad), words(problem, theme.bad)]),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;

    use super::*;

    #[test]
    fn questions_are_answered_one_after_the_other() {
        let mut form = Form::new(vec![
            Field { label: "File", note: "", answer: Answer::Text(Input::default()) },
            Field { label: "Runtime", note: "", answer: Answer::Choice(&["kind", "process"], 0) },
        ]);
        let mut press = |code| form.key(KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(press(KeyCode::Char('a')), Filled::Going);
        assert_eq!(press(KeyCode::Enter), Filled::Going);
        assert_eq!(press(KeyCode::Left), Filled::Going);
        assert_eq!(press(KeyCode::Enter), Filled::Done);
        let answers: Vec<String> = form.fields.iter().map(|field| field.answer.text()).collect();
        assert_eq!(answers, ["a", "process"]);
    }
}
