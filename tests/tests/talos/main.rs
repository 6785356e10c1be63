//! Our Talos documents, judged by real `talosctl`.

mod configs;
mod secrets;

use std::{
    path::Path,
    process::{Command, Output},
};

use anyhow::{Result, ensure};
use butler_operator::talos::secrets::SecretsBundle;
use butler_tests::part;
use jiff::Timestamp;

/// Runs talosctl in a directory that is also its home.
fn talosctl(home: &Path, args: &[&str]) -> Result<Output> {
    let output = Command::new(part("talosctl")?)
        .args(args)
        .current_dir(home)
        .env_clear()
        .env("HOME", home)
        .output()?;
    Ok(output)
}

/// The same, when it must succeed; gives what it printed.
fn talosctl_says(home: &Path, args: &[&str]) -> Result<String> {
    let output = talosctl(home, args)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "talosctl {args:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    Ok(text)
}

fn bundle() -> Result<SecretsBundle> {
    Ok(SecretsBundle::generate(Timestamp::now())?)
}
