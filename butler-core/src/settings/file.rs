//! `config.toml`: read with positions, edited without losing comments, order or formatting.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use toml::de::{DeTable, DeValue};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use super::{
    Home, HomeError, Place, Problem, SettingsError,
    home::{make_private_dir, write_private},
    keys::{KEYS, Key, Kind},
    layers::Origin,
};

/// A value found in a file.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) key: &'static Key,
    pub(super) value: String,
    pub(super) origin: Origin,
}

/// Everything a file sets, in its order, and everything that is wrong with it. A file that is not
/// there sets nothing.
pub(super) fn read(path: &Path) -> Vec<Result<Found, Problem>> {
    match fs::read_to_string(path) {
        Ok(text) => parse(path, &text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(source) => vec![Err(Problem::Unreadable { path: path.to_owned(), source })],
    }
}

fn parse(path: &Path, text: &str) -> Vec<Result<Found, Problem>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let place = |byte| Place::of(path, text, byte);
    if !errors.is_empty() {
        let malformed = |error: toml::de::Error| Problem::Malformed {
            at: place(error.span().map_or(0, |span| span.start)),
            message: error.message().replace('\n', ", "),
        };
        return errors.into_iter().map(malformed).map(Err).collect();
    }
    let mut leaves = Vec::new();
    flatten("", table.get_ref(), &mut leaves);
    // Tables are kept by name; a person reads from top to bottom.
    leaves.sort_by_key(|leaf| leaf.key_at);
    let found = |leaf: Leaf<'_, '_>| {
        let key = Key::find(&leaf.name).map_err(|problem| problem.found(Origin::File(place(leaf.key_at))))?;
        let origin = Origin::File(place(leaf.value_at.start));
        match (key.kind, leaf.value) {
            (Kind::Text, DeValue::String(value)) => Ok(Found { key, value: value.to_string(), origin }),
            (Kind::Switch, DeValue::Boolean(value)) => Ok(Found { key, value: value.to_string(), origin }),
            (kind, _) => Err(Problem::Invalid {
                at: Some(origin),
                key: key.name,
                value: text[leaf.value_at].to_owned(),
                why: match kind {
                    Kind::Text => "expected a string in quotes".to_owned(),
                    Kind::Switch => "expected true or false, without quotes".to_owned(),
                },
            }),
        }
    };
    leaves.into_iter().map(found).collect()
}

/// A value with its dotted name and where both stand.
struct Leaf<'a, 'i> {
    name: String,
    key_at: usize,
    value: &'a DeValue<'i>,
    value_at: std::ops::Range<usize>,
}

fn flatten<'a, 'i>(prefix: &str, table: &'a DeTable<'i>, leaves: &mut Vec<Leaf<'a, 'i>>) {
    for (key, value) in table {
        let (key_at, key) = (key.span().start, key.get_ref());
        // A dot inside quotes is part of a name, and no setting has such a name.
        let name = if key.contains('.') { format!("{prefix}\"{key}\"") } else { format!("{prefix}{key}") };
        let group = format!("{name}.");
        match value.get_ref() {
            DeValue::Table(inner) if KEYS.iter().any(|key| key.name.starts_with(&group)) => {
                flatten(&group, inner, leaves);
            }
            leaf => leaves.push(Leaf { name, key_at, value: leaf, value_at: value.span() }),
        }
    }
}

/// The user's settings file.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    path: PathBuf,
}

