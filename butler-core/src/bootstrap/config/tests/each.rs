//! Every mistake at every key of the table: nothing is passed over in silence.

use super::*;
use crate::bootstrap::config::keys::{Key, ROOT, Shape};

/// A key by its path, with its neighbours.
struct Place {
    path: String,
    key: Key,
    siblings: &'static [Key],
}

fn every_key() -> Vec<Place> {
    fn walk(keys: &'static [Key], prefix: &str, found: &mut Vec<Place>) {
        for key in keys {
            let path = if prefix.is_empty() { key.name.to_owned() } else { format!("{prefix}.{}", key.name) };
            if let Shape::Object(inner) = key.shape {
                walk(inner, &path, found);
            }
            found.push(Place { path, key: *key, siblings: keys });
        }
    }
    let mut found = Vec::new();
    walk(ROOT, "", &mut found);
    assert!(found.len() > 150, "{}", found.len());
    found
}

impl Place {
    fn provider(&self) -> &str {
        self.path.strip_prefix("providerConfig.").and_then(|rest| rest.split('.').next()).unwrap_or("sandbox")
    }

    /// The mapping that holds the key, as a file; `entries` are its lines, which are indented by us.
    fn file(&self, entries: &[&str]) -> String {
        let mut names: Vec<&str> = self.path.split('.').collect();
        names.pop();
        let mut text = match self.path.as_str() {
            "provider" => String::new(),
            _ => format!("provider: {}\n", self.provider()),
        };
        for (depth, name) in names.iter().enumerate() {
            text += &format!("{}{name}:\n", "  ".repeat(depth));
        }
        for entry in entries {
            text += &format!("{}{entry}\n", "  ".repeat(names.len()));
        }
        text
    }

    /// Whether something was said about this key or what is below it.
    fn is_told(&self, found: &[Problem]) -> bool {
        found.iter().any(|problem| problem.path.to_lowercase().starts_with(&self.path.to_lowercase()))
    }
}

#[test]
fn an_empty_value_is_told_at_every_key() {
    for place in every_key() {
        for value in ["", " ''", " ~"] {
            let text = place.file(&[&format!("{}:{value}", place.key.name)]);
            let found = problems(&text);
            let fine =
                place.key.may_be_empty || matches!(place.key.shape, Shape::Object(_)) && value == " ''";
            assert!(fine || place.is_told(&found), "{text}{found:#?}");
        }
    }
}

#[test]
fn a_huge_value_is_told_at_every_key_and_not_repeated() {
    let huge = "x".repeat(600_000);
    for place in every_key() {
        let text = place.file(&[&format!("{}: {huge}", place.key.name)]);
        let found = problems(&text);
        assert!(place.is_told(&found), "{}: {found:#?}", place.path);
        assert!(found.iter().all(|problem| format!("{problem:?}").len() < 4000), "{}", place.path);
    }
}

#[test]
fn a_tab_is_told_at_every_key() {
    for place in every_key() {
        if place.path != "provider" {
            let text = place.file(&["key: 1"]);
            let (above, _) = text.rsplit_once("key: 1").unwrap();
            let text = format!("{}\t{}: 1\n", above.trim_end_matches(' '), place.key.name);
            let found = told(&text);
            assert!(found.iter().any(|line| line.contains("indented with a tab")), "{text}{found:#?}");
        }
        // Inside of a value it is a character that no value of ours has.
        let text = place.file(&[&format!("{}: \"a\\tb\"", place.key.name)]);
        let found = problems(&text);
        let free = matches!(place.key.shape, Shape::Secret | Shape::Identity | Shape::File);
        assert!(free || place.is_told(&found), "{text}{found:#?}");
    }
}

#[test]
fn a_misspelt_key_is_told_everywhere_and_longer_ones_with_the_right_word() {
    for place in every_key() {
        let name = place.key.name;
        let (start, end) = name.split_at(name.len() / 2);
        let wrong = format!("{start}q{end}");
        let text = place.file(&[&format!("{wrong}: 1")]);
        let found = told(&text);
        let line = found.iter().find(|line| line.contains(&format!("`{wrong}` is not a key")));
        let line = line.unwrap_or_else(|| panic!("{text}{found:#?}"));
        let known = place.siblings.iter().any(|key| line.contains(&format!("`{}`?", key.name)));
        assert!(name.len() < 5 || known, "{line}");
    }
}

#[test]
fn a_key_that_is_given_twice_is_told_everywhere() {
    for place in every_key() {
        let entry = format!("{}: 1", place.key.name);
        let found = told(&place.file(&[&entry, &entry]));
        let expected = format!("`{}` is given a second time", place.path);
        assert!(found.iter().any(|line| line.contains(&expected)), "{expected}: {found:#?}");
    }
}

#[test]
fn a_key_that_must_be_there_is_missed_wherever_its_mapping_is() {
    let mut count = 0;
    for place in every_key().into_iter().filter(|place| place.key.required) {
        let other = place.siblings.iter().find(|key| key.name != place.key.name);
        let entry = other.map(|key| format!("{}: 1", key.name)).unwrap_or_else(|| "{}".to_owned());
        let found = told(&place.file(&[&entry]));
        let expected = format!("`{}` is missing", place.path);
        assert!(found.iter().any(|line| line.contains(&expected)), "{expected}: {found:#?}");
        count += 1;
    }
    assert!(count > 20, "{count}");
}
