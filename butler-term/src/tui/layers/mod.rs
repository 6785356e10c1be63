//! Dialogs above a screen. The topmost sees a key first; what it does not want reaches nobody below.

mod ask;
mod fill;
mod help;
mod palette;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::Line,
    widgets::{Clear, Widget},
};

use super::{Keymap, Theme, widgets::panel};

pub use ask::{Ask, Need};
pub use fill::Fill;
pub use help::Help;
pub use palette::Palette;

/// A dialog. `A` is what keys mean, `T` what is done after a yes.
#[derive(Clone, Debug)]
pub enum Layer<A, T> {
    /// Every key.
    Help(Help),
    /// Every action, by name.
    Palette(Palette<A>),
    /// A question.
    Ask(Ask<T>),
    /// Questions that are answered together.
    Fill(Fill<T>),
}

/// What became of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply<A, T> {
    /// The dialog goes on.
    Stay,
    /// It is over, and nothing comes of it.
    Close,
    /// It is over, and this action was chosen.
    Act(A),
    /// It is over, and this is to be done.
    Do(T),
}

impl<A: Copy + PartialEq, T: Clone> Layer<A, T> {
    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) -> Reply<A, T> {
        let ctrl = key.modifiers.contains(crossterm::event::KeyModifiers::CONTROL);
        if key.code == KeyCode::Esc || (ctrl && key.code == KeyCode::Char('c')) {
            return Reply::Close;
        }
        match self {
            Self::Help(help) => help.key(key),
            Self::Palette(palette) => palette.key(key),
            Self::Ask(ask) => ask.key(key),
            Self::Fill(fill) => fill.key(key),
        }
    }

    /// Takes a text at once.
    pub fn paste(&mut self, text: &str) {
        match self {
            Self::Help(_) => {}
            Self::Palette(palette) => palette.paste(text),
            Self::Ask(ask) => ask.paste(text),
            Self::Fill(fill) => fill.form.paste(text),
        }
    }

    /// Draws it above what is there.
    pub fn draw(&self, buffer: &mut Buffer, area: Rect, keymap: &Keymap<A>, theme: &Theme) {
        match self {
            Self::Help(help) => help.draw(buffer, area, keymap, theme),
            Self::Palette(palette) => palette.draw(buffer, area, theme),
            Self::Ask(ask) => ask.draw(buffer, area, theme),
            Self::Fill(fill) => fill.draw(buffer, area, theme),
        }
    }
}

/// A window in the middle of an area, as large as wanted and possible; returns what is inside.
fn window(
    buffer: &mut Buffer,
    area: Rect,
    (width, height): (u16, u16),
    title: Line<'_>,
    theme: &Theme,
) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    let place =
        Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 3, width, height };
    Clear.render(place, buffer);
    buffer.set_style(place, theme.text);
    panel(buffer, place, title, true, theme)
}
