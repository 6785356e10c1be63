//! The questions and signs of life of the terminal layer, for tests and for a look at them:
//! `cargo run -p butler-term --example ask -- confirm`.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use butler_core::{
    error::{Code, Diagnose},
    event::Unit,
};
use butler_term::{
    CommandError, CommandResult,
    args::GlobalArgs,
    report::{self, EventArgs},
    run::{Program, Session},
};
use clap::{Parser, Subcommand};

mod screen {
    //! The smallest full screen.

    use butler_term::{
        CommandResult,
        run::Session,
        tui::{
            App, Effect, Event, KeyCode, KeyModifiers, Mail, Msg, Worker,
            event_loop::{self, Context},
            input::Input,
            terminal::Owned,
        },
    };

    #[derive(Default)]
    struct Counter {
        keys: usize,
        pasted: usize,
        said: String,
    }

    impl App for Counter {
        type Msg = ();
        type Effect = ();

        #[expect(clippy::panic, reason = "to see what a person sees of a panic")]
        fn update(&mut self, msg: Msg<()>) -> Vec<Effect<()>> {
            match msg {
                Msg::Input(Event::Key(key)) => match key.code {
                    KeyCode::Char('q') => return vec![Effect::Quit],
                    KeyCode::Char('p') => panic!("on purpose"),
                    KeyCode::Char('w') => return vec![Effect::App(())],
                    KeyCode::Char('z') if key.modifiers == KeyModifiers::CONTROL => {
                        return vec![Effect::Suspend];
                    }
                    KeyCode::Char('o') => {
                        return vec![Effect::Page {
                            name: "text".to_owned(),
                            text: "for the pager\n".to_owned(),
                        }];
                    }
                    _ => self.keys += 1,
                },
                Msg::Input(Event::Paste(text)) => self.pasted += text.len(),
                Msg::Trouble(text) => self.said = text,
                Msg::Input(_) | Msg::Tick(_) | Msg::App(()) => {}
            }
            Vec::new()
        }

        fn view(&self, frame: &mut ratatui::Frame<'_>) {
            let size = frame.area();
            let Self { keys, pasted, said } = self;
            let text = format!("{keys} keys, {pasted} pasted, {}x{} {said}", size.width, size.height);
            frame.render_widget(text, size);
        }

        fn animates(&self) -> bool {
            false
        }
    }

    #[expect(clippy::panic, reason = "to see what a person sees of a panic")]
    pub(super) fn run(session: &Session) -> CommandResult {
        session.full_screen(async {
            let (_mail, inbox) = Mail::channel();
            let worker = Worker::start()?;
            let mut screen = Owned::take(&session.environment, false)?;
            let context = Context { inbox, environment: &session.environment };
            let fail = |()| drop(worker.spawn(async { panic!("on purpose") }));
            let input = Input::new;
            event_loop::run(&mut Counter::default(), &mut screen, input, context, fail).await
        })
    }
}

#[derive(Parser)]
struct Ask {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Ask for a yes
    Confirm,
    /// Ask for the name `dev`
    Name,
    /// Work for so many milliseconds
    Work { milliseconds: u64 },
    /// Run a job of two phases, each until its file (`1`, `2`) is in a directory; the first has a bar
    Job {
        dir: PathBuf,
        /// Fail in the second
        #[arg(long)]
        fails: bool,
        #[command(flatten)]
        events: EventArgs,
    },
    /// Take the whole screen: `p` meets a defect, `w` lets another thread meet one, `o` opens a pager,
    /// Ctrl-Z suspends, `q` ends; everything else is counted
    Screen,
    /// Meet a defect
    Panic,
    /// Fail with words that a server could have chosen
    Fail,
}

impl Program for Ask {
    fn global(&self) -> &GlobalArgs {
        &self.global
    }

    #[expect(clippy::panic, reason = "to see what a person sees of a panic")]
    fn run(self, session: &Session) -> CommandResult {
        match self.command {
            Command::Confirm => session.block_on(async { session.ui.confirm("Remove it?").await })?,
            Command::Name => {
                session.block_on(async { session.ui.confirm_name("destroy cluster", "dev").await })?;
            }
            Command::Work { milliseconds } => {
                let _spinner = session.ui.spinner("working");
                std::thread::sleep(Duration::from_millis(milliseconds));
            }
            Command::Job { dir, fails, events } => session.block_on(job(session, &dir, fails, &events))?,
            Command::Screen => return screen::run(session),
            Command::Panic => panic!("on purpose"),
            Command::Fail => return Err(CommandError::new(Code::ApiRejected, "cannot \u{1b}[31mlist\u{7}")),
        }
        session.ui.data("done\n")
    }
}

async fn job(session: &Session, dir: &Path, fails: bool, events: &EventArgs) -> CommandResult {
    // A key would be echoed into the picture.
    let told = async |name: &str| {
        while !dir.join(name).exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    report::run(session, events, async |reporter| {
        reporter
            .phase("fetching etcd", async {
                reporter.progress("etcd", 40, Some(100), Unit::Items);
                told("1").await;
                Ok::<_, JobError>(())
            })
            .await?;
        reporter
            .phase("starting etcd", async {
                told("2").await;
                if fails { Err(JobError) } else { Ok(()) }
            })
            .await
    })
    .await
}

/// What the job fails with.
#[derive(Debug, thiserror::Error)]
#[error("cannot start `etcd`")]
struct JobError;

impl Diagnose for JobError {
    fn code(&self) -> Code {
        Code::ProcessFailed
    }
}

fn main() -> ExitCode {
    butler_term::run::main::<Ask>()
}
