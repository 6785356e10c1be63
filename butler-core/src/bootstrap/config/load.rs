//! From a file to a [`Config`], with every problem of the file found in one pass.

use std::{
    fs::{File, Metadata},
    io::{self, Read},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use fs_err as fs;

use super::{
    Config, ConfigError, Keyring, Problem, SecretError, SecretSource, build, check,
    keys::ROOT,
    problem::{Draft, Findings},
    tree::{self, MAX_BYTES, Node, Span, Value},
    walk::{Walker, absolute},
};
use crate::{
    api::common::ProviderKind,
    redact::Secret,
    settings::{Environment, Home, env},
};

/// The text of a configuration and where it comes from.
#[derive(Clone, Debug)]
pub struct Source<'s> {
    /// The file as it is shown to people.
    pub name: &'s str,
    /// Its content.
    pub text: &'s str,
    /// Directory that relative paths in it start from.
    pub directory: &'s Path,
    /// The user's home, which `~` in paths stands for.
    pub home: Option<&'s Path>,
    /// The file, when others can read it: a secret in it is then refused.
    pub shared: Option<&'s Path>,
}

/// A configuration that can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// What its author should know.
    pub warnings: Vec<Problem>,
    /// Where its secrets are, in the order of the file.
    pub secrets: Vec<SecretUse>,
}

/// A file that was read, once: what comes through a pipe is there only once.
#[derive(Debug)]
pub struct ConfigFile {
    /// As it was written; may hold secrets.
    pub text: Secret,
    /// What paths in it are relative to.
    pub directory: PathBuf,
    /// As it was understood.
    pub loaded: Loaded,
}

/// A secret of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct SecretUse {
    /// The key.
    pub path: String,
    /// Line of its value, from 1.
    pub line: usize,
    /// Column of its value, from 1.
    pub column: usize,
    /// Where the secret is.
    pub source: SecretSource,
}

impl Loaded {
    /// Tries to get every secret, and says which cannot be had. Keeps none of them.
    pub fn check_secrets(
        &self,
        environment: &Environment,
        keyring: &dyn Keyring,
    ) -> Vec<(&SecretUse, SecretError)> {
        self.secrets
            .iter()
            .filter_map(|used| Some((used, used.source.resolve(environment, keyring).err()?)))
            .collect()
    }
}

/// Where a configuration is when nobody names one: the first that exists of `./bootstrap.yaml` and
/// `bootstrap.yaml` in the Butler home.
pub fn search(home: Option<&Home>) -> Result<PathBuf, ConfigError> {
    const NAME: &str = "bootstrap.yaml";
    let mut searched = vec![PathBuf::from(NAME)];
    searched.extend(home.map(|home| home.dir().join(NAME)));
    match searched.iter().find(|path| path.exists()) {
        Some(path) => Ok(path.clone()),
        None => Err(ConfigError::NotFound { searched }),
    }
}

/// Reads a file. `provider` is the one the command names, if it does.
pub fn load(
    path: &Path,
    provider: Option<&ProviderKind>,
    environment: &Environment,
) -> Result<ConfigFile, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
    let name = path.display().to_string();
    let (bytes, metadata) = read_file(path).map_err(unreadable)?;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(not_text(&name, &error)),
    };
    let directory = match metadata.is_file() {
        true => std::path::absolute(path).map_err(unreadable)?.parent().map(Path::to_owned),
        // What a shell calls a pipe says nothing about where its content belongs.
        false => Some(std::env::current_dir().map_err(unreadable)?),
    };
    let directory = directory.unwrap_or_else(|| PathBuf::from("/"));
    let home = environment.path(env::HOME);
    let is_shared = metadata.is_file() && metadata.permissions().mode() & 0o077 != 0;
    let source = Source {
        name: &name,
        text: &text,
        directory: &directory,
        home: home.as_deref(),
        shared: is_shared.then_some(path),
    };
    let loaded = read(&source, provider)?;
    Ok(ConfigFile { text: text.into(), directory, loaded })
}

/// The content of a file and what it is; of one that is too large only as much as shows that.
fn read_file(path: &Path) -> io::Result<(Vec<u8>, Metadata)> {
    let file: File = fs::File::open(path)?.into_parts().0;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes, metadata))
}

