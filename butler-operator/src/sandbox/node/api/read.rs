//! Logs, files and events.

use std::{path::PathBuf, sync::Arc};

use futures::StreamExt;
use tonic::{Response, Status};

use super::{Items, Streamed};
use crate::{
    sandbox::node::{config::full, context::Node, kubernetes, logs},
    talos::proto::{
        common::Data,
        machine::{DmesgRequest, Event, EventsRequest, LogsRequest},
    },
};

fn data(bytes: Vec<u8>) -> Data {
    Data { metadata: None, bytes }
}

pub(super) fn logs(node: &Arc<Node>, request: &LogsRequest) -> Streamed<Data> {
    let path = log_path(node, request)?;
    let items = logs::read_file(path, request.tail_lines, request.follow);
    let items = items.map(|item| item.map(data).map_err(|error| Status::unknown(full(&error))));
    Ok(Response::new(Box::pin(items)))
}

/// Services by name; containers as `namespace/pod:container`, where the control plane's are known.
fn log_path(node: &Node, request: &LogsRequest) -> Result<PathBuf, Status> {
    let missing = || Status::not_found(format!("log {:?} was not registered", request.id));
    let id = request.id.as_str();
    if request.namespace == "k8s.io" {
        let pod = id.strip_prefix("kube-system/").and_then(|rest| rest.split(':').next()).unwrap_or_default();
        let known = [kubernetes::API_SERVER, kubernetes::CONTROLLER_MANAGER, kubernetes::SCHEDULER];
        let name = known.into_iter().find(|name| pod.starts_with(name));
        return name
            .map(|name| node.machine.logs.file(name))
            .ok_or_else(|| Status::unknown(format!("container {id:?} not found")));
    }
    let plain = id.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
    let is_known =
        node.services.state(id).is_some() || node.machine.logs.ids().iter().any(|known| known == id);
    if !plain || !is_known {
        return Err(missing());
    }
    let path = node.machine.logs.file(id);
    if !path.exists() {
        // A service that never spoke has an empty log.
        let _ = node.machine.disk.write(&path, b"");
    }
    Ok(path)
}

pub(super) fn dmesg(node: &Arc<Node>, request: &DmesgRequest) -> Streamed<Data> {
    let lines = node.machine.logs.dmesg(request.follow, request.tail && request.follow);
    Ok(Response::new(Box::pin(lines.map(|line| Ok(data(line))))))
}

pub(super) fn events(node: &Arc<Node>, request: &EventsRequest) -> Streamed<Event> {
    Ok(Response::new(Box::pin(node.events.stream(request).map(Ok))))
}

/// The few files that programs ask nodes for.
pub(super) fn file(node: &Node, path: &str) -> Streamed<Data> {
    if !path.starts_with('/') {
        return Err(Status::unknown(format!("path is not absolute {path}")));
    }
    let content = match path {
        "/proc/sys/kernel/random/boot_id" => format!("{}\n", node.boot_id),
        "/proc/version" => format!("Linux version {}\n", crate::sandbox::node::KERNEL),
        "/proc/uptime" => {
            let up = (node.machine.clock.now() - node.booted).get_seconds();
            format!("{up}.00 {up}.00\n")
        }
        "/etc/hostname" => format!("{}\n", node.hostname()),
        "/etc/os-release" => {
            format!("NAME=\"Talos\"\nID=talos\nVERSION_ID={0}\nPRETTY_NAME=\"Talos ({0})\"\n", node.version)
        }
        _ => return Err(Status::unknown(format!("stat {path}: no such file or directory"))),
    };
    Ok(once(content.into_bytes()))
}

/// A stream of one piece.
pub(super) fn once(bytes: Vec<u8>) -> Response<Items<Data>> {
    Response::new(Box::pin(futures::stream::iter([Ok(data(bytes))])))
}
