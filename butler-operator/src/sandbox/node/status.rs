//! How far a node is in its life, and what it still waits for.

use crate::talos::proto::machine::{
    MachineStatusEvent,
    machine_status_event::{MachineStage, MachineStatus, machine_status::UnmetCondition},
};

/// Talos' stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Booting,
    Maintenance,
    Running,
    Rebooting,
    ShuttingDown,
    Resetting,
    Upgrading,
}

impl Stage {
    /// Talos' word for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Booting => "booting",
            Self::Maintenance => "maintenance",
            Self::Running => "running",
            Self::Rebooting => "rebooting",
            Self::ShuttingDown => "shutting down",
            Self::Resetting => "resetting",
            Self::Upgrading => "upgrading",
        }
    }

    pub(super) fn number(self) -> MachineStage {
        match self {
            Self::Booting => MachineStage::Booting,
            Self::Maintenance => MachineStage::Maintenance,
            Self::Running => MachineStage::Running,
            Self::Rebooting => MachineStage::Rebooting,
            Self::ShuttingDown => MachineStage::ShuttingDown,
            Self::Resetting => MachineStage::Resetting,
            Self::Upgrading => MachineStage::Upgrading,
        }
    }

    /// True when readiness depends on conditions.
    pub(super) fn waits(self) -> bool {
        matches!(self, Self::Booting | Self::Running)
    }
}

/// The stage and what is missing: names of conditions with reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) stage: Stage,
    pub(super) unmet: Vec<(&'static str, String)>,
}

impl Status {
    pub(super) fn is_ready(&self) -> bool {
        self.unmet.is_empty()
    }

    pub(super) fn event(&self) -> MachineStatusEvent {
        let condition = |(name, reason): &(&str, String)| UnmetCondition {
            name: (*name).to_owned(),
            reason: reason.clone(),
        };
        MachineStatusEvent {
            stage: self.stage.number().into(),
            status: Some(MachineStatus {
                ready: self.is_ready(),
                unmet_conditions: self.unmet.iter().map(condition).collect(),
            }),
        }
    }
}
