//! What is known of charts, manifests and images without a network, and the checksums of a mirror.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use butler_core::{
    bootstrap::addons::{AddonAction, AddonStep},
    error::ErrorKind,
};
use fs_err as fs;
use ring::digest::{Context, SHA256};
use serde::Deserialize;

use super::{
    AddonError,
    embedded::CHART,
    fetch::{failure, sha256},
    source::{Located, Mirror, locate},
};

/// Beside the files of a mirror: what `sha256sum` writes.
pub(super) const SUMS: &str = "SHA256SUMS";
/// More than any list of checksums.
pub(super) const SUMS_LIMIT: usize = 1 << 20;

/// The checksums of a mirror. A mirror that has them vouches for everything that is taken from it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sums(BTreeMap<String, String>);

impl Sums {
    /// Reads the lines of `sha256sum`; what is no such line is not of ours.
    pub(super) fn parse(text: &str) -> Self {
        let line = |line: &str| {
            let (sum, name) = line.split_once([' ', '\t'])?;
            let name = name.trim_start().trim_start_matches('*').trim_start_matches("./").trim_end();
            let is_sum = sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_sum.then(|| (name.to_owned(), sum.to_ascii_lowercase()))
        };
        Self(text.lines().filter_map(line).collect())
    }

    /// Those of a directory; none when it has none.
    pub(super) fn of(dir: &Path) -> Result<Option<Self>, AddonError> {
        let path = dir.join(SUMS);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(Self::parse(&text))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(AddonError::Read { path, source }),
        }
    }

    /// Compares a file with what stands here of it.
    pub(super) fn check(&self, name: &str, bytes: &[u8]) -> Result<(), AddonError> {
        let what = format!("`{name}` from the mirror");
        let actual = sha256(bytes);
        match self.0.get(name) {
            Some(listed) if *listed == actual => Ok(()),
            Some(listed) => {
                let said = format!("it has SHA-256 {actual}, and {SUMS} says {listed}");
                Err(failure(&what, ErrorKind::Invalid, said))
            }
            None => Err(failure(&what, ErrorKind::Invalid, format!("{SUMS} does not list it"))),
        }
    }
}

/// SHA-256 of charts (`NAME-VERSION`), manifests and images that are on this computer. Of a chart that is a
/// folder it is that of its files, one after the other in the order of their names.
pub fn known_digests(steps: &[AddonStep], mirror: Option<&Mirror>) -> BTreeMap<String, String> {
    let mut known = BTreeMap::new();
    for step in steps {
        match &step.action {
            AddonAction::Chart(chart) => {
                let digest = match locate(chart, mirror) {
                    Ok(Located::Embedded) => Some(of_embedded()),
                    Ok(Located::Path(path)) if path.is_dir() => of_folder(&path),
                    Ok(Located::Path(path)) => fs::read(&path).ok().map(|bytes| sha256(&bytes)),
                    _ => None,
                };
                let name = format!("{}-{}", chart.chart, chart.version);
                known.extend(digest.map(|digest| (name, digest)));
            }
            AddonAction::Manifests(manifests) => {
                if let Some(Mirror::Directory(dir)) = mirror {
                    let file = fs::read(dir.join(format!("{}.yaml", manifests.name)));
                    known.extend(file.ok().map(|bytes| (manifests.name.clone(), sha256(&bytes))));
                }
            }
            _ => {}
        }
    }
    if let Some(Mirror::Directory(dir)) = mirror {
        known.extend(of_layout(dir));
    }
    known
}

fn of_embedded() -> String {
    let mut files: Vec<_> =
        CHART.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect();
    files.sort();
    of_files(&files)
}

fn of_folder(dir: &Path) -> Option<String> {
    let (mut files, mut dirs): (Vec<(String, Vec<u8>)>, Vec<PathBuf>) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(&next).ok()? {
            let path = entry.ok()?.path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                let name = path.strip_prefix(dir).ok()?.to_str()?.to_owned();
                files.push((name, fs::read(&path).ok()?));
            }
        }
    }
    files.sort();
    Some(of_files(&files))
}

