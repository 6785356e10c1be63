//! Plans: of every example, without touching anything, and written for `run --plan`.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use butler_core::{
    bootstrap::{
        addons::{AddonInput, plan_addons},
        config, objects,
        plan::{Plan, PlanInput, Taken, World, plan},
    },
    settings::Environment,
};
use butler_operator::{addons::known_digests, talos::images::images};
use butler_tests::{
    Env, Invocation, filters,
    host::FakeHost,
    http::{HttpServer, Reply, Request},
};
use regex::Regex;
use serde_json::json;

const EXAMPLES: [&str; 9] =
    ["aws", "azure", "gcp", "harvester", "local", "nutanix", "proxmox", "sandbox", "sandbox-ha"];

fn example(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples").join(format!("{name}.yaml"))
}

/// A machine with none of our programs, so that a plan depends on the configuration alone.
fn bootstrap_plan(env: &Env, config: &Path, args: &[&str]) -> Invocation {
    let command = env.command(env!("CARGO_BIN_EXE_butleradm")).args(["bootstrap", "plan", "--config"]);
    command.arg(config).args(args).env("PATH", env.work_dir())
}

/// The plan of a configuration when nothing was looked at.
fn planned(path: &Path) -> Result<Plan> {
    let config = config::load(path, None, &Environment::of([("HOME", "/home/somebody")]))?.loaded.config;
    let addons = plan_addons(&AddonInput {
        bootstrap: objects::cluster_bootstrap(&config).spec,
        provider: objects::provider_config(&config, &objects::provider_name(&config)).spec,
        multi_tenancy: config.multi_tenancy_mode.clone(),
        no_catalog: !config.catalog,
        network_pool: config.network_pool.as_ref().map(|pool| (pool.name.clone(), pool.spec.clone())),
        offered: Default::default(),
    });
    let world = World::of(b"");
    Ok(plan(&PlanInput {
        config: &config,
        addons: &addons,
        images: images(&config),
        digests: known_digests(&addons, None),
        past: Vec::new(),
        world,
    }))
}

/// A plan without what changes with every version of this program and of Kubernetes, and with everything
/// else as it is: ids and versions of others are what a plan is read for.
fn masked(mut plan: Plan) -> Plan {
    let ours = env!("CARGO_PKG_VERSION");
    plan.world.program_version = None;
    for chart in plan.charts.iter_mut().filter(|chart| chart.source == "this program") {
        chart.version = Some("[VERSION]".to_owned());
        chart.sha256 = chart.sha256.take().map(|_| "[SHA-256]".to_owned());
    }
    for image in &mut plan.images {
        if image.name.contains("/butleradm:") {
            image.name = image.name.replace(ours, "[VERSION]");
        }
        image.name = filters::kubernetes(&image.name);
    }
    plan
}

#[test]
fn every_example_has_the_plan_in_the_repository() -> Result<()> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/plans");
    let update = Environment::capture().has("BUTLER_UPDATE_DOCS");
    let mut wrong = Vec::new();
    for name in EXAMPLES {
        let made = serde_json::to_string_pretty(&masked(planned(&example(name))?))? + "\n";
        let path = dir.join(format!("{name}.json"));
        if update {
            fs::create_dir_all(&dir)?;
            fs::write(&path, &made)?;
        }
        if fs::read_to_string(&path).ok() != Some(made) {
            wrong.push(name);
        }
    }
    ensure!(wrong.is_empty(), "run `make docs` and look at what changed in {}: {wrong:?}", dir.display());
    let files = fs::read_dir(example("x").parent().context("no parent")?)?;
    let yaml =
        files.flatten().filter(|file| file.path().extension().is_some_and(|end| end == "yaml")).count();
    ensure!(yaml == EXAMPLES.len(), "an example has no plan: {yaml} of them, {} plans", EXAMPLES.len());
    Ok(())
}

