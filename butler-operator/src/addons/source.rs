//! Where a chart is, and how it comes to this computer as something that helm can install.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use butler_core::{
    bootstrap::{
        addons::{ChartRelease, ChartSource},
        config::without_user,
    },
    error::ErrorKind,
    settings::home::write_private,
};
use fs_err as fs;
use reqwest::Url;
use serde::Deserialize;

use super::{
    AddonError,
    fetch::{Fetcher, failure, is_loopback, sha256},
};

/// The index of a repository lists every version of every chart.
const INDEX_LIMIT: usize = 64 << 20;
const CHART_LIMIT: usize = 32 << 20;

/// What stands in for every repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mirror {
    /// A directory with `<chart>-<version>.tgz`, `<chart>/` and `<manifests>.yaml`. Where it or a repository
    /// has a file `SHA256SUMS`, archives and manifests must be in there.
    Directory(PathBuf),
    /// A chart repository, with manifests beside its index.
    Repository(String),
    /// A prefix in a registry. Manifests come from their publishers all the same.
    Oci(String),
}

impl Mirror {
    /// Reads the setting `charts.mirror`.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        match text.split_once("://") {
            Some(("oci", _)) => Self::Oci(text.trim_end_matches('/').to_owned()),
            Some(("http" | "https", _)) => Self::Repository(text.trim_end_matches('/').to_owned()),
            Some(("file", path)) => Self::Directory(PathBuf::from(path)),
            _ => Self::Directory(PathBuf::from(text)),
        }
    }

    /// What a directory has, as [`AddonInput`](butler_core::bootstrap::addons::AddonInput) wants to know;
    /// nothing is known of the others.
    pub fn offered(&self) -> BTreeSet<String> {
        let Self::Directory(dir) = self else { return BTreeSet::new() };
        let Ok(entries) = fs::read_dir(dir) else { return BTreeSet::new() };
        let names = entries.filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let chart = entry.path().join("Chart.yaml").is_file().then(|| name.clone());
            chart.or_else(|| Some(name.strip_suffix(".tgz").or(name.strip_suffix(".yaml"))?.to_owned()))
        });
        names.collect()
    }
}

/// Where a chart is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Located {
    Embedded,
    /// An archive or a directory.
    Path(PathBuf),
    Repository(String),
    /// Its reference without version, and whether the registry speaks plain HTTP.
    Oci {
        reference: String,
        plain: bool,
    },
}

/// Finds a chart. Looks at files of a mirror and at nothing else.
pub(super) fn locate(chart: &ChartRelease, mirror: Option<&Mirror>) -> Result<Located, AddonError> {
    let oci = |prefix: &str| {
        let reference = format!("{}/{}", prefix.trim_end_matches('/'), chart.chart);
        let host = prefix.trim_start_matches("oci://").split('/').next().unwrap_or_default();
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        Located::Oci { plain: is_loopback(name), reference }
    };
    Ok(match (&chart.source, mirror) {
        (ChartSource::Embedded, _) => Located::Embedded,
        (_, Some(Mirror::Directory(dir))) => {
            let archive = dir.join(format!("{}-{}.tgz", chart.chart, chart.version));
            let folder = dir.join(&chart.chart);
            if archive.is_file() {
                Located::Path(archive)
            } else if folder.join("Chart.yaml").is_file() {
                Located::Path(folder)
            } else {
                let what = format!("chart `{}` {} from the mirror", chart.chart, chart.version);
                let said = format!("neither `{}` nor `{}` is there", archive.display(), folder.display());
                return Err(failure(&what, ErrorKind::Invalid, said));
            }
        }
        (_, Some(Mirror::Repository(url))) | (ChartSource::Repository(url), None) => {
            Located::Repository(url.trim_end_matches('/').to_owned())
        }
        (_, Some(Mirror::Oci(prefix))) | (ChartSource::Oci(prefix), None) => oci(prefix),
    })
}

/// The index of a repository, as much of it as is needed.
#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    entries: BTreeMap<String, Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    version: String,
    #[serde(default)]
    urls: Vec<String>,
    #[serde(default)]
    digest: Option<String>,
}

