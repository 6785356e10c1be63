//! What containers write: one file per run, in the layout and line format of a real node.
//!
//! `pods/<namespace>_<pod>_<uid>/<container>/<run>.log`, each line `<time> stdout F <text>`. A file grows
//! to a limit; of earlier runs the last one is kept. A log that cannot be written is not worth a failure.

use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use fs_err as fs;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod};
use tokio::sync::watch;

use super::{decide::Note, image, script};

/// How large the log of one run may get.
const LIMIT: u64 = 256 * 1024;
/// How often a container that somebody listens to says something.
pub(super) const CHATTER: Duration = Duration::from_secs(2);

/// The logs of a node's containers.
#[derive(Debug)]
pub(super) struct Logs {
    root: PathBuf,
    changes: watch::Sender<u64>,
}

impl Logs {
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        let root = dir.join("pods");
        fs::create_dir_all(&root)?;
        Ok(Self { root, changes: watch::Sender::new(0) })
    }

    /// Changes whenever something was written.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The file of a run.
    pub(super) fn path(&self, pod: &Pod, container: &str, run: i32) -> PathBuf {
        self.dir(pod).join(plain(container)).join(format!("{run}.log"))
    }

    /// Writes down what happened to a container of a Pod, whose latest run is `run`.
    pub(super) fn note(&self, pod: &Pod, note: &Note, run: i32, now: Timestamp) {
        let (container, lines) = match note {
            Note::Started { container, image, run } => {
                if *run > 1 {
                    let _ = fs::remove_file(self.path(pod, container, run - 2));
                }
                (container, greeting(pod, container, image))
            }
            Note::Stopping { container } => (container, vec!["level=info msg=\"asked to stop\"".to_owned()]),
            Note::Ended { container, code: 0 } => (container, vec!["level=info msg=done".to_owned()]),
            Note::Ended { container, code } => {
                (container, vec![format!("level=error msg=\"ended with status {code}\"")])
            }
            _ => return,
        };
        let path = self.path(pod, container, run);
        if let Err(error) = write(&path, now, &lines) {
            tracing::debug!(path = %path.display(), %error, "a container log is not written");
        }
        self.changes.send_modify(|change| *change = change.wrapping_add(1));
    }

    /// Removes what a Pod wrote.
    pub(super) fn remove(&self, pod: &Pod) {
        let _ = fs::remove_dir_all(self.dir(pod));
        self.changes.send_modify(|change| *change = change.wrapping_add(1));
    }

    /// Removes what Pods wrote that are no longer here.
    pub(super) fn keep_only<'a>(&self, pods: impl Iterator<Item = &'a Pod>) {
        let keep: BTreeSet<PathBuf> = pods.map(|pod| self.dir(pod)).collect();
        let Ok(dirs) = fs::read_dir(&self.root) else { return };
        for dir in dirs.filter_map(Result::ok).map(|entry| entry.path()) {
            if !keep.contains(&dir) {
                let _ = fs::remove_dir_all(dir);
            }
        }
    }

    fn dir(&self, pod: &Pod) -> PathBuf {
        let part = |text: &Option<String>| plain(text.as_deref().unwrap_or_default());
        let metadata = &pod.metadata;
        let (namespace, name, uid) = (part(&metadata.namespace), part(&metadata.name), part(&metadata.uid));
        self.root.join(format!("{namespace}_{name}_{uid}"))
    }
}

/// Adds lines to a log, up to its limit.
pub(super) fn write(path: &Path, now: Timestamp, lines: &[String]) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
    let mut room = LIMIT.saturating_sub(file.metadata()?.len());
    let mut text = String::new();
    for line in lines {
        let line = format!("{now} stdout F {line}\n");
        room = match room.checked_sub(line.len() as u64) {
            Some(left) => left,
            None => break,
        };
        text.push_str(&line);
    }
    file.write_all(text.as_bytes())
}

/// Time and text of a line in a log.
pub(super) fn parse(line: &str) -> Option<(Timestamp, &str)> {
    let (time, rest) = line.split_once(' ')?;
    let (_stream, rest) = rest.split_once(' ')?;
    let (_tag, text) = rest.split_once(' ')?;
    Some((time.parse().ok()?, text))
}

fn greeting(pod: &Pod, container: &str, image: &str) -> Vec<String> {
    if let Some(text) = script::first_lines(pod, container) {
        return text.lines().map(str::to_owned).collect();
    }
    let mut lines =
        vec![format!("level=info msg=starting container={container} image={}", image::full_name(image))];
    let spec = pod.spec.as_ref();
    let same = |candidate: &&Container| candidate.name == container;
    if let Some(found) = spec.and_then(|spec| spec.containers.iter().find(same)) {
        let ports = found.ports.iter().flatten();
        lines.extend(ports.map(|port| format!("level=info msg=listening port={}", port.container_port)));
    }
    lines
}

/// A name that stays in its directory.
fn plain(name: &str) -> String {
    let name = name.replace(['/', '\0'], "_");
    if name.starts_with('.') { format!("_{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(uid: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "web", "namespace": "shop", "uid": uid},
            "spec": {"containers": [{"name": "web", "ports": [{"containerPort": 80}]}]},
        }))
        .unwrap()
    }

    #[test]
    fn logs_have_a_limit_and_go_with_their_pod() {
        let dir = tempfile::tempdir().unwrap();
        let logs = Logs::open(dir.path()).unwrap();
        let (one, two) = (pod("u-1"), pod("u-2"));
        let now: Timestamp = "2026-01-01T00:00:00.25Z".parse().unwrap();
        let started = |run| Note::Started { container: "web".to_owned(), image: "web:1".to_owned(), run };
        for run in 0..3 {
            logs.note(&one, &started(run), run, now);
        }
        logs.note(&two, &started(0), 0, now);
        assert!(!logs.path(&one, "web", 0).exists(), "only the last earlier run is kept");
        let text = fs::read_to_string(logs.path(&one, "web", 1)).unwrap();
        let (time, line) = parse(text.lines().nth(1).unwrap()).unwrap();
        assert_eq!((time, line), (now, "level=info msg=listening port=80"));

        let path = logs.path(&one, "web", 2);
        for _ in 0..100 {
            write(&path, now, &["x".repeat(10_000)]).unwrap();
        }
        assert!(fs::metadata(&path).unwrap().len() <= LIMIT);

        logs.keep_only(std::iter::once(&one));
        assert!(path.exists() && !logs.path(&two, "web", 0).exists());
        logs.remove(&one);
        assert!(!path.exists());
    }

    #[test]
    fn a_name_cannot_leave_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let logs = Logs::open(dir.path()).unwrap();
        let path = logs.path(&pod("../../x"), "..", 0);
        assert!(path.starts_with(dir.path().join("pods")));
        assert!(path.components().all(|part| part != std::path::Component::ParentDir), "{path:?}");
    }
}