#[test]
fn the_plan_of_the_sandbox_reads_well() -> Result<()> {
    let env = Env::new()?;
    let output = bootstrap_plan(&env, &example("sandbox"), &[]).run()?.success()?;
    let version = Regex::new(r"v1\.34\.[0-9]+")?;
    let digest = Regex::new("sha256:[0-9a-f]{64}")?;
    let text = version.replace_all(&output.stdout, "v1.34.N").into_owned();
    insta::assert_snapshot!(digest.replace_all(&text, "sha256:…"), @r"
    cluster sandbox: sandbox, single-node, temporary cluster by process, about 40 s

    STEP                              ABOUT  DOES
    CheckingTheWorld                  1 s    look for names and addresses that are taken, and for missing programs
    StartingTemporaryCluster          4 s    start a temporary control plane on this computer
    DeployingCRDs                     3 s    put Butler's definitions into it
    CreatingBootstrap                 1 s    put the objects of the run into it
    ProvisioningMachines              3 s    make machines at the provider and wait for their addresses
    ConfiguringTalos                  4 s    give every machine its Talos configuration
    BootstrappingCluster              10 s   start etcd and Kubernetes, and fetch the kubeconfig
    InstallingAddons/butler-crds      3 s    Butler's kinds are defined
    InstallingAddons/provider-config  1 s    tenants have a provider
    InstallingAddons/butler-addons    1 s    settings and catalog are there
    InstallingAddons/butler           1 s    the platform has its namespace
    Pivoting                          5 s    hand the objects of the run over to the management cluster
    SavingCredentials                 1 s    write kubeconfig and talosconfig for you
    StartingControllers               1 s    start Butler's controllers beside the simulated machines
    RemovingTemporaryCluster          1 s    remove the temporary cluster

    MACHINE       ROLE           CPU  MEMORY  DISK  IMAGE
    sandbox-cp-0  control-plane  2    2048MB  20GB  simulated Talos v1.11.5

    Addresses
      Endpoint        the machine's own address, once it exists
      Pods            10.244.0.0/16
      Services        10.96.0.0/12

    CLUSTER     KIND                      NAMESPACE      NAME
    temporary   Namespace                 -              butler-system
    temporary   CustomResourceDefinition  -              18 of Butler
    temporary   Secret                    butler-system  sandbox-sandbox-credentials
    temporary   Secret                    butler-system  sandbox-talos-configs
    temporary   Secret                    butler-system  sandbox-kubeconfig
    temporary   ProviderConfig            butler-system  sandbox-provider
    temporary   ClusterBootstrap          butler-system  sandbox
    temporary   MachineRequest            butler-system  sandbox-cp-0
    management  CustomResourceDefinition  -              18 of Butler
    management  Namespace                 -              butler-system
    management  Secret                    butler-system  sandbox-credentials
    management  ProviderConfig            butler-system  sandbox
    management  Namespace                 -              butler-tenants
    management  ButlerConfig              -              butler
    management  MachineRequest            butler-system  sandbox-cp-0
    management  ClusterBootstrap          butler-system  sandbox

    IMAGE                                            DIGEST
    ghcr.io/siderolabs/installer:v1.11.5             unknown until pulled
    ghcr.io/siderolabs/kubelet:v1.34.N               unknown until pulled
    registry.k8s.io/kube-apiserver:v1.34.N           unknown until pulled
    registry.k8s.io/kube-controller-manager:v1.34.N  unknown until pulled
    registry.k8s.io/kube-scheduler:v1.34.N           unknown until pulled

    Seen
      Configuration      sha256:…
      Machines           none
      Load balancers     none
      Runs               none
    ");
    Ok(())
}

#[test]
fn formats_print_the_same_plan() -> Result<()> {
    let env = Env::new()?;
    let run = |args: &[&str]| bootstrap_plan(&env, &example("sandbox-ha"), args).run()?.success();
    let json = run(&["-o", "json"])?;
    let plan = Plan::from_json(&json.stdout)?;
    assert_eq!(json.stderr, "");
    let mut pure = planned(&example("sandbox-ha"))?;
    pure.world = plan.world.clone();
    assert_eq!(plan, pure);
    let yaml: serde_json::Value = serde_saphyr::from_str(&run(&["-o", "yaml"])?.stdout)?;
    assert_eq!(yaml, serde_json::to_value(&plan)?);
    let names = run(&["-o", "name"])?.stdout;
    assert!(names.starts_with(&format!("machine/{}\n", plan.machines[0].name)), "{names}");
    let wide = run(&["-o", "wide"])?.stdout;
    assert!(wide.contains("clusterbootstraps.butler.butlerlabs.dev"), "{wide}");
    assert_eq!(run(&["-o", "jsonpath={.kind}"])?.stdout, "BootstrapPlan");
    Ok(())
}

#[test]
fn a_plan_is_written_for_its_owner_alone_and_whole() -> Result<()> {
    let env = Env::new()?;
    let path = env.work_dir().join("plan.json");
    fs::write(&path, "something older")?;
    let output = bootstrap_plan(&env, &example("sandbox"), &["--out", "plan.json"]).run()?.success()?;
    assert_eq!(output.stderr, "plan written to `plan.json`\n");
    let plan = Plan::from_json(&fs::read_to_string(&path)?)?;
    assert_eq!(plan.cluster, "sandbox");
    assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
    let nowhere = bootstrap_plan(&env, &example("sandbox"), &["--out", "no/such/plan.json"]).run()?;
    let nowhere = nowhere.failed_with(1)?;
    assert!(nowhere.stderr.contains("cannot write `no/such/plan.json`"), "{nowhere}");
    assert_eq!(nowhere.stdout, "");
    Ok(())
}

/// Answers what only looks, and refuses the rest.
fn read_only(request: &Request) -> Reply {
    let machine = |name: &str| {
        json!({ "id": format!("sandbox://s/{name}"), "name": name, "state": "running",
                "ownership": { "owner": "somebody", "object": "n.x" }, "addresses": [] })
    };
    let balancer = json!({ "id": "lb", "name": "sandbox-ha", "endpoint": null, "ready": true, "targets": 0,
                           "ownership": { "owner": "somebody", "object": "n.lb" } });
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/v1/machines") => {
            Reply::json(&json!([machine("sandbox-ha-cp-1"), machine("sandbox-cp-0"), machine("other")]))
        }
        ("GET", "/v1/load-balancers") => Reply::json(&json!([balancer])),
        _ => Reply::status(403, "no"),
    }
}

