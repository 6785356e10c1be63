//! What `sandbox status` prints.

use butler_operator::sandbox::{
    Place,
    host::wire::{NodeStatus, StateBody},
    supervisor::{
        State, Status,
        wire::{Health, PartStatus},
    },
};
use butler_term::{
    output::{Cell, Render, Table, View, age, counted},
    theme,
};
use jiff::Timestamp;
use serde::Serialize;

use super::costs::Costs;

/// The whole sandbox; also what `-o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatusReport {
    api_version: &'static str,
    kind: &'static str,
    pub(super) name: String,
    pub(super) state: State,
    /// What to put into KUBECONFIG; there once the sandbox was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    kubeconfig: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    login_server: Option<String>,
    directory: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<String>,
    parts: Vec<Costs<PartStatus>>,
    machines: Vec<Costs<NodeStatus>>,
    /// Machines on disk while nothing runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stored_machines: Vec<String>,
    /// Ages are counted from here, not from a fixed clock: the processes are real.
    #[serde(skip)]
    now: Timestamp,
}

impl StatusReport {
    pub(super) fn of(place: &Place, status: &Status) -> Self {
        let path = place.kubeconfig();
        let parts = status.parts().iter().map(|part| Costs::of(part.clone(), status.usage(part.pid)));
        let machines = status.machines().iter().map(|node| Costs::of(node.clone(), status.usage(node.pid)));
        Self {
            api_version: butler_core::api::API_VERSION,
            kind: "SandboxStatus",
            name: place.name().to_owned(),
            state: status.state,
            kubeconfig: path.exists().then(|| path.display().to_string()),
            login_server: status.platform.as_ref().and_then(|platform| platform.login_server.clone()),
            directory: place.dir().display().to_string(),
            network: status.platform.as_ref().map(|platform| platform.network.clone()),
            parts: parts.collect(),
            machines: machines.collect(),
            stored_machines: status.stored.clone(),
            now: Timestamp::now(),
        }
    }

    fn headline(&self) -> String {
        let (word, style) = match self.state {
            State::Running => ("running", theme::SUCCESS),
            State::Starting => ("starting", theme::PROGRESS),
            State::Degraded => ("degraded", theme::WARNING),
            State::Stopped => ("stopped", theme::PLAIN),
            State::Absent => ("not there", theme::PLAIN),
        };
        let network = self.network.as_ref().map(|network| format!(", {network}")).unwrap_or_default();
        let stored = match self.stored_machines.len() {
            0 => String::new(),
            count => format!(", {} on disk", counted(count, "machine")),
        };
        format!("sandbox {}: {style}{word}{style:#}{network}{stored}\n", self.name)
    }

    fn machine_table(&self, view: &View) -> Table {
        let columns = ["machine", "state", "stage", "address", "restarts", "memory", "cpu", "uptime"];
        let more = ["pid", "last exit"].into_iter().filter(|_| view.wide);
        let mut table = Table::new(columns.into_iter().chain(more));
        for machine in &self.machines {
            let node = &machine.what;
            let state = match &node.state {
                StateBody::Failed(why) => Cell::styled(format!("damaged: {why}"), theme::ERROR),
                state => word(state.word(), *state == StateBody::Running),
            };
            let address = node.address.map_or_else(
                || "-".to_owned(),
                |address| match node.ports {
                    Some(ports) if ports.talos != 50_000 => format!("{address}:{}", ports.talos),
                    _ => address.to_string(),
                },
            );
            let mut row = vec![
                node.name.clone().into(),
                state,
                node.stage.clone().unwrap_or_else(|| "-".to_owned()).into(),
                address.into(),
                node.restarts.to_string().into(),
                machine.memory().into(),
                machine.cpu().into(),
                self.uptime(node.since, node.pid),
            ];
            if view.wide {
                row.push(number(node.pid));
                row.push(node.last_exit.clone().unwrap_or_else(|| "-".to_owned()).into());
            }
            table.push(row);
        }
        table
    }

    fn uptime(&self, since: Option<Timestamp>, pid: Option<u32>) -> Cell {
        match pid.and(since) {
            Some(since) => age(Some(since), self.now).into(),
            None => "-".into(),
        }
    }
}

fn word(word: &'static str, good: bool) -> Cell {
    Cell::styled(word, if good { theme::SUCCESS } else { theme::PROGRESS })
}

fn number(number: Option<u32>) -> Cell {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string()).into()
}

impl Render for StatusReport {
    fn table(&self, view: &View) -> Table {
        let columns = ["part", "state", "address", "restarts", "memory", "cpu", "uptime"];
        let more = ["pid", "last exit", "log"].into_iter().filter(|_| view.wide);
        let mut table = Table::new(columns.into_iter().chain(more));
        for part in &self.parts {
            let status = &part.what;
            let mut row = vec![
                status.name.clone().into(),
                word(status.state.word(), status.state == Health::Ready),
                status.address.map_or_else(|| "-".to_owned(), |address| address.to_string()).into(),
                status.restarts.to_string().into(),
                part.memory().into(),
                part.cpu().into(),
                self.uptime(status.since, status.pid),
            ];
            if view.wide {
                row.push(number(status.pid));
                row.push(status.last_exit.clone().unwrap_or_else(|| "-".to_owned()).into());
                row.push(status.log.display().to_string().into());
            }
            table.push(row);
        }
        table
    }

    fn text(&self, view: &View) -> String {
        let mut text = self.headline();
        if !self.parts.is_empty() {
            text = format!("{text}\n{}", self.table(view).render(view.width));
        }
        if !self.machines.is_empty() {
            text = format!("{text}\n{}", self.machine_table(view).render(view.width));
        }
        text
    }

    fn names(&self) -> Vec<String> {
        let parts = self.parts.iter().map(|part| format!("part/{}", part.what.name));
        parts.chain(self.machines.iter().map(|machine| format!("machine/{}", machine.what.name))).collect()
    }
}
