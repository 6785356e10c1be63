//! `provider: local`: the KIND cluster becomes the management cluster and stays.
//!
//! Addons come from a mirror, without any download: MetalLB and the definitions of the Gateway API as they
//! are published, and two small charts of our own in place of the catalog and the console. What cannot be
//! had without a registry is switched off in the configuration.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use butler_core::bootstrap::addons::versions;
use serde_json::Value;

use crate::{
    lab::{LIMIT, Lab, until},
    load, say,
};

const CLUSTER: &str = "butler-test-local";
const CONTROLLERS: &str = "butler-test/butleradm:local";
const WEB: &str = "butler-test/web:1";

/// What the published chart makes, as far as we look at it: settings that ours go over, and a definition.
const CATALOG: &str = r#"
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: ButlerConfig
metadata: {name: butler}
spec: {multiTenancy: {mode: Optional}, defaultNamespace: somewhere}
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: AddonDefinition
metadata: {name: web}
spec:
  displayName: Web
  description: A page.
  category: other
  chart: {repository: "https://charts.example.org", name: web, defaultVersion: 1.0.0}
"#;
/// A page behind the Service that the published chart has.
const CONSOLE: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: butler-console-frontend}
spec:
  selector: {matchLabels: {app: console}}
  template:
    metadata: {labels: {app: console}}
    spec:
      securityContext: {runAsNonRoot: true, runAsUser: 65532}
      containers: [{name: web, image: "butler-test/web:1", imagePullPolicy: IfNotPresent}]
---
apiVersion: v1
kind: Service
metadata: {name: butler-console-frontend}
spec:
  selector: {app: console}
  ports: [{port: 80, targetPort: 8080, protocol: TCP}]
"#;
/// What a person deploys then.
const SHOP: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: web, image: "butler-test/web:1", imagePullPolicy: IfNotPresent}]}
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec:
  type: LoadBalancer
  selector: {app: shop}
  ports: [{port: 80, targetPort: 8080}]
"#;

