//! `bootstrap plan`

use std::path::{Path, PathBuf};

use butler_core::{
    bootstrap::{
        config::Config,
        plan::{Past, Plan, PlanError, PlanInput, plan},
        run::{RunState, Runs},
    },
    error::Code,
    redact::Secret,
    settings::home::write_private,
};
use butler_operator::{
    addons::{Mirror, known_digests},
    bootstrap::Look,
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
    let plan = make(config, text, None, session)?;
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
    let moved = then.moved(&make(config, text, then.world.secrets_salt.clone(), session)?);
    if moved.is_empty() { Ok(()) } else { Err(PlanError::Moved { moved }.into()) }
}

fn contents(path: &Path) -> CommandResult<String> {
    std::fs::read_to_string(path).map_err(|error| {
        CommandError::new(Code::FileUnreadable, format!("cannot read `{}`", path.display())).caused_by(&error)
    })
}

/// Looks at the world and decides. Changes nothing. `salt` is that of the plan it is compared with.
fn make(config: &Config, text: &Secret, salt: Option<String>, session: &Session) -> CommandResult<Plan> {
    let (machines, missing) = setup::looking(config, session)?;
    let runs = Runs::new(&machines.home);
    let look = Look {
        config,
        text,
        machines: &machines,
        missing: &missing,
        runs: &runs,
        environment: &session.environment,
        salt,
    };
    let world = session.block_on(async { Ok(look.world().await?) })?;
    let past: Vec<RunState> = runs.list()?.into_iter().filter_map(|(_, state)| state.ok()).collect();
    let mirror = config.charts.mirror.as_deref().map(Mirror::parse);
    // Who owns what charts make is known only in a run, and is no part of a plan.
    let addons = setup::addons(config, mirror.as_ref(), "");
    Ok(plan(&PlanInput {
        config,
        addons: &addons,
        images: images(config),
        digests: known_digests(&addons, mirror.as_ref()),
        past: Past::of(&past, &config.provider_kind()),
        world,
    }))
}
