//! Questions that are answered together. Those that do not fit are scrolled to; the one the keyboard is at
//! is always in view.

use std::cell::Cell;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};

use super::{input::Input, put, text::wrap, words};
use crate::{output::text::width, tui::Theme};

/// Options that are listed at once.
const LISTED: usize = 8;

/// One question.
#[derive(Clone, Debug)]
pub struct Field {
    /// What is asked for.
    pub label: &'static str,
    /// What helps to answer.
    pub note: &'static str,
    /// The answer.
    pub answer: Answer,
    /// What is wrong with the answer.
    pub wrong: Option<String>,
}

/// How a question is answered.
#[derive(Clone, Debug)]
pub enum Answer {
    /// By typing.
    Text(Input),
    /// By choosing one of these.
    Choice(Vec<Choice>, usize),
    /// By typing, or by choosing what is then typed.
    Pick(Vec<Choice>, Input),
}

/// Something that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The answer.
    pub value: String,
    /// What a person calls it.
    pub label: String,
    /// What it means.
    pub note: String,
}

impl Choice {
    /// A word that needs no explanation.
    pub fn word(word: &str) -> Self {
        Self { value: word.to_owned(), label: word.to_owned(), note: String::new() }
    }
}

impl Answer {
    /// The answer as text.
    pub fn text(&self) -> String {
        match self {
            Self::Text(input) | Self::Pick(_, input) => input.text(),
            Self::Choice(options, chosen) => {
                options.get(*chosen).map(|option| option.value.clone()).unwrap_or_default()
            }
        }
    }

    /// What can be chosen, when it is listed one below the other.
    fn listed(&self) -> &[Choice] {
        match self {
            Self::Choice(options, _) if options.iter().any(|option| !option.note.is_empty()) => options,
            Self::Pick(options, _) => options,
            _ => &[],
        }
    }

    /// Which of the listed is chosen.
    fn chosen(&self) -> Option<usize> {
        match self {
            Self::Choice(_, chosen) => Some(*chosen),
            Self::Pick(options, input) => {
                let text = input.text();
                options.iter().position(|option| option.value == text)
            }
            Self::Text(_) => None,
        }
    }

    fn choose(&mut self, at: usize) {
        match self {
            Self::Choice(_, chosen) => *chosen = at,
            Self::Pick(options, input) => {
                if let Some(option) = options.get(at) {
                    *input = Input::with(&option.value);
                }
            }
            Self::Text(_) => {}
        }
    }

    /// Moves along a list; false at its ends, where the next question begins.
    fn step(&mut self, down: bool) -> bool {
        let count = self.listed().len();
        let to = match (self.chosen(), down) {
            (None, true) => 0,
            (None, false) => return false,
            (Some(at), true) => at + 1,
            (Some(at), false) => match at.checked_sub(1) {
                Some(before) => before,
                None => return false,
            },
        };
        let inside = to < count;
        if inside {
            self.choose(to);
        }
        inside
    }
}

impl Field {
    /// A question.
    pub fn new(label: &'static str, note: &'static str, answer: Answer) -> Self {
        Self { label, note, answer, wrong: None }
    }
}

