//! The installer of addons with the real helm, on a real API server with simulated nodes.

use std::{
    error::Error,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result, bail};
use butler_core::{
    bootstrap::addons::{
        AddonAction, AddonStep, ChartRelease, ChartSource, NodeMachine, PublishedManifests, plan_addons,
    },
    error::{Diagnose, ErrorKind},
    settings::Environment,
};
use butler_operator::{
    addons::{AddonError, CHART, HelmInstaller, Installer, Mirror, Target},
    process::Guard,
};
use butler_tests::{
    Env, eventually,
    http::{HttpServer, Reply, Request},
    part,
};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{LIMIT, cluster::Cluster};

const PASSWORD: &str = "pa$s\"w0rd: {x}";
const WORKLOAD: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}-web"}
spec:
  replicas: {{ .Values.replicas | default 1 }}
  selector: {matchLabels: {app: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Release.Name }}"}}
    spec: {containers: [{name: web, image: "shop/web:{{ .Values.tag | default 1 }}"}]}
---
apiVersion: v1
kind: Secret
metadata: {name: "{{ .Release.Name }}-login"}
data: {password: "{{ .Values.password | default "" | b64enc }}"}
"#;
const HOOK: &str = r#"
{{- if .Values.reject }}{{ fail (printf "rejects %s" .Values.password) }}{{ end }}
{{- if .Values.hang }}
apiVersion: batch/v1
kind: Job
metadata:
  name: "{{ .Release.Name }}-wait"
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
spec:
  template:
    spec:
      restartPolicy: Never
      # No node has this label.
      nodeSelector: {nowhere: "true"}
      containers: [{name: wait, image: "shop/wait:1"}]
{{- end }}
"#;

/// An installer and what it works with.
pub(crate) struct Bench {
    pub(crate) cluster: &'static Cluster,
    pub(crate) namespace: String,
    pub(crate) env: Env,
    pub(crate) target: Target,
}

impl Bench {
    pub(crate) async fn new() -> Result<Self> {
        let cluster = Cluster::shared().await?;
        let credentials = [("password", PASSWORD), ("socket", "/run/sandbox.sock")].into_iter().collect();
        let target = Target {
            client: cluster.plane.client().await?,
            kubeconfig: cluster.plane.kubeconfig().to_owned(),
            credentials: Arc::new(credentials),
            machines: Arc::new([]),
        };
        Ok(Self { cluster, namespace: cluster.namespace().await?, env: Env::new()?, target })
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.env.work_dir().join("mirror")
    }

    /// Writes the chart as a folder of the mirror.
    fn write_chart(&self) -> Result<PathBuf> {
        let chart = self.dir().join("web");
        std::fs::create_dir_all(chart.join("templates"))?;
        for (name, text) in [
            ("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
            ("templates/web.yaml", WORKLOAD),
            ("templates/hook.yaml", HOOK),
        ] {
            std::fs::write(chart.join(name), text)?;
        }
        Ok(chart)
    }

    /// Packs the chart as `web-1.0.0.tgz`.
    pub(crate) fn pack_chart(&self) -> Result<Vec<u8>> {
        let (chart, to) = (self.write_chart()?, self.env.work_dir().join("packed"));
        std::fs::create_dir_all(&to)?;
        let text = |path: &Path| path.to_str().unwrap_or_default().to_owned();
        self.cluster.helm(["package", &text(&chart), "--destination", &text(&to)])?;
        Ok(std::fs::read(to.join("web-1.0.0.tgz"))?)
    }

    pub(crate) fn installer(&self, mirror: &str) -> Result<HelmInstaller> {
        let guard = Guard::start(&Environment::capture())?;
        let work = self.env.work_dir().join("addons");
        let mirror = match mirror.contains("://") {
            true => Mirror::parse(mirror),
            false => Mirror::Directory(self.env.work_dir().join(mirror)),
        };
        Ok(HelmInstaller::new(part("helm")?, guard, &work, Some(mirror), &Environment::capture())?)
    }

    pub(crate) fn step(&self, release: &str, values: Value) -> AddonStep {
        let action = AddonAction::Chart(ChartRelease {
            release: release.to_owned(),
            namespace: self.namespace.clone(),
            pod_security: Some("baseline".to_owned()),
            source: ChartSource::Repository("https://charts.invalid".to_owned()),
            chart: "web".to_owned(),
            version: "1.0.0".to_owned(),
            values,
            wait: true,
            then: vec![json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "b" },
                "metadata": { "name": format!("{release}-then"), "namespace": self.namespace } })],
        });
        step(release, action)
    }

    fn get(&self, what: &str, path: &str) -> Result<String> {
        self.cluster.kubectl(["-n", &self.namespace, "get", what, "-o", &format!("jsonpath={path}")])
    }

    fn status(&self, release: &str) -> Result<String> {
        let list = self.cluster.helm(["-n", &self.namespace, "list", "--all", "-o", "json"])?;
        let list: Vec<Value> = serde_json::from_str(&list)?;
        let found = list.into_iter().find(|found| found["name"] == release).context("no such release")?;
        Ok(found["status"].as_str().unwrap_or_default().to_owned())
    }
}