fn config(lab: &Lab, port: u16, more: &str) -> Result<String> {
    lab.config(&format!(
        "provider: local
cluster:
  name: {CLUSTER}
  topology: single-node
  controlPlane: {{replicas: 1, cpu: 2, memoryMB: 2048, diskGB: 20}}
addons:
  certManager: {{enabled: false}}
  ingress: {{enabled: false}}
  controlPlaneProvider: {{enabled: false}}
  capi: {{enabled: false}}
  butlerController: {{image: \"{CONTROLLERS}\"}}
controlPlaneExposure: {{mode: Gateway, hostname: '*.k8s.example.org', gatewayRef: infra/shared}}
providerConfig: {{local: {{consolePort: {port}}}}}
bootstrapCluster: {{kind: {{image: \"{}\"}}}}
{more}",
        lab.engine.image
    ))
}

fn write_mirror(lab: &Lab) -> Result<()> {
    let (dir, published) = (lab.env.work_dir().join("mirror"), lab.engine.mirror()?);
    std::fs::create_dir(&dir)?;
    let gateway = format!("gateway-api-{}.yaml", versions::GATEWAY_API);
    for name in ["metallb", gateway.as_str()] {
        std::os::unix::fs::symlink(published.join(name), dir.join(name))?;
    }
    write_chart(&dir, "butler-addons", versions::BUTLER_ADDONS, CATALOG)?;
    write_chart(&dir, "butler-console", versions::BUTLER_CONSOLE, CONSOLE)
}

fn write_chart(mirror: &Path, name: &str, version: &str, template: &str) -> Result<()> {
    let dir = mirror.join(name);
    std::fs::create_dir_all(dir.join("templates"))?;
    std::fs::write(dir.join("Chart.yaml"), format!("apiVersion: v2\nname: {name}\nversion: {version}\n"))?;
    Ok(std::fs::write(dir.join("templates/all.yaml"), template)?)
}

/// A port of this computer that is free.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// What a web server says.
fn page(address: &str) -> Result<String> {
    let address: std::net::SocketAddr = address.parse()?;
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(b"GET / HTTP/1.0\r\nHost: local\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn a_kind_cluster_becomes_the_management_cluster_is_used_and_destroyed() -> Result<()> {
    let lab = Lab::new(CLUSTER)?;
    write_mirror(&lab)?;
    let port = free_port()?;
    let config = config(&lab, port, "charts: {mirror: mirror}\n")?;
    lab.engine.make_image(&lab.engine.program()?, CONTROLLERS)?;

    // From elsewhere: the mirror is beside the file.
    let mut run = lab.bootstrap(&["--config", &config, "--events", "ndjson"])?.current_dir("/").spawn()?;
    let _made = run.line_with(r#""kind":"PhaseStarted","phase":"DeployingCRDs""#, LIMIT)?;
    // There is no registry: a person brings the images.
    // The mirror has the chart in a version that can be had as a module, and it names the images.
    let chart = std::fs::read_to_string(lab.engine.mirror()?.join("metallb/Chart.yaml"))?;
    let tag = chart.lines().find_map(|line| line.strip_prefix("appVersion: "));
    let tag = tag.context("MetalLB's chart names no version of the program")?;
    let metallb = ["controller", "speaker"].map(|name| format!("quay.io/metallb/{name}:{tag}"));
    load(CLUSTER, &[&metallb[0], &metallb[1], WEB, CONTROLLERS])?;
    let done = run.wait(LIMIT)?.success()?;
    let told = lab.bootstrap(&["replay", CLUSTER])?.run()?.success()?;
    say(format_args!("$ butleradm bootstrap replay {CLUSTER}\n{}{}", told.stdout, told.stderr));
    say(format_args!("{}", done.stderr));
    ensure!(done.stderr.contains(&format!("console: http://localhost:{port}")), "{done}");
    ensure!(!lab.containers()?.is_empty(), "the management cluster is gone");
    assert_eq!(lab.open_effects()?, [] as [&str; 0]);
    ensure!(!lab.home.join(format!("{CLUSTER}-talosconfig")).exists(), "there is no Talos");

    platform_is_as_asked(&lab)?;
    pool_is_the_engines(&lab)?;
    let answer = page(&format!("127.0.0.1:{port}"))?;
    ensure!(answer.contains("served by a Pod"), "the console does not answer: {answer}");

    let again = lab.bootstrap(&["resume", CLUSTER])?.run()?.failed_with(1)?;
    ensure!(again.stderr.contains("BTL-2004"), "{again}");
    lab.destroy(CLUSTER)?;
    lab.nothing_left(CLUSTER)
}

/// Definitions, settings, controllers, and who may do what.
fn platform_is_as_asked(lab: &Lab) -> Result<()> {
    let get = |args: &[&str]| lab.get(CLUSTER, args);
    let nodes = get(&["get", "nodes", "--no-headers"])?;
    ensure!(nodes.contains(" Ready "), "{nodes}");
    let phase = get(&["-n", "butler-system", "get", "cb", CLUSTER, "-o", "jsonpath={.status.phase}"])?;
    assert_eq!(phase, "Ready");
    let config: Value = serde_json::from_str(&get(&["get", "butlerconfig", "butler", "-o", "json"])?)?;
    let spec = &config["spec"];
    assert_eq!(spec["defaultNamespace"], "butler-tenants", "ours goes over what the chart made");
    assert_eq!(spec["defaultProviderConfigRef"]["name"], format!("{CLUSTER}-provider"));
    let api_server = &spec["defaultControlPlaneResources"]["apiServer"];
    assert_eq!(
        (&api_server["requests"]["memory"], &api_server["limits"]["cpu"]),
        (&"512Mi".into(), &"2".into())
    );
    assert_eq!(spec["controlPlaneExposure"]["mode"], "Gateway");
    get(&["get", "addondefinition", "web"])?;
    get(&["get", "crd", "tlsroutes.gateway.networking.k8s.io"])?;
    get(&["-n", "butler-system", "get", "providerconfig", &format!("{CLUSTER}-provider")])?;
    let rollout =
        ["-n", "butler-system", "rollout", "status", "deployment/butler-controller", "--timeout=60s"];
    get(&rollout)?;
    let node = format!("{CLUSTER}-control-plane");
    lab.engine.docker(&["exec", &node, "test", "-S", "/var/run/docker.sock"])?;

    // Nobody but those that kubeadm makes is an administrator of everything.
    let path = "jsonpath={range .items[?(@.roleRef.name=='cluster-admin')]}{.metadata.name}{'\\n'}{end}";
    let admins = get(&["get", "clusterrolebindings", "-o", path])?;
    let ours: Vec<&str> = admins.lines().filter(|name| name.contains("butler")).collect();
    assert_eq!(ours, [] as [&str; 0], "{admins}");
    for (verb, what, may) in [
        ("create", "teams.butler.butlerlabs.dev", true),
        ("delete", "tenantclusters.butler.butlerlabs.dev", true),
        ("list", "pods", true),
        ("get", "secrets", false),
        ("create", "clusterrolebindings.rbac.authorization.k8s.io", false),
        // Not `users`: kubectl would ask for Butler's kind of that name.
        ("impersonate", "groups", false),
        ("impersonate", "serviceaccounts", false),
        ("create", "pods", false),
    ] {
        let ask = ["auth", "can-i", verb, what, "-A", "--as=admin@butler.local"];
        let answer = lab.kubectl(CLUSTER, &ask)?.run()?;
        assert_eq!(answer.stdout.trim() == "yes", may, "{verb} {what}: {answer}");
    }
    Ok(())
}

/// A Service gets an address of the engine's network, and answers there from this computer.
fn pool_is_the_engines(lab: &Lab) -> Result<()> {
    let subnet =
        lab.engine.docker(&["network", "inspect", "kind", "-f", "{{(index .IPAM.Config 0).Subnet}}"])?;
    let begin: String = subnet.split('.').take(2).map(|part| format!("{part}.")).collect();
    let path = "jsonpath={.spec.network.loadBalancerPool.start}-{.spec.network.loadBalancerPool.end}";
    let pool = lab.get(CLUSTER, &["-n", "butler-system", "get", "cb", CLUSTER, "-o", path])?;
    assert_eq!(pool, format!("{begin}255.200-{begin}255.250"));
    let manifest = lab.env.work_dir().join("shop.yaml");
    std::fs::write(&manifest, SHOP)?;
    lab.get(CLUSTER, &["apply", "-f", &manifest.display().to_string()])?;
    lab.get(CLUSTER, &["rollout", "status", "deployment/shop", "--timeout=120s"])?;
    let path = "jsonpath={.status.loadBalancer.ingress[0].ip}";
    let address = || lab.get(CLUSTER, &["get", "service", "shop", "-o", path]);
    until("it has an address", LIMIT, || Ok(!address()?.is_empty()))?;
    let address = address()?;
    ensure!(address.starts_with(&format!("{begin}255.")), "{address} is not of {subnet}");
    until("it answers", LIMIT, || Ok(page(&format!("{address}:80"))?.contains("served by a Pod")))?;
    say(format_args!("$ curl http://{address}/\nserved by a Pod"));
    Ok(())
}

#[test]
fn what_the_mirror_lacks_is_named_with_the_way_around_it() -> Result<()> {
    let lab = Lab::new(CLUSTER)?;
    std::fs::create_dir(lab.env.work_dir().join("mirror"))?;
    let config = config(&lab, free_port()?, "charts: {mirror: mirror}\n")?;
    let run = lab.bootstrap(&["--config", &config])?.run()?.failed_with(4)?;
    for words in
        ["gateway-api", "mirror", "`charts.mirror: PLACE`", "`addons.controlPlaneProvider.enabled: false`"]
    {
        ensure!(run.stderr.contains(words), "{words}: {run}");
    }
    lab.destroy(CLUSTER).context("destroy")?;
    lab.nothing_left(CLUSTER)
}
