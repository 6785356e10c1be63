//! `status` and `doctor` on a real API server.

use std::time::Duration;

use butler_core::cluster::crds;
use butler_tests::{ControlPlane, Env, Invocation, Output};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Namespace};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

const BUTLERADM: &str = env!("CARGO_BIN_EXE_butleradm");

fn butleradm(env: &Env, plane: &ControlPlane, args: &[&str]) -> Invocation {
    env.command(BUTLERADM).args(args).env("KUBECONFIG", plane.kubeconfig())
}

fn levels(output: &Output) -> anyhow::Result<Vec<(String, String)>> {
    let report = output.json()?;
    let checks = report["checks"].as_array().cloned().unwrap_or_default();
    let text = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    Ok(checks.iter().map(|check| (text(check, "name"), text(check, "level"))).collect())
}

#[tokio::test]
async fn doctor_on_a_cluster_without_butler_fails_and_says_what_to_do() -> anyhow::Result<()> {
    let plane = ControlPlane::start().await?;
    let env = Env::new()?;
    let output = butleradm(&env, &plane, &["doctor"]).run()?.failed_with(1)?;
    insta::assert_snapshot!(output, @"
    exit 1
    [stdout]
    PASS  API server               Kubernetes v1.34.N
    FAIL  namespace butler-system  missing: this is not a Butler management cluster
          → butleradm doctor --context NAME, with a management cluster from `kubectl config get-contexts`
    FAIL  Butler API               no Butler kind is served
          → butleradm crds apply
    SKIP  ButlerConfig             not looked at: the Butler API is missing
    SKIP  butler-controller        not looked at: the namespace butler-system is missing
    SKIP  butler-server            not looked at: the namespace butler-system is missing
    SKIP  steward                  not looked at: the namespace butler-system is missing
    SKIP  providers                not looked at: the Butler API is missing
    SKIP  tenant clusters          not looked at: the Butler API is missing
    [stderr]
    error[BTL-1107]: 2 of 9 checks failed

    hint: butleradm doctor --context NAME, with a management cluster from `kubectl config get-contexts`
    ");
    let output = butleradm(&env, &plane, &["doctor", "-o", "json"]).run()?.failed_with(1)?;
    for check in output.json()?["checks"].as_array().cloned().unwrap_or_default() {
        assert_eq!(check["level"] == "fail", check["next"].is_string(), "{check}");
    }
    let error: Value = serde_json::from_str(&output.stderr)?;
    assert_eq!(error["code"], "BTL-1107");
    Ok(())
}

#[tokio::test]
async fn doctor_passes_on_a_healthy_platform_and_status_shows_it() -> anyhow::Result<()> {
    let plane = ControlPlane::start().await?;
    let client = plane.client().await?;
    platform(&client).await?;
    let env = Env::new()?;
    let output = butleradm(&env, &plane, &["doctor", "-o", "json"]).run()?.success()?;
    let bad: Vec<_> = levels(&output)?.into_iter().filter(|(_, level)| level != "pass").collect();
    assert_eq!(bad, [("provider lab".to_owned(), "warn".to_owned())]);
    assert_eq!(output.stderr, "");

    // Storage and other addons are missing, so the report is complete and the platform is not.
    let output = butleradm(&env, &plane, &["status"]).run()?.failed_with(1)?;
    insta::assert_snapshot!(output, @"
    exit 1
    [stdout]
    Management cluster
      Server      https://127.0.0.1:PORT
      Kubernetes  v1.34.N
      Identity    kubeconfig [TEMP]/kubeconfig-0 (context test)

    Butler components
      PASS  butler-controller         1/1 ready
      FAIL  cluster-api               not found in capi-system
      PASS  steward                   1/1 ready

    Infrastructure addons
      FAIL  cert-manager              not found in cert-manager
      FAIL  cert-manager-webhook      not found in cert-manager
      FAIL  cilium                    not found in kube-system
      FAIL  cilium-operator           not found in kube-system
      FAIL  longhorn                  not found in longhorn-system

    Providers
      butler-system/lab                 harvester   not validated  in-cluster

    Tenant clusters
      1 in all: 1 Pending
      butler-tenants/dev                        Pending
    [stderr]
    error[BTL-1107]: 6 components do not work

    hint: butleradm doctor
    ");

    let deployments: Api<Deployment> = Api::namespaced(client, "butler-system");
    let none = json!({"status": {"replicas": 1, "readyReplicas": 0}});
    deployments.patch_status("butler-controller", &PatchParams::default(), &Patch::Merge(&none)).await?;
    let output = butleradm(&env, &plane, &["doctor", "-o", "json"]).run()?.failed_with(1)?;
    assert!(levels(&output)?.contains(&("butler-controller".into(), "fail".into())), "{output}");
    Ok(())
}

#[tokio::test]
async fn doctor_names_what_the_identity_may_not_see() -> anyhow::Result<()> {
    let plane = ControlPlane::shared().await?;
    let env = Env::new()?;
    let nobody = plane.kubeconfig_for("nobody", &[])?;
    let output = env.command(BUTLERADM).args(["doctor", "--kubeconfig"]).arg(nobody).run()?.failed_with(1)?;
    assert!(output.stdout.contains("butleradm explain BTL-1008"), "{output}");
    Ok(())
}

/// What a finished bootstrap leaves, as far as the checks look at it.
async fn platform(client: &Client) -> anyhow::Result<()> {
    let names = crds::apply(client, false).await?;
    crds::established(client, &names, Duration::from_secs(30)).await?;
    for name in ["butler-system", "steward-system", "butler-tenants"] {
        let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
        Api::all(client.clone()).create(&PostParams::default(), &namespace).await?;
    }
    for (namespace, name) in [
        ("butler-system", "butler-controller"),
        ("butler-system", "butler-console-server"),
        ("steward-system", "steward"),
    ] {
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
        let labels = json!({"app": name});
        let deployment = serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {
                "replicas": 1, "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}},
            },
        }))?;
        deployments.create(&PostParams::default(), &deployment).await?;
        let ready = json!({"status": {"replicas": 1, "readyReplicas": 1}});
        deployments.patch_status(name, &PatchParams::default(), &Patch::Merge(&ready)).await?;
    }
    let config = json!({
        "kind": "ButlerConfig", "metadata": {"name": "butler"}, "spec": {"multiTenancy": {"mode": "Enforced"}},
    });
    let provider = json!({
        "kind": "ProviderConfig", "metadata": {"name": "lab"},
        "spec": {
            "provider": "harvester", "credentialsRef": {"name": "lab"}, "harvester": {"networkName": "default/vms"},
        },
    });
    let cluster = json!({
        "kind": "TenantCluster", "metadata": {"name": "dev"},
        "spec": {"kubernetesVersion": "v1.34.4", "workers": {"replicas": 3}},
    });
    for (namespace, mut object) in
        [(None, config), (Some("butler-system"), provider), (Some("butler-tenants"), cluster)]
    {
        object["apiVersion"] = json!("butler.butlerlabs.dev/v1alpha1");
        butler_tests::create(client, namespace, &object).await?;
    }
    Ok(())
}
