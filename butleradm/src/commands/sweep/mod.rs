//! `sweep`

mod report;

use std::{path::PathBuf, sync::Arc, time::Duration};

use butler_core::{
    api::{common::ProviderRef, names::namespaces},
    bootstrap::run::Runs,
    error::Code,
    settings::{Home, keys::duration},
};
use butler_operator::{
    bootstrap::sweep::{self, Candidate},
    driver::{
        Driver,
        registry::{self, Connect},
        sandbox::SandboxDriver,
    },
    sandbox::{Place, supervisor},
};
use butler_term::{
    CommandError, CommandResult,
    args::{ConnectArgs, OutputArgs},
    complete,
    run::Session,
};
use clap::{Args, ValueHint};

use self::report::{Report, Row};
use super::bootstrap::{setup::Setup, source::ConfigArgs};

/// Find what runs left behind at a provider
///
/// Lists every machine and load balancer that carries the mark of a run, with its age and why it is thought an
/// orphan or not. Four must agree: the tag names a run, it is old enough, the run's journal does not need it, and
/// no process works on the run and no cluster answers on its machines. With --delete those on which all four agree
/// are removed; machines of a cluster that was made are never among them. Looks at every sandbox of this computer
/// unless a provider is named.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm sweep
  butleradm sweep --config bootstrap.yaml --older-than 1h -o json
  butleradm sweep --provider sandbox --delete --yes sandbox")]
pub(crate) struct SweepArgs {
    /// Look at the provider of this configuration
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "provider")]
    config: Option<PathBuf>,

    /// Look at the provider of this ProviderConfig of a management cluster
    #[arg(long, value_name = "NAME", add = complete::providers())]
    provider: Option<String>,

    /// Namespace of the ProviderConfig
    #[arg(short, long, value_name = "NAMESPACE", default_value = namespaces::SYSTEM, add = complete::namespaces())]
    namespace: String,

    /// How old an orphan must be
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = duration)]
    older_than: Duration,

    /// Remove the orphans
    #[arg(long)]
    delete: bool,

    /// Do not ask; must be the name of the provider or sandbox
    #[arg(short, long, value_name = "NAME", requires = "delete")]
    yes: Option<String>,

    #[command(flatten)]
    connect: ConnectArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// Where to look.
struct Source {
    name: String,
    /// None for a sandbox that does not run.
    driver: Option<Arc<dyn Driver>>,
    place: Option<Place>,
}

/// Runs the command.
pub(crate) fn run(args: &SweepArgs, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    format.check()?;
    let home = Home::resolve(&session.environment)?;
    let runs = Runs::new(&home);
    let now = session.environment.now();
    let mut report = Report::default();
    session.block_on(async {
        let sources = sources(args, &home, session).await?;
        if args.delete && sources.len() > 1 {
            let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
            let message = format!("--delete needs one provider; there are {}", names.join(", "));
            return Err(
                CommandError::new(Code::Usage, message).hint("butleradm sweep --config FILE --delete")
            );
        }
        for Source { name, driver, place } in sources {
            let mut found = match (&driver, &place) {
                (Some(driver), _) => sweep::look(driver, &runs, args.older_than, now).await?,
                (None, Some(place)) => {
                    session
                        .ui
                        .status(format_args!("sandbox `{name}` does not run; this is what it has on disk"));
                    sweep::look_at_disk(place, &runs, args.older_than, now).await
                }
                (None, None) => Vec::new(),
            };
            let orphans = found.iter().filter(|one| one.orphan).count();
            if args.delete && orphans > 0 {
                let Some(driver) = &driver else {
                    let message = format!("sandbox `{name}` does not run, so nothing can be removed from it");
                    return Err(CommandError::new(Code::SandboxNotRunning, message));
                };
                confirm(args, &name, &found, session).await?;
                sweep::remove(driver, &runs, args.older_than, now, &mut found).await?;
            }
            report.items.extend(found.into_iter().map(|candidate| Row { provider: name.clone(), candidate }));
        }
        Ok(())
    })?;
    session.ui.render(&report, &format)?;
    if format.is_for_people() {
        report.conclude(args.delete, session);
    }
    Ok(())
}

async fn sources(args: &SweepArgs, home: &Home, session: &Session) -> CommandResult<Vec<Source>> {
    let of_place = |place: Place| {
        let driver = supervisor::holder(&place)
            .map(|_| Arc::new(SandboxDriver::new(place.host_socket())) as Arc<dyn Driver>);
        Source { name: place.name().to_owned(), driver, place: Some(place) }
    };
    if let Some(name) = &args.provider {
        let connection = session.connect(&args.connect).await?;
        let connect: Connect = Arc::new(registry::connect);
        let reference = ProviderRef { name: name.clone(), namespace: None };
        let driver = registry::driver_of(&connection.client, &connect, &args.namespace, &reference).await?;
        return Ok(vec![Source { name: name.clone(), driver: Some(driver), place: None }]);
    }
    if args.config.is_some() {
        let config = ConfigArgs { config: args.config.clone() }.load(None, session)?.loaded.config;
        let setup = Setup::new(&config, session)?;
        if let Some(place) = setup.machines.place(&config) {
            return Ok(vec![of_place(place)]);
        }
        let (name, driver) = (config.provider_kind().to_string(), setup.machines.driver(&config)?);
        return Ok(vec![Source { name, driver: Some(driver), place: None }]);
    }
    let names = home.sandboxes().into_iter().filter_map(|dir| dir.file_name()?.to_str().map(str::to_owned));
    let places = names.map(|name| Place::new(home, &name));
    Ok(places.filter(Place::exists).map(of_place).collect())
}

async fn confirm(args: &SweepArgs, name: &str, found: &[Candidate], session: &Session) -> CommandResult {
    for one in found.iter().filter(|one| one.orphan) {
        session.ui.status(format_args!("to be removed: {} `{}` of run `{}`", one.kind, one.name, one.run));
    }
    match &args.yes {
        Some(yes) if yes == name => Ok(()),
        Some(yes) => {
            let message = format!("nothing was done: --yes names `{yes}`, and the provider is `{name}`");
            Err(CommandError::new(Code::Usage, message))
        }
        None => session.ui.confirm_name("remove the orphans at", name).await,
    }
}