fn not_text(name: &str, error: &std::string::FromUtf8Error) -> ConfigError {
    // A file that was cut off may be cut within a character.
    let valid = error.utf8_error().valid_up_to();
    let before = error.as_bytes().get(..valid).unwrap_or_default();
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let problem = match error.as_bytes().len() > MAX_BYTES {
        true => tree::parse(&" ".repeat(MAX_BYTES + 1)).problems.pop(),
        false => None,
    };
    let span = Span { line, ..Span::START };
    let draft = problem.unwrap_or_else(|| {
        Draft::error("", span, "the file is not text in UTF-8").suggest("save it as UTF-8")
    });
    let mut findings = Findings::new("");
    findings.push(draft);
    ConfigError::Problems { file: name.to_owned(), problems: findings.finish() }
}

/// Reads a text. `provider` is the one the command names, if it does.
pub fn read(source: &Source<'_>, provider: Option<&ProviderKind>) -> Result<Loaded, ConfigError> {
    let mut findings = Findings::new(source.text);
    let parsed = tree::parse(source.text);
    let partial = !parsed.problems.is_empty();
    for draft in parsed.problems {
        findings.unsure_from(draft.line().min(parsed.last_line));
        findings.push(draft);
    }
    let fail = |findings: Findings<'_>| {
        Err(ConfigError::Problems { file: source.name.to_owned(), problems: findings.finish() })
    };
    let root = match parsed.root {
        Some(root) if !matches!(root.value, Value::Null) => root,
        _ => {
            if !partial {
                let draft = Draft::error("", Span::START, "the file is empty");
                findings.push(draft.suggest("start from one of the examples"));
            }
            return fail(findings);
        }
    };
    let kind = which_provider(&root, provider, partial, &mut findings);
    let remedy = |path: &Path| format!("chmod 600 {}", path.display());
    let mut walker = Walker {
        findings: &mut findings,
        partial,
        provider: kind.as_ref().map(ProviderKind::as_str),
        shared: source.shared.map(remedy),
        directory: source.directory,
        home: source.home,
    };
    let values = walker.object(&root, ROOT, "", Span::START);
    let Some(kind) = kind.filter(|_| !partial) else { return fail(findings) };
    check::all(&values, &kind, &mut findings);
    if findings.has_errors() {
        return fail(findings);
    }
    let path = |text: &str| absolute(text, source.directory, source.home);
    let Some(config) = build::config(&values, &kind, path) else {
        // Only when a required key is missing and no check says so.
        findings.push(Draft::error("", Span::START, "the configuration is not complete"));
        return fail(findings);
    };
    let mut secrets = Vec::new();
    values.secrets(&mut secrets);
    secrets.sort_by_key(|(_, span, _)| span.start);
    let secrets = secrets
        .into_iter()
        .map(|(path, span, source)| SecretUse { path, line: span.line, column: span.column, source })
        .collect();
    Ok(Loaded { config, warnings: findings.finish(), secrets })
}

/// The provider, from the command or from the file; both must agree.
fn which_provider(
    root: &Node,
    named: Option<&ProviderKind>,
    partial: bool,
    findings: &mut Findings<'_>,
) -> Option<ProviderKind> {
    let entries = match &root.value {
        Value::Map(entries) => entries.as_slice(),
        _ => &[],
    };
    let entry = entries.iter().find(|entry| entry.key.eq_ignore_ascii_case("provider"));
    let written = entry.and_then(|entry| match &entry.value.value {
        Value::Text { text, .. } => Some((entry.value.span, ProviderKind::from(&**text))),
        _ => None,
    });
    let known = |kind: &ProviderKind| !matches!(kind, ProviderKind::Unrecognized(_));
    match (named, written) {
        (Some(named), Some((span, written))) => {
            if known(&written) && written != *named {
                let message =
                    format!("the file is for provider `{written}`, and the command is for `{named}`");
                let advice = format!("run `butleradm bootstrap {written}`, or write `provider: {named}`");
                findings.push(Draft::error("provider", span, message).suggest(advice));
                // The rest is about what the file says.
                return Some(written);
            }
            Some(named.clone())
        }
        (Some(named), None) => Some(named.clone()),
        // A wrong word is told with the other values.
        (None, Some((_, written))) => Some(written).filter(known),
        (None, None) => {
            if !partial && entry.is_none_or(|entry| matches!(entry.value.value, Value::Null)) {
                let draft = Draft::error("provider", Span::START, "`provider` is missing");
                let all = ProviderKind::VALUES.join(", ");
                findings.push(draft.suggest(format!("add `provider:` with one of {all}")));
            }
            None
        }
    }
}
