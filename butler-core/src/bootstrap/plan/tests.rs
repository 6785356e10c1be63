//! Plans of configurations, and what keeps a plan from being carried out.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::{
    api::cluster_bootstrap::{BootstrapAddons, NodePool},
    bootstrap::{
        addons::{AddonAction, AddonStep, ChartRelease, ChartSource, PublishedManifests},
        config::{
            BootstrapClusterConfig, ChartsConfig, ClusterConfig, Config, KindConfig, NetworkConfig,
            ProviderSettings, RuntimeKind, SandboxConfig, TalosConfig,
        },
        run::RunState,
    },
    event::{Event, EventKind, Outcome, RunId},
};

fn config() -> Config {
    let pool = |replicas| NodePool { replicas, cpu: 2, memory_mb: 4096, disk_gb: 20, ..NodePool::default() };
    Config {
        cluster: ClusterConfig {
            name: "m".into(),
            topology: Topology::Ha,
            control_plane: pool(3),
            workers: Some(pool(1)),
        },
        network: NetworkConfig {
            pod_cidr: "10.244.0.0/16".parse().unwrap(),
            service_cidr: "10.96.0.0/12".parse().unwrap(),
            vip: Some(Ipv4Addr::new(10, 0, 0, 5)),
            vip_interface: None,
            load_balancer_pool: None,
            mtu: None,
        },
        talos: TalosConfig {
            version: semver::Version::new(1, 12, 1),
            schematic: String::new(),
            kubernetes_version: semver::Version::new(1, 34, 4),
            install_disk: "/dev/vda".into(),
            time_servers: Vec::new(),
        },
        addons: BootstrapAddons::default(),
        catalog: true,
        charts: ChartsConfig::default(),
        control_plane_exposure: None,
        multi_tenancy_mode: None,
        network_pool: None,
        provider_network: None,
        provider: ProviderSettings::Sandbox(SandboxConfig::default()),
        bootstrap_cluster: BootstrapClusterConfig {
            runtime: RuntimeKind::Process,
            kind: KindConfig::default(),
        },
    }
}

fn step(key: &str, action: AddonAction) -> AddonStep {
    let deadline = Duration::from_secs(300);
    AddonStep {
        key: key.into(),
        title: key.to_uppercase(),
        requires: Vec::new(),
        action,
        optional: false,
        deadline,
    }
}

fn addons() -> Vec<AddonStep> {
    let object = |kind: &str, name: &str| {
        json!({"kind": kind, "metadata": {"name": name, "namespace": "kube-system"},
               "spec": {"containers": [{"image": "example.org/vip:v1@sha256:00"}]}})
    };
    let release = ChartRelease {
        release: "net".into(),
        namespace: "kube-system".into(),
        pod_security: None,
        source: ChartSource::Repository("https://charts.example.org".into()),
        chart: "net".into(),
        version: "1.2.3".into(),
        values: Value::Null,
        wait: true,
        then: vec![object("Pool", "default")],
    };
    let manifests = PublishedManifests {
        name: "gateway-v1".into(),
        url: "https://example.org/gateway.yaml".into(),
        sha256: Some("ab".into()),
        variables: Vec::new(),
        established: Vec::new(),
        available: Vec::new(),
    };
    vec![
        step("vip", AddonAction::Objects { objects: vec![object("DaemonSet", "vip")], wait_for: Vec::new() }),
        step("net", AddonAction::Chart(release)),
        step("gateway", AddonAction::Manifests(manifests)),
    ]
}

fn planned(change: impl FnOnce(&mut Config, &mut World)) -> Plan {
    let (mut config, mut world) = (config(), World::of(b"config"));
    change(&mut config, &mut world);
    let images = vec![Image::of("example.org/installer:v1")];
    let digests = [("net-1.2.3".to_owned(), "cd".to_owned())].into();
    plan(&PlanInput { config: &config, addons: &addons(), images, digests, past: Vec::new(), world })
}

