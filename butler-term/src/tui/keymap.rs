//! The one table of keys. Dispatch, footer, help and palette are views of it.

use std::fmt;

use butler_core::{
    error::{Code, Diagnose},
    nearest::nearest,
};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key with what is held beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    ctrl: bool,
    alt: bool,
}

const NAMES: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("shift-tab", KeyCode::BackTab),
    ("space", KeyCode::Char(' ')),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pgup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
];

impl Key {
    /// What a person writes: `q`, `ctrl-p`, `pgdn`, `f5`.
    pub fn parse(text: &str) -> Option<Self> {
        let (mut rest, mut ctrl, mut alt) = (text, false, false);
        loop {
            if let Some(after) = rest.strip_prefix("ctrl-").filter(|after| !after.is_empty()) {
                (rest, ctrl) = (after, true);
            } else if let Some(after) = rest.strip_prefix("alt-").filter(|after| !after.is_empty()) {
                (rest, alt) = (after, true);
            } else {
                break;
            }
        }
        let named = NAMES.iter().find(|(name, _)| *name == rest).map(|(_, code)| *code);
        let function = || {
            let number = rest.strip_prefix('f')?.parse().ok().filter(|number| (1..=12).contains(number))?;
            Some(KeyCode::F(number))
        };
        let mut letters = rest.chars();
        let letter = match (letters.next(), letters.next()) {
            (Some(c), None) if !c.is_control() => {
                Some(KeyCode::Char(if ctrl { c.to_ascii_lowercase() } else { c }))
            }
            _ => None,
        };
        Some(Self { code: named.or(letter).or_else(function)?, ctrl, alt })
    }
}

impl From<KeyEvent> for Key {
    fn from(event: KeyEvent) -> Self {
        let ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
        let alt = event.modifiers.contains(KeyModifiers::ALT);
        let shift = event.modifiers.contains(KeyModifiers::SHIFT);
        let code = match event.code {
            // Shift is in the letter already; with Ctrl terminals disagree.
            KeyCode::Char(c) if ctrl => KeyCode::Char(c.to_ascii_lowercase()),
            KeyCode::Tab if shift => KeyCode::BackTab,
            code => code,
        };
        Self { code, ctrl, alt }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = |held, name| if held { name } else { "" };
        write!(f, "{}{}", held(self.ctrl, "ctrl-"), held(self.alt, "alt-"))?;
        match self.code {
            KeyCode::Up => f.write_str("↑"),
            KeyCode::Down => f.write_str("↓"),
            KeyCode::Left => f.write_str("←"),
            KeyCode::Right => f.write_str("→"),
            KeyCode::F(number) => write!(f, "f{number}"),
            code => match (NAMES.iter().find(|(_, named)| *named == code), code) {
                (Some((name, _)), _) => f.write_str(name),
                (None, KeyCode::Char(c)) => write!(f, "{c}"),
                (None, _) => f.write_str("?"),
            },
        }
    }
}

/// A row of the table.
#[derive(Debug)]
pub struct Binding<A> {
    /// Where it holds.
    pub scope: &'static str,
    /// What is done.
    pub action: A,
    /// What settings call it, such as `clusters.delete`.
    pub name: &'static str,
    /// The keys, with spaces between; the first is shown.
    pub keys: &'static str,
    /// What a person calls it.
    pub label: &'static str,
    /// Shown in the footer.
    pub hint: bool,
    /// Changes something outside: not there when only looking is allowed.
    pub changes: bool,
}

/// A row as it is used.
#[derive(Clone, Debug)]
pub struct Row<A> {
    /// Where it holds.
    pub scope: &'static str,
    /// What is done.
    pub action: A,
    /// What settings call it.
    pub name: &'static str,
    /// The keys; the first is shown.
    pub keys: Vec<Key>,
    /// What a person calls it.
    pub label: &'static str,
    /// Shown in the footer.
    pub hint: bool,
}

/// Why a person's keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeymapError {
    /// No action has the name.
    #[error("`tui.keys` names the action `{name}`, and there is none")]
    Unknown {
        /// The name.
        name: String,
        /// The nearest one there is.
        nearest: Option<&'static str>,
    },
    /// A key cannot be read.
    #[error("`tui.keys` gives `{name}` the key `{key}`, which is none")]
    Key {
        /// The action.
        name: String,
        /// What was given.
        key: String,
    },
    /// Two actions of one place have the same key.
    #[error("`tui.keys` gives `{first}` and `{second}` the same key `{key}`")]
    Twice {
        /// One action.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// The key.
        key: Key,
    },
}

impl Diagnose for KeymapError {
    fn code(&self) -> Code {
        Code::SettingInvalid
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Unknown { nearest: Some(nearest), .. } => vec![format!("did you mean `{nearest}`")],
            Self::Unknown { nearest: None, .. } => {
                vec!["the help of the screen (?) names every action".to_owned()]
            }
            Self::Key { .. } => {
                vec![
                    "keys are letters, `ctrl-x`, `alt-x`, `f1` to `f12`, `enter`, `pgdn` and their like"
                        .to_owned(),
                ]
            }
            Self::Twice { .. } => Vec::new(),
        }
    }
}

/// The table as it is used: with a person's keys, and without what is not allowed.
#[derive(Clone, Debug)]
pub struct Keymap<A> {
    rows: Vec<Row<A>>,
}