impl ConfigFile {
    /// The file in that home; it need not exist.
    pub fn of(home: &Home) -> Self {
        Self { path: home.config_file() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sets a value after checking it.
    pub fn set(&self, key: &Key, value: &str) -> Result<(), SettingsError> {
        key.check(value)?;
        self.edit(|document| insert(document, key, value)).map(|_| ())
    }

    /// Removes a key, also one that is no setting. False if the file does not set it.
    pub fn unset(&self, name: &str) -> Result<bool, SettingsError> {
        let known = Key::find(name);
        let removed = self.edit(|document| Ok(remove(document, name)))?;
        if !removed {
            known?;
        }
        Ok(removed)
    }

    /// Changes the file whole, one process at a time. True if it is now different.
    fn edit(
        &self,
        change: impl FnOnce(&mut DocumentMut) -> Result<bool, Problem>,
    ) -> Result<bool, SettingsError> {
        let path = &self.path;
        if let Some(home) = path.parent() {
            make_private_dir(home)?;
        }
        let _held = lock(&path.with_extension("lock"))?;
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(Problem::Unreadable { path: path.clone(), source }.into()),
        };
        let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
            let at = Place::of(path, &text, error.span().map_or(0, |span| span.start));
            Problem::Malformed { at, message: error.message().replace('\n', ", ") }
        })?;
        let changed = change(&mut document)?;
        if changed {
            // A link, as people keep for their dotfiles, stays a link.
            let target = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            write_private(&target, document.to_string().as_bytes())?;
        }
        Ok(changed)
    }
}

/// Waits for the lock. It is a file of its own, because the settings file is replaced by another one.
fn lock(path: &Path) -> Result<File, HomeError> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|source| HomeError::Write { path: path.to_owned(), source })
}

/// The table and the name in it that a dotted name means.
fn split(name: &str) -> (Option<&str>, &str) {
    name.rsplit_once('.').map_or((None, name), |(group, leaf)| (Some(group), leaf))
}

fn insert(document: &mut DocumentMut, key: &Key, text: &str) -> Result<bool, Problem> {
    let (group, leaf) = split(key.name);
    let mut value = match key.kind {
        Kind::Text => Value::from(text),
        Kind::Switch => Value::from(text == "true"),
    };
    // Comments of a file that has nothing else go above the first value, not below it.
    let heading = document.is_empty().then(|| document.trailing().as_str().unwrap_or_default().to_owned());
    let table: &mut dyn TableLike = match group {
        None => document.as_table_mut(),
        Some(group) => {
            let item = document.entry(group).or_insert_with(|| Item::Table(Table::new()));
            item.as_table_like_mut().ok_or_else(|| Problem::Invalid {
                at: None,
                key: key.name,
                value: text.to_owned(),
                why: format!("`{group}` is not a table in the settings file"),
            })?
        }
    };
    match table.get_mut(leaf).and_then(Item::as_value_mut) {
        Some(old) => {
            value.decor_mut().clone_from(old.decor());
            *old = value;
        }
        None => {
            table.insert(leaf, Item::Value(value));
        }
    }
    if let Some(heading) = heading.filter(|heading| !heading.is_empty()) {
        document.set_trailing("");
        match group.and_then(|group| document.get_mut(group)).and_then(Item::as_table_mut) {
            Some(table) => table.decor_mut().set_prefix(heading),
            None => put_above(document.as_table_mut(), leaf, &heading),
        }
    }
    Ok(true)
}

fn remove(document: &mut DocumentMut, name: &str) -> bool {
    let (group, leaf) = split(name);
    let Some(table) = (match group {
        None => Some(document.as_table_mut() as &mut dyn TableLike),
        Some(group) => document.get_mut(group).and_then(Item::as_table_like_mut),
    }) else {
        return false;
    };
    let comment = table.key(leaf).and_then(|key| key.leaf_decor().prefix()?.as_str()).unwrap_or_default();
    let comment = comment.trim_start_matches('\n').to_owned();
    let next = table.iter().skip_while(|(key, _)| *key != leaf).skip(1).find(|(_, item)| match item {
        Item::Value(_) => true,
        Item::Table(table) => !table.is_dotted() && !table.is_implicit(),
        _ => false,
    });
    let next = next.map(|(key, _)| key.to_owned());
    if table.remove(leaf).is_none() {
        return false;
    }
    // Comments above the value may speak of more than it: they stay where they are.
    if comment.contains('#') {
        match next {
            Some(next) => put_above(table, &next, &comment),
            None => {
                let trailing = document.trailing().as_str().unwrap_or_default();
                document.set_trailing(comment + trailing);
            }
        }
    }
    true
}

