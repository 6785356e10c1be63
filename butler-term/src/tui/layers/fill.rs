//! A form in a window.

use crossterm::event::KeyEvent;
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};

use super::{Reply, window};
use crate::tui::{
    Theme,
    widgets::{
        form::{Filled, Form},
        put,
    },
};

/// A form, and what is made of its answers.
#[derive(Clone, Debug)]
pub struct Fill<T> {
    /// What it is about.
    pub title: &'static str,
    /// The questions.
    pub form: Form,
    /// Makes of the answers what is to be done, or says why not.
    pub make: fn(&Form) -> Result<T, String>,
}

impl<T> Fill<T> {
    pub(super) fn key<A>(&mut self, key: KeyEvent) -> Reply<A, T> {
        if self.form.key(key) == Filled::Going {
            return Reply::Stay;
        }
        match (self.make)(&self.form) {
            Ok(task) => Reply::Do(task),
            Err(problem) => {
                self.form.problem = Some(problem);
                Reply::Stay
            }
        }
    }

    pub(super) fn draw(&self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let title = Line::styled(format!(" {} ", self.title), theme.title);
        let inside = window(buffer, area, (76, self.form.height() + 4), title, theme);
        let keys = inside.height.saturating_sub(1);
        self.form.draw(buffer, Rect { height: keys, ..inside }, theme);
        let key = |text: &'static str| Span::styled(text, theme.key);
        let legend = vec![
            key("enter"),
            Span::raw(" next  "),
            key("←→"),
            Span::raw(" choose  "),
            key("esc"),
            Span::raw(" leave"),
        ];
        put(buffer, inside, keys, &Line::from(legend));
    }
}
