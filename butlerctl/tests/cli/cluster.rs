//! `cluster list|get|events` on a real API server.

use anyhow::Result;
use insta::assert_snapshot;
use jiff::ToSpan;
use serde_json::{Value, json};

use crate::support::{Butlerctl, LIMIT, created, plane, put, tenant_cluster};
use butler_tests::{ControlPlane, Output, create};

/// A namespace with three clusters, and the program at a time when they are five days old.
struct Fixture {
    plane: &'static ControlPlane,
    namespace: String,
    program: Butlerctl,
    clock: String,
}

impl Fixture {
    async fn new() -> Result<Self> {
        let plane = plane().await?;
        let client = plane.client().await?;
        let namespace = plane.namespace().await?;
        let since = jiff::Timestamp::now();
        let mut prod = tenant_cluster("prod");
        prod["metadata"]["labels"] =
            json!({"butler.butlerlabs.dev/environment": "production", "tier": "gold"});
        prod["spec"]["providerConfigRef"] = json!({"name": "harvester"});
        prod["spec"]["kubernetesVersion"] = json!("v1.33.10");
        prod["status"] = json!({
            "phase": "Ready", "workerNodesReady": 3, "workerNodesDesired": 3,
            "controlPlaneEndpoint": "10.0.0.5:6443", "tenantNamespace": "prod-1a2b3c4d",
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "AllGood", "message": "", "lastTransitionTime": since},
                {"type": "InfrastructureReady", "status": "True", "reason": "Provisioned", "message": "three machines", "lastTransitionTime": since}],
            "observedState": {"addons": [
                {"name": "cilium", "version": "1.17.0", "status": "Healthy", "managedBy": "butler"}]},
        });
        let mut dev = tenant_cluster("dev");
        dev["metadata"]["labels"] = json!({"tier": "bronze"});
        dev["status"] = json!({"phase": "Provisioning", "workerNodesReady": 1, "workerNodesDesired": 0});
        for cluster in [prod, dev, tenant_cluster("new")] {
            put(&client, &namespace, &cluster).await?;
        }
        let clock =
            created(&client, &namespace, "prod").await?.checked_add((5 * 24 + 12).hours())?.to_string();
        Ok(Self { program: Butlerctl::new(plane.kubeconfig())?, plane, namespace, clock })
    }

    /// Runs the program in the namespace.
    fn run(&self, args: &str) -> Result<Output> {
        let args = args.split(' ').chain(["-n", &self.namespace]);
        self.program.run(args).env("BUTLER_CLOCK", &self.clock).timeout(LIMIT).run()
    }
}