#[test]
fn a_plan_names_everything_that_will_be_made() {
    let plan = planned(|_, _| {});
    let ids: Vec<&str> = plan.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "CheckingTheWorld",
            "StartingTemporaryCluster",
            "DeployingCRDs",
            "CreatingBootstrap",
            "ProvisioningMachines",
            "ConfiguringTalos",
            "BootstrappingCluster",
            "InstallingAddons/vip",
            "InstallingAddons/net",
            "InstallingAddons/gateway",
            "Pivoting",
            "SavingCredentials",
            "StartingControllers",
            "RemovingTemporaryCluster",
        ]
    );
    assert_eq!(plan.expected.seconds, plan.steps.iter().map(|step| step.expected_seconds).sum::<u64>());
    let machines: Vec<&str> = plan.machines.iter().map(|machine| machine.name.as_str()).collect();
    assert_eq!(machines, ["m-cp-0", "m-cp-1", "m-cp-2", "m-worker-0"]);
    assert_eq!(plan.machines[3].role, MachineRole::Worker);
    let of = |place: Place, kind: &str| {
        plan.objects.iter().filter(|object| object.place == place && object.kind == kind).count()
    };
    assert_eq!(of(Place::Temporary, "CustomResourceDefinition"), crate::api::all_crds().len());
    assert_eq!(of(Place::Temporary, "MachineRequest"), 4);
    assert_eq!(of(Place::Temporary, "LoadBalancerRequest"), 0, "the VIP is the way in");
    assert_eq!((of(Place::Management, "Release"), of(Place::Management, "Pool")), (1, 1));
    assert_eq!(plan.addresses.endpoint.as_deref(), Some("https://10.0.0.5:6443"));
    let images: Vec<_> =
        plan.images.iter().map(|image| (image.name.as_str(), image.digest.as_deref())).collect();
    assert_eq!(
        images,
        [("example.org/installer:v1", None), ("example.org/vip:v1@sha256:00", Some("sha256:00"))],
        "each once"
    );
    assert_eq!(plan.charts.len(), 2);
    assert_eq!(plan.charts[0].sha256.as_deref(), Some("cd"));
    assert!(plan.charts.iter().all(|chart| chart.checked == Checked::Digest));
    assert_eq!(plan.charts[1].sha256.as_deref(), Some("ab"));
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(Plan::from_json(&text).unwrap(), plan);
    assert_eq!(plan.moved(&plan), []);
}

#[test]
fn shapes_of_clusters_differ_in_what_they_need() {
    let single = planned(|config, _| {
        config.cluster.topology = Topology::SingleNode;
        config.cluster.workers = None;
        config.network.vip = None;
    });
    assert_eq!(single.machines.len(), 1);
    assert_eq!(single.addresses.endpoint, None);
    let balanced = planned(|config, _| config.network.vip = None);
    assert!(balanced.objects.iter().any(|object| object.name == "m-cp-lb"));
    let mirrored = planned(|config, _| config.charts.mirror = Some("/charts".into()));
    assert!(mirrored.charts.iter().all(|chart| chart.source == "/charts"));
    let local = planned(|config, _| {
        config.provider =
            ProviderSettings::Local(crate::bootstrap::config::LocalConfig { console_port: 8080 });
    });
    assert!(local.machines.is_empty() && local.objects.iter().all(|o| o.place == Place::Management));
    assert!(!local.steps.iter().any(|step| step.id == "RemovingTemporaryCluster"));
    let secrets = local.objects.iter().filter(|object| object.kind == "Secret");
    assert_eq!(secrets.map(|object| object.name.as_str()).collect::<Vec<_>>(), ["m-kubeconfig"]);
}

fn taken(name: &str, owner: &str) -> Taken {
    Taken { name: name.into(), owner: Some(owner.into()) }
}

