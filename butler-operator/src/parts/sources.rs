//! The Go modules of `tools/`, carried inside the program so that an installed one can build parts
//! without a checkout.

use std::time::Duration;

use semver::Version;

/// A Go module that builds one or more parts.
#[derive(Debug)]
pub(super) struct Module {
    /// Its folder in `tools/`.
    pub(super) name: &'static str,
    /// Its files, by name.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// Linker flags: smaller programs, and the version they print.
    pub(super) ldflags: &'static str,
    /// How long a build takes on two cores with nothing cached.
    pub(super) usual: Duration,
}

macro_rules! file {
    ($module:literal, $name:literal) => {
        ($name, include_str!(concat!("../../../tools/", $module, "/", $name)))
    };
}

pub(super) static ETCD: Module = Module {
    name: "etcd",
    files: &[file!("etcd", "go.mod"), file!("etcd", "go.sum"), file!("etcd", "main.go")],
    ldflags: "-s -w",
    usual: Duration::from_secs(60),
};

pub(super) static KUBERNETES: Module = Module {
    name: "kubernetes",
    files: &[file!("kubernetes", "go.mod"), file!("kubernetes", "go.sum")],
    ldflags: "-s -w -X k8s.io/component-base/version.gitVersion=v1.34.4 \
              -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=34",
    usual: Duration::from_secs(420),
};

pub(super) static HELM: Module = Module {
    name: "helm",
    files: &[file!("helm", "go.mod"), file!("helm", "go.sum")],
    ldflags: "-s -w -X helm.sh/helm/v3/internal/version.version=v3.22.0",
    usual: Duration::from_secs(120),
};

pub(super) static KIND: Module = Module {
    name: "kind",
    files: &[file!("kind", "go.mod"), file!("kind", "go.sum")],
    ldflags: "-s -w",
    usual: Duration::from_secs(10),
};

pub(super) static TALOSCTL: Module = Module {
    name: "talosctl",
    files: &[file!("talosctl", "go.mod"), file!("talosctl", "go.sum")],
    ldflags: "-s -w -X github.com/siderolabs/talos/pkg/machinery/version.Tag=v1.11.5",
    usual: Duration::from_secs(300),
};

impl Module {
    /// The oldest Go that can build it: the `go` line of its `go.mod`.
    pub(super) fn go(&self) -> Option<Version> {
        let (_, text) = self.files.iter().find(|(name, _)| *name == "go.mod")?;
        text.lines().find_map(|line| line.strip_prefix("go ")?.trim().parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::super::table;

    #[test]
    fn the_pinned_modules_build_the_versions_of_the_table() {
        let requires = [
            (&table::ETCD, "go.etcd.io/etcd/server/v3"),
            (&table::ETCDUTL, "go.etcd.io/etcd/etcdutl/v3"),
            (&table::KUBE_APISERVER, "k8s.io/kubernetes"),
            (&table::HELM, "helm.sh/helm/v3"),
            (&table::KIND, "sigs.k8s.io/kind"),
            (&table::TALOSCTL, "github.com/siderolabs/talos"),
        ];
        for (part, module) in requires {
            let line = format!("{module} v{}", part.version);
            let (_, go_mod) = part.module.files[0];
            assert!(go_mod.contains(&line), "{part}: no `{line}` in go.mod");
        }
        for part in table::ALL {
            let set = part.module.ldflags.split("ersion=v").nth(1).and_then(|rest| rest.split(' ').next());
            assert!(set.is_none_or(|set| set == part.version.to_string()), "{part}: {set:?} in ldflags");
            assert!(part.module.go().is_some(), "{part}: no go line");
        }
    }
}