pub(crate) fn step(key: &str, action: AddonAction) -> AddonStep {
    AddonStep {
        key: key.to_owned(),
        title: key.to_owned(),
        requires: Vec::new(),
        action,
        optional: false,
        deadline: LIMIT,
    }
}

/// An error with all its causes.
pub(crate) fn chain(error: &AddonError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[tokio::test]
async fn a_release_is_installed_and_upgraded_from_a_directory_and_an_archive() -> Result<()> {
    let bench = Bench::new().await?;
    bench.write_chart()?;
    let installer = bench.installer("mirror")?;
    let values = json!({ "password": { "fromCredentials": "password" } });
    let done = installer.install(&bench.step("shop", values), &bench.target).await?;
    assert_eq!(
        done,
        json!({ "release": "shop", "namespace": bench.namespace, "chart": "web", "version": "1.0.0",
                "revision": 1, "status": "deployed", "objects": ["ConfigMap/shop-then"] })
    );
    assert_eq!(bench.get("deployment/shop-web", "{.status.availableReplicas}")?, "1");
    assert_eq!(bench.get("secret/shop-login", "{.data.password}")?, "cGEkcyJ3MHJkOiB7eH0=");
    assert_eq!(bench.get("configmap/shop-then", "{.data.a}")?, "b");
    let level = r"{.metadata.labels.pod-security\.kubernetes\.io/enforce}";
    assert_eq!(bench.get(&format!("namespace/{}", bench.namespace), level)?, "baseline");

    let archive = bench.pack_chart()?;
    std::fs::write(bench.dir().join("web-1.0.0.tgz"), archive)?;
    std::fs::remove_dir_all(bench.dir().join("web"))?;
    let done =
        installer.install(&bench.step("shop", json!({ "replicas": 2, "tag": "2" })), &bench.target).await?;
    assert_eq!((&done["revision"], &done["status"]), (&json!(2), &json!("deployed")));
    assert_eq!(bench.get("deployment/shop-web", "{.status.availableReplicas}")?, "2");
    let left: Vec<_> = std::fs::read_dir(bench.env.work_dir().join("addons"))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    assert_eq!(left, ["helm"], "nothing of a try stays");
    Ok(())
}

#[tokio::test]
async fn a_repository_that_is_wrong_is_told_from_one_that_is_down() -> Result<()> {
    let bench = Bench::new().await?;
    let archive = bench.pack_chart()?;
    let digest = sha256(&archive);
    let index = |digest: &str| {
        format!(
            "apiVersion: v1\nentries:\n  web:\n  - {{version: 1.0.0, urls: [web-1.0.0.tgz], digest: {digest}}}\n"
        )
    };
    let (good, wrong) = (index(&digest), index(&"0".repeat(64)));
    let busy = AtomicBool::new(true);
    let server = HttpServer::start(move |request| match request.path.as_str() {
        "/index.yaml" if busy.swap(false, Ordering::SeqCst) => Reply::status(500, "later"),
        "/index.yaml" | "/cut/index.yaml" => Reply::status(200, good.clone()),
        "/wrong/index.yaml" => Reply::status(200, wrong.clone()),
        "/empty/index.yaml" => Reply::status(200, "apiVersion: v1\nentries: {}\n"),
        "/portal/index.yaml" => Reply::html(),
        "/cut/web-1.0.0.tgz" => Reply::Truncated { body: archive.clone(), sent: archive.len() / 2 },
        "/web-1.0.0.tgz" | "/wrong/web-1.0.0.tgz" => Reply::status(200, archive.clone()),
        _ => Reply::status(404, ""),
    })?;
    let install = async |path: &str| {
        let installer = bench.installer(&format!("{}{path}", server.url()))?;
        anyhow::Ok(installer.install(&bench.step("shop", json!({})), &bench.target).await)
    };
    for (path, kind, words) in [
        ("/none", ErrorKind::Invalid, "404"),
        ("/empty", ErrorKind::Invalid, "0 versions"),
        ("/portal", ErrorKind::Invalid, "not the index"),
        ("/wrong", ErrorKind::Invalid, "SHA-256"),
        ("/cut", ErrorKind::Transient, "web-1.0.0.tgz"),
        ("", ErrorKind::Transient, "500"),
    ] {
        let error = install(path).await?.expect_err(path);
        assert_eq!(error.kind(), kind, "{path}: {}", chain(&error));
        assert!(chain(&error).contains(words), "{path}: {}", chain(&error));
    }
    let done = install("").await??;
    assert_eq!(done["status"], "deployed");
    let unprotected = bench.installer("http://charts.invalid/x")?;
    let error = unprotected.install(&bench.step("shop", json!({})), &bench.target).await.expect_err("plain");
    assert!(chain(&error).contains("https://"), "{}", chain(&error));
    Ok(())
}

/// A registry that has one chart.
fn registry(archive: Vec<u8>) -> Result<HttpServer> {
    let config = json!({ "name": "web", "version": "1.0.0", "apiVersion": "v2" }).to_string().into_bytes();
    let blob = |media: &str, bytes: &[u8]| json!({ "mediaType": media, "digest": format!("sha256:{}", sha256(bytes)), "size": bytes.len() });
    let manifest = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob("application/vnd.cncf.helm.config.v1+json", &config),
        "layers": [blob("application/vnd.cncf.helm.chart.content.v1.tar+gzip", &archive)],
    })
    .to_string()
    .into_bytes();
    HttpServer::start(move |request: &Request| {
        let path = request.path.split('?').next().unwrap_or_default();
        let found = [&config, &archive, &manifest].into_iter().find(|bytes| {
            path == format!("/v2/charts/web/blobs/sha256:{}", sha256(bytes))
                || path == format!("/v2/charts/web/manifests/sha256:{}", sha256(bytes))
        });
        let (media, body) = match path {
            "/v2/" => ("application/json", b"{}".to_vec()),
            "/v2/charts/web/tags/list" => {
                ("application/json", br#"{"name":"charts/web","tags":["1.0.0"]}"#.to_vec())
            }
            "/v2/charts/web/manifests/1.0.0" => {
                ("application/vnd.oci.image.manifest.v1+json", manifest.clone())
            }
            _ => match found {
                Some(bytes) if path.contains("/manifests/") => {
                    ("application/vnd.oci.image.manifest.v1+json", bytes.clone())
                }
                Some(bytes) => ("application/octet-stream", bytes.clone()),
                None => {
                    let none = r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"not here"}]}"#;
                    return Reply::typed(404, "application/json", none);
                }
            },
        };
        let digest = ("docker-content-digest".to_owned(), format!("sha256:{}", sha256(&body)));
        if request.method == "HEAD" {
            let head = format!(
                "HTTP/1.1 200 -\r\ncontent-type: {media}\r\n{}: {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                digest.0,
                digest.1,
                body.len()
            );
            return Reply::Bytes(head.into_bytes());
        }
        Reply::Answer {
            status: 200,
            headers: vec![("content-type".to_owned(), media.to_owned()), digest],
            body,
        }
    })
}

