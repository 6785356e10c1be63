//! `butleradm bootstrap validate` and `schema`: what a person and a program learn about a file.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use anyhow::Result;
use butler_tests::{Env, Invocation};

fn bootstrap(env: &Env, args: &[&str]) -> Invocation {
    env.command(env!("CARGO_BIN_EXE_butleradm")).arg("bootstrap").args(args)
}

/// An example of the repository.
fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name);
    path.to_string_lossy().into_owned()
}

/// Writes `bootstrap.yaml` where programs run.
fn write(env: &Env, text: &str, mode: u32) -> Result<()> {
    let path = env.work_dir().join("bootstrap.yaml");
    fs::write(&path, text)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
    Ok(())
}

const WRONG: &str = "provider: nutanix
cluster:
  name: mgmt
  toplogy: ha
  controlPlane: {replicas: 2, cpu: 4, memoryMB: 8192, diskGB: 60}
network:
  vip: 172.20.8.20/24
  loadBalancerPool: {start: 172.20.8.30, end: 172.20.8.49}
providerConfig:
  nutanix:
    endpoint: prism.example.org
    username: {env: PRISM_USERNAME}
    pasword: hunter2
    clusterUUID: 11111111-2222-3333-4444-555555555555
    subnetUUID: 66666666-7777-8888-9999-000000000000
";

#[test]
fn the_sandbox_examples_are_valid() -> Result<()> {
    let env = Env::new()?;
    for (name, machines) in
        [("sandbox.yaml", "1 control plane, 0 workers"), ("sandbox-ha.yaml", "3 control planes, 2 workers")]
    {
        let valid =
            bootstrap(&env, &["validate", "--config", &example(name), "--strict"]).run()?.success()?;
        assert!(valid.stdout.contains(&format!("Machines:  {machines}\n")), "{valid}");
        assert_eq!(valid.stderr, "");
    }
    Ok(())
}

