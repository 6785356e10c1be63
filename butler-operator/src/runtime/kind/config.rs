//! The configuration that `kind` is given.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Serialize;

/// A cluster of `kind`, as far as we use it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterConfig {
    kind: &'static str,
    api_version: &'static str,
    networking: Networking,
    nodes: [Node; 1],
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Networking {
    /// The API server is for this computer alone.
    api_server_address: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<String>,
    labels: BTreeMap<&'static str, String>,
    extra_mounts: Vec<Mount>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    extra_port_mappings: Vec<PortMapping>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Mount {
    host_path: PathBuf,
    container_path: PathBuf,
    read_only: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct PortMapping {
    container_port: u16,
    host_port: u16,
    listen_address: &'static str,
    protocol: &'static str,
}

/// The label of the node that says which run made it.
const RUN_LABEL: &str = "butler.butlerlabs.dev/run";
/// Where the file that says whose it is appears in the node.
const OWNER_IN_NODE: &str = "/butler/owner";
const CONSOLE_NODE_PORT: u16 = 30080;

/// What differs between two clusters.
#[derive(Clone, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) run: &'a str,
    pub(super) image: Option<&'a str>,
    pub(super) owner: &'a Path,
    pub(super) certificates: &'a [PathBuf],
    pub(super) console_port: Option<u16>,
    pub(super) socket: Option<&'a Path>,
}

impl ClusterConfig {
    /// One node that is everything.
    pub(super) fn new(wanted: &Wanted<'_>) -> Self {
        let owner = Mount {
            host_path: wanted.owner.to_owned(),
            container_path: OWNER_IN_NODE.into(),
            read_only: true,
        };
        let certificates = wanted.certificates.iter().enumerate().map(|(index, path)| Mount {
            host_path: path.clone(),
            container_path: format!("/usr/local/share/ca-certificates/butler-custom-{index}.crt").into(),
            read_only: true,
        });
        // Under its usual name, which is what programs in the cluster look for.
        let socket = wanted.socket.map(|socket| Mount {
            host_path: socket.to_owned(),
            container_path: "/var/run/docker.sock".into(),
            read_only: false,
        });
        let console = wanted.console_port.map(|host_port| PortMapping {
            container_port: CONSOLE_NODE_PORT,
            host_port,
            listen_address: "127.0.0.1",
            protocol: "TCP",
        });
        Self {
            kind: "Cluster",
            api_version: "kind.x-k8s.io/v1alpha4",
            networking: Networking { api_server_address: "127.0.0.1" },
            nodes: [Node {
                role: "control-plane",
                image: wanted.image.map(str::to_owned),
                labels: BTreeMap::from([(RUN_LABEL, wanted.run.to_owned())]),
                extra_mounts: [owner].into_iter().chain(certificates).chain(socket).collect(),
                extra_port_mappings: console.into_iter().collect(),
            }],
        }
    }

    /// As a file. JSON is YAML, and `kind` takes it.
    pub(super) fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_configuration_has_what_was_asked_for_and_nothing_else() {
        let certificates = [PathBuf::from("/home/op/.butler/certificates/corp.pem")];
        let mut wanted = Wanted {
            run: "20261114-101112-00ff00",
            image: Some("kindest/node:v1.34.4"),
            owner: Path::new("/runs/1/owner"),
            certificates: &certificates,
            console_port: Some(8080),
            socket: Some(Path::new("/run/user/1000/docker.sock")),
        };
        let text = ClusterConfig::new(&wanted).to_text();
        let config: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            config["nodes"][0],
            json!({
                "role": "control-plane",
                "image": "kindest/node:v1.34.4",
                "labels": { "butler.butlerlabs.dev/run": "20261114-101112-00ff00" },
                "extraMounts": [
                    { "hostPath": "/runs/1/owner", "containerPath": "/butler/owner", "readOnly": true },
                    { "hostPath": "/home/op/.butler/certificates/corp.pem",
                      "containerPath": "/usr/local/share/ca-certificates/butler-custom-0.crt", "readOnly": true },
                    { "hostPath": "/run/user/1000/docker.sock", "containerPath": "/var/run/docker.sock",
                      "readOnly": false },
                ],
                "extraPortMappings": [
                    { "containerPort": 30080, "hostPort": 8080, "listenAddress": "127.0.0.1", "protocol": "TCP" },
                ],
            })
        );
        wanted.image = None;
        wanted.console_port = None;
        wanted.socket = None;
        let config: Value = serde_json::from_str(&ClusterConfig::new(&wanted).to_text()).unwrap();
        assert_eq!(config["nodes"][0].get("image"), None);
        assert_eq!(config["nodes"][0].get("extraPortMappings"), None);
        assert_eq!(config["networking"]["apiServerAddress"], "127.0.0.1");
    }
}
