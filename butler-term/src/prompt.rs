//! Questions to a person, asked on stderr. Nothing is ever assumed: without a terminal to ask on, the
//! command fails and names the flag that answers beforehand.
//!
//! A question waits in a thread of its own. So Ctrl-C and SIGTERM end the command while it is open,
//! and the terminal is then put back as it was.

use std::{
    io::{self, IsTerminal},
    thread,
};

use butler_core::{error::Code, redact::Secret};
use dialoguer::{Input, Password};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::oneshot;

use crate::{CommandError, CommandResult, ui::Ui};

impl Ui {
    /// Goes on only after a yes.
    pub async fn confirm(&self, question: &str) -> CommandResult {
        let answer = self.ask(format!("{question} [y/N]")).await?;
        match answer.to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(CommandError::new(Code::Declined, "nothing was done: the answer was not yes")),
        }
    }

    /// Goes on only after the name was typed; for what cannot be undone. `what` says what happens to
    /// it: "destroy tenant cluster".
    pub async fn confirm_name(&self, what: &str, name: &str) -> CommandResult {
        if self.ask(format!("Type the name to {what} `{name}`")).await? == name {
            return Ok(());
        }
        let message = format!("nothing was done: what was typed is not `{name}`");
        Err(CommandError::new(Code::Declined, message))
    }

    async fn ask(&self, prompt: String) -> CommandResult<String> {
        self.wait(prompt, |prompt| {
            Input::<String>::new().with_prompt(prompt).allow_empty(true).interact_text()
        })
        .await
    }

    /// A line of text, or what stands there already.
    pub async fn line(&self, prompt: &str, default: &str) -> CommandResult<String> {
        let default = default.to_owned();
        let asked = move |prompt| {
            let input = Input::<String>::new().with_prompt(prompt).allow_empty(true);
            if default.is_empty() { input.interact_text() } else { input.default(default).interact_text() }
        };
        self.wait(prompt.to_owned(), asked).await
    }

    /// A secret, which is not shown while it is typed.
    pub async fn secret(&self, prompt: &str) -> CommandResult<Secret> {
        let asked = |prompt| Password::new().with_prompt(prompt).allow_empty_password(true).interact();
        self.wait(prompt.to_owned(), asked).await.map(Secret::from)
    }

    async fn wait(
        &self,
        prompt: String,
        asked: impl FnOnce(String) -> dialoguer::Result<String> + Send + 'static,
    ) -> CommandResult<String> {
        if !io::stdin().is_terminal() || !self.stderr_is_terminal() {
            let message = format!("cannot ask `{prompt}` without a terminal");
            return Err(CommandError::new(Code::NeedsTerminal, message));
        }
        let _as_it_was = Terminal::keep();
        let (answered, answer) = oneshot::channel();
        thread::spawn(move || {
            // Nobody listens when the command has ended.
            let _ = answered.send(asked(prompt).map_err(io::Error::from));
        });
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        match answer.await.map_err(gone).and_then(|answer| answer) {
            Ok(answer) => Ok(answer.trim().to_owned()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                Err(CommandError::new(Code::Interrupted, "interrupted"))
            }
            Err(error) => {
                Err(CommandError::new(Code::Declined, "nothing was done: there was no answer")
                    .caused_by(&error))
            }
        }
    }
}

/// The state of the terminal, which comes back when this value goes.
struct Terminal(Option<Termios>);

impl Terminal {
    fn keep() -> Self {
        Self(tcgetattr(io::stdin()).ok())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(state) = &self.0 {
            // A terminal that is gone needs nothing.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, state);
        }
    }
}
