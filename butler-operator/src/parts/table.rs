//! The parts: what each is called, which version Butler works with, and where it comes from.
//!
//! A new part is one row here, an entry in [`ALL`], and a Go module in `tools/` with its row in
//! [`super::sources`].

use std::{env::consts, fmt, str::FromStr};

use semver::Version;
use serde::{Serialize, Serializer};

use super::sources::{self, Module};

/// A program that Butler uses and did not write.
#[derive(Debug)]
pub struct Part {
    /// The name of the program.
    pub name: &'static str,
    /// The version that is downloaded or built. Others with the same major and minor number are
    /// accepted where they are found.
    pub version: Version,
    /// Arguments that make the program print its version.
    pub(super) ask: &'static [&'static str],
    /// Where its publisher offers it.
    pub(super) release: Release,
    /// The Go module that builds it.
    pub(super) module: &'static Module,
    /// Its package, seen from that module.
    pub(super) package: &'static str,
}

/// Where a publisher offers a program. `{name}`, `{version}`, `{os}` and `{arch}` are filled in.
#[derive(Debug)]
pub(super) struct Release {
    /// The start of every address.
    pub(super) site: &'static str,
    /// The program, or the archive it is in.
    pub(super) file: &'static str,
    /// The file that holds the published SHA-256 of `file`.
    pub(super) checksums: &'static str,
    /// The program's path inside the archive, if `file` is one (tar, gzip).
    pub(super) member: Option<&'static str>,
    /// Systems it is offered for in this form.
    pub(super) systems: &'static [&'static str],
}

const LINUX: &[&str] = &["linux"];
const UNIX: &[&str] = &["linux", "darwin"];

/// The store of a control plane.
pub static ETCD: Part = Part {
    name: "etcd",
    version: Version::new(3, 6, 4),
    ask: &["--version"],
    release: Release {
        site: "https://github.com/etcd-io/etcd/releases/download",
        file: "v{version}/etcd-v{version}-{os}-{arch}.tar.gz",
        checksums: "v{version}/SHA256SUMS",
        member: Some("etcd-v{version}-{os}-{arch}/etcd"),
        systems: LINUX,
    },
    module: &sources::ETCD,
    package: ".",
};

/// Makes the data of etcd from a snapshot; used where a management cluster is made from a backup.
pub static ETCDUTL: Part = Part {
    name: "etcdutl",
    version: Version::new(3, 6, 4),
    ask: &["version"],
    release: Release {
        site: "https://github.com/etcd-io/etcd/releases/download",
        file: "v{version}/etcd-v{version}-{os}-{arch}.tar.gz",
        checksums: "v{version}/SHA256SUMS",
        member: Some("etcd-v{version}-{os}-{arch}/etcdutl"),
        systems: LINUX,
    },
    module: &sources::ETCD,
    package: "go.etcd.io/etcd/etcdutl/v3",
};

/// The Kubernetes API server.
pub static KUBE_APISERVER: Part =
    kubernetes("kube-apiserver", &["--version"], "k8s.io/kubernetes/cmd/kube-apiserver", LINUX);

/// The Kubernetes controllers.
pub static KUBE_CONTROLLER_MANAGER: Part = kubernetes(
    "kube-controller-manager",
    &["--version"],
    "k8s.io/kubernetes/cmd/kube-controller-manager",
    LINUX,
);

/// The Kubernetes scheduler.
pub static KUBE_SCHEDULER: Part =
    kubernetes("kube-scheduler", &["--version"], "k8s.io/kubernetes/cmd/kube-scheduler", LINUX);

/// The Kubernetes command line.
pub static KUBECTL: Part =
    kubernetes("kubectl", &["version", "--client", "-o", "json"], "k8s.io/kubernetes/cmd/kubectl", UNIX);

/// The installer of charts.
pub static HELM: Part = Part {
    name: "helm",
    version: Version::new(3, 22, 0),
    ask: &["version", "--short"],
    release: Release {
        site: "https://get.helm.sh",
        file: "helm-v{version}-{os}-{arch}.tar.gz",
        checksums: "helm-v{version}-{os}-{arch}.tar.gz.sha256sum",
        member: Some("{os}-{arch}/helm"),
        systems: UNIX,
    },
    module: &sources::HELM,
    package: "helm.sh/helm/v3/cmd/helm",
};

/// Kubernetes in containers.
pub static KIND: Part = Part {
    name: "kind",
    version: Version::new(0, 33, 0),
    ask: &["version"],
    release: Release {
        site: "https://github.com/kubernetes-sigs/kind/releases/download",
        file: "v{version}/kind-{os}-{arch}",
        checksums: "v{version}/kind-{os}-{arch}.sha256sum",
        member: None,
        systems: UNIX,
    },
    module: &sources::KIND,
    package: "sigs.k8s.io/kind",
};

/// The command line of Talos: not needed to run Butler, but our hints name it and our tests believe it.
pub static TALOSCTL: Part = Part {
    name: "talosctl",
    version: Version::new(1, 11, 5),
    ask: &["version", "--client", "--short"],
    release: Release {
        site: "https://github.com/siderolabs/talos/releases/download",
        file: "v{version}/talosctl-{os}-{arch}",
        checksums: "v{version}/sha256sum.txt",
        member: None,
        systems: UNIX,
    },
    module: &sources::TALOSCTL,
    package: "github.com/siderolabs/talos/cmd/talosctl",
};

/// Every part, in the order it is listed.
pub static ALL: [&Part; 9] = [
    &ETCD,
    &KUBE_APISERVER,
    &KUBE_CONTROLLER_MANAGER,
    &KUBE_SCHEDULER,
    &KUBECTL,
    &HELM,
    &KIND,
    &TALOSCTL,
    &ETCDUTL,
];

/// A program of the Kubernetes release.
const fn kubernetes(
    name: &'static str,
    ask: &'static [&'static str],
    package: &'static str,
    systems: &'static [&'static str],
) -> Part {
    Part {
        name,
        version: Version::new(1, 34, 4),
        ask,
        release: Release {
            site: "https://dl.k8s.io/release",
            file: "v{version}/bin/{os}/{arch}/{name}",
            checksums: "v{version}/bin/{os}/{arch}/{name}.sha256",
            member: None,
            systems,
        },
        module: &sources::KUBERNETES,
        package,
    }
}

impl Part {
    /// True when a program of this version does the job: the same minor release, no pre-release.
    pub fn fits(&self, version: &Version) -> bool {
        (version.major, version.minor) == (self.version.major, self.version.minor) && version.pre.is_empty()
    }

    /// The versions that fit, for people: `1.34.x`.
    pub fn wanted(&self) -> String {
        format!("{}.{}.x", self.version.major, self.version.minor)
    }

    /// Fills in one of the patterns of [`Release`].
    pub(super) fn fill(&self, pattern: &str) -> String {
        pattern
            .replace("{name}", self.name)
            .replace("{version}", &self.version.to_string())
            .replace("{os}", os())
            .replace("{arch}", arch())
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Part {}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

/// A name that belongs to no part.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not one of the programs that Butler uses")]
pub struct UnknownPart(String);

impl FromStr for &'static Part {
    type Err = UnknownPart;

    fn from_str(name: &str) -> Result<Self, UnknownPart> {
        ALL.into_iter().find(|part| part.name == name).ok_or_else(|| UnknownPart(name.to_owned()))
    }
}

/// This system, as publishers of Go programs call it.
pub(super) fn os() -> &'static str {
    match consts::OS {
        "macos" => "darwin",
        other => other,
    }
}

/// This processor, as publishers of Go programs call it.
pub(super) fn arch() -> &'static str {
    match consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