/// Puts a comment in front of what stands above a key.
fn put_above(table: &mut dyn TableLike, key: &str, comment: &str) {
    let Some((mut key, item)) = table.get_key_value_mut(key) else { return };
    let decor = match item {
        Item::Table(table) => table.decor_mut(),
        _ => key.leaf_decor_mut(),
    };
    let prefix = decor.prefix().and_then(|prefix| prefix.as_str()).unwrap_or_default();
    decor.set_prefix(format!("{comment}{prefix}"));
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        error::{Code, Diagnose},
        settings::{Environment, Settings, Sources},
    };

    fn file(text: &str) -> (tempfile::TempDir, ConfigFile) {
        let dir = tempfile::tempdir().unwrap();
        let file = ConfigFile { path: dir.path().join("config.toml") };
        if !text.is_empty() {
            fs::write(file.path(), text).unwrap();
        }
        (dir, file)
    }

    fn set(file: &ConfigFile, key: &str, value: &str) {
        file.set(Key::find(key).unwrap(), value).unwrap();
    }

    fn problems(text: &str) -> Vec<String> {
        let path = Path::new("c.toml");
        parse(path, text).into_iter().filter_map(|found| Some(found.err()?.to_string())).collect()
    }

    #[test]
    fn every_problem_is_named_with_line_and_column() {
        let text = "colour = \"never\"\nrequest-timeout = 30\n[tools]\n  dirr = \"/x\"\n  download = \"no\"\n[forge]\nurl = 1\n";
        insta::assert_snapshot!(problems(text).join("\n"), @r#"
        c.toml:1:1: `colour` is not a setting, did you mean `color`?
        c.toml:2:19: `request-timeout` cannot be `30`: expected a string in quotes
        c.toml:4:3: `tools.dirr` is not a setting, did you mean `tools.dir`?
        c.toml:5:14: `tools.download` cannot be `"no"`: expected true or false, without quotes
        c.toml:6:2: `forge` is not a setting
        "#);
    }

    #[test]
    fn every_syntax_error_is_named_and_nothing_else() {
        let problems = problems("colour = \"never\"\nnamespace = = 1\noutput = \"wide\noutput = \"json\"\n");
        assert!(problems.len() >= 2, "{problems:?}");
        assert!(problems[0].starts_with("c.toml:2:13: "), "{problems:?}");
    }

    #[test]
    fn editing_keeps_comments_order_and_formatting() {
        let (_dir, file) = file(
            "# mine\n\n# where we work\nnamespace   = 'team-a'  # for now\noutput=\"wide\"\n\n# parts\n[tools]\n# fast disk\ndir = \"/x\"\n",
        );
        set(&file, "namespace", "team-b");
        set(&file, "tools.download", "false");
        set(&file, "color", "never");
        insta::assert_snapshot!(fs::read_to_string(file.path()).unwrap(), @r#"
        # mine

        # where we work
        namespace   = "team-b"  # for now
        output="wide"
        color = "never"

        # parts
        [tools]
        # fast disk
        dir = "/x"
        download = false
        "#);
        assert!(file.unset("tools.dir").unwrap() && file.unset("namespace").unwrap());
        assert!(!file.unset("namespace").unwrap());
        insta::assert_snapshot!(fs::read_to_string(file.path()).unwrap(), @r#"
        # mine

        # where we work
        output="wide"
        color = "never"

        # parts
        [tools]
        # fast disk
        download = false
        "#);
    }

    #[test]
    fn a_new_file_is_private_and_a_link_stays_one() {
        let (dir, file) = file("");
        set(&file, "tools.dir", "/opt/parts");
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "[tools]\ndir = \"/opt/parts\"\n");
        assert_eq!(fs::metadata(file.path()).unwrap().permissions().mode() & 0o777, 0o600);

        let elsewhere = dir.path().join("dotfiles.toml");
        fs::rename(file.path(), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, file.path()).unwrap();
        set(&file, "output", "json");
        assert!(fs::symlink_metadata(file.path()).unwrap().is_symlink());
        assert!(fs::read_to_string(elsewhere).unwrap().contains("output = \"json\""));
    }

    #[test]
    fn a_key_that_is_no_setting_can_be_removed_but_not_set() {
        let (_dir, file) = file("colour = \"never\"\n");
        assert!(file.unset("colour").unwrap());
        assert_eq!(file.unset("colour").unwrap_err().code(), Code::SettingUnknown);
        assert_eq!(
            Key::find("colour").unwrap_err().to_string(),
            "`colour` is not a setting, did you mean `color`?"
        );
    }

    #[test]
    fn a_bad_value_or_a_broken_file_changes_nothing() {
        let (_dir, file) = file("namespace = \n");
        let key = Key::find("output").unwrap();
        assert_eq!(file.set(key, "xml").unwrap_err().code(), Code::SettingInvalid);
        assert_eq!(file.set(key, "json").unwrap_err().code(), Code::SettingsMalformed);
        assert_eq!(fs::read_to_string(file.path()).unwrap(), "namespace = \n");
    }

    #[test]
    fn many_editors_at_once_lose_nothing() {
        let (_dir, file) = file("");
        let values = [
            ("color", "never"),
            ("namespace", "a"),
            ("output", "yaml"),
            ("request-timeout", "5s"),
            ("tools.dir", "/x"),
        ];
        std::thread::scope(|scope| {
            for (key, value) in values {
                scope.spawn(|| set(&file, key, value));
            }
        });
        let environment = Environment::default();
        let sources = Sources { user: Some(file.path().to_owned()), ..Sources::of(&environment) };
        let settings = Settings::resolve(&Sources { system: "/nonexistent".into(), ..sources }).unwrap();
        for (key, value) in values {
            assert_eq!(settings.entry(key).unwrap().value.as_deref(), Some(value));
        }
    }

    /// A file with a comment above every value, in one of the ways TOML can be written.
    fn any_file() -> impl Strategy<Value = String> {
        let line = |name: &'static str, value: &'static str| {
            prop::option::of(Just(format!("# about {name}\n{name} = {value} # same line\n")))
        };
        let lines = (line("color", "\"auto\""), line("namespace", "'a'"), line("output", "\"name\""));
        let tools = prop::sample::select(vec![
            "",
            "# group\n[tools]\n# about dir\ndir = \"/x\"\n# about download\ndownload = true\n",
            "# group\ntools.dir = \"/x\"\n",
            "# group\ntools = { dir = \"/x\", download = false }\n",
        ]);
        (lines, tools).prop_map(|((a, b, c), tools)| {
            [Some("# top\n\n".to_owned()), a, b, c, Some(tools.to_owned()), Some("# end\n".to_owned())]
                .into_iter()
                .flatten()
                .collect()
        })
    }

    proptest! {
        #[test]
        fn edits_touch_their_own_key_only(
            text in any_file(),
            edits in prop::collection::vec((0..KEYS.len(), any::<bool>()), 1..6),
        ) {
            let mut document: DocumentMut = text.parse().unwrap();
            let values = |text: &str| -> Vec<(&str, String)> {
                parse(Path::new("c.toml"), text).into_iter().map(|found| found.unwrap()).map(|found| (found.key.name, found.value)).collect()
            };
            for (index, keep) in edits {
                let key = &KEYS[index];
                let mut expected = values(&document.to_string());
                let value = match key.kind { Kind::Switch => "true", Kind::Text => "v" };
                expected.retain(|(name, _)| *name != key.name);
                if keep {
                    insert(&mut document, key, value).unwrap();
                    expected.push((key.name, value.to_owned()));
                } else {
                    remove(&mut document, key.name);
                }
                let after = document.to_string();
                let mut actual = values(&after);
                actual.sort();
                expected.sort();
                prop_assert_eq!(actual, expected, "{}", after);
                for comment in text.lines().filter(|line| line.starts_with('#')) {
                    prop_assert!(after.lines().any(|line| line == comment), "{} is gone:\n{}", comment, after);
                }
            }
        }
    }
}
