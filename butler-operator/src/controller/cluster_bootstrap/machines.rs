//! What requests say of their machines, as a bootstrap sees it. Pure.

use butler_core::api::{
    MachineRequest,
    cluster_bootstrap::{BootstrapMachine, ClusterBootstrapStatus as Status},
    common::MachineRole,
    load_balancer_request::LoadBalancerRequestPhase,
    machine_request::MachineRequestPhase,
};
use kube::ResourceExt;

use super::{decide::View, wanted};

impl View<'_> {
    /// True when a machine has another address than it had when its configuration was to be made, and
    /// none has its configuration yet.
    pub(super) fn has_moved(&self) -> bool {
        let mut known = self.bootstrap.status.iter().flat_map(|status| &status.machines);
        let now = |machine: &BootstrapMachine| {
            let request = self.requests.iter().find(|request| request.name_any() == machine.name);
            request.and_then(address)
        };
        known.clone().all(|machine| machine.talos_configured != Some(true))
            && known.any(|machine| now(machine).is_some_and(|now| Some(now) != machine.ip_address))
    }

    /// The way to the API, as soon as it is known. It goes into certificates and configurations, so it
    /// never changes afterwards.
    pub(super) fn endpoint(&self) -> Result<Option<String>, String> {
        if let Some(vip) = wanted::vip(self.bootstrap) {
            return Ok(Some(vip.to_owned()));
        }
        if wanted::wants_balancer(self.bootstrap) {
            let status = self.balancer.and_then(|balancer| balancer.status.clone()).unwrap_or_default();
            return match status.phase {
                Some(LoadBalancerRequestPhase::Ready) => Ok(status.endpoint),
                Some(LoadBalancerRequestPhase::Failed) => {
                    Err(status.failure_message.unwrap_or_else(|| "the load balancer failed".to_owned()))
                }
                _ => Ok(None),
            };
        }
        Ok(control_planes(self.requests).next().and_then(address))
    }
}

/// `status.machines`, as the requests are now; what was done to a machine stays noted.
pub(super) fn machines(old: &Status, requests: &[MachineRequest]) -> Vec<BootstrapMachine> {
    let known = |name: &str| old.machines.iter().find(|machine| machine.name == name);
    let machine = |request: &MachineRequest| {
        let name = request.name_any();
        let before = known(&name);
        BootstrapMachine {
            role: request.spec.role.clone(),
            phase: phase(request),
            ip_address: address(request),
            talos_configured: before.and_then(|machine| machine.talos_configured),
            ready: before.and_then(|machine| machine.ready),
            name,
        }
    };
    requests.iter().map(machine).collect()
}

fn control_planes(requests: &[MachineRequest]) -> impl Iterator<Item = &MachineRequest> {
    requests.iter().filter(|request| request.spec.role == MachineRole::ControlPlane)
}

pub(super) fn phase(request: &MachineRequest) -> MachineRequestPhase {
    let status = request.status.as_ref();
    status.and_then(|status| status.phase.clone()).unwrap_or(MachineRequestPhase::Pending)
}

fn address(request: &MachineRequest) -> Option<String> {
    let address = request.status.as_ref()?.ip_address.clone();
    address.filter(|address| !address.is_empty())
}

pub(super) fn is_running(request: &MachineRequest) -> bool {
    phase(request) == MachineRequestPhase::Running && address(request).is_some()
}

pub(super) fn url(host: &str) -> String {
    match host.parse() {
        Ok(std::net::IpAddr::V6(address)) => format!("https://[{address}]:6443"),
        _ => format!("https://{host}:6443"),
    }
}

/// The host in `status.controlPlaneEndpoint`.
pub(super) fn host(status: &Status) -> String {
    let endpoint = status.control_plane_endpoint.as_deref().unwrap_or_default();
    let host = endpoint.trim_start_matches("https://").trim_end_matches(":6443");
    host.trim_matches(['[', ']']).to_owned()
}
