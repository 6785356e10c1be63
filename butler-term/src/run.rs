//! From `main` to an exit status: arguments, signals, the async runtime, and how failures end.

use std::{
    ffi::OsString,
    fs::{File, OpenOptions},
    future::Future,
    io::{self, IsTerminal, Write},
    os::unix::fs::OpenOptionsExt,
    panic::PanicHookInfo,
    path::Path,
    pin::pin,
    process::ExitCode,
    sync::{Mutex, PoisonError},
};

use butler_core::{
    cluster::{ConnectOptions, Connection, connect, connect_service},
    error::{Code, Diagnose},
    settings::{Environment, Home, Settings, SettingsError, Sources, home::make_private_dir},
};
use clap::{ArgMatches, CommandFactory, FromArgMatches, ValueEnum};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
};
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
        runtime()?.block_on(async {
            let mut signals = Signals::listen()?;
            tokio::select! {
                result = work => result,
                word = signals.next() => Err(CommandError::new(Code::Interrupted, word)),
            }
        })
    }

    /// Runs work that goes on until somebody ends it: Ctrl-C is then not worth a word.
    pub fn follow<T>(&self, work: impl Future<Output = CommandResult<T>>) -> CommandResult<T> {
        self.block_on(work).map_err(CommandError::silent_when_interrupted)
    }

    /// Runs a full screen, which listens to signals and keys itself.
    pub fn full_screen<T>(&self, work: impl Future<Output = CommandResult<T>>) -> CommandResult<T> {
        runtime()?.block_on(work)
    }

    /// Runs a service. The first Ctrl-C or SIGTERM completes the receiver that `work` is given, and
    /// ending is then up to it; a second one ends it at once.
    pub fn serve<T, W>(&self, work: impl FnOnce(oneshot::Receiver<()>) -> W) -> CommandResult<T>
    where
        W: Future<Output = CommandResult<T>>,
    {
        runtime()?.block_on(async {
            let mut signals = Signals::listen()?;
            let (stop, stopped) = oneshot::channel();
            let mut work = pin!(work(stopped));
            tokio::select! {
                result = &mut work => return result,
                _ = signals.next() => drop(stop.send(())),
            }
            tokio::select! {
                result = work => result,
                word = signals.next() => Err(CommandError::new(Code::Interrupted, word)),
            }
        })
    }

    /// Finds the management cluster; says on stderr what the person should know about the identity.
    pub async fn connect(&self, args: &ConnectArgs) -> CommandResult<Connection> {
        let connection = connect(&self.connect_options(args)?, &self.environment).await?;
        self.ui.detail(format_args!("using {}", connection.source));
        connection.warnings.iter().for_each(|warning| self.ui.warning(format_args!("{warning}")));
        Ok(connection)
    }

    /// Finds the cluster for a program that nobody sits at; says nothing.
    pub async fn connect_service(&self, args: &ConnectArgs) -> CommandResult<Connection> {
        Ok(connect_service(&self.connect_options(args)?, &self.environment).await?)
    }

    pub(crate) fn connect_options(&self, args: &ConnectArgs) -> CommandResult<ConnectOptions> {
        Ok(ConnectOptions {
            kubeconfig: args.kubeconfig.clone(),
            context: self.global.context.clone(),
            request_timeout: self.settings()?.request_timeout,
        })
    }
}

fn runtime() -> CommandResult<tokio::runtime::Runtime> {
    // Fails only when a provider is installed already, and then it is this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| CommandError::new(Code::Internal, "cannot start the async runtime").caused_by(&e))
}

/// What a person or the system sends to end a program.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> CommandResult<Self> {
        let listen = |kind| {
            signal(kind)
                .map_err(|e| CommandError::new(Code::Internal, "cannot listen for signals").caused_by(&e))
        };
        Ok(Self { interrupt: listen(SignalKind::interrupt())?, terminate: listen(SignalKind::terminate())? })
    }

    /// The word for the next one.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "interrupted",
            _ = self.terminate.recv() => "terminated",
        }
    }
}

