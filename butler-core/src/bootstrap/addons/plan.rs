//! The list of decisions: which steps, in which order.

use std::{collections::BTreeSet, time::Duration};

use serde::{Deserialize, Serialize};

use super::{AddonAction, AddonStep, capi, charts, cloud, platform, versions};
use crate::api::{
    butler_config::MultiTenancyMode,
    cluster_bootstrap::{
        BootstrapAddons, BootstrapCniType, BootstrapGitOpsType, BootstrapIngressType,
        BootstrapLoadBalancerType, BootstrapStorageType, ClusterBootstrapSpec, ControlPlaneHaType,
        ControlPlaneProviderType, Topology,
    },
    common::{ExposureMode, ProviderKind},
    network_pool::NetworkPoolSpec,
    provider_config::ProviderConfigSpec,
};

/// All that decides what is installed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddonInput {
    /// The ClusterBootstrap.
    pub bootstrap: ClusterBootstrapSpec,
    /// The ProviderConfig it names.
    pub provider: ProviderConfigSpec,
    /// How strictly clusters belong to teams; `Optional` when nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multi_tenancy: Option<MultiTenancyMode>,
    /// Leave out the catalog of addons for tenants.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_catalog: bool,
    /// The first pool of addresses for tenants, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_pool: Option<(String, NetworkPoolSpec)>,
    /// What a mirror is known to have: names of charts, with or without `-VERSION`, and of manifests.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub offered: BTreeSet<String>,
}

impl AddonInput {
    pub(super) fn kind(&self) -> &ProviderKind {
        &self.bootstrap.provider
    }

    pub(super) fn addons(&self) -> &BootstrapAddons {
        static NONE: BootstrapAddons = BootstrapAddons {
            control_plane_ha: None,
            cni: None,
            load_balancer: None,
            storage: None,
            cert_manager: None,
            ingress: None,
            control_plane_provider: None,
            capi: None,
            butler_controller: None,
            console: None,
            git_ops: None,
        };
        self.bootstrap.addons.as_ref().unwrap_or(&NONE)
    }

    pub(super) fn is_cloud(&self) -> bool {
        matches!(self.kind(), ProviderKind::Aws | ProviderKind::Azure | ProviderKind::Gcp)
    }

    pub(super) fn is_sandbox(&self) -> bool {
        *self.kind() == ProviderKind::Sandbox
    }

    pub(super) fn is_local(&self) -> bool {
        *self.kind() == ProviderKind::Local
    }

    pub(super) fn is_single_node(&self) -> bool {
        self.bootstrap.cluster.topology == Some(Topology::SingleNode)
    }

    pub(super) fn cluster(&self) -> &str {
        &self.bootstrap.cluster.name
    }

    pub(super) fn exposes_by_gateway(&self) -> bool {
        let exposure = self.bootstrap.control_plane_exposure.as_ref();
        exposure.is_some_and(|exposure| exposure.mode == Some(ExposureMode::Gateway))
    }

    /// True when the platform itself is wanted: everything that needs Butler's definitions follows this.
    pub(super) fn wants_platform(&self) -> bool {
        self.addons().butler_controller.as_ref().is_none_or(|block| block.enabled.unwrap_or(true))
    }

    /// An absent block means yes; in a block that is there, the definition's default is no.
    pub(super) fn wants_console(&self) -> bool {
        let block = self.addons().console.as_ref();
        let on = block.is_none_or(|console| console.enabled.unwrap_or(false));
        self.wants_platform() && self.comes(on, block.is_some(), "butler-console", versions::BUTLER_CONSOLE)
    }

    /// The range of addresses that MetalLB gives out, as `first-last`.
    pub(super) fn addresses(&self) -> Option<String> {
        let pool = self.bootstrap.network.load_balancer_pool.as_ref();
        let block = self.addons().load_balancer.as_ref();
        let written = || block?.address_pool.clone().filter(|text| !text.is_empty());
        pool.map(|pool| format!("{}-{}", pool.start, pool.end)).or_else(written)
    }

    /// Whether something that has to be fetched comes: in the sandbox only when somebody asked for it or
    /// the mirror has it.
    fn comes(&self, on: bool, asked: bool, name: &str, version: &str) -> bool {
        let offered = || self.offered.contains(name) || self.offered.contains(&format!("{name}-{version}"));
        on && (!self.is_sandbox() || asked || offered())
    }
}

