//! The configuration as text that can be changed, with what is wrong with it beside the lines.

use std::cell::RefCell;

use butler_core::bootstrap::config::{MAX_BYTES, Problem};
use ratatui::{buffer::Buffer, layout::Rect, style::Style, widgets::Widget};
use ratatui_textarea::{CursorMove, TextArea};

use crate::tui::{KeyEvent, Theme};

/// The text, and where the keyboard is in it.
pub(super) struct Editor {
    // Drawing moves what is in view.
    area: RefCell<TextArea<'static>>,
}

impl Editor {
    pub(super) fn new(text: &str) -> Self {
        let mut area = TextArea::new(text.lines().map(str::to_owned).collect());
        area.set_tab_length(2);
        area.set_cursor_line_style(Style::new());
        Self { area: RefCell::new(area) }
    }

    /// What stands there; its last line is a line.
    pub(super) fn text(&self) -> String {
        let area = self.area.borrow();
        area.lines().iter().flat_map(|line| [line.as_str(), "\n"]).collect()
    }

    /// Takes a key; true when the text is another one.
    pub(super) fn key(&mut self, key: KeyEvent) -> bool {
        self.area.get_mut().input(key)
    }

    /// Takes a text at once, unless the whole would be longer than any configuration may be.
    pub(super) fn paste(&mut self, text: &str) -> bool {
        let room = MAX_BYTES.saturating_sub(self.text().len());
        text.len() <= room && self.area.get_mut().insert_str(text)
    }

    /// To the first of these problems behind the place one is at, else to the first of all.
    pub(super) fn next(&mut self, problems: &[Problem]) {
        let area = self.area.get_mut();
        let cursor = area.cursor();
        let here = (cursor.0 + 1, cursor.1 + 1);
        let next = problems.iter().find(|problem| (problem.line, problem.column) > here);
        if let Some(problem) = next.or(problems.first()) {
            let number = |from_one: usize| u16::try_from(from_one.saturating_sub(1)).unwrap_or(u16::MAX);
            area.move_cursor(CursorMove::Jump(number(problem.line), number(problem.column)));
        }
    }

    pub(super) fn draw(&self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let mut text = self.area.borrow_mut();
        text.set_style(theme.text);
        text.set_line_number_style(theme.dim);
        text.set_selection_style(theme.selected);
        Widget::render(&*text, area, buffer);
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyModifiers};

    use super::*;
    use crate::tui::theme::Palette;

    #[test]
    fn a_text_comes_back_as_it_was() {
        for text in ["a: 1\n", "a: 1\n\n# é日\nb:\n  - 2\n"] {
            assert_eq!(Editor::new(text).text(), text);
        }
    }

    #[test]
    fn it_is_changed_where_the_keyboard_is() {
        let mut editor = Editor::new("a: 1\nb: 2\n");
        assert!(!editor.key(KeyEvent::new(KeyCode::Down, KeyModifiers::NONE)));
        assert!(editor.key(KeyEvent::new(KeyCode::Char('x'), KeyModifiers::NONE)));
        assert_eq!(editor.text(), "a: 1\nxb: 2\n");
        assert!(!editor.paste(&"x".repeat(MAX_BYTES)), "no configuration is that long");
        assert!(editor.paste(&"x".repeat(100 << 10)));
    }

    #[test]
    fn no_size_is_too_small_for_it() {
        let editor = Editor::new("provider: sandbox\ncluster:\n  name: 日本語\n");
        for (width, height) in [(0, 0), (1, 1), (3, 2), (20, 5), (80, 24)] {
            let area = Rect::new(0, 0, width, height);
            editor.draw(&mut Buffer::empty(area), area, &Theme::new(Palette::None));
        }
    }
}
