//! The real parts: finds etcd, kube-apiserver, kubectl and the others, and installs what is missing.
//!
//! [`table`] says which parts there are; [`find`] looks for them in a fixed order; [`install`] fills
//! the cache under the Butler home by [`download`] or, where that fails, by [`build`] with Go.

mod build;
mod download;
mod error;
mod find;
mod install;
mod sources;
mod table;
mod version;

use std::path::PathBuf;

use butler_core::settings::{Environment, Home, Settings};

pub use build::BuildError;
pub use download::DownloadError;
pub use error::PartError;
pub(crate) use find::programs;
pub use find::{Found, Passed, Reason, Search, Source};
pub use install::{Installed, Origin};
pub use table::{
    ALL, ETCD, ETCDUTL, HELM, KIND, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER, KUBECTL, Part,
    TALOSCTL, UnknownPart,
};
pub use version::VersionError;

use download::Downloads;
use version::Versions;

/// Where to look for parts and where to put them.
#[derive(Debug)]
pub struct Parts {
    environment: Environment,
    tools: PathBuf,
    dir: Option<PathBuf>,
    setting: Option<PathBuf>,
    versions: Versions,
    downloads: Downloads,
}

impl Parts {
    /// Looks where the environment says; installs below the Butler home.
    pub fn new(environment: &Environment, home: &Home) -> Self {
        let tools = home.tools_dir();
        Self {
            environment: environment.clone(),
            dir: None,
            setting: None,
            versions: Versions::new(&tools),
            downloads: Downloads::default(),
            tools,
        }
    }

    /// Follows the settings `tools.dir` and `tools.download`.
    #[must_use]
    pub fn with_settings(mut self, settings: &Settings) -> Self {
        self.setting = settings.tools_dir.clone();
        self.downloads = self.downloads.allowed(settings.tools_download);
        self
    }

    /// Looks in this directory before all others.
    #[must_use]
    pub fn in_dir(mut self, dir: Option<PathBuf>) -> Self {
        self.dir = dir;
        self
    }

    /// Downloads from this address instead of the publishers' sites.
    #[must_use]
    pub fn from_mirror(mut self, url: impl Into<String>) -> Self {
        self.downloads = self.downloads.mirrored(url.into());
        self
    }

    /// The place of a part in the cache.
    fn cached(&self, part: &Part) -> PathBuf {
        self.tools.join(format!("{}-{}", part.name, part.version)).join(part.name)
    }
}