#[tokio::test]
async fn a_chart_comes_from_a_registry() -> Result<()> {
    let bench = Bench::new().await?;
    let server = registry(bench.pack_chart()?)?;
    let installer = bench.installer(&format!("oci://{}/charts", server.address()))?;
    let done = installer.install(&bench.step("shop", json!({})), &bench.target).await?;
    assert_eq!(done["status"], "deployed");
    let other = bench.installer(&format!("oci://{}/nothing", server.address()))?;
    let error = other.install(&bench.step("shop", json!({})), &bench.target).await.expect_err("absent");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{}", chain(&error));
    let closed = bench.installer("oci://127.0.0.1:9/charts")?;
    let error = closed.install(&bench.step("shop", json!({})), &bench.target).await.expect_err("closed");
    assert_eq!(error.kind(), ErrorKind::Transient, "{}", chain(&error));
    Ok(())
}

#[tokio::test]
async fn a_chart_that_fails_keeps_its_words_and_our_secret() -> Result<()> {
    let bench = Bench::new().await?;
    bench.write_chart()?;
    let installer = bench.installer("mirror")?;
    let values = json!({ "reject": true, "password": { "fromCredentials": "password" } });
    let error = installer.install(&bench.step("shop", values), &bench.target).await.expect_err("rejects");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{}", chain(&error));
    assert!(!error.is_retryable());
    let said = chain(&error);
    assert!(said.contains("rejects (hidden)"), "{said}");
    assert!(!said.contains("w0rd"), "{said}");
    let missing = json!({ "password": { "fromCredentials": "token" } });
    let error =
        installer.install(&bench.step("shop", missing), &bench.target).await.expect_err("no such key");
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    Ok(())
}

