//! Opens the screen and closes it again.

use butler_core::{
    bootstrap::run::Runs,
    error::Code,
    event::{Event, RunId},
    settings::Home,
    tenant::Scope,
};

use super::{
    Dashboard, Origin,
    feeds::{Feeds, Means, Scout},
    keys::TABLE,
    tabs::{
        Tab,
        bootstrap::{Beginning, Bootstrap},
        clusters::Clusters,
        overview::Overview,
    },
};
use crate::{
    CommandError, CommandResult,
    args::ConnectArgs,
    run::Session,
    tui::{
        Fault, Keymap, Mail, Theme, Worker,
        event_loop::{self, Context},
        input::Input,
        terminal::Owned,
        theme::Palette,
    },
};

/// What is to be seen first.
#[derive(Debug)]
pub enum Start {
    /// The management cluster, and everything else beside it.
    Overview,
    /// One run, and nothing else.
    Run(RunId),
    /// A run of the past as it went, so many times as fast, or without any pause.
    Replay {
        /// The run.
        id: RunId,
        /// Its events.
        events: Vec<Event>,
        /// How many times as fast.
        speed: Option<f64>,
    },
    /// A run that is begun with these arguments of this program.
    Launch(Vec<String>),
    /// The questions for a new management cluster; with the draft of earlier ones or without.
    Wizard(Origin),
}

/// How the screen is opened.
pub struct Opening<'a> {
    /// What is to be seen first.
    pub start: Start,
    /// How the cluster is found.
    pub connect: &'a ConnectArgs,
    /// Only looking is allowed.
    pub read_only: bool,
    /// Asks a provider what it has.
    pub scout: Option<Scout>,
}

/// What was there when the person left.
#[derive(Debug, Default)]
pub struct Closed {
    /// The run on the screen, and whether somebody works on it.
    pub run: Option<(RunId, bool)>,
    /// Why a program that was started did not do what it was to do.
    pub trouble: Option<Fault>,
    /// What is to be said now that the screen is gone.
    pub word: Option<String>,
}

/// Opens the screen, and returns when the person has left it.
pub fn open(opening: Opening<'_>, session: &Session) -> CommandResult<Closed> {
    let settings = session.settings()?;
    let keymap = Keymap::new(TABLE, &settings.tui_keys, opening.read_only)?;
    let palette = Palette::choose(&settings.tui_theme, session.ui.stdout_has_color(), &session.environment);
    let program = std::env::current_exe().map_err(|error| {
        CommandError::new(Code::Internal, "cannot tell where this program is").caused_by(&error)
    })?;
    let (beginning, replay) = match opening.start {
        Start::Overview => (Beginning::List, None),
        Start::Run(id) => (Beginning::Run(id), None),
        Start::Replay { id, events, speed } => (Beginning::Replay(id), Some((events, speed))),
        Start::Launch(args) => (Beginning::Launch(args), None),
        Start::Wizard(origin) => (Beginning::Wizard(origin), None),
    };
    let alone = !matches!(beginning, Beginning::List);
    let tabs: Vec<Box<dyn Tab>> = if alone {
        vec![Box::new(Bootstrap::new(beginning, true))]
    } else {
        vec![
            Box::new(Bootstrap::new(beginning, false)),
            Box::new(Overview::default()),
            Box::new(Clusters::new()),
        ]
    };
    let means = Means {
        connect: session.connect_options(opening.connect)?,
        environment: session.environment.clone(),
        scope: Scope::default(),
        runs: Home::resolve(&session.environment).ok().map(|home| Runs::new(&home)),
        program,
        scout: opening.scout,
        replay,
    };
    let mut dashboard = Dashboard::new(tabs, 1, keymap, Theme::new(palette), !alone);
    let mouse = settings.tui_mouse;
    session.full_screen(async {
        let (mail, inbox) = Mail::channel();
        let mut feeds = Feeds::new(Worker::start()?, mail, means);
        let mut screen = Owned::take(&session.environment, mouse)?;
        let context = Context { inbox, environment: &session.environment };
        dashboard.begin().into_iter().for_each(|effect| feeds.start(effect));
        event_loop::run(&mut dashboard, &mut screen, Input::new, context, |effect| feeds.start(effect)).await
    })?;
    Ok(dashboard.closed())
}
