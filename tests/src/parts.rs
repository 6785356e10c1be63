//! Where tests find the real parts. Tests never download or build: that is what `make parts` is for.

use std::path::PathBuf;

use anyhow::{Context, Result};
use butler_core::settings::{Environment, Home, env};
use butler_operator::parts::{Part, Parts};

/// Where the real parts are looked for.
pub fn parts() -> Result<Parts> {
    let environment = Environment::capture();
    let cache = environment
        .path("XDG_CACHE_HOME")
        .or_else(|| Some(environment.path(env::HOME)?.join(".cache")))
        .context("neither XDG_CACHE_HOME nor HOME is set")?;
    let home = Home::resolve(&Environment::of([(env::BUTLER_HOME, cache.join("butler"))]))?;
    Ok(Parts::new(&environment, &home))
}

/// The path of a real part, such as `etcd` or `kubectl`, in the version we want.
pub fn part(name: &str) -> Result<PathBuf> {
    let part: &'static Part = name.parse()?;
    let find = move || -> Result<PathBuf> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let found = runtime.block_on(parts()?.find(part));
        Ok(found.with_context(|| format!("`{}` is missing; run `make parts`", part.name))?.path)
    };
    // Callers may be inside a runtime, and one cannot wait for another on the same thread.
    std::thread::spawn(find).join().map_err(|_| anyhow::anyhow!("the search for `{name}` panicked"))?
}
