//! Machine configurations: a YAML stream of one main document and any number of small ones.
//!
//! [`main`] has the types of the main document, as far as Butler writes them or a node reads them;
//! [`generate`] makes configurations; this file reads them back. Fields we do not know are skipped
//! on reading: a node keeps the text it was given and only looks at what it needs.

pub mod generate;
pub mod main;
mod version;

pub use generate::{ConfigOptions, Provider, Topology, Vip};
pub use main::{MachineType, MainDocument};
pub use version::TalosVersion;

use butler_core::redact::Secret;
use serde::{Deserialize, Serialize};

use super::document::{self, Document, DocumentError};

const API_VERSION: &str = "v1alpha1";

/// A machine configuration, read.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineConfig {
    /// The main document.
    pub main: MainDocument,
    /// The host name document, if there is one.
    pub hostname: Option<HostnameConfig>,
    /// Registry mirrors that have documents of their own.
    pub mirrors: Vec<RegistryMirrorConfig>,
    /// Addresses that control planes share, named by documents of their own.
    pub layer2_vips: Vec<String>,
    /// The kinds of all further documents.
    pub others: Vec<String>,
}

/// How a node gets its name, from Talos 1.12 on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostnameConfig {
    pub api_version: String,
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
}

/// Where images of one registry come from, from Talos 1.12 on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RegistryMirrorConfig {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub endpoints: Vec<MirrorEndpoint>,
}

/// One source of a mirror.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MirrorEndpoint {
    pub url: String,
}

/// What tells documents apart.
#[derive(Deserialize)]
struct Header {
    kind: Option<String>,
    name: Option<String>,
    version: Option<String>,
}

impl MachineConfig {
    /// Reads a configuration. Without a main document there is nothing to run.
    pub fn from_yaml(text: &Secret) -> Result<Self, DocumentError> {
        let mut main = None;
        let mut config = Self {
            main: MainDocument::default(),
            hostname: None,
            mirrors: Vec::new(),
            layer2_vips: Vec::new(),
            others: Vec::new(),
        };
        for text in documents(text.expose()) {
            let header: Header = document::read(Document::MachineConfig, text)?;
            match header.kind.as_deref() {
                None if header.version.as_deref() == Some(API_VERSION) => {
                    if main.replace(document::read(Document::MachineConfig, text)?).is_some() {
                        return Err(wrong("version", "stands in two main documents"));
                    }
                }
                None => return Err(wrong("kind", "is missing")),
                Some("HostnameConfig") => {
                    config.hostname = Some(document::read(Document::MachineConfig, text)?)
                }
                Some("RegistryMirrorConfig") => {
                    config.mirrors.push(document::read(Document::MachineConfig, text)?)
                }
                Some("Layer2VIPConfig") => config.layer2_vips.push(header.name.unwrap_or_default()),
                Some(kind) => config.others.push(kind.to_owned()),
            }
        }
        config.main = main.ok_or_else(|| wrong("machine", "is missing: there is no main document"))?;
        config.check()?;
        Ok(config)
    }

    /// The name the node was given, in either place.
    pub fn node_name(&self) -> Option<&str> {
        let document = self.hostname.as_ref().and_then(|document| document.hostname.as_deref());
        document.or(self.main.machine.network.hostname.as_deref())
    }

    /// The checks that every node makes before it runs a configuration.
    fn check(&self) -> Result<(), DocumentError> {
        let MainDocument { machine, cluster, .. } = &self.main;
        if !cluster.control_plane.endpoint.starts_with("https://") {
            return Err(wrong("cluster.controlPlane.endpoint", "is not an https address"));
        }
        if machine.ca.crt.is_empty() {
            return Err(wrong("machine.ca.crt", "is missing"));
        }
        match machine.machine_type {
            MachineType::ControlPlane => {
                for (field, pair) in [
                    ("machine.ca", Some(&machine.ca)),
                    ("cluster.ca", cluster.ca.as_ref()),
                    ("cluster.aggregatorCA", cluster.aggregator_ca.as_ref()),
                    ("cluster.etcd.ca", cluster.etcd.as_ref().map(|etcd| &etcd.ca)),
                ] {
                    let pair = pair.ok_or_else(|| wrong(field, "is missing"))?;
                    pair.authority().map_err(|source| DocumentError::Certificate {
                        document: Document::MachineConfig,
                        field,
                        source,
                    })?;
                }
            }
            MachineType::Worker => {
                let cluster_key = cluster.ca.as_ref().is_some_and(|ca| !ca.key.is_empty());
                if !machine.ca.key.is_empty() || cluster_key || cluster.etcd.is_some() {
                    return Err(wrong(
                        "machine.type",
                        "is worker, but the keys of a control plane are there",
                    ));
                }
            }
        }
        Ok(())
    }
}

fn wrong(field: &str, problem: &'static str) -> DocumentError {
    DocumentError::field(Document::MachineConfig, field, problem)
}

/// Splits a stream at its separators. A line that begins with `---` is one wherever it stands: the
/// content of block texts is indented.
fn documents(text: &str) -> impl Iterator<Item = &str> {
    let mut starts = vec![0];
    starts.extend(text.match_indices("\n---").map(|(at, _)| at + 1));
    let ends: Vec<_> = starts.iter().skip(1).copied().chain([text.len()]).collect();
    starts
        .into_iter()
        .zip(ends)
        .map(move |(start, end)| text[start..end].trim_start_matches("---"))
        .filter(|text| text.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#')))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn streams_are_split_and_empty_documents_dropped() {
        let parts: Vec<_> =
            documents("---\na: 1\n---\n# nothing\n\n---\nb: |\n    ---\n    x\n").map(str::trim).collect();
        assert_eq!(parts, ["a: 1", "b: |\n    ---\n    x"]);
    }

    #[rstest]
    #[case("", "the machine configuration is not usable: `machine` is missing: there is no main document")]
    #[case(
        "apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\n",
        "the machine configuration is not usable: `machine` is missing: there is no main document"
    )]
    #[case("a: 1\n", "the machine configuration is not usable: `kind` is missing")]
    #[case("{", "cannot read the machine configuration: line 1, column 1 is not what it should be")]
    #[case(
        "version: v1alpha1\nmachine: {type: worker}\n",
        "the machine configuration is not usable: `cluster.controlPlane.endpoint` is not an https address"
    )]
    fn what_is_no_configuration_is_refused(#[case] text: &str, #[case] message: &str) {
        assert_eq!(MachineConfig::from_yaml(&text.into()).unwrap_err().to_string(), message);
    }
}
