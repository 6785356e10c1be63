//! From a configuration to a plan. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    Addresses, Chart, Checked, Image, KIND, Past, Place, Plan, PlannedMachine, PlannedObject, Step, World,
    expect,
};
use crate::{
    api::{
        API_VERSION, all_crds,
        cluster_bootstrap::{NodePool, Topology},
        common::{MachineRole, ProviderKind},
        names::namespaces,
    },
    bootstrap::{
        addons::{AddonAction, AddonStep, ChartRelease, ChartSource},
        config::{Config, ProviderSettings, RuntimeKind, without_user},
        objects,
    },
};

/// The image of our own controllers, as the chart that this program carries names it.
const OWN_IMAGE: &str = "ghcr.io/butlerdotdev/butleradm";

/// All that a plan is made from.
#[derive(Clone, Debug)]
pub struct PlanInput<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// What is installed into the new cluster, in this order.
    pub addons: &'a [AddonStep],
    /// The images of the machines: installer and Kubernetes.
    pub images: Vec<Image>,
    /// SHA-256 of charts (`NAME-VERSION`), manifests and images that are known without a network.
    pub digests: BTreeMap<String, String>,
    /// How long past runs of the same provider took.
    pub past: Vec<Past>,
    /// What was seen.
    pub world: World,
}

/// Decides what a run will do.
pub fn plan(input: &PlanInput<'_>) -> Plan {
    let PlanInput { config, addons, images, digests, past, world } = input;
    let mut steps = steps(config, addons);
    let expected = expect::learn(&mut steps, past);
    let mut images = images.clone();
    images.extend(config.bootstrap_cluster.kind.image.as_deref().map(Image::of));
    images.extend(addons.iter().flat_map(addon_images));
    let mut seen = BTreeSet::new();
    images.retain(|image| seen.insert(image.name.clone()));
    for image in &mut images {
        let known = || digests.get(&image.name).map(|digest| format!("sha256:{digest}"));
        image.digest = image.digest.take().or_else(known);
    }
    let charts: Vec<Chart> = addons.iter().filter_map(|step| chart(step, config, digests)).collect();
    Plan {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        cluster: config.cluster.name.clone(),
        provider: config.provider_kind(),
        topology: config.cluster.topology.clone(),
        runtime: config.bootstrap_cluster.runtime.as_str().to_owned(),
        steps,
        objects: planned_objects(config, addons),
        machines: machines(config),
        addresses: addresses(config),
        images,
        notes: notes(config, addons, &charts),
        charts,
        expected,
        world: world.clone(),
    }
}

/// The machines that a configuration asks for, control planes first: name, and whether it is one.
pub(super) fn machine_names(config: &Config) -> Vec<(String, bool)> {
    if config.provider_kind() == ProviderKind::Local {
        return Vec::new();
    }
    let (control_planes, workers) = match config.cluster.topology {
        Topology::SingleNode => (1, 0),
        _ => config.machines(),
    };
    let cluster = &config.cluster.name;
    let first = (0..control_planes).map(|index| (format!("{cluster}-cp-{index}"), true));
    first.chain((0..workers).map(|index| (format!("{cluster}-worker-{index}"), false))).collect()
}

/// Name of the load balancer at the provider; none where control planes are reached another way.
pub fn provider_balancer(config: &Config) -> Option<&str> {
    // A request for a load balancer names the cluster, and drivers make what they make from that.
    load_balancer_name(config).map(|_| config.cluster.name.as_str())
}

/// Name of the LoadBalancerRequest; none where control planes are reached another way.
fn load_balancer_name(config: &Config) -> Option<String> {
    let has_them = config.provider.is_cloud() || config.provider_kind() == ProviderKind::Sandbox;
    let wanted = has_them && config.cluster.topology != Topology::SingleNode && config.network.vip.is_none();
    wanted.then(|| format!("{}-cp-lb", config.cluster.name))
}

