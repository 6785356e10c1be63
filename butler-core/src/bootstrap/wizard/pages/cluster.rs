//! Name, size and versions.

use crate::bootstrap::wizard::{
    Answers, Show,
    question::{Ask, Question, list, question, text},
    sizes::preset,
};

/// Forms of a cluster.
const TOPOLOGIES: &[(&str, &str)] = &[
    ("ha", "control plane and workers apart; outlives the end of a machine"),
    ("single-node", "one machine does everything"),
];

/// Presets.
const SIZES: &[(&str, &str)] = &[
    ("small", "a few tenants"),
    ("medium", "some tens of tenants"),
    ("large", "more"),
    ("own", "every number by hand"),
];

/// What the temporary cluster is made of.
const RUNTIMES: &[(&str, &str)] = &[
    ("kind", "the kind program; needs a container engine"),
    ("process", "etcd and kube-apiserver as processes; needs nothing"),
];

/// How many control planes there are is asked for only where it is not one.
fn control_planes(answers: &Answers) -> Show {
    Show::or_implied(answers.text("size") == "own" && !answers.single_node())
}

fn control_plane(answers: &Answers) -> Show {
    Show::or_implied(answers.text("size") == "own" && !answers.on(&["local"]))
}

fn workers(answers: &Answers) -> Show {
    if answers.single_node() {
        return Show::Absent;
    }
    control_plane(answers)
}

/// The numbers of workers are asked for only when there is one; they stand beside a 0 too.
fn each_worker(answers: &Answers) -> Show {
    match workers(answers) {
        Show::Asked if answers.text("cluster.workers.replicas") == "0" => Show::Implied,
        show => show,
    }
}

macro_rules! sized {
    ($role:literal, $key:literal, $label:literal, $show:ident) => {
        text(concat!("cluster.", $role, ".", $key), $label)
            .default(|answers| preset(answers, concat!($role, ".", $key)))
            .show($show)
    };
}

pub(super) static CLUSTER: &[Question] = &[
    text("cluster.name", "Name").default(|answers| {
        let name = if answers.on_this_computer() { answers.provider() } else { "mgmt".to_owned() };
        if name == "local" { "butler-local".to_owned() } else { name }
    }),
    question("cluster.topology", "Topology", Ask::Choice(TOPOLOGIES))
        .default(|answers| if answers.on_this_computer() { "single-node" } else { "ha" }.to_owned())
        .show(|answers| Show::or_implied(!answers.on(&["local"]))),
    question("size", "Size", Ask::Choice(SIZES))
        .note("the sum is below")
        .show(|answers| Show::or_implied(!answers.on(&["local"]))),
    sized!("controlPlane", "replicas", "Control planes", control_planes),
    sized!("controlPlane", "cpu", "  cores", control_plane),
    sized!("controlPlane", "memoryMB", "  memory, MB", control_plane),
    sized!("controlPlane", "diskGB", "  disk, GB", control_plane),
    sized!("workers", "replicas", "Workers", workers),
    sized!("workers", "cpu", "  cores", each_worker),
    sized!("workers", "memoryMB", "  memory, MB", each_worker),
    sized!("workers", "diskGB", "  disk, GB", each_worker),
];

fn machines(answers: &Answers) -> Show {
    Show::when(!answers.on_this_computer())
}

/// The image factory's names for the extensions that a provider and Longhorn need.
fn schematic(answers: &Answers) -> String {
    match answers.provider().as_str() {
        "harvester" | "proxmox" => "75d479b0960e56ef9ecc3a11c0572e4fe41f8b1e8a24c70ad38fc34e89431524",
        "nutanix" => "026b6ae9b4e53a6a40e07e471d6f26617473ab59fdd0ab1fa00e643c170b91f2",
        "gcp" => "c9078f9419961640c712a8bf2bb9174933dfcf1da383fd8ea2b7dc21493f8bac",
        _ => "613e1592b2da41ae5e265e8789429f22e121aab91cb4deb6bc3c0b6262961245",
    }
    .to_owned()
}

pub(super) static SYSTEM: &[Question] = &[
    text("talos.version", "Talos").show(machines),
    text("talos.kubernetesVersion", "Kubernetes").show(machines),
    text("talos.schematic", "Schematic").default(schematic).show(machines),
    text("talos.installDisk", "Disk").show(machines),
    list("talos.timeServers", "Time servers").default(|_| "time.cloudflare.com".to_owned()).show(machines),
    question("bootstrapCluster.runtime", "Temporary cluster", Ask::Choice(RUNTIMES))
        .default(|answers| if answers.on(&["sandbox"]) { "process" } else { "kind" }.to_owned())
        .show(|answers| Show::or_implied(!answers.on_this_computer())),
];
