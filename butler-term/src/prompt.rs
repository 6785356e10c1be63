//! Questions to a person, asked on stderr. Nothing is ever assumed: without a terminal to ask on, the
//! command fails and names the flag that answers beforehand.

use std::io::{self, IsTerminal};

use butler_core::error::Code;
use dialoguer::Input;

use crate::{CommandError, CommandResult, ui::Ui};

impl Ui {
    /// Goes on only after a yes.
    pub fn confirm(&self, question: &str) -> CommandResult {
        let answer = self.ask(&format!("{question} [y/N]"))?;
        match answer.to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(CommandError::new(Code::Declined, "nothing was done: the answer was not yes")),
        }
    }

    /// Goes on only after the name was typed; for what cannot be undone. `what` says what happens to
    /// it: "destroy tenant cluster".
    pub fn confirm_name(&self, what: &str, name: &str) -> CommandResult {
        if self.ask(&format!("Type the name to {what} `{name}`"))? == name {
            return Ok(());
        }
        let message = format!("nothing was done: what was typed is not `{name}`");
        Err(CommandError::new(Code::Declined, message))
    }

    fn ask(&self, prompt: &str) -> CommandResult<String> {
        if !io::stdin().is_terminal() || !self.stderr_is_terminal() {
            let message = format!("cannot ask `{prompt}` without a terminal");
            return Err(CommandError::new(Code::NeedsTerminal, message));
        }
        let input = Input::<String>::new().with_prompt(prompt).allow_empty(true).interact_text();
        input.map(|answer| answer.trim().to_owned()).map_err(|error| {
            let error = io::Error::from(error);
            match error.kind() {
                io::ErrorKind::Interrupted => CommandError::new(Code::Interrupted, "interrupted"),
                _ => CommandError::new(Code::Declined, "nothing was done: there was no answer")
                    .caused_by(&error),
            }
        })
    }
}