/// The steps, in order.
pub fn plan_addons(input: &AddonInput) -> Vec<AddonStep> {
    let mut plan = Plan { steps: Vec::new() };
    network(&mut plan, input);
    base(&mut plan, input);
    tenants(&mut plan, input);
    butler(&mut plan, input);
    plan.steps
}

/// The line of a configuration that leaves a step out; none for what a management cluster cannot be without.
pub fn without(key: &str) -> Option<&'static str> {
    Some(match key {
        "kube-vip" => "addons.controlPlaneHA.type: none",
        "cilium" => "addons.cni.type: none",
        "cert-manager" => "addons.certManager.enabled: false",
        "longhorn" => "addons.storage.type: none",
        "metallb" => "addons.loadBalancer.type: none",
        "traefik" => "addons.ingress.enabled: false",
        "gateway-api" | "steward" | "capi-control-plane-steward" => {
            "addons.controlPlaneProvider.enabled: false"
        }
        "flux" => "addons.gitOps.enabled: false",
        "butler-addons" => "addons.catalog.enabled: false",
        "butler-controller" => "addons.butlerController.enabled: false",
        "butler-console" => "addons.console.enabled: false",
        _ if key.starts_with("capi") => "addons.capi.enabled: false",
        _ => return None,
    })
}

/// What nodes need to talk to each other and to be known to their cloud.
fn network(plan: &mut Plan, input: &AddonInput) {
    let addons = input.addons();
    let on_premises =
        matches!(input.kind(), ProviderKind::Harvester | ProviderKind::Nutanix | ProviderKind::Proxmox);
    let holder = addons.control_plane_ha.as_ref().and_then(|block| block.type_.as_ref());
    let vip = input.bootstrap.network.vip.as_deref().filter(|vip| !vip.is_empty());
    if let Some(vip) = vip.filter(|_| on_premises && holder != Some(&ControlPlaneHaType::None)) {
        plan.add("kube-vip", "kube-vip holds the address of the API", &[], 10, charts::kube_vip(input, vip));
    }
    // Cilium looks for these definitions when it starts with Gateway support.
    if input.exposes_by_gateway() {
        gateway_api(plan, input);
    }
    let cni = addons.cni.as_ref();
    let is_cilium = cni.is_some_and(|cni| cni.type_ != Some(BootstrapCniType::None));
    if is_cilium && !input.is_local() {
        plan.add("cilium", "Cilium connects Pods", &["kube-vip", "gateway-api"], 15, charts::cilium(input));
    }
    if input.is_cloud() {
        for (key, title, action) in cloud::controller_manager(input) {
            plan.add(key, title, &["cilium", "cloud-credentials"], 10, action);
        }
        let needs = &["cloud-controller-manager"];
        plan.add("node-provider-ids", "nodes know their machines", needs, 10, AddonAction::NodeProviderIds);
    }
}

/// What workloads need.
fn base(plan: &mut Plan, input: &AddonInput) {
    let addons = input.addons();
    let block = addons.cert_manager.as_ref();
    let on = block.is_none_or(|block| block.enabled.unwrap_or(true));
    if input.comes(on, block.is_some(), "cert-manager", versions::CERT_MANAGER) {
        plan.add(
            "cert-manager",
            "cert-manager signs certificates",
            &["cilium", "node-provider-ids"],
            10,
            charts::cert_manager(input),
        );
    }
    let storage = addons.storage.as_ref();
    if storage.is_some_and(|storage| storage.type_ != Some(BootstrapStorageType::None)) && !input.is_local() {
        plan.add(
            "longhorn",
            "Longhorn keeps volumes",
            &["cilium", "node-provider-ids"],
            20,
            charts::longhorn(input),
        );
    }
    let balances = addons
        .load_balancer
        .as_ref()
        .is_some_and(|block| block.type_ != Some(BootstrapLoadBalancerType::None));
    let addresses = input.addresses();
    if balances && !input.is_cloud() && (addresses.is_some() || input.is_local()) {
        plan.add(
            "metallb",
            "MetalLB gives addresses to Services",
            &["cilium"],
            10,
            charts::metallb(input, addresses.as_deref()),
        );
    }
    let block = addons.ingress.as_ref();
    let kind = block.and_then(|block| block.type_.as_ref());
    let on = block.is_none_or(|block| block.enabled.unwrap_or(true))
        && matches!(kind, None | Some(BootstrapIngressType::Traefik))
        && !input.is_cloud();
    if input.comes(on, block.is_some(), "traefik", versions::TRAEFIK) {
        let has_addresses = plan.has("metallb");
        plan.add(
            "traefik",
            "Traefik routes HTTP",
            &["cilium", "metallb", "cert-manager"],
            10,
            charts::traefik(input, has_addresses),
        );
    }
}