#[test]
fn planning_changes_nothing_anywhere() -> Result<()> {
    let env = Env::new()?;
    // Every way out that a plan might take ends at a server that refuses and counts.
    let server = HttpServer::start(|_| Reply::status(403, "no"))?;
    let kubeconfig = env.work_dir().join("kubeconfig");
    let text = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server.url()}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    });
    fs::write(&kubeconfig, text.to_string())?;
    fs::set_permissions(&kubeconfig, fs::Permissions::from_mode(0o600))?;
    let harvester = env.work_dir().join("harvester.yaml");
    let example_text = fs::read_to_string(example("harvester"))?;
    let text = example_text.replace("~/.butler/hci.kubeconfig", &kubeconfig.display().to_string());
    ensure!(text != example_text, "the example names another kubeconfig");
    // One machine needs no shared address, so nobody looks whether it answers.
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("vip:"));
    let text = lines.collect::<Vec<_>>().join("\n").replace("topology: ha", "topology: single-node");
    ensure!(!text.contains("vip:") && text.contains("single-node"), "the example has another shape");
    fs::write(&harvester, text)?;
    let plan_of = |config: &Path| -> Result<Plan> {
        let planned = bootstrap_plan(&env, config, &["-o", "json"])
            .env("KUBECONFIG", &kubeconfig)
            .env("HTTPS_PROXY", server.url())
            .env("HTTP_PROXY", server.url());
        Ok(Plan::from_json(&planned.run()?.success()?.stdout)?)
    };
    for config in [example("sandbox"), example("sandbox-ha"), example("local"), harvester] {
        plan_of(&config)?;
    }
    assert!(!env.butler_home().exists(), "a plan leaves nothing in the home");

    // A provider that answers is asked, and for nothing but lists.
    let home = env.butler_home();
    let host = FakeHost::start(&home.join("sandbox/sandbox-ha"), read_only)?;
    let world = plan_of(&example("sandbox-ha"))?.world;
    let taken = |name: &str| Some(vec![Taken { name: name.to_owned(), owner: Some("somebody".to_owned()) }]);
    assert_eq!((world.machines, world.load_balancers), (taken("sandbox-ha-cp-1"), taken("sandbox-ha")));
    let asked = host.requests();
    assert_eq!(asked.len(), 2, "{asked:?}");
    let changing: Vec<_> =
        asked.into_iter().chain(server.requests()).filter(|request| request.method != "GET").collect();
    assert!(changing.is_empty(), "{changing:?}");
    drop(host);
    assert_eq!(files(&home)?, ["sandbox", "sandbox/sandbox-ha", "sandbox/sandbox-ha/lock"]);

    // One that refuses us keeps nobody from planning, and is told.
    let _host = FakeHost::start(&home.join("sandbox/sandbox-ha"), |_| {
        Reply::typed(403, "application/json", r#"{"class":"auth","message":"who are you?"}"#)
    })?;
    let world = plan_of(&example("sandbox-ha"))?.world;
    assert_eq!(world.machines, None);
    assert!(world.unseen["machines"].contains("who are you?"), "{:?}", world.unseen);
    Ok(())
}