#[test]
fn what_moved_is_named_with_then_and_now() {
    let before = planned(|_, world| {
        world.vip_answers = Some(false);
        world.program_version = Some("0.1.0".into());
        world.secrets = [("password".to_owned(), "a".to_owned())].into();
        world.machines = Some(Vec::new());
        world.load_balancers = Some(vec![taken("m-cp-lb", "old")]);
        world.runs = Some(Vec::new());
        world.programs.insert("helm".into(), "3.22.0".into());
    });
    let now = planned(|config, world| {
        config.cluster.control_plane.cpu = 4;
        *world = World::of(b"another");
        world.vip_answers = Some(true);
        world.program_version = Some("9.9.9".into());
        world.secrets =
            [("password".to_owned(), "b".to_owned()), ("token".to_owned(), "c".to_owned())].into();
        world.machines = Some(vec![taken("m-cp-0", "other")]);
        world.load_balancers = Some(vec![taken("m-cp-lb", "new")]);
        world.runs = Some(vec![SeenRun { id: "r1".into(), stage: "Interrupted".into() }]);
        world.temporary_cluster = Some(true);
        world.programs.insert("helm".into(), "3.23.0".into());
    });
    let words: Vec<String> = before.moved(&now).iter().map(ToString::to_string).collect();
    assert_eq!(
        words,
        [
            "the configuration was changed",
            "machines[m-cp-0].cpu was 2 and is 4",
            "machines[m-cp-1].cpu was 2 and is 4",
            "machines[m-cp-2].cpu was 2 and is 4",
            "load balancer `m-cp-lb` at the provider is another one now, of `new`",
            "machine `m-cp-0` exists at the provider now, of `other`",
            "this program is version 9.9.9, and 0.1.0 made the plan",
            "world.programs.helm was `3.22.0` and is `3.23.0`",
            "run `r1` makes this cluster now, and is Interrupted",
            "the secret `password` has another value",
            "something answers at the address of the control plane now, and did not before",
        ],
        "nobody looked for the temporary cluster and the token before, so they did not move"
    );
    let mut slower = before.clone();
    slower.steps[0].expected_seconds += 100;
    slower.expected.seconds += 100;
    assert_eq!(before.moved(&slower), [], "time is no reason");
    let mut fewer = before.clone();
    fewer.machines.pop();
    fewer.charts.swap(0, 1);
    let words: Vec<String> = before.moved(&fewer).iter().map(ToString::to_string).collect();
    assert_eq!(
        words[0],
        "order of charts was `net/net, gateway/gateway-v1` and is `gateway/gateway-v1, net/net`"
    );
    assert!(words[1].starts_with("machines[m-worker-0] is gone: it was cpu 2"), "{words:?}");
    assert_eq!(words.len(), 2);
}

#[test]
fn a_file_that_is_no_plan_is_refused() {
    let plan = planned(|_, _| {});
    for (text, start) in [
        ("{".to_owned(), "the plan cannot be read"),
        ("{}".to_owned(), "the plan cannot be read"),
        (
            serde_json::to_string(&plan).unwrap().replace(KIND, "BootstrapPlans"),
            "the file is a `BootstrapPlans` of",
        ),
    ] {
        let error = Plan::from_json(&text).unwrap_err();
        assert!(error.to_string().starts_with(start), "{error}");
    }
}

#[test]
fn time_is_learned_from_runs_of_the_same_provider_that_went_through() {
    let run = |provider: &str, seconds: i64, end: Option<Outcome>| {
        let id = RunId::new(Timestamp::UNIX_EPOCH);
        let facts = json!({"cluster": "m", "provider": provider, "runtime": "process", "configSha256": "", "version": "0"});
        let mut kinds = vec![
            (0, EventKind::Intent { step: "run".into(), data: facts }),
            (
                0,
                EventKind::Intent {
                    step: "session".into(),
                    data: json!({"verb": "run", "pid": 1, "host": "h"}),
                },
            ),
            (1, EventKind::PhaseStarted { phase: "ProvisioningMachines".into() }),
            (
                seconds,
                EventKind::PhaseFinished { phase: "ProvisioningMachines".into(), result: Outcome::Succeeded },
            ),
        ];
        kinds.extend(end.map(|outcome| (seconds + 5, EventKind::finished(outcome))));
        let events: Vec<Event> = (1..)
            .zip(kinds)
            .map(|(seq, (second, kind))| {
                let time = Timestamp::from_second(second).unwrap();
                Event { version: 1, seq, time, run_id: id.clone(), kind }
            })
            .collect();
        RunState::of(&id, &events, None)
    };
    let done = Some(Outcome::Succeeded);
    let runs = [
        run("sandbox", 10, done.clone()),
        run("sandbox", 20, done.clone()),
        run("sandbox", 30, done.clone()),
        run("sandbox", 999, None),
        run("sandbox", 999, Some(Outcome::Cancelled)),
        run("harvester", 999, done),
    ];
    let past = Past::of(&runs, &ProviderKind::Sandbox);
    assert_eq!(past.len(), 3);
    let config = config();
    let input = PlanInput {
        config: &config,
        addons: &[],
        images: Vec::new(),
        digests: Default::default(),
        past,
        world: World::default(),
    };
    let plan = plan(&input);
    assert_eq!(plan.expected, Expected { seconds: 25, past_runs: 3 });
    assert_eq!(plan.steps[4].expected_seconds, 19);
}