impl<A: Copy + PartialEq> Keymap<A> {
    /// `own` are the person's pairs of action and keys; `read_only` leaves out what changes something.
    pub fn new(
        table: &[Binding<A>],
        own: &[(String, Vec<String>)],
        read_only: bool,
    ) -> Result<Self, KeymapError> {
        let keys = |text: &str| text.split(' ').filter_map(Key::parse).collect();
        let mut rows: Vec<Row<A>> = table
            .iter()
            .map(|row| Row {
                scope: row.scope,
                action: row.action,
                name: row.name,
                keys: keys(row.keys),
                label: row.label,
                hint: row.hint,
            })
            .collect();
        for (name, keys) in own {
            let Some(row) = rows.iter_mut().find(|row| row.name == name) else {
                let nearest = nearest(name, table.iter().map(|row| row.name));
                return Err(KeymapError::Unknown { name: name.clone(), nearest });
            };
            let read = |key: &String| {
                Key::parse(key).ok_or_else(|| KeymapError::Key { name: name.clone(), key: key.clone() })
            };
            row.keys = keys.iter().map(read).collect::<Result<_, _>>()?;
        }
        for (at, row) in rows.iter().enumerate() {
            for other in rows[..at].iter().filter(|other| other.scope == row.scope && other.name != row.name)
            {
                if let Some(key) = row.keys.iter().find(|key| other.keys.contains(key)) {
                    return Err(KeymapError::Twice { first: other.name, second: row.name, key: *key });
                }
            }
        }
        let changing: Vec<&str> = table.iter().filter(|row| row.changes).map(|row| row.name).collect();
        rows.retain(|row| !read_only || !changing.contains(&row.name));
        Ok(Self { rows })
    }

    /// What a key means in these places, the innermost first.
    pub fn action(&self, scopes: &[&str], key: Key) -> Option<A> {
        scopes.iter().find_map(|scope| {
            let here = |row: &&Row<A>| row.scope == *scope && row.keys.contains(&key);
            self.rows.iter().find(here).map(|row| row.action)
        })
    }

    /// The rows of these places, in the order of the places.
    pub fn of<'a>(&'a self, scopes: &'a [&'a str]) -> impl Iterator<Item = &'a Row<A>> {
        scopes.iter().flat_map(|scope| self.rows.iter().filter(move |row| row.scope == *scope))
    }

    /// Every row.
    pub fn rows(&self) -> &[Row<A>] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const TABLE: &[Binding<u8>] = &[
        Binding {
            scope: "list",
            action: 1,
            name: "list.open",
            keys: "enter l",
            label: "open",
            hint: true,
            changes: false,
        },
        Binding {
            scope: "list",
            action: 2,
            name: "list.delete",
            keys: "D",
            label: "delete",
            hint: true,
            changes: true,
        },
        Binding {
            scope: "all",
            action: 3,
            name: "quit",
            keys: "q ctrl-c",
            label: "quit",
            hint: true,
            changes: false,
        },
    ];

    fn own(pairs: &[(&str, &str)]) -> Vec<(String, Vec<String>)> {
        pairs.iter().map(|(name, key)| ((*name).to_owned(), vec![(*key).to_owned()])).collect()
    }

    #[rstest]
    #[case("q", "q")]
    #[case("ctrl-P", "ctrl-p")]
    #[case("alt-ctrl-x", "ctrl-alt-x")]
    #[case("pgdn", "pgdn")]
    #[case("up", "↑")]
    #[case("f12", "f12")]
    #[case("-", "-")]
    #[case("ctrl--", "ctrl--")]
    fn keys_are_read_and_shown(#[case] text: &str, #[case] shown: &str) {
        assert_eq!(Key::parse(text).unwrap().to_string(), shown);
    }

    #[rstest]
    #[case("")]
    #[case("ctrl-")]
    #[case("f13")]
    #[case("qq")]
    fn what_is_no_key_is_refused(#[case] text: &str) {
        assert_eq!(Key::parse(text), None);
    }

    #[test]
    fn the_innermost_place_wins_and_settings_move_keys() {
        let map = Keymap::new(TABLE, &own(&[("quit", "Q"), ("list.open", "q")]), false).unwrap();
        let key = |text| Key::parse(text).unwrap();
        assert_eq!(map.action(&["list", "all"], key("q")), Some(1));
        assert_eq!(map.action(&["all"], key("q")), None);
        assert_eq!(map.action(&["all"], key("Q")), Some(3));
        assert_eq!(map.of(&["all"]).next().unwrap().keys[0].to_string(), "Q");
    }

    #[test]
    fn who_only_looks_has_no_key_that_changes_something() {
        let map = Keymap::new(TABLE, &[], true).unwrap();
        assert_eq!(map.action(&["list"], Key::parse("D").unwrap()), None);
        assert!(map.rows().iter().all(|row| row.action != 2));
    }

    #[test]
    fn keys_that_cannot_be_are_explained() {
        let error = |pairs: &[(&str, &str)]| Keymap::new(TABLE, &own(pairs), false).unwrap_err();
        assert_eq!(error(&[("list.opn", "x")]).hints(), ["did you mean `list.open`"]);
        assert!(error(&[("quit", "hyper-x")]).to_string().contains("`hyper-x`"));
        assert_eq!(
            error(&[("list.delete", "enter")]).to_string(),
            "`tui.keys` gives `list.open` and `list.delete` the same key `enter`"
        );
    }
}