#[test]
fn a_valid_file_is_summed_up() -> Result<()> {
    let env = Env::new()?;
    let text = fs::read_to_string(example("sandbox-ha.yaml"))?;
    write(&env, &text, 0o644)?;
    insta::assert_snapshot!(bootstrap(&env, &["validate"]).run()?, @r"
    exit 0
    [stdout]
    bootstrap.yaml is valid
    Cluster:   sandbox-ha (ha)
    Provider:  sandbox
    Machines:  3 control planes, 2 workers
    Versions:  Talos v1.11.5, Kubernetes v1.34.N
    Runtime:   process
    ");
    Ok(())
}

#[test]
fn every_problem_is_shown_with_its_line_and_a_way_out() -> Result<()> {
    let env = Env::new()?;
    write(&env, WRONG, 0o600)?;
    let wrong = bootstrap(&env, &["validate", "-c", "bootstrap.yaml"]).run()?;
    assert!(!wrong.to_string().contains("hunter2"));
    insta::assert_snapshot!(wrong, @r"
    exit 2
    [stdout]
    bootstrap.yaml:4:3: error: `toplogy` is not a key of `cluster`
    4 |   toplogy: (hidden)
      |   ^^^^^^^
      hint: did you mean `topology`?

    bootstrap.yaml:5:28: error: `cluster.controlPlane.replicas` is 2: etcd needs an odd number to outlive a failure
    5 |   controlPlane: {replicas: 2, cpu: 4, memoryMB: 8192, diskGB: 60}
      |                            ^
      hint: write 1 or 3

    bootstrap.yaml:7:8: error: `network.vip` must be one address without a length, not `172.20.8.20/24`
    7 |   vip: 172.20.8.20/24
      |        ^^^^^^^^^^^^^^
      hint: write `172.20.8.20`

    bootstrap.yaml:13:5: error: `pasword` is not a key of `providerConfig.nutanix`
    13 |     pasword: (hidden)
       |     ^^^^^^^
      hint: did you mean `password`?

    [stderr]
    error[BTL-1210]: `bootstrap.yaml` has 4 errors

    hint: butleradm bootstrap schema
    ");
    Ok(())
}

#[test]
fn programs_get_the_same_as_json() -> Result<()> {
    let env = Env::new()?;
    let wrong =
        bootstrap(&env, &["validate", "--config", "-", "-o", "json"]).stdin(WRONG).run()?.failed_with(2)?;
    assert!(!wrong.to_string().contains("hunter2"));
    let report = wrong.json()?;
    assert_eq!((&report["kind"], &report["valid"]), (&"BootstrapValidation".into(), &false.into()));
    assert_eq!(report["file"], "<stdin>");
    insta::assert_json_snapshot!(report["problems"][0], @r#"
    {
      "column": 3,
      "line": 4,
      "message": "`toplogy` is not a key of `cluster`",
      "path": "cluster.toplogy",
      "severity": "error",
      "suggestion": "did you mean `topology`?",
      "text": "toplogy"
    }
    "#);
    let valid = bootstrap(&env, &["validate", "--config", &example("sandbox.yaml"), "-o", "json"])
        .run()?
        .success()?;
    let summary = &valid.json()?["summary"];
    assert_eq!((&summary["cluster"], &summary["provider"]), (&"sandbox".into(), &"sandbox".into()));
    assert_eq!((&summary["controlPlanes"], &summary["workers"]), (&1.into(), &0.into()));
    assert_eq!((&summary["topology"], &summary["runtime"]), (&"single-node".into(), &"process".into()));
    Ok(())
}

#[test]
fn secrets_that_are_not_there_now_are_warnings_unless_strict() -> Result<()> {
    let env = Env::new()?;
    let config = example("nutanix.yaml");
    let warned = bootstrap(&env, &["validate", "--config", &config])
        .env("NUTANIX_USERNAME", "admin")
        .run()?
        .success()?;
    assert!(
        warned.stdout.contains(
            "warning: `providerConfig.nutanix.password`: environment variable `NUTANIX_PASSWORD` is not set\n  \
             hint: export NUTANIX_PASSWORD=…\n"
        ),
        "{warned}"
    );
    assert!(!warned.stdout.contains("NUTANIX_USERNAME"), "{warned}");
    let strict = bootstrap(&env, &["validate", "--strict", "--config", &config]).run()?.failed_with(2)?;
    assert!(strict.stdout.contains("error: `providerConfig.nutanix.password`"), "{strict}");
    let complete = bootstrap(&env, &["validate", "--strict", "--config", &config])
        .env("NUTANIX_USERNAME", "admin")
        .env("NUTANIX_PASSWORD", "hunter2")
        .run()?
        .success()?;
    assert!(!complete.to_string().contains("hunter2"));
    Ok(())
}

#[test]
fn a_secret_that_others_can_read_is_refused() -> Result<()> {
    let env = Env::new()?;
    let plain = WRONG
        .replace("toplogy", "topology")
        .replace("replicas: 2", "replicas: 3")
        .replace("/24", "")
        .replace("pasword: hunter2", "password: hunter2")
        .replace("{env: PRISM_USERNAME}", "admin");
    write(&env, &plain, 0o600)?;
    let valid = bootstrap(&env, &["validate"]).run()?.success()?;
    assert!(valid.stdout.starts_with("bootstrap.yaml is valid\n"), "{valid}");
    write(&env, &plain, 0o640)?;
    let refused = bootstrap(&env, &["validate"]).run()?.failed_with(2)?;
    assert!(refused.stdout.contains("stands in a file that other users can read"), "{refused}");
    assert!(refused.stdout.contains("hint: chmod 600 bootstrap.yaml"), "{refused}");
    assert!(!refused.to_string().contains("hunter2"));

    let secret = env.work_dir().join("password");
    fs::write(&secret, "hunter2\n")?;
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o644))?;
    write(&env, &plain.replace("password: hunter2", "password: {file: password}"), 0o644)?;
    let refused = bootstrap(&env, &["validate"]).run()?.failed_with(2)?;
    assert!(refused.stdout.contains("other users can read the secret in"), "{refused}");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600))?;
    let valid = bootstrap(&env, &["validate", "--strict"]).run()?.success()?;
    assert!(valid.stdout.starts_with("bootstrap.yaml is valid\n"), "{valid}");
    Ok(())
}

#[test]
fn a_file_is_looked_for_here_and_at_home() -> Result<()> {
    let env = Env::new()?;
    insta::assert_snapshot!(bootstrap(&env, &["validate"]).run()?, @r"
    exit 2
    [stderr]
    error[BTL-1211]: there is no bootstrap configuration
      1: `bootstrap.yaml` does not exist
      2: `[TEMP]/butler/bootstrap.yaml` does not exist

    hint: butleradm bootstrap validate --config FILE
    hint: start from one of the examples
    ");
    fs::create_dir_all(env.butler_home())?;
    fs::copy(example("sandbox.yaml"), env.butler_home().join("bootstrap.yaml"))?;
    let found = bootstrap(&env, &["validate"]).run()?.success()?;
    assert!(found.stdout.contains("/butler/bootstrap.yaml is valid\n"), "{found}");
    let missing = bootstrap(&env, &["validate", "--config", "nothing.yaml"]).run()?.failed_with(2)?;
    assert!(missing.stderr.contains("cannot read the bootstrap configuration `nothing.yaml`"), "{missing}");
    Ok(())
}

#[test]
fn the_schema_is_json_that_describes_every_key() -> Result<()> {
    let env = Env::new()?;
    let schema = bootstrap(&env, &["schema"]).run()?.success()?.json()?;
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["additionalProperties"], false);
    let vip = &schema["properties"]["network"]["properties"]["vip"];
    assert!(vip["description"].as_str().is_some_and(|text| text.contains("control planes")), "{vip}");
    Ok(())
}
