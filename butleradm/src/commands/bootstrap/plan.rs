//! `bootstrap plan`

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use butler_core::{
    bootstrap::{
        config::{Config, RuntimeKind},
        plan::{Past, Plan, PlanError, PlanInput, World, answers, plan},
        run::{RunState, Runs},
    },
    error::Code,
    redact::Secret,
    settings::{Home, home::write_private},
};
use butler_operator::{
    addons::Mirror,
    parts::{self, Parts},
    talos::images::images,
};
use butler_term::{
    CommandError, CommandResult,
    args::OutputArgs,
    output::{Format, to_json},
    run::Session,
};
use clap::{Args, ValueHint};

use super::{plan_report::PlanReport, setup, source::ConfigArgs};

/// How long the shared address may take to answer.
const VIP_LIMIT: Duration = Duration::from_secs(1);

/// Show what a bootstrap would do
///
/// Steps, machines, objects, addresses, images and charts, and how long it should take. Nothing is changed,
/// here or at the provider. A plan that was written to a file can be given to `bootstrap run --plan`, which
/// refuses when the world is not as it was.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm bootstrap plan --config examples/sandbox.yaml
  butleradm bootstrap plan --config bootstrap.yaml -o json
  butleradm bootstrap plan --config bootstrap.yaml --out plan.json")]
pub(super) struct PlanArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// Also write the plan to this file, readable by you alone
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub(super) fn run(args: &PlanArgs, session: &Session) -> CommandResult {
    let given = args.config.load(None, session)?;
    for warning in &given.loaded.warnings {
        session.ui.warning(format_args!("{}:{}: {}", given.name, warning.line, warning.message));
    }
    show(&given.loaded.config, &given.text, &args.output, args.out.as_deref(), session)
}

/// Makes the plan of a configuration, prints it, and writes it to a file if there is one.
pub(super) fn show(
    config: &Config,
    text: &Secret,
    output: &OutputArgs,
    out: Option<&Path>,
    session: &Session,
) -> CommandResult {
    let format = session.format(output);
    let plan = make(config, text, session)?;
    if let Some(path) = out {
        write_private(path, to_json(&plan)?.as_bytes())?;
    }
    session.ui.render(&PlanReport(&plan), &format)?;
    if let (Some(path), Format::Table | Format::Wide) = (out, &format) {
        session.ui.status(format_args!("plan written to `{}`", path.display()));
    }
    Ok(())
}

/// Refuses to go on when a plan that was made earlier does not hold any more.
pub(super) fn must_hold(path: &Path, config: &Config, text: &Secret, session: &Session) -> CommandResult {
    let then = Plan::from_json(&contents(path)?)?;
    let moved = then.moved(&make(config, text, session)?);
    if moved.is_empty() { Ok(()) } else { Err(PlanError::Moved { moved }.into()) }
}

fn contents(path: &Path) -> CommandResult<String> {
    std::fs::read_to_string(path).map_err(|error| {
        CommandError::new(Code::FileUnreadable, format!("cannot read `{}`", path.display())).caused_by(&error)
    })
}

/// Looks at the world and decides. Changes nothing.
fn make(config: &Config, text: &Secret, session: &Session) -> CommandResult<Plan> {
    let home = Home::resolve(&session.environment)?;
    let runs = Runs::new(&home).list()?.into_iter();
    let runs: Vec<RunState> = runs.filter_map(|(_, state)| state.ok()).collect();
    let world = session.block_on(look(config, text, &home, session))?;
    let base = std::env::current_dir().unwrap_or_default();
    let mirror = config.charts.mirror.as_deref().map(|mirror| Mirror::parse(mirror, &base));
    // Who owns what charts make is known only in a run, and is no part of a plan.
    let addons = setup::addons(config, mirror.as_ref(), "");
    Ok(plan(&PlanInput {
        config,
        addons: &addons,
        images: images(config),
        past: Past::of(&runs, &config.provider_kind()),
        world,
    }))
}

async fn look(config: &Config, text: &Secret, home: &Home, session: &Session) -> CommandResult<World> {
    let mut world = World::of(text.expose().as_bytes());
    if let Some(vip) = config.network.vip {
        world.vip_answers = Some(answers(SocketAddr::from((vip, 6443)), VIP_LIMIT).await);
    }
    let parts = Parts::new(&session.environment, home).with_settings(session.settings()?);
    let wanted = match config.bootstrap_cluster.runtime {
        RuntimeKind::Process => vec![&parts::ETCD, &parts::KUBE_APISERVER, &parts::HELM],
        RuntimeKind::Kind => vec![&parts::KIND, &parts::HELM],
    };
    for part in wanted {
        // One that is missing is installed by the run.
        if let Ok(found) = parts.find(part).await {
            world.programs.insert(part.name.to_owned(), found.version.to_string());
        }
    }
    Ok(world)
}
