use std::path::{Path, PathBuf};

use anyhow::Result;
use butler_tests::{Env, eventually};

use crate::{LIMIT, cluster::Cluster};

const CHART: &str = "apiVersion: v2\nname: shop\nversion: 0.1.0\n";
const VALUES: &str = "replicas: 2\ntag: \"1\"\n";
const DEPLOYMENT: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}-web"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Release.Name }}"}}
    spec:
      containers:
        - name: web
          image: "shop/web:{{ .Values.tag }}"
          readinessProbe: {initialDelaySeconds: 1, httpGet: {path: /, port: 80}}
---
apiVersion: v1
kind: Service
metadata: {name: "{{ .Release.Name }}-web"}
spec:
  selector: {app: "{{ .Release.Name }}"}
  ports: [{port: 80}]
"#;
const HOOK: &str = r#"
apiVersion: batch/v1
kind: Job
metadata:
  name: "{{ .Release.Name }}-migrate"
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-delete-policy: before-hook-creation
spec:
  backoffLimit: 0
  template:
    metadata:
      annotations: {"sandbox.butler.butlerlabs.dev/exit-code": "{{ .Values.migration | default 0 }}"}
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: "shop/migrate:1"}]
"#;

fn write_chart(dir: &Path) -> Result<PathBuf> {
    let chart = dir.join("shop");
    std::fs::create_dir_all(chart.join("templates"))?;
    for (name, text) in [
        ("Chart.yaml", CHART),
        ("values.yaml", VALUES),
        ("templates/web.yaml", DEPLOYMENT),
        ("templates/migrate.yaml", HOOK),
    ] {
        std::fs::write(chart.join(name), text)?;
    }
    Ok(chart)
}

#[tokio::test]
async fn helm_waits_for_install_upgrade_rollback_and_uninstall() -> Result<()> {
    let cluster = Cluster::shared().await?;
    let ns = cluster.namespace().await?;
    let env = Env::new()?;
    let chart = write_chart(&env.work_dir())?;
    let chart = chart.to_str().unwrap_or_default();
    let get =
        |what: &str, path: &str| cluster.kubectl(["-n", &ns, "get", what, "-o", &format!("jsonpath={path}")]);
    let (image, available) = ("{.spec.template.spec.containers[0].image}", "{.status.availableReplicas}");

    let wait = ["--wait", "--wait-for-jobs", "--timeout", "90s"];
    let run = |args: &[&str]| cluster.helm(["-n", &ns].into_iter().chain(args.iter().copied()).chain(wait));
    run(&["install", "shop", chart])?;
    assert_eq!(get("deployment/shop-web", available)?, "2");
    assert_eq!(get("job/shop-migrate", "{.status.succeeded}")?, "1");

    run(&["upgrade", "shop", chart, "--set", "tag=2", "--set", "replicas=3"])?;
    assert_eq!(get("deployment/shop-web", image)?, "shop/web:2");
    assert_eq!(get("deployment/shop-web", available)?, "3");

    let failed = run(&["upgrade", "shop", chart, "--set", "migration=4"]).expect_err("the hook fails");
    assert!(failed.to_string().contains("pre-upgrade hooks failed"), "{failed}");
    assert_eq!(get("deployment/shop-web", image)?, "shop/web:2", "nothing was changed");

    run(&["rollback", "shop", "1"])?;
    assert_eq!(get("deployment/shop-web", image)?, "shop/web:1");
    cluster.helm(["-n", &ns, "uninstall", "shop", "--wait", "--timeout", "90s"])?;
    let name = "{.items[?(@.metadata.labels.app=='shop')].metadata.name}";
    eventually("the Pods are gone", LIMIT, || async { Ok(get("pods", name)?.is_empty()) }).await
}
