//! The one table of settings. Resolving, listing, editing, completion and help are views of it.

use std::{path::PathBuf, time::Duration};

use super::{Problem, Settings, env};

/// One setting.
#[derive(Debug)]
pub struct Key {
    /// Its name in `config.toml` and on the command line; a dot stands for a table.
    pub name: &'static str,
    /// Its value when nobody gives one.
    pub default: Option<&'static str>,
    /// The variable that overrides the files.
    pub env: &'static str,
    /// One line on what it does.
    pub doc: &'static str,
    /// How it is written in TOML.
    pub kind: Kind,
    /// Checks a value and puts it where the programs read it.
    pub(super) apply: fn(&mut Settings, &str) -> Result<(), String>,
}

/// How a setting is written in TOML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    Text,
    /// `true` or `false`.
    Switch,
}

/// Every setting, by name.
pub const KEYS: &[Key] = &[
    Key {
        name: "color",
        default: Some("auto"),
        env: env::BUTLER_COLOR,
        doc: "When to use colours: auto, always or never",
        kind: Kind::Text,
        apply: |settings, text| {
            settings.color = one_of(text, &["auto", "always", "never"])?;
            Ok(())
        },
    },
    Key {
        name: "namespace",
        default: Some("butler-tenants"),
        env: env::BUTLER_NAMESPACE,
        doc: "Namespace of tenant clusters without -n",
        kind: Kind::Text,
        apply: |settings, text| {
            settings.namespace = label(text)?;
            Ok(())
        },
    },
    Key {
        name: "output",
        default: Some("table"),
        env: env::BUTLER_OUTPUT,
        doc: "Output format without -o: table, wide, json, yaml or name",
        kind: Kind::Text,
        apply: |settings, text| {
            settings.output = one_of(text, &["table", "wide", "json", "yaml", "name"])?;
            Ok(())
        },
    },
    Key {
        name: "request-timeout",
        default: Some("30s"),
        env: env::BUTLER_REQUEST_TIMEOUT,
        doc: "How long one request may take, such as 30s or 2m",
        kind: Kind::Text,
        apply: |settings, text| {
            settings.request_timeout = duration(text)?;
            Ok(())
        },
    },
    Key {
        name: "tools.dir",
        default: None,
        env: env::BUTLER_TOOLS_DIR,
        doc: "Directory to look in first for etcd and the other parts",
        kind: Kind::Text,
        apply: |settings, text| {
            settings.tools_dir = Some(absolute(text)?);
            Ok(())
        },
    },
    Key {
        name: "tools.download",
        default: Some("true"),
        env: env::BUTLER_TOOLS_DOWNLOAD,
        doc: "Whether missing parts may be downloaded: true or false",
        kind: Kind::Switch,
        apply: |settings, text| {
            settings.tools_download = text.parse().map_err(|_| "expected true or false")?;
            Ok(())
        },
    },
    Key {
        name: "tui.keys",
        default: None,
        env: env::BUTLER_TUI_KEYS,
        doc: "Keys of actions in full-screen views, such as \"quit=Q, list.down=j down\"",
        kind: Kind::Text,
        apply: |settings, text| {
            settings.tui_keys = pairs(text)?;
            Ok(())
        },
    },
    Key {
        name: "tui.mouse",
        default: Some("false"),
        env: env::BUTLER_TUI_MOUSE,
        doc: "Whether full-screen views listen to the mouse: true or false",
        kind: Kind::Switch,
        apply: |settings, text| {
            settings.tui_mouse = text.parse().map_err(|_| "expected true or false")?;
            Ok(())
        },
    },
    Key {
        name: "tui.theme",
        default: Some("auto"),
        env: env::BUTLER_TUI_THEME,
        doc: "Colours of full-screen views: auto, dark, light, contrast, 16 or none",
        kind: Kind::Text,
        apply: |settings, text| {
            settings.tui_theme = one_of(text, &["auto", "dark", "light", "contrast", "16", "none"])?;
            Ok(())
        },
    },
];

