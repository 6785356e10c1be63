//! What the program says about itself, here and in the repository.

use std::path::Path;

use anyhow::{Context, Result};
use butler_core::error::Code;
use butler_term::docs::{self, File};
use butler_tests::golden;
use clap::{Command, CommandFactory};

use butlerctl::Cli;

fn committed(folder: &str, files: Vec<File>) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the package has no parent")?;
    let files: Vec<_> = files.into_iter().map(|file| (file.name, file.content)).collect();
    golden::check(&root.join(folder), "butlerctl", &files)
}

#[test]
fn committed_completion_scripts_are_up_to_date() -> Result<()> {
    committed("completions", docs::scripts(&Cli::command())?)
}

#[test]
fn committed_manual_pages_are_up_to_date() -> Result<()> {
    committed("man", docs::manual(Cli::command())?)
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_and_argument_has_help() {
    fn gaps(command: &Command, found: &mut Vec<String>) {
        let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
        if command.get_about().is_none_or(|about| about.to_string().ends_with('.')) {
            found.push(name.clone());
        }
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            if argument.get_help().is_none_or(|help| help.to_string().ends_with('.')) {
                found.push(format!("{name} {}", argument.get_id()));
            }
        }
        command.get_subcommands().filter(|command| !command.is_hide_set()).for_each(|c| gaps(c, found));
    }
    let (mut command, mut found) = (Cli::command(), Vec::new());
    command.build();
    gaps(&command, &mut found);
    assert!(found.is_empty(), "no help, or a period at its end: {found:#?}");
}

/// Whoever follows a page must not meet a usage error.
#[test]
fn commands_that_explain_names_exist() {
    let mut tried = 0;
    for code in Code::ALL {
        let page = code.page();
        for line in page.evidence.iter().chain(page.next) {
            // A line is a command, or has one between backticks; what follows a comma is for the person.
            let quoted = line.split('`').skip(1).step_by(2);
            let commands = [line.split(',').next().unwrap_or_default()].into_iter().chain(quoted);
            for command in commands.filter(|command| command.starts_with("butlerctl ")) {
                tried += 1;
                if let Err(error) = Cli::command().try_get_matches_from(command.split_whitespace()) {
                    assert!(!error.use_stderr(), "{code}: {command}: {error}");
                }
            }
        }
    }
    assert!(tried > 0, "no page names a command of this program");
}
