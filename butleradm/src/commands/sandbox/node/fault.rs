//! `sandbox node fault`: what should go wrong with a machine.

use butler_operator::sandbox::{
    Place, SandboxError, faults::Faults, machine::MachineDir, place::check_name, supervisor::log_files,
};
use butler_term::{CommandResult, run::Session};
use clap::Args;

use super::super::fault::ChangeArgs;

/// Show or set what goes wrong with a machine on purpose
///
/// A machine looks at its faults whenever it is about to do what a fault is about, so some take effect at
/// its next boot. Faults: slowBootSeconds=N, neverBoots=true, wrongAddress=IP, diesAfterConfig=true,
/// refusesConfig=WORDS, etcdWontJoin=true, apiServerFlapsSeconds=N, clockSkewSeconds=N, diskFull=true.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm sandbox node fault worker-0
  butleradm sandbox node fault worker-0 --set slowBootSeconds=20 --set refusesConfig='no, thank you'
  butleradm sandbox node fault mgmt-cp-0 --ahead --set neverBoots=true --name mgmt
  butleradm sandbox node fault worker-0 --clear")]
pub(crate) struct FaultArgs {
    /// Name of the machine
    #[arg(value_name = "NAME", value_parser = check_name, add = super::super::machines())]
    machine: String,

    #[command(flatten)]
    change: ChangeArgs,

    /// The machine is not there yet; every machine of that name will be made with these faults
    #[arg(long)]
    ahead: bool,
}

/// Runs the command.
pub(crate) fn run(args: &FaultArgs, place: &Place, session: &Session) -> CommandResult {
    let machine = &args.machine;
    let whose = format!("machine `{machine}`");
    if args.ahead {
        return args.change.apply::<Faults>(&whose, &place.faults_ahead(machine), session);
    }
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
    args.change.apply::<Faults>(&whose, &path, session)
}
