use std::{
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use butler_tests::{ControlPlane, create, eventually};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Pod},
};
use kube::{
    Api,
    api::{DeleteParams, ListParams},
};
use serde_json::json;

use crate::LIMIT;

fn config_map(name: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"colour": "blue"}})
}

#[tokio::test]
async fn a_control_plane_serves_with_tls_and_a_private_kubeconfig() -> Result<()> {
    let start = Instant::now();
    let plane = ControlPlane::start().await?;
    println!("ready after {:?}", start.elapsed());
    assert!(plane.server().starts_with("https://127.0.0.1:"), "{}", plane.server());
    assert_eq!(std::fs::metadata(plane.kubeconfig())?.permissions().mode() & 0o777, 0o600);

    let client = plane.client().await?;
    assert_eq!(client.apiserver_version().await?.minor, "34");
    let namespace = plane.namespace().await?;
    create(&client, Some(&namespace), &config_map("first")).await?;
    let found = Api::<ConfigMap>::namespaced(client, &namespace).get("first").await?;
    assert_eq!(found.data.context("data")?["colour"], "blue");
    Ok(())
}

#[tokio::test]
async fn the_shared_plane_is_one_and_gives_each_test_a_namespace() -> Result<()> {
    let (one, two) = tokio::try_join!(ControlPlane::shared(), ControlPlane::shared())?;
    assert!(std::ptr::eq(one, two));
    assert_ne!(one.namespace().await?, two.namespace().await?);
    Ok(())
}

#[tokio::test]
async fn two_planes_run_side_by_side_and_share_nothing() -> Result<()> {
    let (one, two) = tokio::try_join!(ControlPlane::start(), ControlPlane::shared())?;
    assert_ne!(one.server(), two.server());
    create(&one.client().await?, Some("default"), &config_map("only-in-one")).await?;
    let other = Api::<ConfigMap>::namespaced(two.client().await?, "default");
    assert!(other.get_opt("only-in-one").await?.is_none());
    Ok(())
}

#[tokio::test]
async fn an_identity_without_a_role_is_refused() -> Result<()> {
    let plane = ControlPlane::shared().await?;
    let nobody = plane.client_of(&plane.kubeconfig_for("nobody", &[])?).await?;
    let error = Api::<ConfigMap>::default_namespaced(nobody).list(&ListParams::default()).await;
    assert!(matches!(&error, Err(kube::Error::Api(status)) if status.code == 403), "{error:?}");

    let groups = ["some-team", "system:masters"];
    let member = plane.client_of(&plane.kubeconfig_for("member", &groups)?).await?;
    Api::<ConfigMap>::default_namespaced(member).list(&ListParams::default()).await?;
    assert!(plane.kubeconfig_for("member", &["a", "b", "c"]).is_err());
    Ok(())
}

#[tokio::test]
async fn a_restart_keeps_address_and_data() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let client = plane.client().await?;
    create(&client, Some("default"), &config_map("kept")).await?;
    assert!(plane.start_api_server().await.is_err(), "it runs already");

    plane.kill_api_server().await;
    assert!(Api::<ConfigMap>::default_namespaced(client.clone()).get("kept").await.is_err());
    plane.start_api_server().await?;
    Api::<ConfigMap>::default_namespaced(client.clone()).get("kept").await?;
    plane.stop_api_server().await;
    plane.start_api_server().await?;
    Api::<ConfigMap>::default_namespaced(client).get("kept").await?;
    Ok(())
}

#[tokio::test]
async fn the_audit_log_has_every_request_once() -> Result<()> {
    let plane = ControlPlane::builder().audit().start().await?;
    let observer = plane.kubeconfig_for("observer", &["system:masters"])?;
    let maps: Api<ConfigMap> = Api::namespaced(plane.client_of(&observer).await?, "default");
    maps.list(&ListParams::default().labels("a=b")).await?;
    maps.delete("missing", &DeleteParams::default()).await.expect_err("there is none");

    let own = || -> Result<Vec<_>> {
        Ok(plane.audited()?.into_iter().filter(|request| request.user == "observer").collect())
    };
    assert_eq!(own()?.len(), 2);
    let answered = || async { Ok(own()?.iter().all(|request| request.code.is_some())) };
    eventually("the answers are logged", LIMIT, answered).await?;
    let seen: Vec<_> = own()?.into_iter().map(|r| (r.verb, r.uri, r.code)).collect();
    assert_eq!(seen[0].0, "list");
    assert!(seen[0].1.starts_with("/api/v1/namespaces/default/configmaps?"), "{seen:?}");
    assert_eq!((seen[1].0.as_str(), seen[1].2), ("delete", Some(404)));
    assert!(ControlPlane::shared().await?.audited().is_err(), "it keeps no audit log");
    Ok(())
}

#[tokio::test]
async fn controllers_make_pods_of_a_deployment() -> Result<()> {
    let plane = ControlPlane::builder().controllers().start().await?;
    let client = plane.client().await?;
    let namespace = plane.namespace().await?;
    let labels = json!({"app": "web"});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "web"}]},
            },
        },
    });
    create(&client, Some(&namespace), &deployment).await?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let made = || async { Ok(pods.list(&ListParams::default()).await?.items.len() == 2) };
    eventually("there are two Pods", LIMIT, made).await?;
    // Without a node the scheduler can only say so.
    let judged = || async {
        let pods = pods.list(&ListParams::default()).await?;
        let conditions = pods.items.iter().filter_map(|pod| pod.status.as_ref()?.conditions.as_ref());
        Ok(conditions.flatten().any(|condition| condition.reason.as_deref() == Some("Unschedulable")))
    };
    eventually("the scheduler has looked", LIMIT, judged).await?;
    assert_eq!(
        Api::<Deployment>::namespaced(client, &namespace).list(&ListParams::default()).await?.items.len(),
        1
    );
    Ok(())
}

/// Starts a control plane, says where it lies, and waits to be killed.
#[tokio::test]
#[ignore = "a role that the test below starts"]
async fn owner_of_a_plane() -> Result<()> {
    let plane = ControlPlane::start().await?;
    println!("kubeconfig {}", plane.kubeconfig().display());
    std::future::pending().await
}

#[tokio::test]
async fn a_killed_test_process_leaves_no_server_and_no_file() -> Result<()> {
    let role = ["--exact", "control_plane::owner_of_a_plane", "--ignored", "--nocapture"];
    let mut owner = Command::new(std::env::current_exe()?).args(role).stdout(Stdio::piped()).spawn()?;
    let lines = BufReader::new(owner.stdout.take().context("stdout")?).lines();
    let kubeconfig = lines
        .map_while(Result::ok)
        .find_map(|line| Some(line.split_once("kubeconfig ")?.1.to_owned()))
        .context("the owner says where its plane is")?;
    let dir = Path::new(&kubeconfig).parent().context("a directory")?.display().to_string();
    assert_eq!(mentioning(&dir)?, 2, "etcd and kube-apiserver");

    owner.kill()?;
    owner.wait()?;
    let limit = Duration::from_secs(5);
    eventually("the servers are gone", limit, || async { Ok(mentioning(&dir)? == 0) }).await?;
    eventually("the directory is gone", limit, || async { Ok(!Path::new(&dir).exists()) }).await
}

/// How many processes have this text in their arguments.
fn mentioning(text: &str) -> Result<usize> {
    let output = Command::new("ps").args(["-A", "-ww", "-o", "args="]).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.contains(text)).count())
}
