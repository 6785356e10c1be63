//! The report of `status`: the platform's components, providers and tenant clusters at a glance.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Level, Provider, Survey, Tenant, Workload, WorkloadKind};
use crate::cluster::ApiError;

use WorkloadKind::{DaemonSet, Deployment};

/// Where a component may be found: namespace and name, in order of preference.
type Places = &'static [(WorkloadKind, &'static str, &'static str)];

/// A component the report knows: its label, whether the platform needs it, where it may be.
struct Known(&'static str, bool, Places);

const COMPONENTS: &[Known] = &[
    Known("butler-controller", true, &[(Deployment, "butler-system", "butler-controller")]),
    Known("cluster-api", true, &[(Deployment, "capi-system", "capi-controller-manager")]),
    Known(
        "cluster-api nutanix",
        false,
        &[
            (Deployment, "capx-system", "capx-controller-manager"),
            (Deployment, "capx-system", "controller-manager"),
            (Deployment, "capi-system", "capx-controller-manager"),
            (Deployment, "nutanix-system", "controller-manager"),
        ],
    ),
    Known(
        "cluster-api harvester",
        false,
        &[
            (Deployment, "capi-harvester-system", "capi-harvester-controller-manager"),
            (Deployment, "capi-system", "capi-harvester-controller-manager"),
        ],
    ),
    Known(
        "cluster-api kubevirt",
        false,
        &[
            (Deployment, "capk-system", "capk-controller-manager"),
            (Deployment, "capi-system", "capk-controller-manager"),
        ],
    ),
    Known(
        "cluster-api gcp",
        false,
        &[
            (Deployment, "capg-system", "capg-controller-manager"),
            (Deployment, "capi-system", "capg-controller-manager"),
        ],
    ),
    Known("steward", true, &[(Deployment, "steward-system", "steward")]),
];

const ADDONS: &[Known] = &[
    Known("cert-manager", true, &[(Deployment, "cert-manager", "cert-manager")]),
    Known("cert-manager-webhook", true, &[(Deployment, "cert-manager", "cert-manager-webhook")]),
    Known("cilium", true, &[(DaemonSet, "kube-system", "cilium")]),
    Known("cilium-operator", true, &[(Deployment, "kube-system", "cilium-operator")]),
    Known("longhorn", true, &[(Deployment, "longhorn-system", "longhorn-driver-deployer")]),
    Known(
        "metallb-controller",
        false,
        &[(Deployment, "metallb-system", "metallb-controller"), (Deployment, "metallb-system", "controller")],
    ),
    Known(
        "metallb-speaker",
        false,
        &[(DaemonSet, "metallb-system", "metallb-speaker"), (DaemonSet, "metallb-system", "speaker")],
    ),
];

const ENGINE: &[Known] = &[
    Known("source-controller", true, &[(Deployment, "flux-system", "source-controller")]),
    Known("kustomize-controller", true, &[(Deployment, "flux-system", "kustomize-controller")]),
    Known("helm-controller", true, &[(Deployment, "flux-system", "helm-controller")]),
    Known("notification-controller", true, &[(Deployment, "flux-system", "notification-controller")]),
];

/// The state of a management cluster.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusReport {
    /// Version of the API server.
    pub kubernetes_version: String,
    /// Groups of components.
    pub sections: Vec<Section>,
    /// Provider configurations.
    pub providers: Vec<Provider>,
    /// Tenant clusters.
    pub tenants: Tenants,
}

/// Components that belong together.
#[derive(Debug, Serialize)]
pub struct Section {
    /// What they are.
    pub title: &'static str,
    /// The components.
    pub components: Vec<Component>,
}

/// One component and how much of it is ready.
#[derive(Debug, Serialize)]
pub struct Component {
    /// What people call it.
    pub name: &'static str,
    /// The namespace it is in, or would be.
    pub namespace: &'static str,
    /// How it is; a component that is needed and missing fails, except in a sandbox.
    pub level: Level,
    /// Ready replicas; none when it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<i32>,
    /// Wanted replicas; none when it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired: Option<i32>,
}

/// Tenant clusters, counted and listed.
#[derive(Debug, Serialize)]
pub struct Tenants {
    /// How many there are in each phase.
    pub phases: BTreeMap<String, usize>,
    /// All of them, by namespace and name.
    pub clusters: Vec<Tenant>,
}

impl StatusReport {
    /// Reads the survey. Fails only on facts without which the report would mislead; a cluster
    /// without the Butler API simply has no providers and no tenants.
    pub fn new(survey: Survey) -> Result<Self, ApiError> {
        let version = survey.version?;
        let workloads = survey.workloads?;
        let has_api = !survey.kinds?.is_empty();
        let flux = survey.namespaces?.iter().any(|namespace| namespace == "flux-system");
        let sections = sections(&workloads, survey.sandbox, flux);
        let (providers, mut clusters) =
            if has_api { (survey.providers?, survey.tenants?) } else { (Vec::new(), Vec::new()) };
        clusters.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        let mut phases = BTreeMap::new();
        for tenant in &clusters {
            *phases.entry(tenant.phase.clone()).or_insert(0) += 1;
        }
        Ok(Self {
            kubernetes_version: version.git_version,
            sections,
            providers,
            tenants: Tenants { phases, clusters },
        })
    }

    /// How many components the platform needs and has not.
    pub fn failed(&self) -> usize {
        let components = self.sections.iter().flat_map(|section| &section.components);
        components.filter(|component| component.level == Level::Fail).count()
    }
}

/// The components of a platform, as far as these workloads tell. `flux` adds those of the engine.
pub fn sections(workloads: &[Workload], sandbox: bool, flux: bool) -> Vec<Section> {
    let missing = if sandbox { Level::Skip } else { Level::Fail };
    let mut sections = vec![
        section("Butler components", COMPONENTS, workloads, missing),
        section("Infrastructure addons", ADDONS, workloads, missing),
    ];
    sections.extend(flux.then(|| section("GitOps", ENGINE, workloads, missing)));
    sections
}

/// Needed components always show, with the level `missing` where they are; the others only where they are
/// found.
fn section(title: &'static str, known: &[Known], workloads: &[Workload], missing: Level) -> Section {
    let components = known.iter().filter_map(|Known(label, needed, places)| {
        let found = places.iter().find_map(|(kind, namespace, name)| {
            let same = |w: &&Workload| w.kind == *kind && w.namespace == *namespace && w.name == *name;
            workloads.iter().find(same).map(|workload| (*namespace, workload))
        });
        match found {
            Some((namespace, workload)) => Some(Component {
                name: label,
                namespace,
                level: Level::of_replicas(workload.ready, workload.desired),
                ready: Some(workload.ready),
                desired: Some(workload.desired),
            }),
            None if *needed => {
                let namespace = places.first().map_or("", |place| place.1);
                Some(Component { name: label, namespace, level: missing, ready: None, desired: None })
            }
            None => None,
        }
    });
    Section { title, components: components.collect() }
}
