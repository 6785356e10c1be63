//! The terminal layer against real terminals and the real kubectl.

mod jsonpath;
mod terminal;