impl Key {
    /// The setting of that name.
    pub fn find(name: &str) -> Result<&'static Self, Problem> {
        KEYS.iter().find(|key| key.name == name).ok_or_else(|| Problem::unknown(name))
    }

    /// Checks a value without using it.
    pub fn check(&self, value: &str) -> Result<(), Problem> {
        (self.apply)(&mut Settings::default(), value).map_err(|why| Problem::Invalid {
            at: None,
            key: self.name,
            value: value.to_owned(),
            why,
        })
    }
}

/// Reads a duration like `30s`, `2m` or `1h30m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration =
        text.parse().map_err(|_| "expected a duration such as 30s, 2m or 1h30m".to_owned())?;
    Duration::try_from(span).ok().filter(|d| !d.is_zero()).ok_or_else(|| "expected more than zero".to_owned())
}

fn one_of(text: &str, choices: &[&str]) -> Result<String, String> {
    let (last, others) = choices.split_last().ok_or("there is nothing to choose from")?;
    if !choices.contains(&text) {
        return Err(format!("expected {} or {last}", others.join(", ")));
    }
    Ok(text.to_owned())
}

/// `action=key key, action=key`. Which actions and keys there are is known to the views.
fn pairs(text: &str) -> Result<Vec<(String, Vec<String>)>, String> {
    let pair = |pair: &str| {
        let (action, keys) = pair.split_once('=')?;
        let keys: Vec<String> = keys.split_whitespace().map(str::to_owned).collect();
        (!action.trim().is_empty() && !keys.is_empty()).then(|| (action.trim().to_owned(), keys))
    };
    let given = text.split(',').filter(|given| !given.trim().is_empty());
    let read: Option<Vec<_>> = given.map(pair).collect();
    read.ok_or_else(|| "expected pairs such as quit=Q, list.down=j down".to_owned())
}

/// A name as Kubernetes wants it for namespaces.
fn label(text: &str) -> Result<String, String> {
    let letters = text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    if text.is_empty() || text.len() > 63 || !letters || text.starts_with('-') || text.ends_with('-') {
        return Err("expected up to 63 lower-case letters, digits and inner hyphens".to_owned());
    }
    Ok(text.to_owned())
}

/// A path that means the same from every directory.
fn absolute(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.is_absolute() { Ok(path) } else { Err("expected an absolute path".to_owned()) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn the_table_is_sorted_and_its_defaults_are_valid() {
        assert!(KEYS.is_sorted_by_key(|key| key.name));
        for key in KEYS {
            key.default.map_or(Ok(()), |value| key.check(value)).unwrap();
            assert!(key.env.starts_with("BUTLER_") && !key.doc.ends_with('.'), "{}", key.name);
        }
    }

    #[rstest]
    #[case("color", "sometimes", "expected auto, always or never")]
    #[case("namespace", "Team_A", "expected up to 63 lower-case letters, digits and inner hyphens")]
    #[case("namespace", "", "expected up to 63 lower-case letters, digits and inner hyphens")]
    #[case("request-timeout", "0s", "expected more than zero")]
    #[case("request-timeout", "-1s", "expected more than zero")]
    #[case("request-timeout", "soon", "expected a duration such as 30s, 2m or 1h30m")]
    #[case("tools.dir", "bin", "expected an absolute path")]
    #[case("tools.download", "yes", "expected true or false")]
    #[case("tui.keys", "quit", "expected pairs such as quit=Q, list.down=j down")]
    #[case("tui.keys", "quit=Q,=x", "expected pairs such as quit=Q, list.down=j down")]
    #[case("tui.theme", "pink", "expected auto, dark, light, contrast, 16 or none")]
    fn bad_values_are_told_what_is_expected(#[case] key: &str, #[case] value: &str, #[case] why: &str) {
        let problem = Key::find(key).unwrap().check(value).unwrap_err();
        assert_eq!(problem.to_string(), format!("`{key}` cannot be `{value}`: {why}"));
    }
}
