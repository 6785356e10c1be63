//! Where tests find the real parts. Tests never download or build: that is what `make parts` is for.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use butler_core::settings::{Environment, Home, env};
use butler_operator::parts::{Part, Parts};

/// Where the real parts are looked for.
pub fn parts() -> Result<Parts> {
    let home = Home::resolve(&Environment::of([(env::BUTLER_HOME, cache()?)]))?;
    Ok(Parts::new(&Environment::capture(), &home))
}

fn cache() -> Result<PathBuf> {
    let environment = Environment::capture();
    let cache = environment
        .path("XDG_CACHE_HOME")
        .or_else(|| Some(environment.path(env::HOME)?.join(".cache")))
        .context("neither XDG_CACHE_HOME nor HOME is set")?;
    Ok(cache.join("butler"))
}

/// A directory with charts of other people, as they keep them: a mirror.
pub fn charts() -> Result<PathBuf> {
    let dir = cache()?.join("charts");
    ensure!(dir.join("list").is_file(), "`{}` is missing; run `make parts`", dir.display());
    Ok(dir)
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
