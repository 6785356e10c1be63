//! `bootstrap`: from a configuration file to a management cluster.

mod abort;
mod destroy;
mod destroy_report;
pub(super) mod go;
pub(super) mod kept;
mod list;
mod logs;
mod made;
mod merge;
mod plan;
mod plan_report;
mod plan_seen;
mod rehearse;
mod repair;
mod replay;
mod report;
mod resume;
pub(super) mod run;
pub(super) mod runs;
mod schema;
pub(super) mod screen;
pub(super) mod setup;
pub(super) mod source;
mod status;
mod validate;
mod validation;
mod wizard;

pub(super) use wizard::scout;

use butler_core::api::common::ProviderKind;
use butler_term::{
    CommandResult,
    run::{Logs, Session},
};
use clap::{Args, Subcommand};

/// Make a management cluster, from a configuration file or question by question
///
/// With --config alone it makes the cluster, as `bootstrap run` does. Alone on a terminal it asks what the
/// cluster is to be, saves the answers as a configuration file, shows the plan and begins the run; secrets
/// stay outside of that file. Every run keeps a journal under the
/// Butler home: what it will do before it does it, and what became of it. So a run that was interrupted can
/// be looked at and taken up again.
#[derive(Args, Debug)]
#[command(
    // On a terminal the questions begin; elsewhere nobody can answer them.
    arg_required_else_help = !wizard::can_ask(),
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  butleradm bootstrap
  butleradm bootstrap --config examples/sandbox.yaml
  butleradm bootstrap validate --config bootstrap.yaml
  butleradm bootstrap plan --config bootstrap.yaml
  butleradm bootstrap status --watch
  butleradm bootstrap resume
  butleradm bootstrap destroy mgmt"
)]
pub(crate) struct BootstrapArgs {
    #[command(subcommand)]
    command: Option<BootstrapCommand>,

    #[command(flatten)]
    run: run::RunArgs,

    #[command(flatten)]
    wizard: wizard::WizardArgs,
}

#[derive(Debug, Subcommand)]
enum BootstrapCommand {
    Plan(plan::PlanArgs),
    Run(run::RunArgs),
    Resume(resume::ResumeArgs),
    Abort(abort::AbortArgs),
    Destroy(destroy::DestroyArgs),
    Repair(repair::RepairArgs),
    Rehearse(rehearse::RehearseArgs),
    Validate(validate::BootstrapValidateArgs),
    Schema(schema::BootstrapSchemaArgs),
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
    Status(status::StatusArgs),
    Logs(logs::LogsArgs),
    Replay(replay::ReplayArgs),
    /// Make a management cluster on Harvester
    Harvester(run::RunArgs),
    /// Make a management cluster on Nutanix
    Nutanix(run::RunArgs),
    /// Make a management cluster on Proxmox VE
    Proxmox(run::RunArgs),
    /// Make a management cluster on Amazon Web Services
    Aws(run::RunArgs),
    /// Make a management cluster on Microsoft Azure
    Azure(run::RunArgs),
    /// Make a management cluster on Google Cloud
    Gcp(run::RunArgs),
    /// Make a management cluster of a KIND cluster on this computer
    Local(run::RunArgs),
    /// Make a management cluster of simulated machines on this computer
    Sandbox(run::RunArgs),
}

impl BootstrapArgs {
    /// What commands that work on a run share.
    fn go(&self) -> Option<&go::GoArgs> {
        use BootstrapCommand as Command;

        match &self.command {
            None => Some(&self.run.go),
            Some(
                Command::Run(args)
                | Command::Harvester(args)
                | Command::Nutanix(args)
                | Command::Proxmox(args)
                | Command::Aws(args)
                | Command::Azure(args)
                | Command::Gcp(args)
                | Command::Local(args)
                | Command::Sandbox(args),
            ) => Some(&args.go),
            Some(Command::Resume(args)) => Some(&args.go),
            Some(Command::Rehearse(args)) => Some(&args.go),
            Some(_) => None,
        }
    }

    /// Whether the questions are put: somebody wants it, or there is neither a command nor a configuration
    /// and a person who can answer.
    fn asks(&self) -> bool {
        self.command.is_none() && (self.wizard.wanted() || self.run.is_bare() && wizard::can_ask())
    }

    /// How the chosen command logs: a run into its directory, a screen into a file.
    pub(crate) fn logs(&self) -> Logs {
        if self.asks() && !self.wizard.is_plain() {
            return Logs::File;
        }
        let tui = match &self.command {
            Some(BootstrapCommand::Status(args)) => args.tui,
            Some(BootstrapCommand::Replay(args)) => args.tui,
            _ => false,
        };
        match self.go() {
            Some(go) if go.tui => Logs::File,
            Some(_) => Logs::Run,
            None if tui => Logs::File,
            None => Logs::OnDemand,
        }
    }
}

/// Runs the chosen command.
pub(crate) fn run(args: &BootstrapArgs, session: &Session) -> CommandResult {
    if args.asks() {
        return args.wizard.run(&args.run, session);
    }
    if args.go().is_some_and(|go| go.tui) {
        return screen::launch(session);
    }
    let Some(command) = &args.command else { return run::run(&args.run, None, session) };
    let of = |provider: ProviderKind, args| run::run(args, Some(&provider), session);
    match command {
        BootstrapCommand::Plan(args) => plan::run(args, session),
        BootstrapCommand::Run(args) => run::run(args, None, session),
        BootstrapCommand::Resume(args) => resume::run(args, session),
        BootstrapCommand::Abort(args) => abort::run(args, session),
        BootstrapCommand::Destroy(args) => destroy::run(args, session),
        BootstrapCommand::Repair(args) => repair::run(args, session),
        BootstrapCommand::Rehearse(args) => rehearse::run(args, session),
        BootstrapCommand::Validate(args) => validate::run(args, session),
        BootstrapCommand::Schema(args) => schema::run(args, session),
        BootstrapCommand::List(args) => list::run(args, session),
        BootstrapCommand::Status(args) => status::run(args, session),
        BootstrapCommand::Logs(args) => logs::run(args, session),
        BootstrapCommand::Replay(args) => replay::run(args, session),
        BootstrapCommand::Harvester(args) => of(ProviderKind::Harvester, args),
        BootstrapCommand::Nutanix(args) => of(ProviderKind::Nutanix, args),
        BootstrapCommand::Proxmox(args) => of(ProviderKind::Proxmox, args),
        BootstrapCommand::Aws(args) => of(ProviderKind::Aws, args),
        BootstrapCommand::Azure(args) => of(ProviderKind::Azure, args),
        BootstrapCommand::Gcp(args) => of(ProviderKind::Gcp, args),
        BootstrapCommand::Local(args) => of(ProviderKind::Local, args),
        BootstrapCommand::Sandbox(args) => of(ProviderKind::Sandbox, args),
    }
}