fn steps(config: &Config, addons: &[AddonStep]) -> Vec<Step> {
    let (provider, runtime) = (config.provider_kind(), config.bootstrap_cluster.runtime);
    let local = provider == ProviderKind::Local;
    let temporary = match runtime {
        _ if local => "make the KIND cluster that becomes the management cluster",
        RuntimeKind::Kind => "make a temporary cluster with KIND",
        RuntimeKind::Process => "start a temporary control plane on this computer",
    };
    let phase = |id: &str, title: &str| Step {
        id: id.to_owned(),
        title: title.to_owned(),
        expected_seconds: expect::usual(id, &provider, runtime),
    };
    let mut steps = vec![
        phase("CheckingTheWorld", "look for names and addresses that are taken, and for missing programs"),
        phase("StartingTemporaryCluster", temporary),
        phase("DeployingCRDs", "put Butler's definitions into it"),
        phase("CreatingBootstrap", "put the objects of the run into it"),
    ];
    if !local {
        steps.extend([
            phase("ProvisioningMachines", "make machines at the provider and wait for their addresses"),
            phase("ConfiguringTalos", "give every machine its Talos configuration"),
            phase("BootstrappingCluster", "start etcd and Kubernetes, and fetch the kubeconfig"),
        ]);
    }
    steps.extend(addons.iter().map(|step| Step {
        id: format!("InstallingAddons/{}", step.key),
        title: step.title.clone(),
        expected_seconds: expect::usual_addon(step, &provider),
    }));
    steps.push(phase("Pivoting", "hand the objects of the run over to the management cluster"));
    steps.push(phase("SavingCredentials", "write kubeconfig and talosconfig for you"));
    if provider == ProviderKind::Sandbox {
        steps.push(phase("StartingControllers", "start Butler's controllers beside the simulated machines"));
    }
    if !local {
        steps.push(phase("RemovingTemporaryCluster", "remove the temporary cluster"));
    }
    steps
}

fn planned_objects(config: &Config, addons: &[AddonStep]) -> Vec<PlannedObject> {
    // The KIND cluster of `local` stays; nothing there is temporary.
    let place = match config.provider_kind() {
        ProviderKind::Local => Place::Management,
        _ => Place::Temporary,
    };
    let cluster = &config.cluster.name;
    let object = |kind: &str, name: String| PlannedObject {
        place,
        kind: kind.to_owned(),
        namespace: Some(namespaces::SYSTEM.to_owned()),
        name,
    };
    let global = |place, kind: &str, name: String| PlannedObject {
        place,
        kind: kind.to_owned(),
        namespace: None,
        name,
    };
    let mut planned = vec![global(place, "Namespace", namespaces::SYSTEM.to_owned())];
    let definitions = |place| {
        let names = all_crds().into_iter().filter_map(|crd| crd.metadata.name);
        names.map(move |name| global(place, "CustomResourceDefinition", name))
    };
    planned.extend(definitions(place));
    planned.extend(objects::credentials_name(config).map(|name| object("Secret", name)));
    if place == Place::Temporary {
        planned.push(object("Secret", format!("{cluster}-talos-configs")));
    }
    planned.push(object("Secret", format!("{cluster}-kubeconfig")));
    planned.push(object("ProviderConfig", objects::provider_name(config)));
    planned.push(object("ClusterBootstrap", cluster.clone()));
    planned.extend(load_balancer_name(config).map(|name| object("LoadBalancerRequest", name)));
    planned.extend(machine_names(config).into_iter().map(|(name, _)| object("MachineRequest", name)));
    for step in addons {
        match &step.action {
            AddonAction::Chart(release) => {
                if !release.namespace.starts_with("kube-") {
                    planned.push(global(Place::Management, "Namespace", release.namespace.clone()));
                }
                planned.push(PlannedObject {
                    place: Place::Management,
                    kind: "Release".to_owned(),
                    namespace: Some(release.namespace.clone()),
                    name: release.release.clone(),
                });
                planned.extend(release.then.iter().filter_map(in_management));
            }
            AddonAction::Objects { objects, .. } => {
                planned.extend(objects.iter().filter_map(in_management));
            }
            AddonAction::Definitions => planned.extend(definitions(Place::Management)),
            AddonAction::Manifests(_) | AddonAction::NodeProviderIds | AddonAction::BackendPool(_) => {}
        }
    }
    // A cluster without Butler's definitions takes nothing over.
    let takes_over = addons.iter().any(|step| step.action == AddonAction::Definitions);
    if place == Place::Temporary && takes_over {
        let there = |kind: &str, name| PlannedObject { place: Place::Management, ..object(kind, name) };
        planned.extend(machine_names(config).into_iter().map(|(name, _)| there("MachineRequest", name)));
        planned.extend(load_balancer_name(config).map(|name| there("LoadBalancerRequest", name)));
        planned.push(there("ClusterBootstrap", cluster.clone()));
    }
    let mut seen = BTreeSet::new();
    let key = |object: &PlannedObject| {
        (object.place, object.kind.clone(), object.namespace.clone(), object.name.clone())
    };
    planned.retain(|object| seen.insert(key(object)));
    planned
}

