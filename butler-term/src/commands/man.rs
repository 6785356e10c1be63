//! `man`: the manual, from the program itself.

use std::{fs, io, path::PathBuf};

use butler_core::error::Code;
use clap::{Args, CommandFactory};

use crate::{CommandError, CommandResult, docs, run::Session};

/// Print the manual page, or write the pages of all commands
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Write one page per command into this directory; it is created if it is missing
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dir: Option<PathBuf>,
}

/// Examples for the help of a program.
pub fn examples(program: &str) -> String {
    format!(
        "Examples:
  {program} man | man -l -
  {program} man --dir ~/.local/share/man/man1"
    )
}

/// Runs the command.
pub fn run<P: CommandFactory>(args: &ManArgs, session: &Session) -> CommandResult {
    let pages = docs::manual(P::command()).map_err(|error| CommandError::output(&error))?;
    let Some(dir) = &args.dir else {
        return pages.first().map_or(Ok(()), |page| session.ui.text(&page.content));
    };
    let unwritable = |error: io::Error| {
        let message = format!("cannot write manual pages to `{}`", dir.display());
        CommandError::new(Code::FileUnwritable, message).caused_by(&error)
    };
    fs::create_dir_all(dir).map_err(unwritable)?;
    for page in &pages {
        fs::write(dir.join(&page.name), &page.content).map_err(unwritable)?;
    }
    session.ui.status(format_args!("wrote {} pages to {}", pages.len(), dir.display()));
    Ok(())
}
