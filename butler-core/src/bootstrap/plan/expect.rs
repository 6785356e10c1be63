//! How long a run should take: as long as the last ones of the same provider did, else what a table says.

use std::collections::BTreeMap;

use super::{Expected, Step};
use crate::{
    api::common::ProviderKind,
    bootstrap::{
        addons::{AddonAction, AddonStep},
        config::RuntimeKind,
        run::{RunState, Stage},
    },
};

/// How long a past run took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// Seconds of each phase.
    pub phases: BTreeMap<String, u64>,
    /// Seconds in all.
    pub seconds: u64,
}

impl Past {
    /// What can be learned from runs: those of this provider that went through in one go.
    pub fn of(runs: &[RunState], provider: &ProviderKind) -> Vec<Self> {
        let provider = provider.to_string();
        runs.iter()
            .filter(|run| run.stage == Stage::Succeeded && run.sessions.len() == 1)
            .filter(|run| run.facts.as_ref().is_some_and(|facts| facts.provider == provider))
            .filter_map(|run| {
                let seconds = |from: jiff::Timestamp, to: jiff::Timestamp| {
                    u64::try_from(to.duration_since(from).as_secs()).unwrap_or_default()
                };
                let phases = run
                    .phases
                    .iter()
                    .filter_map(|phase| Some((phase.phase.clone(), seconds(phase.started, phase.finished?))));
                Some(Self { phases: phases.collect(), seconds: seconds(run.started?, run.updated?) })
            })
            .collect()
    }
}

/// Puts what past runs took in place of what the table says, and adds up.
pub(super) fn learn(steps: &mut [Step], past: &[Past]) -> Expected {
    for step in steps.iter_mut() {
        let mut seen: Vec<u64> = past.iter().filter_map(|run| run.phases.get(&step.id).copied()).collect();
        step.expected_seconds = median(&mut seen).unwrap_or(step.expected_seconds);
    }
    let mut totals: Vec<u64> = past.iter().map(|run| run.seconds).collect();
    let sum = steps.iter().map(|step| step.expected_seconds).sum();
    Expected { seconds: median(&mut totals).unwrap_or(sum), past_runs: past.len() }
}

/// The phases that a run of this provider goes through, with the seconds that each should take: as long as
/// in past runs, else what a table says. Addons are one phase, of which the table knows nothing.
pub fn phases(
    provider: &ProviderKind,
    runtime: RuntimeKind,
    past: &[Past],
) -> Vec<(&'static str, Option<u64>)> {
    let local = *provider == ProviderKind::Local;
    let names = [
        ("CheckingTheWorld", true),
        ("StartingTemporaryCluster", true),
        ("DeployingCRDs", true),
        ("CreatingBootstrap", true),
        ("ProvisioningMachines", !local),
        ("ConfiguringTalos", !local),
        ("BootstrappingCluster", !local),
        ("InstallingAddons", true),
        ("Pivoting", true),
        ("SavingCredentials", true),
        ("StartingControllers", *provider == ProviderKind::Sandbox),
        ("RemovingTemporaryCluster", !local),
    ];
    let expected = |name: &'static str| {
        let mut seen: Vec<u64> = past.iter().filter_map(|run| run.phases.get(name).copied()).collect();
        let table = (name != "InstallingAddons").then(|| usual(name, provider, runtime));
        (name, median(&mut seen).or(table))
    };
    names.into_iter().filter(|(_, shown)| *shown).map(|(name, _)| expected(name)).collect()
}

fn median(values: &mut [u64]) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// Seconds of a phase, when nothing is known: seen in the sandbox, and usual for hypervisors and clouds.
pub(super) fn usual(phase: &str, provider: &ProviderKind, runtime: RuntimeKind) -> u64 {
    let kind = runtime == RuntimeKind::Kind;
    let (sandbox, cloud) = (
        *provider == ProviderKind::Sandbox,
        matches!(provider, ProviderKind::Aws | ProviderKind::Azure | ProviderKind::Gcp),
    );
    match phase {
        "StartingTemporaryCluster" if kind => 30,
        "StartingTemporaryCluster" => 4,
        "DeployingCRDs" => 3,
        "ProvisioningMachines" if sandbox => 3,
        "ProvisioningMachines" if cloud => 120,
        "ProvisioningMachines" => 180,
        "ConfiguringTalos" if sandbox => 4,
        "ConfiguringTalos" => 120,
        "BootstrappingCluster" if sandbox => 10,
        "BootstrappingCluster" => 120,
        "Pivoting" => 5,
        "RemovingTemporaryCluster" if kind => 5,
        _ => 1,
    }
}

/// Seconds of an addon.
pub(super) fn usual_addon(step: &AddonStep, provider: &ProviderKind) -> u64 {
    // Pods of simulated nodes start at once.
    let pods = if *provider == ProviderKind::Sandbox { 5 } else { 60 };
    match &step.action {
        AddonAction::Chart(release) if release.wait => pods,
        AddonAction::Chart(_) => 5,
        AddonAction::Manifests(manifests) if manifests.available.is_empty() => 5,
        AddonAction::Manifests(_) => pods,
        AddonAction::Objects { wait_for, .. } if wait_for.is_empty() => 1,
        AddonAction::Objects { .. } => pods,
        AddonAction::Definitions => 3,
        AddonAction::NodeProviderIds | AddonAction::BackendPool(_) => 5,
    }
}
