//! From `main` to an exit status: arguments, signals, the async runtime, and how failures end.

use std::{
    ffi::OsString,
    future::Future,
    io::{self, IsTerminal, Write},
    panic::PanicHookInfo,
    process::ExitCode,
};

use butler_core::{
    cluster::{ConnectOptions, Connection, connect},
    error::{Code, Diagnose},
    settings::{Environment, Settings, SettingsError, Sources},
};
use clap::{ArgMatches, CommandFactory, FromArgMatches, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};
use tracing::Level;
use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{
    CommandError, CommandResult,
    args::{Color, ConnectArgs, GlobalArgs, OutputArgs, raw_value},
    complete,
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
                let mut problems = error.problems();
                problems.insert(0, error.to_string());
                self.ui.warning(format_args!("settings are not used: {}", problems.join("\n  ")));
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
            let listen = |kind| {
                signal(kind)
                    .map_err(|e| CommandError::new(Code::Internal, "cannot listen for signals").caused_by(&e))
            };
            let (mut interrupt, mut terminate) =
                (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
            tokio::select! {
                result = work => result,
                _ = interrupt.recv() => Err(CommandError::new(Code::Interrupted, "interrupted")),
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
        self.ui.detail(format_args!("using {}", connection.source));
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
    std::panic::set_hook(Box::new(defect));
    let args: Vec<OsString> = std::env::args_os().collect();
    let environment = Environment::capture();
    complete::answer::<P>(&args, &environment).unwrap_or_else(|| run::<P>(&args, environment))
}

fn run<P: Program>(args: &[OsString], environment: Environment) -> ExitCode {
    let parsed = P::command().color(usage_color(args, &environment)).try_get_matches_from(args).and_then(
        |mut matches| {
            let format = format_of(&matches);
            P::from_arg_matches_mut(&mut matches).map(|program| (program, format))
        },
    );
    let (program, format) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return usage(&error, args, &environment),
    };
    let session = Session::new(program.global().clone(), environment);
    log(&session);
    let format = format.or_else(|| session.settings.as_ref().ok()?.output.parse().ok()).unwrap_or_default();
    match format.check().and_then(|()| program.run(&session)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.print(&session.ui, &format);
            ExitCode::from(error.exit_code())
        }
    }
}

/// Ends a run that clap ended: help and version are data, the rest is a usage error.
fn usage(error: &clap::Error, args: &[OsString], environment: &Environment) -> ExitCode {
    use clap::error::ErrorKind;

    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // A bare group shows what is in it; that is an answer, not a mistake.
        let mut stdout = anstream::AutoStream::new(
            io::stdout().lock(),
            match usage_color(args, environment) {
                clap::ColorChoice::Always => anstream::ColorChoice::AlwaysAnsi,
                clap::ColorChoice::Never => anstream::ColorChoice::Never,
                clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
            },
        );
        let _ = write!(stdout, "{}", error.render().ansi());
        return ExitCode::SUCCESS;
    }
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if raw_value(args, "--output", Some('o')).as_deref() == Some("json") {
        let ui = Ui::new(&GlobalArgs::default(), environment);
        CommandError::usage(error).print(&ui, &Format::Json);
    } else {
        let _ = error.print();
    }
    ExitCode::from(Code::Usage.kind().exit_code())
}

/// Colours of help and usage errors, which are printed before the flags are known.
fn usage_color(args: &[OsString], environment: &Environment) -> clap::ColorChoice {
    let flag = raw_value(args, "--color", None).and_then(|value| Color::from_str(&value, true).ok());
    match flag.unwrap_or_default() {
        Color::Always => clap::ColorChoice::Always,
        color if color.is_on(environment, true) => clap::ColorChoice::Auto,
        _ => clap::ColorChoice::Never,
    }
}

/// Sends the logs of `-v` and `-vv` to stderr. Only targets that are known to log no secrets.
fn log(session: &Session) {
    let level = match session.ui.verbosity() {
        0 => return,
        1 => Level::INFO,
        _ => Level::DEBUG,
    };
    let targets = Targets::new().with_default(Level::WARN).with_targets(
        ["butler_core", "butler_operator", "butler_term", "kube"].map(|target| (target, level)),
    );
    let layer =
        tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(session.ui.stderr_has_color());
    tracing_subscriber::registry().with(layer).with(targets).init();
}

/// What a person sees of a defect: where it is, how to report it, and a usable terminal.
#[expect(clippy::exit, clippy::disallowed_methods, reason = "a panic has no way back to main")]
fn defect(panic: &PanicHookInfo<'_>) {
    let mut stderr = io::stderr().lock();
    let cursor = if stderr.is_terminal() { "\x1b[?25h" } else { "" };
    let payload = panic.payload();
    let message =
        payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
    let message = message.unwrap_or("no message");
    let place = panic.location().map(|place| format!(" at {place}")).unwrap_or_default();
    let code = Code::Internal;
    let _ = writeln!(stderr, "{cursor}error[{code}]: {}: {message}{place}", code.page().title);
    for hint in code.page().next {
        let _ = writeln!(stderr, "hint: {hint}");
    }
    std::process::exit(code.kind().exit_code().into());
}

/// The value of `-o`, whichever command it stands on.
fn format_of(matches: &ArgMatches) -> Option<Format> {
    let mut matches = matches;
    while let Some((_, inner)) = matches.subcommand() {
        matches = inner;
    }
    matches.try_get_one::<Format>("output").ok().flatten().cloned()
}
