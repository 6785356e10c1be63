//! A bootstrap, from a configuration to a management cluster, and back to nothing.
//!
//! - [`engine`](Engine): one run: temporary control plane, controllers, credentials, end
//! - `follow`: what the ClusterBootstrap says, as events
//! - `destroy`: removes what carries a run's mark, and looks whether it is gone
//! - `recorded`: effects at the provider, written down before and after
//!
//! The engine holds no state that matters. Everything it makes outside is written down first and carries
//! the run's id; the temporary control plane can be made again from the run's directory. So a new run and
//! one that is taken up again go the same way.

mod destroy;
mod engine;
mod error;
mod follow;
mod machines;
mod objects;
mod recorded;
mod session;

pub use destroy::{Destroyed, destroy};
pub use engine::{Engine, Made};
pub use error::BootstrapError;
pub use machines::Machines;
pub use session::{RunOptions, Started, begin, claim, take_up};