/// The questions, and which one the keyboard is at.
#[derive(Clone, Debug, Default)]
pub struct Form {
    /// The questions.
    pub fields: Vec<Field>,
    at: usize,
    offset: Cell<usize>,
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
        Self { fields, ..Self::default() }
    }

    /// The question the keyboard is at.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Goes to a question.
    pub fn focus(&mut self, at: usize) {
        self.at = at.min(self.fields.len().saturating_sub(1));
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) -> Filled {
        let last = self.fields.len().saturating_sub(1);
        let vertical = matches!(key.code, KeyCode::Up | KeyCode::Down);
        let down = key.code == KeyCode::Down;
        if vertical && self.fields.get_mut(self.at).is_some_and(|field| field.answer.step(down)) {
            return Filled::Going;
        }
        match key.code {
            KeyCode::Enter if self.at >= last => return Filled::Done,
            KeyCode::Enter | KeyCode::Tab | KeyCode::Down => self.at = (self.at + 1).min(last),
            KeyCode::BackTab | KeyCode::Up => self.at = self.at.saturating_sub(1),
            _ => match self.fields.get_mut(self.at).map(|field| &mut field.answer) {
                Some(Answer::Text(input) | Answer::Pick(_, input)) => {
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
        if let Some(Answer::Text(input) | Answer::Pick(_, input)) =
            self.fields.get_mut(self.at).map(|field| &mut field.answer)
        {
            input.paste(text);
            self.problem = None;
        }
    }

    /// Lines that it takes when no list is open.
    pub fn height(&self) -> u16 {
        u16::try_from(self.fields.len() * 2 + 1).unwrap_or(u16::MAX)
    }

    /// Draws the questions with their answers.
    pub fn draw(&self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let column = self.fields.iter().map(|field| width(field.label) + 2).max().unwrap_or(0);
        let mut blocks: Vec<Vec<Line<'_>>> =
            (0..self.fields.len()).map(|at| self.lines(at, column, area.width, theme)).collect();
        let height = usize::from(area.height).saturating_sub(usize::from(self.problem.is_some()));
        // Air between questions where there is room for it.
        if blocks.iter().map(|lines| lines.len().max(2)).sum::<usize>() <= height {
            blocks.iter_mut().for_each(|lines| lines.resize(lines.len().max(2), Line::default()));
        }
        let first = blocks.iter().take(self.at).map(Vec::len).sum::<usize>();
        let behind = first + blocks.get(self.at).map_or(0, Vec::len);
        let offset = self.offset.get().max(behind.saturating_sub(height)).min(first);
        let all: Vec<Line<'_>> = blocks.into_iter().flatten().collect();
        let offset = offset.min(all.len().saturating_sub(height));
        self.offset.set(offset);
        for (row, line) in (0..).zip(all.iter().skip(offset).take(height)) {
            put(buffer, area, row, line);
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

    /// A question as lines: the answer, what is wrong with it, and where the keyboard is, what can be
    /// chosen and what helps.
    fn lines<'a>(&self, at: usize, column: usize, columns: u16, theme: &Theme) -> Vec<Line<'a>> {
        let (here, field) = (at == self.at, &self.fields[at]);
        let (mark, style) = if here { ("▸ ", theme.focus) } else { ("  ", theme.text) };
        let pad = " ".repeat(column - width(field.label));
        let mut line = Line::from(Span::styled(format!("{mark}{}{pad}", field.label), style));
        let room = columns.saturating_sub(u16::try_from(column + 2).unwrap_or(0));
        let listed = field.answer.listed();
        match &field.answer {
            Answer::Text(input) | Answer::Pick(_, input) if here => {
                line.spans.extend(input.line(room, theme).spans);
            }
            Answer::Text(input) | Answer::Pick(_, input) => {
                line.push_span(words(&input.shown(), theme.text));
            }
            Answer::Choice(options, chosen) if listed.is_empty() && fits(options, room) => {
                for (index, option) in options.iter().enumerate() {
                    let (mark, style) =
                        if index == *chosen { ("●", theme.focus) } else { ("○", theme.dim) };
                    line.push_span(words(&format!("{mark} {}  ", option.label), style));
                }
            }
            Answer::Choice(options, chosen) => {
                let label = options.get(*chosen).map(|option| option.label.as_str()).unwrap_or_default();
                let style = if here { theme.focus } else { theme.text };
                line.push_span(words(&format!("● {label}"), style));
            }
        }
        let mut lines = vec![line];
        if let Some(wrong) = &field.wrong {
            let wrapped = wrap(wrong, columns.saturating_sub(6));
            lines.extend(wrapped.iter().enumerate().map(|(row, text)| {
                let mark = if row == 0 { "    ✗ " } else { "      " };
                Line::from(vec![Span::styled(mark, theme.bad), words(text, theme.bad)])
            }));
        }
        if here {
            lines.extend(list(listed, field.answer.chosen(), theme));
            let wrapped = wrap(field.note, columns.saturating_sub(4));
            lines.extend(wrapped.iter().map(|text| Line::styled(format!("    {text}"), theme.dim)));
        }
        lines
    }
}

/// Whether options fit beside each other.
fn fits(options: &[Choice], room: u16) -> bool {
    options.iter().map(|option| width(&option.label) + 4).sum::<usize>() <= usize::from(room) + 2
}

/// What can be chosen, one below the other; of many, those around the chosen one.
fn list<'a>(options: &[Choice], chosen: Option<usize>, theme: &Theme) -> Vec<Line<'a>> {
    let first =
        chosen.map_or(0, |at| (at + 2).saturating_sub(LISTED)).min(options.len().saturating_sub(LISTED));
    let column = options.iter().map(|option| width(&option.label)).max().unwrap_or(0).min(32);
    let row = |(at, option): (usize, &Choice)| {
        let (mark, style) = if chosen == Some(at) { ("●", theme.focus) } else { ("○", theme.text) };
        let pad = " ".repeat(column.saturating_sub(width(&option.label)));
        Line::from(vec![
            Span::styled(format!("    {mark} "), style),
            words(&format!("{}{pad}  ", option.label), style),
            words(&option.note, theme.dim),
        ])
    };
    let mut lines: Vec<Line<'a>> = options.iter().enumerate().skip(first).take(LISTED).map(row).collect();
    if options.len() > LISTED {
        lines.push(Line::styled(format!("      {} in all; ↑↓ for more", options.len()), theme.dim));
    }
    lines
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;

    use super::*;
    use crate::tui::theme::Palette;

    fn choices(words: &[&str]) -> Vec<Choice> {
        words.iter().copied().map(Choice::word).collect()
    }

    fn press(form: &mut Form, codes: &[KeyCode]) -> Vec<Filled> {
        codes.iter().map(|code| form.key(KeyEvent::new(*code, KeyModifiers::NONE))).collect()
    }

    fn drawn(form: &Form, columns: u16, rows: u16) -> String {
        let area = Rect::new(0, 0, columns, rows);
        let mut buffer = Buffer::empty(area);
        form.draw(&mut buffer, area, &Theme::new(Palette::None));
        let row = |y| (0..columns).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..rows).map(|y| row(y) + "\n").collect()
    }

    #[test]
    fn questions_are_answered_one_after_the_other() {
        let mut form = Form::new(vec![
            Field::new("File", "", Answer::Text(Input::default())),
            Field::new("Runtime", "", Answer::Choice(choices(&["kind", "process"]), 0)),
        ]);
        use Filled::{Done, Going};
        let keys = [KeyCode::Char('a'), KeyCode::Enter, KeyCode::Left, KeyCode::Enter];
        assert_eq!(press(&mut form, &keys), [Going, Going, Going, Done]);
        let answers: Vec<String> = form.fields.iter().map(|field| field.answer.text()).collect();
        assert_eq!(answers, ["a", "process"]);
    }

    #[test]
    fn a_list_is_walked_through_and_left_at_its_ends() {
        let mut form = Form::new(vec![
            Field::new("Network", "as found", Answer::Pick(choices(&["a", "b"]), Input::default())),
            Field::new("Name", "", Answer::Text(Input::default())),
        ]);
        press(&mut form, &[KeyCode::Down, KeyCode::Down]);
        assert_eq!((form.at(), form.fields[0].answer.text().as_str()), (0, "b"));
        insta::assert_snapshot!(drawn(&form, 30, 6), @r"
        ▸ Network  b
            ○ a
            ● b
            as found
          Name
        ");
        press(&mut form, &[KeyCode::Down]);
        assert_eq!(form.at(), 1);
        press(&mut form, &[KeyCode::Up, KeyCode::Char('c')]);
        assert_eq!(form.fields[0].answer.text(), "bc", "what was not found is typed");
    }

    #[test]
    fn the_question_of_the_keyboard_is_in_view_in_any_size() {
        let field = |label| Field {
            wrong: Some("it is wrong".into()),
            ..Field::new(label, "some words that help", Answer::Choice(choices(&["one", "two"]), 0))
        };
        let labels = ["First", "Second", "Third", "Fourth", "Fifth"];
        let mut form = Form::new(labels.map(field).to_vec());
        for label in labels {
            assert!(drawn(&form, 40, 4).contains(&format!("▸ {label}")), "{}", drawn(&form, 40, 4));
            for (columns, rows) in [(0, 0), (1, 1), (5, 2), (20, 3), (200, 60)] {
                drawn(&form, columns, rows);
            }
            press(&mut form, &[KeyCode::Tab]);
        }
    }

    #[test]
    fn a_secret_is_never_drawn() {
        let mut form = Form::new(vec![Field::new("Password", "", Answer::Text(Input::secret()))]);
        form.paste("hunter2");
        assert!(drawn(&form, 40, 3).contains("•••••••"));
        assert!(!format!("{form:?}").contains('h') || !format!("{form:?}").contains("hunter"));
        form.fields.push(Field::new("Other", "", Answer::Text(Input::default())));
        press(&mut form, &[KeyCode::Enter]);
        assert!(!drawn(&form, 40, 5).contains("hunter"));
        assert_eq!(form.fields[0].answer.text(), "hunter2");
    }
}
