//! The frame of full-screen programs: model, update, view, effect.
//!
//! - [`App`]: a model that takes messages and draws itself; it does no I/O
//! - [`event_loop`]: input, messages and signals in, frames and effects out; generic over screen and input
//! - [`effect`]: where effects run, and how their results come back as messages
//! - [`terminal`]: takes the terminal and gives it back, whatever happens
//! - [`input`]: what the terminal says, and nobody else hears while we listen
//! - [`keymap`]: the one table of keys that dispatch, footer, help and palette are views of
//! - [`layers`]: dialogs above a screen: help, palette, questions, forms
//! - [`remote`]: values that come from elsewhere: loading, ready, stale or failed
//! - [`theme`]: colours by meaning, never alone
//! - [`widgets`]: what screens are made of
//!
//! What the screens are about is no business of this module.

pub mod effect;
pub mod event_loop;
pub mod input;
pub mod keymap;
pub mod layers;
mod pager;
pub mod remote;
pub mod terminal;
pub mod theme;
pub mod widgets;

use jiff::Timestamp;
use ratatui::Frame;

pub use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, MouseEvent, MouseEventKind};
pub use effect::{Mail, Worker};
pub use keymap::{Binding, Key, Keymap, KeymapError};
pub use layers::{Layer, Reply};
pub use remote::{Fault, Remote};
pub use theme::Theme;

/// What happens to an app.
#[derive(Debug)]
pub enum Msg<M> {
    /// A key, a paste, the mouse, another size.
    Input(Event),
    /// Time passes: about once a second, ten times as often while the app animates.
    Tick(Timestamp),
    /// The frame could not do what was asked.
    Trouble(String),
    /// The app's own: results of effects, news from elsewhere.
    App(M),
}

/// What an app wants done.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect<E> {
    /// End.
    Quit,
    /// Give the terminal to the shell until the person comes back.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Show a text in the person's pager.
    Page {
        /// What the file is called.
        name: String,
        /// What is in it.
        text: String,
    },
    /// The app's own.
    App(E),
}

/// A model, its update and its view.
pub trait App {
    /// What effects send back.
    type Msg: Send + 'static;
    /// What is done outside.
    type Effect;

    /// Takes a message. No I/O, no waiting.
    fn update(&mut self, msg: Msg<Self::Msg>) -> Vec<Effect<Self::Effect>>;

    /// Works out what only the next frame needs; called before each.
    fn settle(&mut self) {}

    /// Draws what is.
    fn view(&self, frame: &mut Frame<'_>);

    /// True while something spins.
    fn animates(&self) -> bool;
}
