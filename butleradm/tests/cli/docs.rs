//! What the program says about itself, here and in the repository.

use std::path::Path;

use anyhow::{Context, Result};
use butler_core::error::Code;
use butler_term::docs::{self, File};
use butler_tests::golden;
use clap::{Command, CommandFactory};

use butleradm::Cli;

fn committed(folder: &str, files: Vec<File>) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the package has no parent")?;
    let files: Vec<_> = files.into_iter().map(|file| (file.name, file.content)).collect();
    golden::check(&root.join(folder), "butleradm", &files)
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
            for command in commands.filter(|command| command.starts_with("butleradm ")) {
                tried += 1;
                if let Err(error) = Cli::command().try_get_matches_from(command.split_whitespace()) {
                    assert!(!error.use_stderr(), "{code}: {command}: {error}");
                }
            }
        }
    }
    assert!(tried > 0, "no page names a command of this program");
}

/// A page is found by its code wherever the manual is, and nothing else is in it.
#[test]
fn the_manual_of_errors_has_every_code_once_and_no_other() -> Result<()> {
    let pages = docs::manual(Cli::command())?;
    let page = pages.iter().find(|page| page.name == "butler-errors.7").context("the page is made")?;
    let headings = page.content.lines().filter_map(|line| line.strip_prefix(".SS \"BTL\\-"));
    let found: Vec<_> = headings.filter_map(|rest| rest.get(..4)?.parse::<u16>().ok()).collect();
    let codes: Vec<_> = Code::ALL.iter().map(|code| *code as u16).collect();
    assert_eq!(found, codes);
    Ok(())
}

/// groff is on every system that has `man`; where there is none, there is nobody to read the page either.
#[test]
fn the_manual_of_errors_is_read_without_a_complaint() -> Result<()> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../man/butler-errors.7");
    let Ok(read) =
        std::process::Command::new("groff").args(["-man", "-Tascii", "-ww", "-z"]).arg(&page).output()
    else {
        let text = std::fs::read_to_string(&page)?;
        anyhow::ensure!(
            text.lines().all(|line| !line.starts_with('\'')),
            "a line begins a command by accident"
        );
        return Ok(());
    };
    let said = String::from_utf8_lossy(&read.stderr);
    assert!(read.status.success() && said.is_empty(), "{said}");
    Ok(())
}
