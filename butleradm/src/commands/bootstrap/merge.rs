//! `--merge-kubeconfig`: a new cluster in a kubeconfig that has others.

use std::path::{Path, PathBuf};

use butler_core::{
    error::Code,
    settings::{env, home::write_private},
};
use butler_operator::bootstrap::Made;
use butler_term::{CommandError, CommandResult, run::Session};
use fs_err as fs;
use serde_json::{Value, json};

/// Where each kind of entry is, and under which key its content.
const LISTS: [(&str, &str); 3] = [("clusters", "cluster"), ("users", "user"), ("contexts", "context")];

/// The file that is meant, which may be behind a link. One that cannot be added to is told before a run, not
/// after it.
pub(super) fn check(path: &str, session: &Session) -> CommandResult<PathBuf> {
    let path = match path.strip_prefix("~/").zip(session.environment.path(env::HOME)) {
        Some((rest, home)) => home.join(rest),
        None => PathBuf::from(path),
    };
    let path = fs::canonicalize(&path).unwrap_or(path);
    read(&path).map(|_| path)
}

/// Adds the cluster and makes it current. Nothing else in that file changes.
pub(super) fn merge(made: &Made, path: &str, session: &Session) -> CommandResult<PathBuf> {
    let path = check(path, session)?;
    let merged = merged(read(&path)?, read(&made.kubeconfig)?, &made.cluster);
    let text = serde_saphyr::to_string(&merged).map_err(|_| unusable(&path))?;
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(|error| unusable(&path).caused_by(&error))?;
    }
    write_private(&path, text.as_bytes())?;
    Ok(path)
}

/// What a parser says of a text may quote it, so nothing more is told.
fn unusable(path: &Path) -> CommandError {
    CommandError::new(Code::KubeconfigMalformed, format!("`{}` is not a kubeconfig", path.display()))
}

/// An empty one where there is none.
fn read(path: &Path) -> CommandResult<Value> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(unusable(path).caused_by(&error)),
    };
    if text.trim().is_empty() {
        return Ok(json!({ "apiVersion": "v1", "kind": "Config" }));
    }
    let value: Value = serde_saphyr::from_str(&text).map_err(|_| unusable(path))?;
    let is_list = |name: &str| value[name].is_null() || value[name].is_array();
    let fits = value.is_object() && LISTS.iter().all(|(list, _)| is_list(list));
    if fits { Ok(value) } else { Err(unusable(path)) }
}

/// The old one, with cluster, user and context of the new one under one name.
fn merged(mut old: Value, new: Value, name: &str) -> Value {
    for (list, key) in LISTS {
        let mut entries: Vec<Value> = old[list].as_array().cloned().unwrap_or_default();
        entries.retain(|entry| entry["name"] != name);
        let mut content = new[list][0][key].clone();
        if list == "contexts" {
            content["cluster"] = json!(name);
            content["user"] = json!(name);
        }
        entries.push(json!({ "name": name, key: content }));
        old[list] = Value::from(entries);
    }
    old["current-context"] = json!(name);
    old
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "admin@m",
            "clusters": [{ "name": "m", "cluster": { "server": "https://10.0.0.5:6443" } }],
            "users": [{ "name": "admin@m", "user": { "client-key-data": "a" } }],
            "contexts": [{ "name": "admin@m", "context": { "cluster": "m", "user": "admin@m", "namespace": "default" } }],
        })
    }

    #[test]
    fn what_stood_there_stays_as_it_was() {
        let old = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "work", "preferences": { "colors": true },
            "clusters": [
                { "name": "work", "cluster": { "server": "https://work", "certificate-authority": "ca.crt" } },
                { "name": "mgmt", "cluster": { "server": "https://old" } },
            ],
            "users": [{ "name": "work", "user": { "exec": { "command": "./login", "installHint": "none" }, "as-uid": "7" } }],
            "contexts": [{ "name": "work", "context": { "cluster": "work", "user": "work" } }],
            "extensions": [{ "name": "x", "extension": 1 }],
        });
        let all = merged(old.clone(), new(), "mgmt");
        for key in ["apiVersion", "kind", "preferences", "extensions"] {
            assert_eq!(all[key], old[key]);
        }
        for (list, _) in LISTS {
            assert_eq!(all[list][0], old[list][0], "{list}");
            assert_eq!(all[list].as_array().map(Vec::len), Some(2), "{list}");
            assert_eq!(all[list][1]["name"], "mgmt");
        }
        assert_eq!(all["current-context"], "mgmt");
        assert_eq!(all["clusters"][1]["cluster"]["server"], "https://10.0.0.5:6443");
        let context = json!({ "cluster": "mgmt", "user": "mgmt", "namespace": "default" });
        assert_eq!(all["contexts"][1]["context"], context);
        assert_eq!(merged(all.clone(), new(), "mgmt"), all, "once more changes nothing");
    }

    #[test]
    fn a_file_that_is_none_is_refused_and_an_empty_one_is_filled() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config");
        assert_eq!(merged(read(&path).unwrap(), new(), "m")["contexts"][0]["name"], "m");
        for text in ["", "\n", "{}", "apiVersion: v1\nclusters: null\n"] {
            fs::write(&path, text).unwrap();
            assert_eq!(merged(read(&path).unwrap(), new(), "m")["current-context"], "m");
        }
        for text in ["[]", "hunter2", "clusters: {}", "users: {token: hunter2", "\u{7}"] {
            fs::write(&path, text).unwrap();
            let error = read(&path).unwrap_err();
            assert_eq!(error.code(), Code::KubeconfigMalformed, "{text}");
            assert!(!format!("{error:?}").contains("hunter2"));
        }
        assert!(read(dir.path()).is_err());
    }
}
