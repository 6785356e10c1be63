//! Which value wins: built-in < system file < user file < environment < flag.
//!
//! There is no project file: a directory that somebody else filled must not decide, by being the
//! current one, which programs are executed (`tools.dir`) or which namespace is touched. Which cluster
//! and whose identity are used is no setting either: `cluster::connect` has the one search order.

use std::{fmt, path::PathBuf, time::Duration};

use super::{
    Environment, Home, Place, Problem, SettingsError, env, file,
    keys::{KEYS, Key},
};

/// The settings, ready for use, and where each came from.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `color`: `auto`, `always` or `never`.
    pub color: String,
    /// `namespace`: where tenant clusters are.
    pub namespace: String,
    /// `output`: the name of a format.
    pub output: String,
    /// `request-timeout`: how long one request may take.
    pub request_timeout: Duration,
    /// `tools.dir`: where the real parts are searched first.
    pub tools_dir: Option<PathBuf>,
    /// `tools.download`: whether missing parts may be downloaded.
    pub tools_download: bool,
    /// `tui.keys`: actions of full-screen views and the keys they have.
    pub tui_keys: Vec<(String, Vec<String>)>,
    /// `tui.mouse`: whether full-screen views listen to the mouse.
    pub tui_mouse: bool,
    /// `tui.theme`: the name of a palette.
    pub tui_theme: String,
    entries: Vec<Entry>,
}

/// One setting with its value and where that came from.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The setting.
    pub key: &'static Key,
    /// Its value; none when it has no default and nobody gave one.
    pub value: Option<String>,
    /// Where the value came from.
    pub origin: Origin,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// A settings file.
    File(Place),
    /// An environment variable.
    Variable(&'static str),
    /// A flag of this command.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(place) => place.fmt(f),
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag --{name}"),
        }
    }
}

/// Where settings are looked for.
#[derive(Debug)]
pub struct Sources<'a> {
    /// The file of this machine.
    pub system: PathBuf,
    /// The file of this user; none when there is no home directory.
    pub user: Option<PathBuf>,
    /// The environment.
    pub environment: &'a Environment,
    /// Flags that were given: the key, which is also the flag's name, and the value.
    pub flags: Vec<(&'static str, String)>,
}

impl<'a> Sources<'a> {
    /// The usual places, and no flags.
    pub fn of(environment: &'a Environment) -> Self {
        let system = environment.path(env::BUTLER_SYSTEM_CONFIG);
        Self {
            system: system.unwrap_or_else(|| PathBuf::from("/etc/butler/config.toml")),
            user: Home::resolve(environment).ok().map(|home| home.config_file()),
            environment,
            flags: Vec::new(),
        }
    }
}

impl Settings {
    /// Resolves every setting, or names everything that is wrong.
    pub fn resolve(sources: &Sources<'_>) -> Result<Self, SettingsError> {
        let mut settings = Self::default();
        let mut problems = Vec::new();
        for key in KEYS {
            settings.entries.push(Entry { key, value: None, origin: Origin::Default });
            if let Some(value) = key.default {
                problems.extend(settings.take(key, value, Origin::Default).err());
            }
        }
        for path in [Some(&sources.system), sources.user.as_ref()].into_iter().flatten() {
            for found in file::read(path) {
                let taken = found.and_then(|found| settings.take(found.key, &found.value, found.origin));
                problems.extend(taken.err());
            }
        }
        for key in KEYS {
            let Some(value) = sources.environment.get_os(key.env) else { continue };
            problems.extend(settings.take(key, &value.to_string_lossy(), Origin::Variable(key.env)).err());
        }
        for (name, value) in &sources.flags {
            let taken = Key::find(name).and_then(|key| settings.take(key, value, Origin::Flag(name)));
            problems.extend(taken.err());
        }
        if problems.is_empty() { Ok(settings) } else { Err(SettingsError::Problems(problems)) }
    }

