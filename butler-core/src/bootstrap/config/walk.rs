//! The first pass: the tree against the table of keys. What comes out has only known keys, spelled as in
//! the table, with values of the right type; everything else has become a problem.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    rc::Rc,
};

use super::{
    SecretSource,
    format::Format,
    keys::{Key, Shape},
    problem::{Draft, Findings},
    tree::{Node, Span, Value, brief},
    values::{At, Item, Object},
};
use crate::{nearest::nearest, redact::Secret};

/// Keys and certificates are shorter; what is longer belongs into a file.
const MAX_SECRET: usize = 64 << 10;
/// Longer than the system takes.
const MAX_PATH: usize = 4096;

/// Longest word that is compared with known ones.
const LONGEST_WORD: usize = 64;

/// What the pass knows besides the text.
pub(super) struct Walker<'f, 's> {
    pub findings: &'f mut Findings<'s>,
    /// The file could not be read to its end, so nothing is said about what is missing.
    pub partial: bool,
    /// The one block of `providerConfig` that is looked at.
    pub provider: Option<&'f str>,
    /// The command that puts the file right when others can read it; none when they cannot.
    pub shared: Option<String>,
    /// Directory that relative paths start from.
    pub directory: &'f Path,
    /// The user's home, which `~` stands for.
    pub home: Option<&'f Path>,
}

impl Walker<'_, '_> {
    /// Looks at a mapping.
    pub(super) fn object(&mut self, node: &Node, keys: &'static [Key], path: &str, at: Span) -> Object {
        let mut object = Object { path: path.to_owned(), span: at, ..Object::default() };
        let Value::Map(entries) = &node.value else {
            self.wrong_type(node, path, "a mapping", None);
            return object;
        };
        let known: HashMap<String, &'static Key> =
            keys.iter().map(|key| (key.name.to_ascii_lowercase(), key)).collect();
        let mut seen: HashMap<String, Span> = HashMap::new();
        for entry in entries {
            let lower = entry.key.to_lowercase();
            if let Some(first) = seen.get(&lower) {
                let message = format!("`{}` is given a second time", join(path, &brief(&entry.key)));
                let draft = Draft::error(join(path, &brief(&entry.key)), entry.span, message);
                self.findings
                    .push(draft.suggest(format!("keep one of them; the first is in line {}", first.line)));
                self.conceal(&entry.value);
                continue;
            }
            seen.insert(lower.clone(), entry.span);
            let Some(key) = known.get(&lower) else {
                if let Some(meant) = self.unknown(&entry.key, entry.span, keys, path) {
                    // What is misspelt is not missing as well.
                    object.given.insert(meant);
                }
                self.conceal(&entry.value);
                continue;
            };
            let path = join(path, key.name);
            if key.name != &*entry.key {
                let message = format!("`{}` is written `{}`", brief(&entry.key), key.name);
                self.findings.push(Draft::warning(&path, entry.span, message).suggest(key.name));
            }
            if self.is_other_block(&path) {
                self.other_block(&path, entry.span);
                self.conceal(&entry.value);
                continue;
            }
            if self.is_empty(&entry.value, key, &path, entry.span) {
                continue;
            }
            object.given.insert(key.name);
            if let Some(item) = self.value(&entry.value, key, &path, entry.span) {
                object.entries.insert(key.name, item);
            }
        }
        self.missing(
            |key| seen.contains_key(&key.name.to_ascii_lowercase()) || object.given.contains(key.name),
            keys,
            path,
            at,
        );
        object
    }

    /// Names what must be there and is not. What is there and wrong has been told.
    fn missing(&mut self, is_there: impl Fn(&Key) -> bool, keys: &'static [Key], path: &str, at: Span) {
        if self.partial {
            return;
        }
        for key in keys.iter().filter(|key| key.required) {
            if !is_there(key) {
                let path = join(path, key.name);
                let draft = Draft::error(&path, at, format!("`{path}` is missing"));
                self.findings.push(draft.suggest(example(key)));
            }
        }
    }

