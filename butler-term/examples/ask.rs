//! The questions and signs of life of the terminal layer, for tests and for a look at them:
//! `cargo run -p butler-term --example ask -- confirm`.

use std::{process::ExitCode, time::Duration};

use butler_core::error::Code;
use butler_term::{
    CommandError, CommandResult,
    args::GlobalArgs,
    run::{Program, Session},
};
use clap::{Parser, Subcommand};

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
            Command::Confirm => session.ui.confirm("Remove it?")?,
            Command::Name => session.block_on(async { session.ui.confirm_name("destroy cluster", "dev") })?,
            Command::Work { milliseconds } => {
                let _spinner = session.ui.spinner("working");
                std::thread::sleep(Duration::from_millis(milliseconds));
            }
            Command::Panic => panic!("on purpose"),
            Command::Fail => return Err(CommandError::new(Code::ApiRejected, "cannot \u{1b}[31mlist\u{7}")),
        }
        session.ui.data("done\n")
    }
}

fn main() -> ExitCode {
    butler_term::run::main::<Ask>()
}
