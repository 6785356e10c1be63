//! Values that may appear nowhere.

use std::path::PathBuf;

use anyhow::{Result, ensure};

/// Secrets, and where each comes from. Never shown: a report names only the origin.
#[derive(Clone, Default)]
pub struct Secrets {
    values: Vec<(String, String)>,
}

/// Shorter ones would be found by chance.
const SHORTEST: usize = 10;

impl Secrets {
    /// Adds a value.
    pub fn add(&mut self, origin: impl Into<String>, value: impl Into<String>) {
        let (origin, value) = (origin.into(), value.into());
        if value.len() >= SHORTEST && !self.values.iter().any(|(_, known)| *known == value) {
            self.values.push((origin, value));
        }
    }

    /// Adds the values of these keys from a file in YAML or JSON, however deep.
    pub fn add_keys(&mut self, origin: &str, text: &str, keys: &[&str]) {
        for line in text.split(['\n', ',', '{']) {
            let Some((key, value)) = line.split_once(':') else { continue };
            let bare = |text: &str| text.trim().trim_matches(['"', '\'', '-', ' ', '}', ']']).to_owned();
            if keys.contains(&bare(key).as_str()) {
                self.add(format!("{origin}: {}", bare(key)), bare(value));
            }
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Where a secret stands in a text.
    pub fn found(&self, name: &str, text: &str) -> Vec<String> {
        let found = self.values.iter().filter(|(_, value)| text.contains(value.as_str()));
        found.map(|(origin, _)| format!("{name} holds the secret `{origin}`")).collect()
    }

    /// Demands that no file holds one.
    pub fn in_no_file(&self, files: &[PathBuf]) -> Result<()> {
        let mut found = Vec::new();
        for file in files {
            let text = std::fs::read(file).unwrap_or_default();
            found.extend(self.found(&file.display().to_string(), &String::from_utf8_lossy(&text)));
        }
        ensure!(found.is_empty(), "{}", found.join("\n"));
        Ok(())
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.values.iter().map(|(origin, _)| origin)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_in_every_form_and_told_by_their_origin_only() {
        for text in [
            "users:\n- name: a\n  user:\n    key: c2VjcmV0LXZhbHVl=\n",
            "users:\n  - {name: a, key: 'c2VjcmV0LXZhbHVl='}\n",
            r#"{"users":[{"name":"a","key":"c2VjcmV0LXZhbHVl="}]}"#,
        ] {
            let mut secrets = Secrets::default();
            secrets.add_keys("file", text, &["key"]);
            assert_eq!(secrets.len(), 1, "{text}");
            let found = secrets.found("stderr", "it says c2VjcmV0LXZhbHVl= and more");
            assert_eq!(found, ["stderr holds the secret `file: key`"]);
            assert!(secrets.found("stderr", "it says nothing").is_empty());
            assert!(!format!("{secrets:?}").contains("c2Vj"));
        }
    }
}