#[tokio::test]
async fn list_shows_a_row_for_each_cluster() -> Result<()> {
    let fixture = Fixture::new().await?;
    assert_snapshot!(fixture.run("cluster list")?, @r"
    exit 0
    [stdout]
    NAME  ENV         PHASE         K8S VERSION  WORKERS  AGE
    dev   -           Provisioning  v1.33.4      1/3      5d
    new   -           Pending       v1.33.4      0/3      5d
    prod  production  Ready         v1.33.10     3/3      5d
    ");
    assert_snapshot!(fixture.run("cluster ls -o wide")?, @r"
    exit 0
    [stdout]
    NAME  ENV         PHASE         K8S VERSION  WORKERS  AGE  ENDPOINT       PROVIDER
    dev   -           Provisioning  v1.33.4      1/3      5d   -              -
    new   -           Pending       v1.33.4      0/3      5d   -              -
    prod  production  Ready         v1.33.10     3/3      5d   10.0.0.5:6443  harvester
    ");
    assert_snapshot!(fixture.run("cluster list -l tier=bronze")?, @r"
    exit 0
    [stdout]
    NAME  PHASE         K8S VERSION  WORKERS  AGE
    dev   Provisioning  v1.33.4      1/3      5d
    ");
    assert_snapshot!(fixture.run("cluster list --environment production -o name")?, @r"
    exit 0
    [stdout]
    tenantcluster/prod
    ");
    assert_snapshot!(fixture.run("cluster list --sort-by version -o name")?, @r"
    exit 0
    [stdout]
    tenantcluster/dev
    tenantcluster/new
    tenantcluster/prod
    ");
    assert_snapshot!(fixture.run("cluster list -l tier=none")?, @r"
    exit 0
    [stdout]
    NAME  PHASE  K8S VERSION  WORKERS  AGE
    [stderr]
    no tenant clusters in namespace `test-NNNN`
    ");
    let everywhere = fixture.program.run(["cluster", "list", "-A"]).timeout(LIMIT).run()?.success()?;
    let mine = everywhere.stdout.lines().filter(|line| line.contains(&fixture.namespace)).count();
    assert_eq!(mine, 3, "{everywhere}");
    Ok(())
}

#[tokio::test]
async fn objects_are_printed_whole_in_a_list() -> Result<()> {
    let fixture = Fixture::new().await?;
    let list = fixture.run("cluster list -o json")?.success()?.json()?;
    assert_eq!((&list["apiVersion"], &list["kind"]), (&json!("v1"), &json!("List")));
    let items = list["items"].as_array().unwrap();
    let names: Vec<&Value> = items.iter().map(|item| &item["metadata"]["name"]).collect();
    assert_eq!(names, ["dev", "new", "prod"]);
    assert_eq!(items[2]["status"]["observedState"]["addons"][0]["name"], "cilium");
    assert!(items.iter().all(|item| item["metadata"].get("managedFields").is_none()));

    let yaml = fixture.run("cluster list -o yaml")?.success()?;
    assert_eq!(serde_saphyr::from_str::<Value>(&yaml.stdout)?, list);
    let sorted = fixture.run("cluster list --sort-by phase -o json")?.success()?.json()?;
    assert_eq!(sorted["items"][2]["metadata"]["name"], "prod");
    let template = fixture.run("cluster list -o jsonpath={.items[*].metadata.name}")?.success()?;
    assert_eq!(template.stdout, "dev new prod");
    let one = fixture.run("cluster get prod -o json")?.success()?.json()?;
    assert_eq!(one, items[2]);
    assert_snapshot!(fixture.run("cluster get prod -o name")?, @r"
    exit 0
    [stdout]
    tenantcluster/prod
    ");
    Ok(())
}

#[tokio::test]
async fn the_number_of_requests_does_not_depend_on_the_number_of_clusters() -> Result<()> {
    let fixture = Fixture::new().await?;
    for (user, args, expected) in [
        ("lister", "cluster list", 1),
        ("wide-lister", "cluster list -o wide", 1),
        ("namer", "cluster list -o name", 1),
        ("printer", "cluster list -o json", 1),
        ("getter", "cluster get prod -o json", 1),
        // With the machine deployments of the tenant namespace.
        ("viewer", "cluster get prod", 2),
        ("misspeller", "cluster get prdo", 2),
    ] {
        let kubeconfig = fixture.plane.kubeconfig_for(user, &["system:masters"])?;
        let program = Butlerctl::new(&kubeconfig)?;
        let args = args.split(' ').chain(["-n", &fixture.namespace]);
        let output = program.run(args).timeout(LIMIT).run()?;
        let asked: Vec<String> = fixture
            .plane
            .audited()?
            .into_iter()
            .filter(|request| request.user == user)
            .map(|r| r.uri)
            .collect();
        assert_eq!(asked.len(), expected, "{asked:#?}\n{output}");
        assert!(!asked.iter().any(|uri| uri.contains("resourceVersion=0")), "{asked:#?}");
    }
    Ok(())
}

#[tokio::test]
async fn get_shows_conditions_and_addons() -> Result<()> {
    let fixture = Fixture::new().await?;
    assert_snapshot!(fixture.run("cluster get prod")?, @r"
    exit 0
    [stdout]
    Name:             prod
    Namespace:        test-NNNN
    Environment:      production
    Phase:            Ready
    K8s Version:      v1.33.10
    Workers:          3/3 Ready
    Endpoint:         10.0.0.5:6443
    Tenant Namespace: prod-1a2b3c4d
    Provider Config:  harvester
    Age:              5d

    Conditions
    TYPE                 STATUS  AGE  REASON       MESSAGE
    InfrastructureReady  True    5d   Provisioned  three machines
    Ready                True    5d   AllGood      -

    Addons
    NAME    VERSION  STATUS   MANAGED BY
    cilium  1.17.0   Healthy  butler
    ");
    assert_snapshot!(fixture.run("cluster get new")?, @r"
    exit 0
    [stdout]
    Name:             new
    Namespace:        test-NNNN
    Phase:            Pending
    K8s Version:      v1.33.4
    Workers:          0/3 Ready
    Endpoint:         <pending>
    Tenant Namespace: <pending>
    Provider Config:  <default>
    Age:              5d
    ");
    Ok(())
}

#[tokio::test]
async fn a_cluster_that_is_not_there_is_exit_3_with_the_nearest_name() -> Result<()> {
    let fixture = Fixture::new().await?;
    assert_snapshot!(fixture.run("cluster get prdo")?, @r#"
    exit 3
    [stderr]
    error[BTL-1101]: cannot get tenant cluster `prdo` in namespace `test-NNNN`
      1: tenantclusters.butler.butlerlabs.dev "prdo" not found

    hint: did you mean `prod`
    hint: butlerctl cluster list -n test-NNNN
    hint: butlerctl cluster list -A
    "#);
    assert_snapshot!(fixture.run("cluster events elsewhere")?, @r#"
    exit 3
    [stderr]
    error[BTL-1101]: cannot get tenant cluster `elsewhere` in namespace `test-NNNN`
      1: tenantclusters.butler.butlerlabs.dev "elsewhere" not found

    hint: butlerctl cluster list -n test-NNNN
    hint: butlerctl cluster list -A
    "#);
    assert_snapshot!(fixture.run("cluster watch prodd")?, @r#"
    exit 3
    [stderr]
    error[BTL-1101]: cannot get tenant cluster `prodd` in namespace `test-NNNN`
      1: tenantclusters.butler.butlerlabs.dev "prodd" not found

    hint: did you mean `prod`
    hint: butlerctl cluster list -n test-NNNN
    hint: butlerctl cluster list -A
    "#);
    Ok(())
}

#[tokio::test]
async fn events_come_newest_first() -> Result<()> {
    let fixture = Fixture::new().await?;
    let client = fixture.plane.client().await?;
    let now: jiff::Timestamp = fixture.clock.parse()?;
    for (name, kind, reason, hours) in
        [("a", "Normal", "Created", 30), ("b", "Warning", "QuotaExceeded", 2), ("c", "Normal", "Ready", 1)]
    {
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "type": kind, "reason": reason,
            "message": format!("about {reason}"), "lastTimestamp": now.checked_sub(hours.hours())?,
            "involvedObject": {"kind": "TenantCluster", "name": "prod", "namespace": fixture.namespace},
        });
        create(&client, Some(&fixture.namespace), &event).await?;
    }
    assert_snapshot!(fixture.run("cluster events prod")?, @r"
    exit 0
    [stdout]
    TYPE     REASON         MESSAGE              AGE
    Normal   Ready          about Ready          1h
    Warning  QuotaExceeded  about QuotaExceeded  2h
    Normal   Created        about Created        1d
    ");
    assert_snapshot!(fixture.run("cluster events prod --limit 1 -o jsonpath={.items[*].reason}")?, @r"
    exit 0
    [stdout]
    Ready[no line break]
    ");
    assert_snapshot!(fixture.run("cluster events dev")?, @r"
    exit 0
    [stdout]
    TYPE  REASON  MESSAGE  AGE
    [stderr]
    no events of tenant cluster `dev`
    ");
    Ok(())
}

#[tokio::test]
async fn the_namespace_comes_from_flag_team_variable_or_default() -> Result<()> {
    let fixture = Fixture::new().await?;
    let client = fixture.plane.client().await?;
    let team = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "Team",
        "metadata": {"name": fixture.namespace}, "spec": {"displayName": "Web"},
    });
    create(&client, None, &team).await?;
    let teams: kube::Api<butler_core::api::Team> = kube::Api::all(client);
    let status = json!({"status": {"namespace": fixture.namespace}});
    teams.patch_status(&fixture.namespace, &Default::default(), &kube::api::Patch::Merge(status)).await?;

    let list =
        |args: &[&str]| fixture.program.run(["cluster", "list", "-o", "name"]).args(args).timeout(LIMIT);
    let names = "tenantcluster/dev\ntenantcluster/new\ntenantcluster/prod\n";
    assert_eq!(list(&["--team", &fixture.namespace]).run()?.success()?.stdout, names);
    assert_eq!(list(&[]).env("BUTLER_NAMESPACE", &fixture.namespace).run()?.success()?.stdout, names);
    assert_eq!(
        list(&["-n", "default"]).env("BUTLER_NAMESPACE", &fixture.namespace).run()?.success()?.stdout,
        ""
    );
    let default = fixture.program.run(["cluster", "list"]).timeout(LIMIT).run()?.success()?;
    assert!(default.stderr.contains("`butler-tenants`"), "{default}");
    assert_snapshot!(list(&["--team", "nobody"]).run()?, @r#"
    exit 3
    [stderr]
    error[BTL-1101]: cannot get team `nobody`
      1: teams.butler.butlerlabs.dev "nobody" not found

    hint: list without a name to see what is there
    hint: add -n NAMESPACE or -A
    hint: butlerctl cluster list -A
    "#);
    Ok(())
}
