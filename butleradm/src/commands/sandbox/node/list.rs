//! `sandbox node list`: every simulated machine with its faults, also while the sandbox is stopped.

use butler_operator::{
    driver::{Role, sandbox::SandboxDriver},
    sandbox::{
        Place,
        faults::{Faults, Scripted},
        host::wire::{NodeStatus, StateBody},
        machine::MachineDir,
        supervisor::{holder, log_files},
    },
};
use butler_term::{
    CommandResult,
    args::OutputArgs,
    output::{Cell, Render, Table, View},
    run::Session,
    theme,
};
use clap::Args;
use serde::Serialize;

/// List the simulated machines
#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
pub(crate) fn run(args: &ListArgs, place: &Place, session: &Session) -> CommandResult {
    let nodes = match holder(place) {
        Some(_) => session.block_on(async { Ok(SandboxDriver::new(place.host_socket()).nodes().await?) })?,
        None => stored(place),
    };
    let items = nodes.into_iter().map(|node| Node::of(place, node)).collect();
    let list = NodeList { api_version: butler_core::api::API_VERSION, kind: "SandboxNodeList", items };
    session.ui.render(&list, &session.format(&args.output))
}

/// What can be told from the files alone.
fn stored(place: &Place) -> Vec<NodeStatus> {
    let names = log_files(place).into_iter().map(|(name, _)| name);
    let machines = names.filter_map(|name| Some((place.machine_file(&name)?, name)));
    machines
        .map(|(file, name)| {
            let problem = file.as_ref().err().map(ToString::to_string);
            let file = file.ok();
            NodeStatus {
                name,
                state: problem.map_or(StateBody::Stopped, StateBody::Failed),
                ownership: file.as_ref().map(|file| file.ownership.clone()),
                role: file.as_ref().map(|file| file.role),
                address: file.as_ref().map(|file| file.address),
                ports: file.map(|file| file.ports),
                stage: None,
                pid: None,
                restarts: 0,
                last_exit: None,
                since: None,
            }
        })
        .collect()
}

/// What `-o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeList {
    api_version: &'static str,
    kind: &'static str,
    items: Vec<Node>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    #[serde(flatten)]
    status: NodeStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    talos: Option<String>,
    faults: Faults,
    #[serde(skip_serializing_if = "Option::is_none")]
    faults_problem: Option<String>,
}

impl Node {
    fn of(place: &Place, status: NodeStatus) -> Self {
        let faults = Faults::read(&MachineDir(place.machines().join(&status.name)).faults_file());
        Self {
            talos: status
                .address
                .zip(status.ports)
                .map(|(address, ports)| format!("{address}:{}", ports.talos)),
            faults_problem: faults.as_ref().err().map(ToString::to_string),
            faults: faults.unwrap_or_default(),
            status,
        }
    }

    fn faults_cell(&self) -> Cell {
        if let Some(problem) = &self.faults_problem {
            return Cell::styled(problem, theme::ERROR);
        }
        let set: Vec<String> =
            self.faults.set().into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        if set.is_empty() { "-".into() } else { Cell::styled(set.join(" "), theme::WARNING) }
    }
}

impl Render for NodeList {
    fn table(&self, _view: &View) -> Table {
        let mut table = Table::new(["name", "role", "state", "stage", "talos", "restarts", "faults"]);
        for node in &self.items {
            let text = |value: &Option<String>| Cell::from(value.clone().unwrap_or_else(|| "-".to_owned()));
            let role = match node.status.role {
                Some(Role::ControlPlane) => "control-plane",
                Some(Role::Worker) => "worker",
                None => "-",
            };
            let state = match &node.status.state {
                StateBody::Failed(why) => Cell::styled(format!("damaged: {why}"), theme::ERROR),
                state => state.word().into(),
            };
            table.push([
                node.status.name.clone().into(),
                role.into(),
                state,
                text(&node.status.stage),
                text(&node.talos),
                node.status.restarts.to_string().into(),
                node.faults_cell(),
            ]);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|node| format!("node/{}", node.status.name)).collect()
    }
}