/// Downloads a chart of a repository into `dir`. What the index says of its digest must hold.
pub(super) async fn download(
    fetcher: &Fetcher,
    url: &str,
    chart: &ChartRelease,
    dir: &Path,
) -> Result<PathBuf, AddonError> {
    let (name, version) = (&chart.chart, &chart.version);
    let what = format!("chart `{name}` {version} from `{}`", without_user(url));
    let index = fetcher.get("the index", &format!("{url}/index.yaml"), INDEX_LIMIT).await?;
    let unreadable = |said: String| failure(&what, ErrorKind::Invalid, said);
    let index = std::str::from_utf8(&index).map_err(|_| unreadable("its index is not text".to_owned()))?;
    // The size is limited already, and an index has hundreds of thousands of lines.
    let options = serde_saphyr::options! { budget: None };
    let index: Index = serde_saphyr::from_str_with_options(index, options).map_err(|_| {
        unreadable("what it has as index.yaml is not the index of a chart repository".to_owned())
    })?;
    let bare = |version: &str| version.trim_start_matches('v').to_owned();
    let entry = index
        .entries
        .get(name)
        .and_then(|entries| entries.iter().find(|entry| bare(&entry.version) == bare(version)));
    let Some(entry) = entry else {
        let known = index.entries.get(name).map_or(0, Vec::len);
        return Err(unreadable(format!("its index has {known} versions of the chart, and not this one")));
    };
    let place = entry.urls.first().ok_or_else(|| unreadable("its index has no address for it".to_owned()))?;
    let base = Url::parse(&format!("{url}/")).and_then(|base| base.join(place));
    let address = base.map_err(|error| unreadable(error.to_string()))?;
    let archive = fetcher.get(&format!("chart `{name}` {version}"), address.as_str(), CHART_LIMIT).await?;
    let actual = sha256(&archive);
    if let Some(published) = entry.digest.as_deref().filter(|digest| !digest.is_empty()) {
        let published = published.trim_start_matches("sha256:").to_ascii_lowercase();
        if published != actual {
            let said = format!("it has SHA-256 {actual}, and the index says {published}");
            return Err(failure(&what, ErrorKind::Invalid, said));
        }
    }
    let path = dir.join(format!("{name}.tgz"));
    write_private(&path, &archive)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chart(source: ChartSource) -> ChartRelease {
        ChartRelease {
            release: "r".into(),
            namespace: "n".into(),
            pod_security: None,
            source,
            chart: "web".into(),
            version: "1.0.0".into(),
            values: json!({}),
            wait: true,
            then: Vec::new(),
        }
    }

    #[test]
    fn a_mirror_stands_in_for_every_repository_but_not_for_what_we_carry() {
        let repository = chart(ChartSource::Repository("https://a/".into()));
        let registry = chart(ChartSource::Oci("oci://ghcr.io/a".into()));
        assert_eq!(locate(&repository, None).unwrap(), Located::Repository("https://a".into()));
        let oci = |reference: &str, plain| Located::Oci { reference: reference.to_owned(), plain };
        assert_eq!(locate(&registry, None).unwrap(), oci("oci://ghcr.io/a/web", false));
        let mirror = Mirror::parse("oci://127.0.0.1:5000/m/");
        assert_eq!(locate(&repository, Some(&mirror)).unwrap(), oci("oci://127.0.0.1:5000/m/web", true));
        let mirror = Mirror::parse("https://m/x/");
        assert_eq!(locate(&registry, Some(&mirror)).unwrap(), Located::Repository("https://m/x".into()));
        assert_eq!(locate(&chart(ChartSource::Embedded), Some(&mirror)).unwrap(), Located::Embedded);
    }

    #[test]
    fn a_directory_has_archives_before_folders_and_says_what_it_has() {
        let dir = tempfile::tempdir().unwrap();
        let mirror = Mirror::parse(&dir.path().display().to_string());
        let web = chart(ChartSource::Oci("oci://a".into()));
        let error = locate(&web, Some(&mirror)).unwrap_err();
        assert!(!error.is_retryable(), "{error}");
        fs::create_dir(dir.path().join("web")).unwrap();
        fs::write(dir.path().join("web/Chart.yaml"), "").unwrap();
        fs::write(dir.path().join("gateway-api-v1.2.1.yaml"), "").unwrap();
        assert!(matches!(locate(&web, Some(&mirror)).unwrap(), Located::Path(path) if path.ends_with("web")));
        fs::write(dir.path().join("web-1.0.0.tgz"), "").unwrap();
        assert!(
            matches!(locate(&web, Some(&mirror)).unwrap(), Located::Path(path) if path.ends_with("web-1.0.0.tgz"))
        );
        let offered: Vec<_> = mirror.offered().into_iter().collect();
        assert_eq!(offered, ["gateway-api-v1.2.1", "web", "web-1.0.0"]);
    }
}
