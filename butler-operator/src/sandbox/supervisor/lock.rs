//! One supervisor per sandbox.

use crate::{
    process::{LockError, LockFile},
    sandbox::{Place, SandboxError},
};

/// Takes the lock of a sandbox.
pub(super) fn take(place: &Place) -> Result<LockFile, SandboxError> {
    LockFile::take(&place.lock()).map_err(|error| match error {
        LockError::Held(pid) => SandboxError::Busy { name: place.name().to_owned(), pid },
        LockError::System { path, source } => {
            SandboxError::System { action: format!("lock `{}`", path.display()), source }
        }
    })
}

/// The process that holds the lock of a sandbox, if one does.
pub fn holder(place: &Place) -> Option<u32> {
    LockFile::holder(&place.lock())
}
