//! Where tests find the real parts. Tests never download or build: that is what `make parts` is for.

use std::path::PathBuf;

use anyhow::{Context, Result};
use butler_core::settings::{Environment, env};

/// The path of a real part, such as `etcd` or `kubectl`.
pub fn part(name: &str) -> Result<PathBuf> {
    let environment = Environment::capture();
    let cache = environment
        .path("XDG_CACHE_HOME")
        .or_else(|| Some(environment.path(env::HOME)?.join(".cache")))
        .map(|cache| cache.join("butler/tools"));
    [environment.path(env::BUTLER_TOOLS_DIR), cache]
        .into_iter()
        .flatten()
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
        .with_context(|| format!("`{name}` is not installed; run `make parts`"))
}