    /// Tells an unknown key, and returns the one that was probably meant.
    fn unknown(&mut self, name: &str, span: Span, keys: &'static [Key], path: &str) -> Option<&'static str> {
        let full = join(path, &brief(name));
        let place = if path.is_empty() { "the configuration".to_owned() } else { format!("`{path}`") };
        let draft = Draft::error(full, span, format!("`{}` is not a key of {place}", brief(name)));
        let names = || keys.iter().map(|key| key.name);
        let similar = (name.chars().count() <= LONGEST_WORD)
            .then(|| {
                let lower = name.to_lowercase();
                let all: Vec<(String, &str)> =
                    names().map(|known| (known.to_ascii_lowercase(), known)).collect();
                let close = nearest(&lower, all.iter().map(|(lower, _)| lower.as_str()))?;
                all.iter().find(|(lower, _)| lower == close).map(|(_, known)| *known)
            })
            .flatten();
        self.findings.push(match similar {
            Some(similar) => draft.suggest(format!("did you mean `{similar}`?")),
            None => draft.suggest(format!("known keys: {}", names().collect::<Vec<_>>().join(", "))),
        });
        similar
    }

    fn is_other_block(&self, path: &str) -> bool {
        let block = path.strip_prefix("providerConfig.");
        self.provider
            .is_some_and(|provider| block.is_some_and(|block| !block.contains('.') && block != provider))
    }

    fn other_block(&mut self, path: &str, span: Span) {
        let provider = self.provider.unwrap_or_default();
        let message = format!("`{path}` does not go with provider `{provider}`");
        let advice = format!("remove it; the block of this provider is `providerConfig.{provider}`");
        self.findings.push(Draft::error(path, span, message).suggest(advice));
    }

    fn value(&mut self, node: &Node, key: &'static Key, path: &str, at: Span) -> Option<At> {
        if let Shape::Refused(reason) = key.shape {
            self.conceal(node);
            let draft = Draft::error(path, at, format!("`{path}` is not supported: {reason}"));
            self.findings.push(draft.suggest("remove it"));
            return None;
        }
        self.shape(node, key.shape, path, at)
    }

    /// Tells an empty value, which counts as none.
    fn is_empty(&mut self, node: &Node, key: &'static Key, path: &str, at: Span) -> bool {
        let empty = match &node.value {
            Value::Null => true,
            Value::Text { text, .. } => text.trim().is_empty(),
            Value::List(items) => items.is_empty() && key.required,
            Value::Map(_) => false,
        };
        // After a syntax error it may be empty only because the rest could not be read.
        if self.partial {
            return empty;
        }
        if empty && key.required {
            let draft = Draft::error(path, at, format!("`{path}` is empty"));
            self.findings.push(draft.suggest(example(key)));
        } else if empty && !key.may_be_empty {
            let message = format!("`{path}` is empty and counts as not given");
            self.findings.push(Draft::warning(path, at, message).suggest("give it a value, or remove it"));
        }
        empty
    }

    fn shape(&mut self, node: &Node, shape: Shape, path: &str, at: Span) -> Option<At> {
        let item = match shape {
            Shape::Object(keys) => {
                if !matches!(node.value, Value::Map(_)) {
                    self.wrong_type(node, path, "a mapping", None);
                    return None;
                }
                Item::Object(self.object(node, keys, path, at))
            }
            Shape::List(shape) => self.list(node, *shape, path)?,
            Shape::Text(format) => {
                let text = self.scalar(node, path, "text")?;
                if format.shows_user(&text) && !self.user_in_address(node, path, format) {
                    return None;
                }
                if let Err(wrong) = format.check(&text) {
                    let message = format!("`{path}` must be {}, not `{}`", wrong.expected, brief(&text));
                    let draft = Draft::error(path, node.span, message);
                    self.findings.push(match wrong.better {
                        Some(better) => draft.suggest(format!("write `{better}`")),
                        None => draft,
                    });
                    return None;
                }
                Item::Text(text)
            }
            Shape::Choice(values) => {
                let text = self.scalar(node, path, "text")?;
                if !values.contains(&&*text) {
                    self.no_choice(node, &text, values, path);
                    return None;
                }
                Item::Text(text)
            }
            Shape::Integer(min, max) => Item::Integer(self.integer(node, min, max, path)?),
            Shape::Flag => Item::Flag(self.flag(node, path)?),
            Shape::File => {
                let text = self.scalar(node, path, "a path")?;
                if text.len() > MAX_PATH {
                    let message = format!("`{path}` is longer than any path");
                    self.findings.push(Draft::error(path, node.span, message));
                    return None;
                }
                Item::Secret(SecretSource::File(self.file(&text)))
            }
            Shape::Secret => Item::Secret(self.secret(node, path, true)?),
            Shape::Identity => Item::Secret(self.secret(node, path, false)?),
            Shape::Refused(_) => return None,
        };
        Some(At { span: node.span, item })
    }

    /// Whether an address may have a name or password in it: that of a mirror has no other place for them.
    fn user_in_address(&mut self, node: &Node, path: &str, format: Format) -> bool {
        self.findings.hide(node.span);
        let text = match &node.value {
            Value::Text { text, .. } => &**text,
            _ => "",
        };
        if format == Format::Mirror && text.starts_with("http") {
            self.plain_secret(text, node.span, path);
            return true;
        }
        let message = format!("`{path}` has a name or password in it, and an address is shown to everybody");
        let advice = match format {
            Format::Mirror => "remove it; only a mirror at an https:// address may ask who comes",
            _ => "remove it, and say how to sign in with the keys beside it",
        };
        self.findings.push(Draft::error(path, node.span, message).suggest(advice));
        false
    }

    fn list(&mut self, node: &Node, shape: Shape, path: &str) -> Option<Item> {
        let Value::List(items) = &node.value else {
            let better = matches!(node.value, Value::Text { .. }).then_some("put it in brackets: [ … ]");
            self.wrong_type(node, path, "a list", better);
            return None;
        };
        let mut list = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = format!("{path}[{index}]");
            match &item.value {
                Value::Null => {
                    self.findings.push(Draft::error(&path, item.span, format!("`{path}` is empty")));
                }
                _ => list.extend(self.shape(item, shape, &path, item.span)),
            }
        }
        Some(Item::List(list))
    }

