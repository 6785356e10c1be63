//! A bootstrap that meets what goes wrong in the world: it says what is the matter, goes on by itself when
//! that passes, and never makes a machine twice. `make test-faults` prints the table.

mod lab;
mod network;
mod passes;
mod stops;
