//! A management cluster in one file, from which it can be made again.
//!
//! - [`Header`]: what a backup is of; the only part that can be read without a key
//! - [`Recipients`], [`Identities`]: to whom it is encrypted, and who opens it
//! - [`seal`](seal()): writes the file; [`Backup`]: reads it
//! - [`create`](create()): fills it from a cluster that runs
//! - [`verify`](verify()): reads everything and says what is in it
//! - [`unpack`](restore::unpack): what a run needs to make the cluster again
//!
//! The file is a tar of `backup.json`, `data.age` and `data.age.sha256`; in `data.age` is a tar again, encrypted
//! as the program `age` does it. So nobody needs us to open one: `docs/backup.md` shows how. Nothing is written to
//! disk in the clear, and nothing large is held in memory: lists of objects and the snapshot of etcd are cut into
//! pieces, each an entry of the inner tar.

mod contents;
mod create;
mod error;
mod header;
mod keys;
mod list;
mod read;
pub mod restore;
mod snapshot;
mod verify;
mod write;

pub use create::{Created, Subject, create};
pub use error::BackupError;
pub use header::{EXTENSION, Header, file_name};
pub use keys::{Identities, Recipients, generate};
pub use list::{Listed, list};
pub use read::Backup;
pub use verify::{Verified, verify};
pub use write::{Sealed, seal};
