//! `bootstrap validate`

use butler_core::{
    bootstrap::config::{ConfigError, Problem, SecretError, Severity},
    error::{Code, Diagnose},
};
use butler_operator::keyring::ProgramKeyring;
use butler_term::{CommandError, CommandResult, args::OutputArgs, run::Session};
use clap::Args;

use super::{
    source::{ConfigArgs, Given},
    validation::Report,
};

/// Check a configuration file without making anything
///
/// Every problem is listed with its line and column and, where there is one, a way out. Exits with 2 when
/// the file cannot be used. Secrets are looked for where the file says they are; those that are not there
/// now are warnings, because they may be there when the bootstrap runs. No provider is asked.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  butleradm bootstrap validate --config bootstrap.yaml
  butleradm bootstrap validate --config bootstrap.yaml --strict -o json
  generate-config | butleradm bootstrap validate --config -")]
pub(crate) struct BootstrapValidateArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// Take warnings for errors
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub(crate) fn run(args: &BootstrapValidateArgs, session: &Session) -> CommandResult {
    let format = session.format(&args.output);
    format.check()?;
    let report = match args.config.load(None, session) {
        Ok(Given { name: file, loaded, .. }) => {
            let failed =
                loaded.check_secrets(&session.environment, &ProgramKeyring::new(&session.environment));
            let secrets =
                failed.into_iter().map(|(used, error)| secret(&used.path, (used.line, used.column), &error));
            let mut problems = loaded.warnings.clone();
            problems.extend(secrets);
            problems.sort_by_key(|problem| (problem.line, problem.column));
            Report::new(file, Some(&loaded), problems, args.strict)
        }
        Err(ConfigError::Problems { file, problems }) => Report::new(file, None, problems, args.strict),
        Err(error) => return Err(error.into()),
    };
    session.ui.render(&report, &format)?;
    if report.valid {
        return Ok(());
    }
    let count = match report.errors {
        1 => "an error".to_owned(),
        count => format!("{count} errors"),
    };
    Err(CommandError::new(Code::BootstrapConfigInvalid, format!("`{}` has {count}", report.file))
        .hint("butleradm bootstrap schema"))
}

/// A secret that cannot be had. That others can read it does not pass by itself, so it is an error.
fn secret(path: &str, (line, column): (usize, usize), error: &SecretError) -> Problem {
    let shared = matches!(error, SecretError::Shared { .. });
    let mut message = format!("`{path}`: {error}");
    if let Some(cause) = std::error::Error::source(error) {
        message += &format!(": {cause}");
    }
    Problem {
        severity: if shared { Severity::Error } else { Severity::Warning },
        path: path.to_owned(),
        line,
        column,
        text: None,
        message,
        suggestion: error.hints().into_iter().next(),
        excerpt: None,
    }
}