fn of_files(files: &[(String, Vec<u8>)]) -> String {
    let mut context = Context::new(&SHA256);
    for (name, bytes) in files {
        // Lengths keep a name from running into its text.
        context.update(format!("{name}\n{}\n", bytes.len()).as_bytes());
        context.update(bytes);
    }
    context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The index of an OCI image layout, as much of it as is needed.
#[derive(Deserialize)]
struct Layout {
    manifests: Vec<Manifest>,
}

#[derive(Deserialize)]
struct Manifest {
    digest: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// Images of an OCI layout in the mirror, by their whole reference.
fn of_layout(dir: &Path) -> Vec<(String, String)> {
    const NAMES: [&str; 2] = ["io.containerd.image.name", "org.opencontainers.image.ref.name"];
    if !dir.join("oci-layout").is_file() {
        return Vec::new();
    }
    let text = fs::read(dir.join("index.json")).unwrap_or_default();
    let Ok(layout) = serde_json::from_slice::<Layout>(&text) else { return Vec::new() };
    let named = |manifest: Manifest| {
        let name = NAMES.iter().find_map(|name| manifest.annotations.get(*name))?;
        Some((name.clone(), manifest.digest.strip_prefix("sha256:")?.to_owned()))
    };
    layout.manifests.into_iter().filter_map(named).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use butler_core::bootstrap::addons::{ChartRelease, ChartSource, PublishedManifests};
    use serde_json::json;

    use super::*;

    fn step(action: AddonAction) -> AddonStep {
        AddonStep {
            key: "k".into(),
            title: "t".into(),
            requires: Vec::new(),
            action,
            optional: false,
            deadline: Duration::ZERO,
        }
    }

    fn chart(name: &str, source: ChartSource) -> AddonStep {
        step(AddonAction::Chart(ChartRelease {
            release: name.into(),
            namespace: "n".into(),
            pod_security: None,
            source,
            chart: name.into(),
            version: "1.0.0".into(),
            values: json!({}),
            wait: true,
            then: Vec::new(),
        }))
    }

    #[test]
    fn what_is_here_has_a_digest_and_what_is_elsewhere_has_none() {
        let dir = tempfile::tempdir().unwrap();
        let manifests = step(AddonAction::Manifests(PublishedManifests {
            name: "crds-v1".into(),
            url: "https://a/crds.yaml".into(),
            sha256: None,
            variables: Vec::new(),
            established: Vec::new(),
            available: Vec::new(),
        }));
        let far = || ChartSource::Repository("https://a".into());
        let steps = [chart("own", ChartSource::Embedded), chart("web", far()), chart("db", far()), manifests];
        let names = |mirror: Option<&Mirror>| known_digests(&steps, mirror).into_keys().collect::<Vec<_>>();
        assert_eq!(names(None), ["own-1.0.0"]);

        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("web-1.0.0.tgz", "abc");
        write("db/Chart.yaml", "name: db");
        write("db/templates/a.yaml", "a");
        write("crds-v1.yaml", "abc");
        write("oci-layout", "{}");
        let digest = "ab".repeat(32);
        let image = json!({ "digest": format!("sha256:{digest}"),
            "annotations": { "org.opencontainers.image.ref.name": "example.org/installer:v1" } });
        write("index.json", &json!({ "manifests": [image, { "digest": "sha256:cd" }] }).to_string());
        let mirror = Mirror::Directory(dir.path().to_owned());
        let all = ["crds-v1", "db-1.0.0", "example.org/installer:v1", "own-1.0.0", "web-1.0.0"];
        assert_eq!(names(Some(&mirror)), all);
        let before = known_digests(&steps, Some(&mirror));
        assert_eq!(before["web-1.0.0"], sha256(b"abc"));
        assert_eq!(before["example.org/installer:v1"], digest);
        write("db/templates/a.yaml", "b");
        let after = known_digests(&steps, Some(&mirror));
        assert_ne!(before["db-1.0.0"], after["db-1.0.0"]);
        assert_eq!(before["own-1.0.0"], after["own-1.0.0"]);
    }

    #[test]
    fn checksums_are_those_that_the_usual_program_writes() {
        let sum = sha256(b"abc");
        let sums = Sums::parse(&format!("# of ours\n{sum}  a.tgz\n{sum} *./b.yaml\nshort c\n"));
        sums.check("a.tgz", b"abc").unwrap();
        sums.check("b.yaml", b"abc").unwrap();
        for (name, bytes) in [("a.tgz", b"abd"), ("c", b"abc")] {
            let error = sums.check(name, bytes).unwrap_err();
            assert!(!error.is_retryable(), "{error}");
        }
    }
}