    fn wrong_type(&mut self, node: &Node, path: &str, expected: &str, advice: Option<&str>) {
        if !matches!(node.value, Value::Text { .. }) {
            self.conceal(node);
        }
        let place = if path.is_empty() { "the configuration".to_owned() } else { format!("`{path}`") };
        let message = format!("{place} must be {expected}, not {}", node.describe());
        let draft = Draft::error(path, node.span, message);
        self.findings.push(match advice {
            Some(advice) => draft.suggest(advice),
            None => draft,
        });
    }

    fn scalar(&mut self, node: &Node, path: &str, expected: &str) -> Option<Rc<str>> {
        match &node.value {
            Value::Text { text, .. } => Some(Rc::clone(text)),
            _ => {
                self.wrong_type(node, path, expected, None);
                None
            }
        }
    }

    fn no_choice(&mut self, node: &Node, text: &str, values: &[&str], path: &str) {
        let lower = text.to_lowercase();
        let similar = values
            .iter()
            .find(|value| value.to_lowercase() == lower)
            .copied()
            .or_else(|| nearest(text.get(..LONGEST_WORD).unwrap_or(text), values.iter().copied()));
        let all = values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
        let message = format!("`{path}` cannot be `{}`: it is one of {all}", brief(text));
        let draft = Draft::error(path, node.span, message);
        self.findings.push(match similar {
            Some(similar) => draft.suggest(format!("did you mean `{similar}`?")),
            None => draft,
        });
    }

    fn integer(&mut self, node: &Node, min: i64, max: i64, path: &str) -> Option<i64> {
        let Value::Text { text, plain } = &node.value else {
            self.wrong_type(node, path, "a whole number", None);
            return None;
        };
        let Ok(number) = text.trim().parse::<i64>() else {
            self.wrong_type(node, path, "a whole number", None);
            return None;
        };
        self.quoted(*plain, node, path, text.trim());
        if (min..=max).contains(&number) {
            return Some(number);
        }
        let range = match max {
            max if max >= i64::from(i32::MAX) => format!("at least {min}"),
            max => format!("between {min} and {max}"),
        };
        let message = format!("`{path}` must be {range}, not {number}");
        self.findings.push(Draft::error(path, node.span, message));
        None
    }

    fn flag(&mut self, node: &Node, path: &str) -> Option<bool> {
        let Value::Text { text, plain } = &node.value else {
            self.wrong_type(node, path, "`true` or `false`", None);
            return None;
        };
        let flag = match text.to_ascii_lowercase().as_str() {
            "true" => true,
            "false" => false,
            other => {
                let better = match other {
                    "yes" | "on" | "y" | "1" => Some("write `true`"),
                    "no" | "off" | "n" | "0" => Some("write `false`"),
                    _ => None,
                };
                self.wrong_type(node, path, "`true` or `false`", better);
                return None;
            }
        };
        self.quoted(*plain, node, path, if flag { "true" } else { "false" });
        Some(flag)
    }

