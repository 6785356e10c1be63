//! The terminal layer against real terminals and the real kubectl.

mod full_screen;
mod jsonpath;
mod terminal;