/// The helm process that works on a release of ours: its arguments and its environment.
fn helm_process(release: &str) -> Result<(String, String)> {
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let read = |file: &str| std::fs::read(entry.path().join(file)).unwrap_or_default();
        let command = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        if command.contains(" upgrade ")
            && command.contains(&format!(" {release} "))
            && !command.contains("read -r")
        {
            return Ok((command, String::from_utf8_lossy(&read("environ")).into_owned()));
        }
    }
    bail!("helm does not run")
}

#[tokio::test]
async fn a_hook_that_hangs_ends_with_the_deadline_and_shows_no_secret() -> Result<()> {
    let bench = Bench::new().await?;
    bench.write_chart()?;
    let installer = bench.installer("mirror")?;
    let values = json!({ "hang": true, "password": { "fromCredentials": "password" } });
    let release = format!("{}-hang", bench.namespace);
    let mut step = bench.step(&release, values);
    step.deadline = Duration::from_secs(15);
    let looks = async {
        eventually("helm runs", LIMIT, || async { Ok(helm_process(&release).is_ok()) }).await?;
        helm_process(&release)
    };
    let (result, seen) = tokio::join!(installer.install(&step, &bench.target), looks);
    let error = result.expect_err("it hangs");
    assert_eq!(error.kind(), ErrorKind::Timeout, "{}", chain(&error));
    let (command, environment) = seen?;
    assert!(!command.contains("w0rd"), "{command}");
    assert!(!environment.contains("w0rd") && environment.contains("KUBECONFIG="), "{environment}");
    assert!(!environment.contains("CARGO"), "{environment}");

    let done = installer.install(&bench.step(&release, json!({})), &bench.target).await?;
    assert_eq!(done["status"], "deployed", "a failed release is no obstacle");
    Ok(())
}

#[tokio::test]
async fn a_release_that_a_kill_left_pending_is_repaired() -> Result<()> {
    let bench = Bench::new().await?;
    bench.write_chart()?;
    let installer = bench.installer("mirror")?;
    let hang = bench.step("shop", json!({ "hang": true }));
    for (pending, revision) in [("pending-install", 1), ("pending-upgrade", 4)] {
        tokio::select! {
            result = installer.install(&hang, &bench.target) => bail!("it does not hang: {result:?}"),
            seen = eventually(pending, LIMIT, || async { Ok(bench.status("shop")? == pending) }) => seen?,
        }
        // helm was killed with the future.
        assert_eq!(bench.status("shop")?, pending);
        let done = installer.install(&bench.step("shop", json!({ "tag": "9" })), &bench.target).await?;
        assert_eq!((&done["status"], &done["revision"]), (&json!("deployed"), &json!(revision)));
        assert_eq!(
            bench.get("deployment/shop-web", "{.spec.template.spec.containers[0].image}")?,
            "shop/web:9"
        );
    }
    Ok(())
}