/// What hosts tenants.
fn tenants(plan: &mut Plan, input: &AddonInput) {
    let addons = input.addons();
    let block = addons.control_plane_provider.as_ref();
    let kind = block.and_then(|block| block.type_.as_ref());
    let on = block.is_none_or(|block| block.enabled.unwrap_or(true))
        && matches!(kind, None | Some(ControlPlaneProviderType::Steward));
    if on && !plan.has("gateway-api") {
        gateway_api(plan, input);
    }
    if input.comes(on, block.is_some(), "steward", versions::STEWARD) {
        plan.add(
            "steward",
            "Steward hosts control planes",
            &["cert-manager", "longhorn", "gateway-api"],
            10,
            charts::steward(input),
        );
    }
    let block = addons.capi.as_ref();
    let on = block.is_none_or(|block| block.enabled.unwrap_or(true));
    if input.comes(on, block.is_some(), capi::CORE, versions::CLUSTER_API) {
        capi::add(plan, input);
    }
    let flux = addons.git_ops.as_ref().is_some_and(|block| {
        block.enabled.unwrap_or(true) && matches!(block.type_, None | Some(BootstrapGitOpsType::Flux))
    });
    if flux {
        plan.add("flux", "Flux follows Git", &["cilium"], 10, charts::flux());
    }
}

/// The platform itself.
fn butler(plan: &mut Plan, input: &AddonInput) {
    let platform = input.wants_platform();
    if platform {
        plan.add("butler-crds", "Butler's kinds are defined", &[], 5, AddonAction::Definitions);
        if let Some(action) = platform::provider_config(input) {
            plan.add("provider-config", "tenants have a provider", &["butler-crds"], 5, action);
        }
        let needs = &["butler-crds", "provider-config"];
        plan.add("butler-addons", "settings and catalog are there", needs, 10, platform::addons(input));
        if !input.is_sandbox() {
            plan.add(
                "butler-controller",
                "Butler's controllers run",
                &["cilium", "butler-crds", "butler-addons"],
                10,
                platform::controller(input),
            );
        }
    }
    plan.add("butler", "the platform has its namespace", &[], 5, platform::namespaces(input));
    if let Some(exposure) = input.bootstrap.control_plane_exposure.as_ref().filter(|_| platform) {
        let action = platform::exposure(exposure);
        plan.add(
            "butler-config-exposure",
            "tenants know how they are published",
            &["butler-addons"],
            5,
            action,
        );
    }
    if input.wants_console() {
        let needs = &["butler-addons", "butler-controller", "steward", "traefik"];
        plan.add("butler-console", "the web console runs", needs, 10, platform::console(input));
    }
    // Only a Service of type LoadBalancer has that pool, and the console is the one that a bootstrap makes.
    if *input.kind() == ProviderKind::Azure && plan.has("butler-console") {
        let needs = &["node-provider-ids", "butler-console"];
        let title = "Azure's load balancer knows the nodes";
        plan.add("cloud-lb-backend-pool", title, needs, 10, cloud::backend_pool(input)).optional = true;
    }
}

fn gateway_api(plan: &mut Plan, input: &AddonInput) {
    if input.comes(true, input.exposes_by_gateway(), "gateway-api", versions::GATEWAY_API) {
        plan.add("gateway-api", "the Gateway API is defined", &[], 5, charts::gateway_api());
    }
}

/// The steps so far.
pub(super) struct Plan {
    steps: Vec<AddonStep>,
}

impl Plan {
    /// Adds a step. Of `needs` those count that are planned; each must have been added before.
    pub(super) fn add(
        &mut self,
        key: &str,
        title: &str,
        needs: &[&str],
        minutes: u64,
        action: AddonAction,
    ) -> &mut AddonStep {
        let requires = needs.iter().filter(|need| self.has(need)).map(|need| (*need).to_owned()).collect();
        self.steps.push(AddonStep {
            key: key.to_owned(),
            title: title.to_owned(),
            requires,
            action,
            optional: false,
            deadline: Duration::from_secs(minutes * 60),
        });
        let last = self.steps.len() - 1;
        &mut self.steps[last]
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.steps.iter().any(|step| step.key == key)
    }
}
