//! `sandbox reset`: stops the sandbox and removes its data.

use std::path::Path;

use butler_core::error::Code;
use butler_operator::sandbox::{
    Place,
    supervisor::{holder, remove},
};
use butler_term::{CommandError, CommandResult, output::counted, run::Session};
use clap::Args;

use super::down::stop;

/// Stop the sandbox and remove everything in it
///
/// Says what goes and asks for the name of the sandbox. The programs that were installed stay.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm sandbox reset
  butleradm sandbox reset --dry-run
  butleradm sandbox reset --name second --yes second")]
pub(crate) struct ResetArgs {
    /// Do not ask; must be the name of the sandbox
    #[arg(short, long, value_name = "NAME")]
    yes: Option<String>,

    /// Say what would be removed, but remove nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub(crate) fn run(args: &ResetArgs, place: &Place, session: &Session) -> CommandResult {
    let name = place.name();
    if !place.dir().exists() {
        session.ui.status(format_args!("there is no sandbox `{name}`"));
        return Ok(());
    }
    let machines =
        place.machines().read_dir().map_or(0, |entries| entries.flatten().filter(is_machine).count());
    let running = if holder(place).is_some() { "running" } else { "stopped" };
    session.ui.status(format_args!(
        "sandbox `{name}` ({running}) with {}, {} MiB in {}",
        counted(machines, "machine"),
        size(place.dir()) >> 20,
        place.dir().display(),
    ));
    if args.dry_run {
        session.ui.status(format_args!("nothing was removed (dry run)"));
        return Ok(());
    }
    match &args.yes {
        Some(yes) if yes == name => {}
        Some(yes) => {
            let message = format!("nothing was done: --yes names `{yes}`, and the sandbox is `{name}`");
            return Err(CommandError::new(Code::Usage, message));
        }
        None => session.block_on(async { session.ui.confirm_name("remove sandbox", name).await })?,
    }
    stop(place, session)?;
    remove(place)?;
    session.ui.status(format_args!("sandbox `{name}` is removed"));
    Ok(())
}

fn is_machine(entry: &std::fs::DirEntry) -> bool {
    !entry.file_name().to_string_lossy().starts_with('.')
}

/// Bytes below a directory; what vanishes meanwhile does not count.
fn size(dir: &Path) -> u64 {
    let entries = dir.read_dir().into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let meta = entry.metadata().ok()?;
            Some(if meta.is_dir() { size(&entry.path()) } else { meta.len() })
        })
        .sum()
}