const MANIFESTS: &str = r#"
apiVersion: example.com/v1
kind: Gadget
metadata: {name: "one", namespace: NS}
spec: {size: "${SIZE}", note: "${NOTE:=none}", password: "${PASSWORD}"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: gadgets, namespace: NS}
spec:
  selector: {matchLabels: {app: gadgets}}
  template:
    metadata: {labels: {app: gadgets}}
    spec: {containers: [{name: a, image: "a/b:1"}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
status: {conditions: [], storedVersions: []}
"#;

#[tokio::test]
async fn published_manifests_are_filled_in_and_waited_for() -> Result<()> {
    let bench = Bench::new().await?;
    std::fs::create_dir_all(bench.dir())?;
    let text = MANIFESTS.replace("NS", &bench.namespace);
    std::fs::write(bench.dir().join("gadgets-v1.yaml"), &text)?;
    let installer = bench.installer("mirror")?;
    let mut manifests = PublishedManifests {
        name: "gadgets-v1".to_owned(),
        url: "https://manifests.invalid/x.yaml".to_owned(),
        sha256: Some(sha256(text.as_bytes())),
        variables: vec![
            ("SIZE".to_owned(), json!(3)),
            ("PASSWORD".to_owned(), json!({ "fromCredentials": "password" })),
        ],
        established: vec!["gadgets.example.com".to_owned()],
        available: vec![bench.namespace.clone()],
    };
    let install = async |manifests: &PublishedManifests| {
        installer.install(&step("gadgets", AddonAction::Manifests(manifests.clone())), &bench.target).await
    };
    let done = install(&manifests).await?;
    assert_eq!(done["objects"], 3);
    assert_eq!(done["workloads"], json!([format!("deployment/{}/gadgets", bench.namespace)]));
    let spec: Value = serde_json::from_str(&bench.get("gadget/one", "{.spec}")?)?;
    assert_eq!(spec, json!({ "size": 3, "note": "none", "password": PASSWORD }));
    assert_eq!(bench.get("deployment/gadgets", "{.status.availableReplicas}")?, "1");
    install(&manifests).await?;

    manifests.variables.clear();
    let error = install(&manifests).await.expect_err("no values");
    assert!(chain(&error).contains("PASSWORD, SIZE"), "{}", chain(&error));
    manifests.sha256 = Some("0".repeat(64));
    let error = install(&manifests).await.expect_err("another file");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    manifests.name = "absent".to_owned();
    let error = install(&manifests).await.expect_err("absent");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(!chain(&error).contains("w0rd"));
    Ok(())
}

#[tokio::test]
async fn the_plan_of_a_sandbox_installs_without_any_download_and_again() -> Result<()> {
    let bench = Bench::new().await?;
    let installer = bench.installer("nowhere")?;
    let input = serde_json::from_value(json!({
        "bootstrap": {
            "provider": "sandbox", "providerRef": { "name": "p" },
            "cluster": { "name": "mgmt", "topology": "single-node",
                         "controlPlane": { "replicas": 1, "cpu": 2, "memoryMB": 2048, "diskGB": 20 } },
            "network": { "podCIDR": "10.244.0.0/16", "serviceCIDR": "10.96.0.0/12" },
            "talos": { "version": "v1.11.5", "schematic": "" },
            "controlPlaneExposure": { "mode": "Ingress", "hostname": "*.k8s.example" },
        },
        "provider": { "provider": "sandbox", "network": { "mode": "ipam", "poolRefs": [{ "name": "underlay" }] } },
        "networkPool": ["underlay", { "cidr": "10.9.0.0/24" }],
        "multiTenancy": "Enforced",
    }))?;
    for _ in 0..2 {
        for step in plan_addons(&input) {
            installer.install(&step, &bench.target).await.with_context(|| step.key.clone())?;
        }
    }
    let get = |what: &str, path: &str| {
        bench.cluster.kubectl(["-n", "butler-system", "get", what, "-o", &format!("jsonpath={path}")])
    };
    assert_eq!(get("butlerconfig/butler", "{.spec.multiTenancy.mode}")?, "Enforced");
    assert_eq!(get("butlerconfig/butler", "{.spec.controlPlaneExposure.mode}")?, "Ingress");
    assert_eq!(get("butlerconfig/butler", "{.status.tcpProxyRequired}")?, "true");
    assert_eq!(get("providerconfig/sandbox", "{.spec.credentialsRef.name}")?, "sandbox-credentials");
    assert_eq!(get("secret/sandbox-credentials", "{.data.socket}")?, "L3J1bi9zYW5kYm94LnNvY2s=");
    assert_eq!(get("networkpool/underlay", "{.spec.cidr}")?, "10.9.0.0/24");

    // Where the definitions are, our own controllers can be installed too.
    let action = AddonAction::Chart(ChartRelease {
        release: "butler-controller".to_owned(),
        namespace: "butler-system".to_owned(),
        pod_security: Some("restricted".to_owned()),
        source: ChartSource::Embedded,
        chart: "butler".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        values: json!({ "image": { "tag": "test" } }),
        wait: true,
        then: Vec::new(),
    });
    let done = installer.install(&step("butler-controller", action), &bench.target).await?;
    assert_eq!(done["status"], "deployed");
    assert_eq!(
        get("deployment/butler-controller", "{.status.availableReplicas}")?,
        "2",
        "restricted lets it in"
    );
    rights(bench.cluster)
}

/// What the service account of the chart may do and what it may not.
fn rights(cluster: &Cluster) -> Result<()> {
    let may = |verb: &str, what: &str, namespace: &str| -> Result<bool> {
        let account = "--as=system:serviceaccount:butler-system:butler-controller";
        let mut args =
            vec!["auth", "can-i", verb, what.trim_end_matches("/status"), "-n", namespace, account];
        if what.ends_with("/status") {
            args.push("--subresource=status");
        }
        if cluster.kubectl(args.iter().copied()).is_ok() {
            return Ok(true);
        }
        let said = cluster.kubectl_fails(args)?;
        // A question about nothing is answered with no as well.
        anyhow::ensure!(!said.contains("doesn't have a resource type") && !said.contains("error:"), "{said}");
        Ok(false)
    };
    for (verb, what, namespace) in [
        ("watch", "machinerequests.butler.butlerlabs.dev", "team-a"),
        ("patch", "machinerequests.butler.butlerlabs.dev/status", "team-a"),
        ("patch", "loadbalancerrequests.butler.butlerlabs.dev", "team-a"),
        ("list", "providerconfigs.butler.butlerlabs.dev", "butler-system"),
        ("get", "secrets", "butler-system"),
        ("get", "namespaces/kube-system", "default"),
        ("create", "leases.coordination.k8s.io", "butler-system"),
        ("patch", "leases.coordination.k8s.io/butler-controller-leader", "butler-system"),
        ("create", "events.events.k8s.io", "team-a"),
    ] {
        assert!(may(verb, what, namespace)?, "must be able to {verb} {what} in {namespace}");
    }
    for (verb, what, namespace) in [
        ("delete", "machinerequests.butler.butlerlabs.dev", "team-a"),
        ("create", "machinerequests.butler.butlerlabs.dev", "team-a"),
        ("patch", "providerconfigs.butler.butlerlabs.dev", "butler-system"),
        ("create", "secrets", "butler-system"),
        ("delete", "secrets", "butler-system"),
        ("create", "pods", "butler-system"),
        ("create", "leases.coordination.k8s.io", "kube-system"),
        ("patch", "leases.coordination.k8s.io/other", "butler-system"),
        ("create", "clusterrolebindings.rbac.authorization.k8s.io", "default"),
        ("impersonate", "users", "default"),
        ("get", "namespaces/default", "default"),
    ] {
        assert!(!may(verb, what, namespace)?, "must not be able to {verb} {what} in {namespace}");
    }
    Ok(())
}

#[tokio::test]
async fn nodes_get_the_ids_of_their_machines() -> Result<()> {
    let mut bench = Bench::new().await?;
    let nodes: Api<Node> = Api::all(bench.target.client.clone());
    let machine = |number: u8| NodeMachine {
        address: format!("10.99.0.{number}"),
        provider_id: format!("aws:///eu-1a/i-{number}"),
    };
    bench.target.machines = Arc::new([machine(1), machine(2)]);
    let installer = bench.installer("nowhere")?;
    let add = async |number: u8| {
        let name = format!("cloud-{number}");
        let node = serde_json::from_value(
            json!({ "metadata": { "name": name }, "spec": { "unschedulable": true } }),
        )?;
        nodes.create(&PostParams::default(), &node).await?;
        let status = json!({ "status": { "addresses": [{ "type": "InternalIP", "address": format!("10.99.0.{number}") }] } });
        nodes.patch_status(&name, &PatchParams::default(), &Patch::Merge(&status)).await?;
        anyhow::Ok(())
    };
    add(1).await?;
    let mut step = step("node-provider-ids", AddonAction::NodeProviderIds);
    step.deadline = Duration::from_secs(2);
    let error = installer.install(&step, &bench.target).await.expect_err("one is not there");
    assert_eq!(error.to_string(), "1 of 2 machines are nodes of the cluster");
    assert!(error.is_retryable());
    add(2).await?;
    step.deadline = LIMIT;
    for _ in 0..2 {
        let done = installer.install(&step, &bench.target).await?;
        assert_eq!(done, json!({ "nodes": ["cloud-1", "cloud-2"] }));
    }
    let id = nodes.get("cloud-2").await?.spec.and_then(|spec| spec.provider_id);
    assert_eq!(id.as_deref(), Some("aws:///eu-1a/i-2"));
    bench.target.machines =
        Arc::new([NodeMachine { provider_id: "aws:///x/other".to_owned(), ..machine(1) }]);
    let error = installer.install(&step, &bench.target).await.expect_err("an id is for life");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    for number in [1, 2] {
        nodes.delete(&format!("cloud-{number}"), &DeleteParams::default()).await?;
    }
    Ok(())
}

#[test]
fn our_chart_is_clean_and_restricted_in_both_profiles() -> Result<()> {
    let env = Env::new()?;
    let chart = env.work_dir().join("butler");
    std::fs::create_dir_all(chart.join("templates"))?;
    for (name, text) in CHART {
        std::fs::write(chart.join(name), text)?;
    }
    let helm = |args: &[&str]| -> Result<butler_tests::Output> {
        let helm = env.command(part("helm")?).args(args.iter().copied());
        helm.args([chart.as_os_str()]).timeout(LIMIT).run()
    };
    helm(&["lint", "--strict"])?.success().map(drop)?;
    for (profile, replicas, cpu, budget) in [("core", 2, "200m", true), ("edge", 1, "100m", false)] {
        let set = format!("profile={profile}");
        let text =
            helm(&["template", "butler-controller", "-n", "butler-system", "--set", &set])?.success()?.stdout;
        let found = |kind: &str| text.contains(&format!("kind: {kind}\n"));
        assert_eq!(found("PodDisruptionBudget"), budget, "{profile}");
        assert!(found("ClusterRole") && found("ServiceAccount") && found("Service"), "{profile}");
        for line in [
            &format!("replicas: {replicas}"),
            &format!("requests: {{cpu: {cpu}"),
            "runAsNonRoot: true",
            "runAsUser: 65532",
            "readOnlyRootFilesystem: true",
            "allowPrivilegeEscalation: false",
            "capabilities: {drop: [ALL]}",
            "seccompProfile: {type: RuntimeDefault}",
        ] {
            assert!(text.contains(line), "{profile} lacks {line}");
        }
        assert_eq!(text.contains("--no-leader-elect"), !budget, "{profile}");
        assert_eq!(text.contains("whenUnsatisfiable: ScheduleAnyway"), budget, "{profile}");
    }
    for wrong in ["profile=large", "replicas=0", "image.tag=a b", "unknown=1", "metrics.port=80"] {
        let refused = helm(&["template", "x", "--set", wrong])?.failed_with(1)?.stderr;
        assert!(refused.contains("schema"), "{wrong}: {refused}");
    }
    Ok(())
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
