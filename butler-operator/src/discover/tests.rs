//! Providers as they answer, and as they refuse.

use std::os::unix::fs::PermissionsExt;

use axum::{
    Router,
    body::Bytes,
    http::{HeaderMap, StatusCode, Uri},
};
use butler_core::{
    bootstrap::wizard::answers::find,
    error::{Code, Diagnose},
};
use serde_json::{Value, json};

use super::*;

struct Lab {
    surveyor: Surveyor,
    dir: tempfile::TempDir,
}

impl Lab {
    fn new() -> Self {
        // A client is built only where a provider of cryptography was chosen.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().to_str().unwrap();
        let environment = Environment::of([("BUTLER_HOME", home), ("HOME", home), ("SECRET", "hunter2")]);
        let home = Home::resolve(&environment).unwrap();
        let parts = Arc::new(Parts::new(&environment, &home));
        Self { surveyor: Surveyor { home, parts, environment }, dir }
    }

    async fn survey(&self, given: &[(&str, &str)]) -> Result<Survey, SurveyError> {
        let mut answers = Answers::default();
        for (key, answer) in given {
            answers.give(find(key).unwrap(), answer);
        }
        self.surveyor.survey(&answers).await
    }
}

/// A server that answers each path with what is told, and 401 to whoever brings another header.
async fn server(answers: Vec<(&'static str, Value)>, header: (&'static str, &'static str)) -> String {
    let answer = move |uri: Uri, headers: HeaderMap, _: Bytes| {
        let signed = headers.get(header.0).is_some_and(|value| value == header.1);
        let known = answers.iter().find(|(path, _)| *path == uri.path()).map(|(_, value)| value.to_string());
        let answer = match known {
            _ if !signed && uri.path() != "/api2/json/access/ticket" => {
                (StatusCode::UNAUTHORIZED, "hunter2".to_owned())
            }
            Some(body) => (StatusCode::OK, body),
            None => (StatusCode::FORBIDDEN, String::new()),
        };
        async move { answer }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    address
}

fn ids(survey: &Survey, what: Resource) -> Vec<&str> {
    survey.of(what).iter().map(|found| found.id.as_str()).collect()
}

#[tokio::test]
async fn nutanix_tells_clusters_subnets_and_images() {
    let entity = |id: &str, name: &str, resources: Value| json!({"metadata": {"uuid": id}, "status": {"name": name, "resources": resources}});
    let central = json!({"config": {"service_list": ["PRISM_CENTRAL"]}});
    let clusters = json!({"entities": [entity("c-1", "one", json!({})), entity("c-0", "pc", central)]});
    let subnets = json!({"entities": [entity("s-1", "nodes", json!({"vlan_id": 50}))]});
    // "admin:hunter2"
    let address = server(
        vec![("/api/nutanix/v3/clusters/list", clusters), ("/api/nutanix/v3/subnets/list", subnets)],
        ("authorization", "Basic YWRtaW46aHVudGVyMg=="),
    )
    .await;
    let lab = Lab::new();
    let given = [
        ("provider", "nutanix"),
        ("providerConfig.nutanix.endpoint", address.as_str()),
        ("providerConfig.nutanix.username", "admin"),
        ("providerConfig.nutanix.password.from", "env"),
        ("providerConfig.nutanix.password", "SECRET"),
    ];
    let survey = lab.survey(&given).await.unwrap();
    assert_eq!(ids(&survey, Resource::Zones), ["c-1"], "Prism Central runs no machines");
    assert_eq!(survey.of(Resource::Networks), [found("s-1", "nodes", "VLAN 50")]);
    let why = survey.found[&Resource::Images].clone().unwrap_err();
    assert!(why.contains("403"), "one that is refused does not hide the others: {why}");

    let other = [&given[..], &[("providerConfig.nutanix.username", "nobody")]].concat();
    let error = lab.survey(&other).await.unwrap_err();
    assert_eq!(error.code(), Code::ProviderAuth);
    assert!(!error.in_words().contains("hunter2"), "what the other side says may repeat what it was sent");
    let unset = [&given[..], &[("providerConfig.nutanix.password", "NOT_THERE")]].concat();
    assert_eq!(lab.survey(&unset).await.unwrap_err().code(), Code::SecretUnset);
    let open = [&given[..], &[("providerConfig.nutanix.endpoint", "http://prism.example.org")]].concat();
    assert!(lab.survey(&open).await.unwrap_err().in_words().contains("https:// only"));
}

#[tokio::test]
async fn proxmox_tells_nodes_storage_and_templates() {
    let data = |value: Value| json!({"data": value});
    let answers = vec![
        ("/api2/json/version", data(json!({"version": "9.0.3"}))),
        (
            "/api2/json/nodes",
            data(
                json!([{"node": "pve1", "status": "online", "maxcpu": 8, "maxmem": 8_u64 << 30, "mem": 4_u64 << 30}]),
            ),
        ),
        ("/api2/json/storage", data(json!([{"storage": "local-lvm", "type": "lvmthin"}]))),
        (
            "/api2/json/cluster/resources",
            data(
                json!([{"vmid": 9000, "name": "talos", "template": 1, "node": "pve1"}, {"vmid": 100, "name": "vm"}]),
            ),
        ),
        ("/api2/json/nodes/pve1/network", data(json!([{"iface": "vmbr0"}]))),
        ("/api2/json/access/ticket", data(json!({"ticket": "t"}))),
    ];
    let lab = Lab::new();
    let file = lab.dir.path().join("token");
    std::fs::write(&file, "hunter2\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let by_token = server(answers.clone(), ("authorization", "PVEAPIToken=butler@pve!b=hunter2")).await;
    let survey = lab
        .survey(&[
            ("provider", "proxmox"),
            ("providerConfig.proxmox.endpoint", &by_token),
            ("providerConfig.proxmox.token", "butler@pve!b"),
            ("providerConfig.proxmox.tokenSecret.from", "file"),
            ("providerConfig.proxmox.tokenSecret", "~/token"),
        ])
        .await
        .unwrap();
    assert_eq!(ids(&survey, Resource::Zones), ["pve1"]);
    assert_eq!(ids(&survey, Resource::Storage), ["local-lvm"]);
    assert_eq!(survey.of(Resource::Images), [found("9000", "talos", "pve1")]);
    assert_eq!(survey.capacity.map(|there| (there.cpu, there.memory_mb)), Some((8, 4096)));
    assert!(survey.facts.contains(&("Bridges".to_owned(), "vmbr0".to_owned())), "{survey:?}");

    let by_password = server(answers, ("cookie", "PVEAuthCookie=t")).await;
    let survey = lab
        .survey(&[
            ("provider", "proxmox"),
            ("signIn", "password"),
            ("providerConfig.proxmox.endpoint", &by_password),
            ("providerConfig.proxmox.username", "root@pam"),
            ("providerConfig.proxmox.password.from", "env"),
            ("providerConfig.proxmox.password", "SECRET"),
        ])
        .await
        .unwrap();
    assert_eq!(ids(&survey, Resource::Zones), ["pve1"]);
}

#[tokio::test]
async fn harvester_tells_what_its_api_lists() {
    let list = |items: Value| json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items});
    let meta = |name: &str| json!({"name": name, "namespace": "platform"});
    let network = json!({"metadata": meta("vlan50"), "spec": {"config": r#"{"vlan": 50}"#}});
    let image = json!({"metadata": meta("image-x"), "spec": {"displayName": "talos-v1.12.1"}});
    let address = server(
        vec![
            ("/version", json!({"major": "1", "minor": "34", "gitVersion": "v1.34.4", "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "", "platform": ""})),
            ("/api/v1/namespaces", list(json!([{"metadata": {"name": "platform"}}]))),
            ("/apis/k8s.cni.cncf.io/v1/networkattachmentdefinitions", list(json!([network]))),
            ("/apis/harvesterhci.io/v1beta1/virtualmachineimages", list(json!([image]))),
        ],
        ("authorization", "Bearer hunter2"),
    )
    .await;
    let lab = Lab::new();
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": address}}],
        "users": [{"name": "u", "user": {"token": "hunter2"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    });
    let file = lab.dir.path().join("hci");
    butler_core::settings::home::write_private(&file, kubeconfig.to_string().as_bytes()).unwrap();
    let given = [("provider", "harvester"), ("providerConfig.harvester.kubeconfigPath", "~/hci")];
    let survey = lab.survey(&given).await.unwrap();
    assert_eq!(ids(&survey, Resource::Zones), ["platform"]);
    assert_eq!(survey.of(Resource::Networks), [found("platform/vlan50", "platform/vlan50", "VLAN 50")]);
    assert_eq!(survey.of(Resource::Images), [found("platform/image-x", "platform/image-x", "talos-v1.12.1")]);
    assert!(survey.found[&Resource::Storage].is_err(), "{survey:?}");
    let missing = [given[0], ("providerConfig.harvester.kubeconfigPath", "~/nothing")];
    assert!(lab.survey(&missing).await.is_err());
}

#[tokio::test]
async fn who_cannot_be_asked_is_said_plainly() {
    let survey = Lab::new().survey(&[("provider", "gcp")]).await.unwrap();
    assert!(survey.facts[0].1.contains("this version cannot ask gcp"), "{survey:?}");
    let survey = Lab::new().survey(&[("provider", "sandbox")]).await.unwrap();
    assert!(survey.capacity.is_some_and(|there| there.cpu > 0));
}
