//! A bootstrap, from a configuration to a management cluster, and back to nothing.
//!
//! - [`engine`](Engine): one run: temporary control plane, controllers, credentials, end
//! - `look`: what a plan sees of the world, without touching it
//! - `follow`: what the ClusterBootstrap says, as events; `stall`: why it says nothing new
//! - `survey`: what there is of a run; `console`: how a person gets to its console
//! - `destroy`: removes it, and looks whether it is gone
//! - [`sweep`]: what carries the mark of a run that nobody answers for
//! - `recorded`: effects at the provider, written down before and after
//!
//! The engine holds no state that matters. Everything it makes outside is written down first and carries
//! the run's id; the temporary control plane can be made again from the run's directory. So a new run and
//! one that is taken up again go the same way.

mod console;
mod destroy;
mod engine;
mod error;
mod follow;
mod look;
mod machines;
mod objects;
mod recorded;
mod session;
mod stall;
mod survey;
pub mod sweep;

pub use destroy::{Destroyed, destroy};
pub use engine::{Engine, Made, NETWORK, SNAPSHOT};
pub use error::BootstrapError;
pub use look::{Look, programs};
pub use machines::Machines;
pub use session::{
    RunOptions, Started, accept, begin, begin_with, claim, resumable, sha256, take_over, take_up,
};
pub use stall::STALL_AFTER;
pub use survey::{Item, Survey, Traces};
