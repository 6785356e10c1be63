//! From `main` to an exit status: arguments, signals, the async runtime, and how failures end.

use std::{ffi::OsString, future::Future, process::ExitCode};

use butler_core::{
    cluster::{ConnectOptions, Connection, connect},
    error::Code,
    settings::{Environment, Settings, SettingsError, Sources},
};
use clap::{ArgMatches, CommandFactory, FromArgMatches, ValueEnum};

use crate::{
    CommandError, CommandResult,
    args::{Color, ConnectArgs, GlobalArgs, OutputArgs},
    output::Format,
    ui::Ui,
};

/// What every command gets: the streams, the flags all commands share, and the environment.
#[derive(Debug)]
pub struct Session {
    /// Where words go.
    pub ui: Ui,
    /// Flags every command has.
    pub global: GlobalArgs,
    /// The environment, captured at the start.
    pub environment: Environment,
    settings: Result<Settings, SettingsError>,
}

impl Session {
    fn new(mut global: GlobalArgs, environment: Environment) -> Self {
        let sources = Sources { flags: global.settings(), ..Sources::of(&environment) };
        let settings = Settings::resolve(&sources);
        if let Ok(settings) = &settings {
            global.color = Color::from_str(&settings.color, true).ok();
        }
        Self { ui: Ui::new(&global, &environment), global, environment, settings }
    }

    /// The settings, or everything that is wrong with them.
    pub fn settings(&self) -> CommandResult<&Settings> {
        self.settings.as_ref().map_err(CommandError::from)
    }

    /// The format of the command's output: that of the flag, else of the settings. Settings that
    /// cannot be used are no reason to hide a page of `explain`, so the table is used then.
    pub fn format(&self, args: &OutputArgs) -> Format {
        if let Some(format) = &args.output {
            return format.clone();
        }
        match &self.settings {
            Ok(settings) => settings.output.parse().unwrap_or_default(),
            Err(error) => {
                self.ui.warning(format_args!("settings are not used: {error}"));
                Format::default()
            }
        }
    }

    /// Runs asynchronous work to its end, or until Ctrl-C or SIGTERM. Commands that need no network
    /// never come here and so pay for no runtime.
    pub fn block_on<T>(&self, work: impl Future<Output = CommandResult<T>>) -> CommandResult<T> {
        // Fails only when a provider is installed already, and then it is this one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| CommandError::new(Code::Internal, "cannot start the async runtime").caused_by(&e))?;
        runtime.block_on(async {
            let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
                .map_err(|e| CommandError::new(Code::Internal, "cannot listen for signals").caused_by(&e))?;
            tokio::select! {
                result = work => result,
                _ = tokio::signal::ctrl_c() => Err(CommandError::new(Code::Interrupted, "interrupted")),
                _ = terminate.recv() => Err(CommandError::new(Code::Interrupted, "terminated")),
            }
        })
    }

    /// Finds the management cluster; says on stderr what the person should know about the identity.
    pub async fn connect(&self, args: &ConnectArgs) -> CommandResult<Connection> {
        let options = ConnectOptions {
            kubeconfig: args.kubeconfig.clone(),
            context: self.global.context.clone(),
            request_timeout: self.settings()?.request_timeout,
        };
        let connection = connect(&options, &self.environment).await?;
        connection.warnings.iter().for_each(|warning| self.ui.warning(format_args!("{warning}")));
        Ok(connection)
    }
}

/// A program: its command line and what to do with it.
pub trait Program: CommandFactory + FromArgMatches {
    /// The flags every command has.
    fn global(&self) -> &GlobalArgs;

    /// Runs the chosen command.
    fn run(self, session: &Session) -> CommandResult;
}

/// Runs a program on the arguments of this process.
pub fn main<P: Program>() -> ExitCode {
    run::<P>(std::env::args_os(), Environment::capture())
}

fn run<P: Program>(args: impl IntoIterator<Item = OsString>, environment: Environment) -> ExitCode {
    let parsed = P::command().try_get_matches_from(args).and_then(|mut matches| {
        let format = format_of(&matches);
        P::from_arg_matches_mut(&mut matches).map(|program| (program, format))
    });
    let (program, format) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            // Help and version are data and end well; the rest is usage.
            let code = if error.use_stderr() { 2 } else { 0 };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let session = Session::new(program.global().clone(), environment);
    match program.run(&session) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.print(
                &session.ui,
                &format.or_else(|| session.settings.as_ref().ok()?.output.parse().ok()).unwrap_or_default(),
            );
            ExitCode::from(error.exit_code())
        }
    }
}

/// The value of `-o`, whichever command it stands on.
fn format_of(matches: &ArgMatches) -> Option<Format> {
    let mut matches = matches;
    while let Some((_, inner)) = matches.subcommand() {
        matches = inner;
    }
    matches.try_get_one::<Format>("output").ok().flatten().cloned()
}
