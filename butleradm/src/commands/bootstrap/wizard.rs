//! The questions for a new management cluster: on a full screen, or line by line.

use std::{io::IsTerminal, sync::Arc};

use butler_core::{
    bootstrap::{
        config::{ConfigError, Loaded},
        wizard::{Wizard, keep::Drafts},
    },
    settings::{Home, env, home::write_private},
};
use butler_operator::{discover::Surveyor, parts::Parts};
use butler_term::{
    CommandError, CommandResult,
    args::ConnectArgs,
    dashboard::{Opening, Origin, Start, feeds::Scout, open},
    run::Session,
    tui::Fault,
    wizard,
};
use clap::Args;
use futures::FutureExt;

use super::{plan, run, screen, source::Given};

/// How the questions are put.
#[derive(Args, Clone, Debug)]
pub(super) struct WizardArgs {
    /// Go on with the draft that was kept when the questions were left
    #[arg(long, conflicts_with = "config")]
    resume: bool,

    /// Ask line by line instead of on a full screen; for screen readers
    #[arg(long, conflicts_with_all = ["config", "tui"])]
    plain: bool,
}

/// True where a person can be asked.
pub(super) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
}

impl WizardArgs {
    /// Whether somebody wants to be asked, whatever else is there.
    pub(super) fn wanted(&self) -> bool {
        self.resume || self.plain
    }

    /// Whether they are put line by line.
    pub(super) fn is_plain(&self) -> bool {
        self.plain
    }

    /// Puts the questions, and begins the run that they come to.
    pub(super) fn run(&self, args: &run::RunArgs, session: &Session) -> CommandResult {
        if self.plain { plain(self.resume, args, session) } else { full_screen(self.resume, session) }
    }
}

/// What asks providers for the questions.
pub(in crate::commands) fn scout(session: &Session) -> CommandResult<Scout> {
    let home = Home::resolve(&session.environment)?;
    let parts = Arc::new(Parts::new(&session.environment, &home).with_settings(session.settings()?));
    let surveyor = Surveyor { home, parts, environment: session.environment.clone() };
    Ok(Arc::new(move |answers| {
        let surveyor = surveyor.clone();
        async move { surveyor.survey(&answers).await.map_err(|error| Fault::from(&error)) }.boxed()
    }))
}

fn full_screen(resume: bool, session: &Session) -> CommandResult {
    let start = Start::Wizard(if resume { Origin::Resume } else { Origin::Ask });
    let connect = ConnectArgs::default();
    let scout = Some(scout(session)?);
    screen::closed(open(Opening { start, connect: &connect, read_only: false, scout }, session)?, session)
}

fn plain(resume: bool, args: &run::RunArgs, session: &Session) -> CommandResult {
    let home = Home::resolve(&session.environment)?;
    let drafts = Drafts::new(&home);
    let draft = if resume { Some(drafts.load()?) } else { None };
    let directory =
        std::env::current_dir().map_err(|source| ConfigError::Unreadable { path: ".".into(), source })?;
    let mut wizard = Wizard::new(draft, directory.clone(), session.environment.path(env::HOME));
    let scout = scout(session)?;
    let asked = wizard::Plain { ui: &session.ui, home: &home, drafts: &drafts, scout: &*scout };
    session.block_on(asked.ask(&mut wizard))?;

    let path = wizard.file();
    let text = wizard.document();
    if std::fs::read_to_string(&path).is_ok_and(|there| there != text) {
        let question = format!("`{}` exists and is another configuration. Replace it?", path.display());
        session.block_on(session.ui.confirm(&question))?;
    }
    write_private(&path, text.as_bytes())?;
    session.ui.status(format_args!("the configuration is saved as `{}`", path.display()));
    let loaded: Loaded = wizard.read()?;
    let given = Given { name: path.display().to_string(), text: text.into(), directory, loaded };
    let config = given.loaded.config.clone();
    plan::show(&config, &given.text, &args.go.output, None, session)?;
    session.block_on(session.ui.confirm("Begin the run?")).map_err(|error| {
        let again = format!("butleradm bootstrap --config {}", path.display());
        CommandError::hint(error, again)
    })?;
    drafts.remove();
    run::start(config, &given, false, &args.go, session).map(drop)
}