    fn take(&mut self, key: &'static Key, value: &str, origin: Origin) -> Result<(), Problem> {
        let invalid =
            |why| Problem::Invalid { at: Some(origin.clone()), key: key.name, value: value.to_owned(), why };
        (key.apply)(self, value).map_err(invalid)?;
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.key.name == key.name) {
            *entry = Entry { key, value: Some(value.to_owned()), origin };
        }
        Ok(())
    }

    /// Every setting, by name.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The setting of that name.
    pub fn entry(&self, name: &str) -> Result<&Entry, Problem> {
        self.entries.iter().find(|entry| entry.key.name == name).ok_or_else(|| Problem::unknown(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Code, Diagnose};

    fn with(
        files: [&str; 2],
        vars: &[(&str, &str)],
        flags: &[(&'static str, &str)],
    ) -> Result<Settings, SettingsError> {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for (name, text) in ["system.toml", "user.toml"].into_iter().zip(files) {
            fs_err::write(path(name), text).unwrap();
        }
        let environment = Environment::of(vars.iter().copied());
        Settings::resolve(&Sources {
            system: path("system.toml"),
            user: Some(path("user.toml")),
            environment: &environment,
            flags: flags.iter().map(|(key, value)| (*key, (*value).to_owned())).collect(),
        })
    }

    #[test]
    fn each_layer_wins_over_the_one_below_and_is_remembered() {
        let mut seen = Vec::new();
        let origin = |settings: &Settings| {
            let entry = settings.entry("color").unwrap();
            assert_eq!(entry.value.as_deref(), Some(settings.color.as_str()));
            match &entry.origin {
                Origin::File(place) => {
                    format!("{}:{}", place.path.file_name().unwrap().display(), place.line)
                }
                other => other.to_string(),
            }
        };
        let (auto, always) = ("\ncolor = \"auto\"", "color = \"always\"");
        let vars = [("BUTLER_COLOR", "never")];
        for settings in [
            with(["", ""], &[], &[]),
            with([auto, ""], &[], &[]),
            with([auto, always], &[], &[]),
            with([auto, always], &vars, &[]),
            with([auto, always], &vars, &[("color", "auto")]),
        ] {
            let settings = settings.unwrap();
            seen.push(format!("{} {}", settings.color, origin(&settings)));
        }
        assert_eq!(
            seen,
            [
                "auto default",
                "auto system.toml:2",
                "always user.toml:1",
                "never environment BUTLER_COLOR",
                "auto flag --color"
            ]
        );
    }

    #[test]
    fn defaults_are_what_the_documentation_says() {
        let settings = with(["", ""], &[], &[]).unwrap();
        assert_eq!((settings.namespace.as_str(), settings.output.as_str()), ("butler-tenants", "table"));
        assert_eq!((settings.request_timeout, settings.tools_download), (Duration::from_secs(30), true));
        assert_eq!(settings.tools_dir, None);
    }

    #[test]
    fn problems_of_all_layers_come_together() {
        let error =
            with(["colour = 1", "output = \"xml\""], &[("BUTLER_REQUEST_TIMEOUT", "soon")], &[]).unwrap_err();
        assert_eq!((error.code(), error.kind().exit_code()), (Code::SettingUnknown, 2));
        assert_eq!(error.to_string(), "the settings have 3 problems");
        let problems = error.problems();
        assert!(problems[0].contains("system.toml:1:1: `colour`"), "{problems:?}");
        assert!(problems[1].contains("user.toml:1:10: `output` cannot be `xml`"), "{problems:?}");
        assert!(problems[2].starts_with("environment BUTLER_REQUEST_TIMEOUT: "), "{problems:?}");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named_and_one_that_is_missing_is_not() {
        let environment = Environment::of([("BUTLER_HOME", "/nonexistent")]);
        let missing = Sources { system: "/nonexistent".into(), ..Sources::of(&environment) };
        Settings::resolve(&missing).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let sources = Sources { system: directory.path().into(), ..Sources::of(&environment) };
        let error = Settings::resolve(&sources).unwrap_err();
        assert_eq!(error.code(), Code::FileUnreadable);
        assert!(std::error::Error::source(&error).is_some());
    }
}
