//! Whether this process can do its work.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{Arc, Mutex},
};

use super::source::{Waiting, lock};

/// What a controller is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// Reading what there is; or waiting for a definition.
    Starting,
    /// Acting on changes.
    Running,
}

/// What the process is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// The API server has not answered yet.
    #[default]
    Connecting,
    /// Another replica acts.
    StandingBy,
    /// This one acts.
    Leading,
    /// On the way out.
    Stopping,
}

/// The state that `/readyz` tells.
#[derive(Clone, Debug, Default)]
pub(super) struct Health {
    state: Arc<Mutex<State>>,
    /// Kinds without a definition.
    pub(super) waiting: Waiting,
}

#[derive(Debug, Default)]
struct State {
    stage: Stage,
    controllers: BTreeMap<&'static str, Doing>,
}

/// An answer of `/readyz`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) ready: bool,
    pub(super) text: String,
}

impl Health {
    pub(super) fn set_stage(&self, stage: Stage) {
        let mut state = lock(&self.state);
        state.stage = stage;
        if stage != Stage::Leading {
            state.controllers.clear();
        }
    }

    pub(super) fn set(&self, controller: &'static str, doing: Doing) {
        lock(&self.state).controllers.insert(controller, doing);
    }

    /// Ready is who stands by, and who acts with everything read. A definition that is missing keeps a
    /// controller waiting, but does not make the process useless.
    pub(super) fn report(&self) -> Report {
        let (state, waiting) = (lock(&self.state), self.waiting.kinds());
        let starting =
            state.controllers.values().any(|doing| *doing == Doing::Starting) && waiting.is_empty();
        let (ready, word) = match state.stage {
            Stage::Connecting => (false, "connecting"),
            Stage::StandingBy => (true, "standing by"),
            Stage::Leading => (!starting, "leading"),
            Stage::Stopping => (false, "stopping"),
        };
        let mut text = format!("{word}\n");
        for (name, doing) in &state.controllers {
            let word = if *doing == Doing::Running { "running" } else { "starting" };
            let _ = writeln!(text, "controller {name}: {word}");
        }
        for kind in waiting {
            let _ = writeln!(text, "kind {kind}: waiting for its definition");
        }
        Report { ready, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_is_who_stands_by_or_has_read_everything() {
        let health = Health::default();
        assert!(!health.report().ready);
        health.set_stage(Stage::StandingBy);
        assert!(health.report().ready);
        health.set_stage(Stage::Leading);
        health.set("machine-request", Doing::Starting);
        assert!(!health.report().ready);
        health.set("machine-request", Doing::Running);
        let report = health.report();
        assert_eq!(
            report,
            Report { ready: true, text: "leading\ncontroller machine-request: running\n".into() }
        );
        health.set_stage(Stage::Stopping);
        assert_eq!(health.report(), Report { ready: false, text: "stopping\n".into() });
    }
}