    /// Old files have numbers in quotes; they are taken, and told.
    fn quoted(&mut self, plain: bool, node: &Node, path: &str, better: &str) {
        if !plain {
            let draft = Draft::warning(path, node.span, format!("`{path}` is text"));
            self.findings.push(draft.suggest(format!("write `{better}`, without quotes")));
        }
    }

    fn secret(&mut self, node: &Node, path: &str, sensitive: bool) -> Option<SecretSource> {
        let entries = match &node.value {
            Value::Text { text, .. } => {
                if sensitive {
                    self.findings.hide(node.span);
                    self.plain_secret(text, node.span, path);
                }
                if text.len() > MAX_SECRET {
                    self.findings.hide(node.span);
                    let message = format!("`{path}` is longer than {} KiB", MAX_SECRET >> 10);
                    self.findings.push(Draft::error(path, node.span, message));
                    return None;
                }
                return Some(SecretSource::Plain(Secret::from(&**text)));
            }
            Value::Map(entries) => entries,
            _ => {
                self.conceal(node);
                self.wrong_type(
                    node,
                    path,
                    "a text or a reference",
                    Some("write {env: NAME} or {file: PATH}"),
                );
                return None;
            }
        };
        let [entry] = entries.as_slice() else {
            self.conceal(node);
            let message = format!("`{path}` must name one place: `env`, `file` or `keyring`");
            self.findings.push(Draft::error(path, node.span, message).suggest("write {env: NAME}"));
            return None;
        };
        let below = join(path, &brief(&entry.key));
        let Value::Text { text, .. } = &entry.value.value else {
            self.wrong_type(&entry.value, &below, "text", None);
            return None;
        };
        match &*entry.key.to_lowercase() {
            "env" if is_variable(text) => Some(SecretSource::Env(text.to_string())),
            "env" => {
                // It may be the secret itself.
                self.findings.hide(entry.value.span);
                let message = format!("`{below}` must be the name of an environment variable");
                self.findings.push(Draft::error(below, entry.value.span, message));
                None
            }
            "file" => Some(SecretSource::File(self.file(text))),
            "keyring" => Some(SecretSource::Keyring(text.to_string())),
            other => {
                self.conceal(&entry.value);
                let message = format!("`{}` is not a place for a secret", brief(&entry.key));
                let draft = Draft::error(below, entry.span, message);
                let advice = match nearest(&brief(other), ["env", "file", "keyring"]) {
                    Some(similar) => format!("did you mean `{similar}`?"),
                    None => "write {env: NAME}, {file: PATH} or {keyring: NAME}".to_owned(),
                };
                self.findings.push(draft.suggest(advice));
                None
            }
        }
    }

    fn plain_secret(&mut self, text: &str, span: Span, path: &str) {
        if let Some(remedy) = &self.shared {
            let message = format!("`{path}` stands in a file that other users can read");
            let draft = Draft::error(path, span, message);
            self.findings.push(draft.suggest(format!("{remedy}, or write {{env: NAME}} or {{file: PATH}}")));
        }
        if text.starts_with("${") && text.ends_with('}') {
            let message = format!("`{path}` looks like a variable of a shell, which nobody fills in");
            self.findings.push(Draft::warning(path, span, message).suggest("write {env: NAME}"));
        }
    }

    fn file(&self, text: &str) -> PathBuf {
        absolute(text, self.directory, self.home)
    }

    /// Keeps everything of a node out of what is shown: nobody knows what it is.
    fn conceal(&mut self, node: &Node) {
        let findings = &mut *self.findings;
        node.scalars(&mut |span| findings.hide(span));
    }
}

/// A path as it is written, made absolute.
pub(super) fn absolute(text: &str, directory: &Path, home: Option<&Path>) -> PathBuf {
    let path = Path::new(text);
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => directory.join(path),
    }
}

/// The full name of a key.
fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn is_variable(text: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.len() <= 255
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(inside)
}

/// How a key is written.
fn example(key: &Key) -> String {
    let name = key.name;
    match key.shape {
        Shape::Object(_) => format!("add `{name}:` and its keys"),
        Shape::Integer(min, _) => format!("add `{name}: {min}` or more"),
        Shape::Secret | Shape::Identity => format!("add `{name}: {{env: NAME}}`"),
        Shape::Choice(values) => format!("add `{name}:` with one of {}", values.join(", ")),
        Shape::Text(format) => format!("add `{name}:` with {}", format.expected()),
        Shape::List(_) => format!("add `{name}: [ … ]`"),
        Shape::Flag | Shape::File | Shape::Refused(_) => format!("add `{name}:`"),
    }
}
