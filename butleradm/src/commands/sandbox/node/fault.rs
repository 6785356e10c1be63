//! `sandbox node fault`: what should go wrong with a machine.

use butler_core::error::Code;
use butler_operator::sandbox::{
    Place, SandboxError, faults::Faults, machine::MachineDir, supervisor::log_files,
};
use butler_term::{CommandError, CommandResult, run::Session};
use clap::Args;

/// Show or set what goes wrong with a machine on purpose
///
/// A machine looks at its faults whenever it is about to do what a fault is about, so some take effect at
/// its next boot. Faults: slowBootSeconds=N, neverBoots=true, wrongAddress=IP, diesAfterConfig=true,
/// refusesConfig=WORDS, etcdWontJoin=true, apiServerFlapsSeconds=N, clockSkewSeconds=N, diskFull=true.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm sandbox node fault worker-0
  butleradm sandbox node fault worker-0 --set slowBootSeconds=20 --set refusesConfig='no, thank you'
  butleradm sandbox node fault worker-0 --clear")]
pub(crate) struct FaultArgs {
    /// Name of the machine
    #[arg(value_name = "NAME", add = super::super::machines())]
    machine: String,

    /// Set a fault; can be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,

    /// Remove the faults that are set, before any --set
    #[arg(long)]
    clear: bool,
}

fn pair(text: &str) -> Result<(String, String), &'static str> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    pair.map(|(key, value)| (key.to_owned(), value.to_owned())).ok_or("it has the form KEY=VALUE")
}

/// Runs the command.
pub(crate) fn run(args: &FaultArgs, place: &Place, session: &Session) -> CommandResult {
    let machine = &args.machine;
    if place.machine_file(machine).is_none() {
        let known = log_files(place).into_iter().map(|(name, _)| name);
        let known = known.filter(|name| place.machine_file(name).is_some());
        let error = SandboxError::NoSuchPart {
            name: place.name().to_owned(),
            part: machine.clone(),
            known: known.collect(),
        };
        return Err(error.into());
    }
    let path = MachineDir(place.machines().join(machine)).faults_file();
    let mut faults = match Faults::read(&path) {
        // What cannot be read can still be cleared.
        Err(_) if args.clear => Faults::default(),
        Err(error) => {
            let message = format!("cannot read the faults of machine `{machine}`");
            return Err(CommandError::new(Code::FaultUnknown, message).caused_by(&error));
        }
        Ok(_) if args.clear => Faults::default(),
        Ok(faults) => faults,
    };
    for (name, value) in &args.set {
        faults = faults.with(name, value)?;
    }
    if args.clear || !args.set.is_empty() {
        faults.write(&path)?;
    }
    let set: String = faults.set().into_iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    if set.is_empty() {
        session.ui.status(format_args!("machine `{machine}` has no faults"));
    }
    session.ui.text(&set)
}
