//! Hands a text to the person's pager.

use std::{io::Write, path::Path, process::Stdio};

use butler_core::settings::{Environment, Home, env, home::make_private_dir};
use tokio::process::{Child, Command};

/// Starts the pager on a private copy of the text. The copy is removed with the returned value.
pub(super) fn start(environment: &Environment, name: &str, text: &str) -> std::io::Result<(Child, Copy)> {
    // In the Butler home, which others cannot read: an object may hold what is not theirs.
    let dir =
        Home::resolve(environment).map(|home| home.dir().join("cache")).map_err(std::io::Error::other)?;
    make_private_dir(&dir).map_err(std::io::Error::other)?;
    let copy = Copy(dir.join(format!("{}-{}", std::process::id(), name.replace(['/', '\0'], "-"))));
    let mut file = private(&copy.0)?;
    file.write_all(text.as_bytes())?;
    let wanted = environment.get(env::PAGER).unwrap_or("less");
    let mut words = wanted.split_whitespace();
    let program = words.next().unwrap_or("less");
    let child = Command::new(program)
        .args(words)
        .arg(&copy.0)
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| std::io::Error::new(error.kind(), format!("cannot start `{program}`: {error}")))?;
    Ok((child, copy))
}

fn private(path: &Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;

    std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// A file that goes with this value.
pub(super) struct Copy(std::path::PathBuf);

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