/// When a command logs, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Logs {
    /// With `-v` only, as text for people.
    #[default]
    OnDemand,
    /// Always, one JSON object per line; for services.
    Json,
    /// To a file in the Butler home, while the screen is in use.
    File,
    /// To the file that [`log_to`] names, and with `-v` as text for people too; for runs that are kept.
    Run,
}

/// A program: its command line and what to do with it.
pub trait Program: CommandFactory + FromArgMatches {
    /// The flags every command has.
    fn global(&self) -> &GlobalArgs;

    /// How the chosen command logs.
    fn logs(&self) -> Logs {
        Logs::default()
    }

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
    log(&session, program.logs());
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

/// Sends logs to stderr. Only targets that are known to log no secrets.
fn log(session: &Session, logs: Logs) {
    let (ours, kube) = match (logs, session.ui.verbosity()) {
        (Logs::OnDemand, 0) => return,
        (Logs::OnDemand | Logs::File | Logs::Run, 0 | 1) => (Level::INFO, Level::INFO),
        (Logs::Json, _) if session.ui.is_quiet() => (Level::WARN, Level::ERROR),
        (Logs::Json, 0) => (Level::INFO, Level::ERROR),
        (Logs::Json, 1) => (Level::DEBUG, Level::WARN),
        _ => (Level::DEBUG, Level::DEBUG),
    };
    let targets = Targets::new()
        .with_default(Level::WARN)
        .with_targets(
            ["butler_core", "butler_operator", "butler_term", "butleradm"].map(|target| (target, ours)),
        )
        .with_targets(["kube", "kube_client", "kube_runtime"].map(|target| (target, kube)));
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    match logs {
        Logs::OnDemand => {
            let layer = layer.with_ansi(session.ui.stderr_has_color());
            tracing_subscriber::registry().with(layer).with(targets).init();
        }
        Logs::Run => {
            let kept = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(|| RunLog);
            let shown = (session.ui.verbosity() > 0).then(|| layer.with_ansi(session.ui.stderr_has_color()));
            tracing_subscriber::registry().with(shown).with(kept).with(targets).init();
        }
        Logs::File => {
            // Without a home there is no log, and the screen works all the same.
            let Some(file) = log_file(&session.environment) else { return };
            let layer = layer.with_ansi(false).with_writer(Mutex::new(file));
            tracing_subscriber::registry().with(layer).with(targets).init();
        }
        Logs::Json => {
            let layer = layer.with_ansi(false).json().flatten_event(true).with_span_list(false);
            tracing_subscriber::registry().with(layer).with(targets).init();
        }
    }
}

/// Where the log of a run goes, once it is known.
static RUN_LOG: Mutex<Option<File>> = Mutex::new(None);

/// Keeps the log of a run in this file from now on, if the command was to do so.
pub fn log_to(path: &Path) {
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    // A run without a log is a run.
    *RUN_LOG.lock().unwrap_or_else(PoisonError::into_inner) = file.ok();
}

/// Writes to the log of the run; before there is one, nowhere.
struct RunLog;

impl Write for RunLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *RUN_LOG.lock().unwrap_or_else(PoisonError::into_inner) {
            // What does not fit on the disk is lost; there is nobody to tell.
            Some(file) => file.write(bytes).or(Ok(bytes.len())),
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The log of full screens, begun anew when it has grown.
fn log_file(environment: &Environment) -> Option<File> {
    const LONGEST: u64 = 4 << 20;
    let home = Home::resolve(environment).ok()?;
    make_private_dir(home.dir()).ok()?;
    let path = home.dir().join("tui.log");
    let long = std::fs::metadata(&path).is_ok_and(|file| file.len() > LONGEST);
    let mut options = OpenOptions::new();
    options.create(true).mode(0o600).append(!long).write(true).truncate(long).open(path).ok()
}

/// What a person sees of a defect: where it is, how to report it, and a usable terminal.
#[expect(clippy::exit, clippy::disallowed_methods, reason = "a panic has no way back to main")]
fn defect(panic: &PanicHookInfo<'_>) {
    crate::tui::terminal::restore();
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