fn in_management(object: &Value) -> Option<PlannedObject> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Some(PlannedObject {
        place: Place::Management,
        kind: text("/kind")?,
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name")?,
    })
}

fn machines(config: &Config) -> Vec<PlannedMachine> {
    let image = machine_image(config);
    let control_plane = &config.cluster.control_plane;
    let pool = |is_control_plane: bool| match (is_control_plane, &config.cluster.workers) {
        (false, Some(workers)) => (workers, MachineRole::Worker),
        _ => (control_plane, MachineRole::ControlPlane),
    };
    let machine = |(name, is_control_plane)| {
        let (NodePool { cpu, memory_mb, disk_gb, extra_disks, .. }, role) = pool(is_control_plane);
        PlannedMachine {
            name,
            role,
            cpu: *cpu,
            memory_mb: *memory_mb,
            disk_gb: *disk_gb,
            extra_disks_gb: extra_disks.iter().map(|disk| disk.size_gb).collect(),
            image: image.clone(),
        }
    };
    machine_names(config).into_iter().map(machine).collect()
}

/// What machines boot from at the provider, in the provider's own words.
fn machine_image(config: &Config) -> Option<String> {
    match &config.provider {
        ProviderSettings::Harvester(block) => block.settings.image_name.clone(),
        ProviderSettings::Nutanix(block) => block.settings.image_uuid.clone(),
        ProviderSettings::Proxmox(block) => block.settings.template_id.map(|id| format!("template {id}")),
        ProviderSettings::Azure(block) => block.settings.image_urn.clone(),
        ProviderSettings::Gcp(block) => {
            let settings = &block.settings;
            let family = settings.image_family.as_ref().map(|family| format!("family/{family}"));
            let image = settings.image.clone().or(family)?;
            let project = settings.image_project.as_ref().map(|project| format!("{project}/"));
            Some(format!("{}{image}", project.unwrap_or_default()))
        }
        ProviderSettings::Sandbox(_) => Some(format!("simulated Talos v{}", config.talos.version)),
        ProviderSettings::Aws(_) | ProviderSettings::Local(_) => None,
    }
}

fn addresses(config: &Config) -> Addresses {
    let network = &config.network;
    let (endpoint, from) = match (network.vip, load_balancer_name(config)) {
        _ if config.provider_kind() == ProviderKind::Local => (None, "the port that KIND publishes"),
        (Some(vip), _) => (Some(format!("https://{vip}:6443")), "the address that control planes share"),
        (None, Some(_)) => (None, "the provider's load balancer, once it exists"),
        (None, None) if config.cluster.topology == Topology::SingleNode => {
            (None, "the machine's own address, once it exists")
        }
        (None, None) => (None, "the first control plane's address, once it exists"),
    };
    Addresses {
        endpoint,
        endpoint_from: from.to_owned(),
        vip: network.vip,
        load_balancer_pool: network.load_balancer_pool,
        pod_cidr: network.pod_cidr,
        service_cidr: network.service_cidr,
    }
}