/// Everything below a directory, by its path in there.
fn files(dir: &Path) -> Result<Vec<String>> {
    let (mut found, mut dirs) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(next)? {
            let path = entry?.path();
            found.push(path.strip_prefix(dir)?.display().to_string());
            if path.is_dir() {
                dirs.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[test]
fn a_secret_is_compared_and_never_written() -> Result<()> {
    let env = Env::new()?;
    let plan_path = env.work_dir().join("plan.json");
    let run = |args: &[&str], password: &str| {
        let command = env.command(env!("CARGO_BIN_EXE_butleradm")).args(["bootstrap"]).args(args);
        let command = command.arg("--config").arg(example("nutanix")).env("PATH", env.work_dir());
        command.env("NUTANIX_USERNAME", "svc").env("NUTANIX_PASSWORD", password).run()
    };
    let _written = run(&["plan", "--out", "plan.json"], "hunter2")?.success()?;
    let text = fs::read_to_string(&plan_path)?;
    assert!(!text.contains("hunter2") && !text.contains("svc"), "{text}");
    let plan = Plan::from_json(&text)?;
    assert_eq!(plan.world.secrets.keys().collect::<Vec<_>>(), ["password", "username"]);
    let dry = ["run", "--dry-run", "--plan", "plan.json", "-o", "name"];
    let _same = run(&dry, "hunter2")?.success()?;
    let moved = run(&dry, "hunter3")?.failed_with(1)?;
    assert!(moved.stderr.contains("the secret `password` has another value"), "{moved}");
    assert!(moved.stderr.contains("one thing changed") && !moved.stderr.contains("hunter"), "{moved}");
    // Nobody can compare what is not there.
    let _unset = run(&dry, "")?.success()?;
    Ok(())
}

#[test]
fn a_run_is_refused_when_the_world_is_not_as_it_was_planned() -> Result<()> {
    let env = Env::new()?;
    let config = env.work_dir().join("bootstrap.yaml");
    fs::copy(example("sandbox"), &config)?;
    let _output = bootstrap_plan(&env, &config, &["--out", "plan.json"]).run()?.success()?;
    let run = |args: &[&str]| {
        let command = env.command(env!("CARGO_BIN_EXE_butleradm")).args(["bootstrap", "run", "--config"]);
        command.arg(&config).args(["--plan", "plan.json"]).args(args).env("PATH", env.work_dir()).run()
    };
    // As it was: a dry run shows the same plan.
    let plan = Plan::from_json(&fs::read_to_string(env.work_dir().join("plan.json"))?)?;
    let same = run(&["--dry-run", "-o", "json"])?.success()?;
    assert_eq!(Plan::from_json(&same.stdout)?, plan);
    let text = fs::read_to_string(&config)?;
    fs::write(&config, text.replace("cpu: 2", "cpu: 4"))?;
    insta::assert_snapshot!(run(&[])?, @r"
    exit 1
    [stderr]
    error[BTL-2006]: 2 things changed since the plan was made
      1: the configuration was changed
      2: machines[sandbox-cp-0].cpu was 2 and is 4

    hint: butleradm bootstrap plan --config FILE --out plan.json
    ");
    fs::write(env.work_dir().join("plan.json"), "{}")?;
    let _output = run(&[])?.failed_with(2)?;
    assert!(!env.butler_home().exists(), "nothing was begun");
    Ok(())
}

#[test]
fn a_configuration_that_is_wrong_is_told_as_validate_does() -> Result<()> {
    let env = Env::new()?;
    let path = env.work_dir().join("bad.yaml");
    fs::write(&path, "provider: sandbox\ncluster: {nam: x}\n")?;
    let refused = bootstrap_plan(&env, &path, &[]).run()?.failed_with(2)?;
    assert!(refused.stderr.starts_with("error[BTL-1210]"), "{refused}");
    let missing = bootstrap_plan(&env, Path::new("none.yaml"), &[]).run()?.failed_with(2)?;
    assert!(missing.stderr.contains("none.yaml"), "{missing}");
    Ok(())
}

#[test]
fn what_comes_through_a_pipe_is_all_of_it_and_belongs_here() -> Result<()> {
    let env = Env::new()?;
    let text = fs::read_to_string(example("sandbox"))?
        .replace("certManager: {enabled: false}", "certManager: {enabled: true}")
        + "charts: {mirror: charts}\n";
    // A shell gives a pipe a name: <(decrypt bootstrap.yaml).
    let piped = bootstrap_plan(&env, Path::new("/dev/stdin"), &["-o", "json"])
        .stdin(text.as_str())
        .run()?
        .success()?;
    let plan = Plan::from_json(&piped.stdout)?;
    ensure!(plan.world.config_sha256 == World::of(text.as_bytes()).config_sha256, "{piped}");
    let source = fs::canonicalize(env.work_dir())?.join("charts").display().to_string();
    ensure!(plan.charts[0].source == source, "{:?}", plan.charts);
    Ok(())
}

#[test]
fn who_signs_in_at_a_mirror_is_in_no_plan() -> Result<()> {
    let env = Env::new()?;
    let path = env.work_dir().join("mirrored.yaml");
    let text = fs::read_to_string(example("sandbox"))?
        .replace("certManager: {enabled: false}", "certManager: {enabled: true}")
        + "charts: {mirror: 'https://me:hunter2@charts.example.org/all'}\n";
    fs::write(&path, text)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    let shown = bootstrap_plan(&env, &path, &["--out", "plan.json", "-o", "json"]).run()?.success()?;
    ensure!(shown.stdout.contains("https://charts.example.org/all"), "{shown}");
    let written = fs::read_to_string(env.work_dir().join("plan.json"))?;
    ensure!(!shown.to_string().contains("hunter2") && !written.contains("hunter2"), "{shown}");
    Ok(())
}