fn chart(step: &AddonStep, config: &Config, digests: &BTreeMap<String, String>) -> Option<Chart> {
    // A plan is shown to others.
    let mirror = config.charts.mirror.as_deref().map(without_user);
    let mirror = mirror.as_deref();
    match &step.action {
        AddonAction::Chart(ChartRelease { source, chart, version, .. }) => {
            let place = match source {
                ChartSource::Embedded => "this program".to_owned(),
                ChartSource::Repository(place) | ChartSource::Oci(place) => {
                    mirror.unwrap_or(place).to_owned()
                }
            };
            let sha256 = digests.get(&format!("{chart}-{version}")).cloned();
            Some(Chart {
                addon: step.key.clone(),
                name: chart.clone(),
                version: Some(version.clone()),
                checked: match (&sha256, source, place.split_once("://")) {
                    (Some(_), ..) | (_, ChartSource::Embedded, _) => Checked::Digest,
                    (None, _, Some(("oci", _))) => Checked::Registry,
                    _ => Checked::Repository,
                },
                source: place,
                sha256,
            })
        }
        AddonAction::Manifests(manifests) => {
            // A registry has no manifests, so they come from their publisher.
            let mirror = mirror.filter(|mirror| !mirror.starts_with("oci://"));
            let sha256 = manifests.sha256.clone().or_else(|| digests.get(&manifests.name).cloned());
            Some(Chart {
                addon: step.key.clone(),
                name: manifests.name.clone(),
                version: None,
                source: mirror.unwrap_or(&manifests.url).to_owned(),
                checked: if sha256.is_some() { Checked::Digest } else { Checked::Nothing },
                sha256,
            })
        }
        AddonAction::Objects { .. }
        | AddonAction::Definitions
        | AddonAction::NodeProviderIds
        | AddonAction::BackendPool(_) => None,
    }
}

/// What a person should know before it begins.
fn notes(config: &Config, addons: &[AddonStep], charts: &[Chart]) -> Vec<String> {
    let mut notes = Vec::new();
    if config.talos.schematic.is_empty() && addons.iter().any(|step| step.key == "longhorn") {
        notes.push(
            "Longhorn needs the Talos extension iscsi-tools, and `talos.schematic` names no set of extensions: \
             the image must have it, and an upgrade of Talos would lose it"
                .to_owned(),
        );
    }
    let bare = charts.iter().filter(|chart| chart.checked == Checked::Nothing);
    let bare: Vec<&str> = bare.map(|chart| chart.name.as_str()).collect();
    if !bare.is_empty() {
        notes.push(format!(
            "no digest is known of these manifests, so what is downloaded is not verified: {}; a mirror with a \
             file SHA256SUMS vouches for its own",
            bare.join(", ")
        ));
    }
    notes
}

/// Images that objects of ours and our own chart name. What other charts pull is their own business.
fn addon_images(step: &AddonStep) -> Vec<Image> {
    let mut found = Vec::new();
    match &step.action {
        AddonAction::Objects { objects, .. } => {
            objects.iter().for_each(|object| collect(object, &mut found));
        }
        AddonAction::Chart(release) if release.source == ChartSource::Embedded => {
            let text = |key: &str| release.values.pointer(key).and_then(Value::as_str);
            let repository = text("/image/repository").unwrap_or(OWN_IMAGE);
            let tag = text("/image/tag").unwrap_or(&release.version);
            found.push(Image::of(&format!("{repository}:{tag}")));
        }
        _ => {}
    }
    found
}

/// The images of the containers of a workload; other fields of that name are something else.
fn collect(value: &Value, found: &mut Vec<Image>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::Array(items) if name == "containers" || name == "initContainers" => {
                        let images = items.iter().filter_map(|item| item["image"].as_str());
                        found.extend(images.map(Image::of));
                    }
                    value => collect(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        _ => {}
    }
}
