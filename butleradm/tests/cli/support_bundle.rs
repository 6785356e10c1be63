//! `support-bundle`: secrets are planted wherever a person can put one, and none may be in the file.

use std::{
    collections::BTreeMap,
    fs::{self, Permissions},
    io::Read,
    os::unix::fs::PermissionsExt,
    path::Path,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE},
};
use butler_core::{
    bootstrap::config,
    cluster::crds,
    event::{EventKind, Journal, RunId},
};
use butler_tests::{ControlPlane, Env, Invocation, create};
use flate2::read::GzDecoder;
use serde_json::{Value, json};

const ID: &str = "20261114-101112-00ff00";
const LIMIT: Duration = Duration::from_secs(60);

/// One secret in each place: where it is, and what it is.
const PLANTED: [(&str, &str); 12] = [
    ("a value in the configuration", "planted-config-Pa55/word+1"),
    ("a variable that it names", "planted-variable-Pa55word-2"),
    ("a file that it names", "planted-file-Pa55word-3"),
    ("an address of a mirror", "planted-mirror-Pa55word-4"),
    ("the address of a proxy", "planted-proxy-Pa55word-5"),
    ("a variable called like one", "planted-environment-Pa55word-6"),
    ("a Secret of the cluster", "planted-cluster-Pa55word-7"),
    ("a kubeconfig inside of a Secret", "planted-inner-Pa55word-8"),
    ("an annotation of kubectl", "planted-applied-Pa55word-9"),
    ("the Talos secrets", "planted-talos-Pa55word-10"),
    ("the login of a person", "planted-login-Pa55word-11"),
    ("a kubeconfig of the home", "planted-kubeconfig-Pa55word-12"),
];

/// Known to the cluster alone: when it does not answer, nobody can say what they are.
const OF_THE_CLUSTER: [&str; 3] =
    ["a Secret of the cluster", "a kubeconfig inside of a Secret", "an annotation of kubectl"];

fn planted(place: &str) -> &'static str {
    PLANTED.iter().find(|(name, _)| *name == place).map_or("", |(_, secret)| secret)
}

/// The forms in which a secret would still be one.
fn forms(secret: &str) -> Vec<String> {
    let mut all = vec![secret.to_owned(), secret.replace('/', "%2F").replace('+', "%2B")];
    for ahead in ["", "x", "xx"] {
        for engine in [&STANDARD, &URL_SAFE] {
            let code = engine.encode(format!("{ahead}{secret}"));
            // Without its ends, which what stands around it changes.
            all.push(code.get(4..code.len() - 4).unwrap_or_default().to_owned());
        }
    }
    all
}

struct Lab {
    env: Env,
}

impl Lab {
    /// A run as it lies on disk, whose log has every secret but these.
    fn without(places: &[&str]) -> Result<Self> {
        let lab = Self { env: Env::new()? };
        lab.run(places)?;
        Ok(lab)
    }

    fn write(&self, path: &Path, text: &str) -> Result<()> {
        fs::create_dir_all(path.parent().context("a directory")?)?;
        fs::write(path, text)?;
        Ok(fs::set_permissions(path, Permissions::from_mode(0o600))?)
    }

    fn run(&self, without: &[&str]) -> Result<()> {
        let (home, work) = (self.env.butler_home(), self.env.work_dir());
        self.write(&work.join("secret-file"), planted("a file that it names"))?;
        let text = format!(
            "provider: proxmox\n\
             cluster: {{name: lab, topology: single-node, controlPlane: {{replicas: 1, cpu: 4, memoryMB: 8192, diskGB: 60}}}}\n\
             network: {{vip: 192.168.7.10}}\n\
             providerConfig:\n  proxmox: {{endpoint: 'https://pve:8006', username: u, password: '{}', nodes: [pve1], storage: lvm, templateID: 9000}}\n\
             charts: {{mirror: 'https://me:{}@mirror.example/charts'}}\n\
             bootstrapCluster: {{runtime: process}}\n",
            planted("a value in the configuration"),
            planted("an address of a mirror"),
        );
        let directory = Path::new("/");
        let source = config::Source { name: "b.yaml", text: &text, directory, home: None, shared: None };
        let config = config::read(&source, None)?.config;
        let dir = home.join("runs").join(ID);
        let (mut journal, _) =
            Journal::open(&dir.join("journal.ndjson"), RunId::parse(ID).context("an id")?)?;
        let facts = json!({
            "cluster": "lab", "provider": "proxmox", "runtime": "process", "configSha256": "", "version": "0",
            "directory": "/",
        });
        let given = json!({"sha256": "", "document": config.document(), "runtime": "process"});
        let words = |place: &str| EventKind::info("provider", format!("401 for {}", planted(place)));
        let session = json!({"verb": "run", "pid": 41, "host": "desk"});
        for kind in [
            EventKind::Intent { step: "run".into(), data: facts },
            EventKind::Result { step: "config".into(), data: given },
            EventKind::Intent { step: "session".into(), data: session },
            words("a value in the configuration"),
            words("the Talos secrets"),
        ] {
            journal.append(kind)?;
        }
        // References, as they stand in other parts of a file.
        let more = "addons:\n  a: {file: secret-file}\n  b: {env: PVE_WORD}\n";
        self.write(&dir.join("config.yaml"), &(text + more))?;
        fs::copy(work.join("secret-file"), dir.join("secret-file"))?;
        let talos = format!("secrets: {{bootstraptoken: '{}'}}\n", planted("the Talos secrets"));
        self.write(&dir.join("secrets/talos.yaml"), &talos)?;
        let said: Vec<String> = PLANTED
            .iter()
            .filter(|(place, _)| !without.contains(place))
            .flat_map(|(place, secret)| {
                let code = STANDARD.encode(format!("a {secret} b"));
                [format!("the provider said: {secret} ({place})"), format!("body: {code}")]
            })
            .collect();
        self.write(&dir.join("run.log"), &said.join("\n"))?;
        let live = json!({"snapshot": {"objects": [], "phase": planted("a variable called like one")}});
        self.write(&dir.join("live.json"), &live.to_string())?;
        let login = json!({"current": "x", "logins": {"x": {"token": planted("the login of a person")}}});
        self.write(&home.join("credentials.json"), &login.to_string())?;
        let kubeconfig = format!(
            "apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\nusers: [{{name: a, user: {{token: '{}'}}}}]\n",
            planted("a kubeconfig of the home")
        );
        self.write(&home.join("other-kubeconfig"), &kubeconfig)
    }

    fn bundle(&self, args: &[&str]) -> Invocation {
        let command = self.env.command(env!("CARGO_BIN_EXE_butleradm")).arg("support-bundle").args(args);
        command
            .env("PVE_WORD", planted("a variable that it names"))
            .env("SOME_API_TOKEN", planted("a variable called like one"))
            .env("HTTPS_PROXY", format!("http://me:{}@proxy.example:3128", planted("the address of a proxy")))
            .timeout(LIMIT)
    }

    /// What is in the bundle, by name.
    fn files(&self, name: &str) -> Result<BTreeMap<String, String>> {
        let path = self.env.work_dir().join(name);
        ensure!(fs::metadata(&path)?.permissions().mode() & 0o777 == 0o600, "others can read it");
        let mut archive = tar::Archive::new(GzDecoder::new(fs::File::open(path)?));
        let mut files = BTreeMap::new();
        for entry in archive.entries()? {
            let mut entry = entry?;
            let name = entry.path()?.display().to_string();
            let mut text = String::new();
            entry.read_to_string(&mut text)?;
            files.insert(name, text);
        }
        Ok(files)
    }

    fn holds_no_secret(&self, files: &BTreeMap<String, String>, more: &[(String, String)]) -> Result<()> {
        let planted = PLANTED.iter().map(|(place, secret)| ((*place).to_owned(), (*secret).to_owned()));
        let mut found = Vec::new();
        for (place, secret) in planted.chain(more.iter().cloned()) {
            for (name, text) in files {
                for form in forms(&secret) {
                    if text.contains(&form) || name.contains(&form) {
                        found.push(format!("{name} holds {place}"));
                    }
                }
            }
        }
        ensure!(found.is_empty(), "{}", found.join("\n"));
        Ok(())
    }
}

/// Objects that a person made, with secrets in all the places that objects have.
async fn people(plane: &ControlPlane) -> Result<()> {
    let client = plane.client().await?;
    let names = crds::apply(&client, false).await?;
    crds::established(&client, &names, LIMIT).await?;
    let inner =
        format!("users: [{{name: x, user: {{token: '{}'}}}}]\n", planted("a kubeconfig inside of a Secret"));
    let applied = json!({"data": {"p": STANDARD.encode(planted("an annotation of kubectl"))}}).to_string();
    let outer = planted("a Secret of the cluster");
    let objects = [
        (None, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "butler-system"}})),
        (
            Some("butler-system"),
            json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": {
                    "name": "planted",
                    "annotations": {
                        "kubectl.kubernetes.io/last-applied-configuration": applied,
                        "note": planted("a kubeconfig inside of a Secret"),
                    },
                },
                "stringData": {"word": outer, "kubeconfig": inner},
            }),
        ),
        (
            None,
            json!({
                "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "Team",
                "metadata": {"name": "planted", "annotations": {"code": STANDARD.encode(format!("<{outer}>"))}},
                "spec": {"displayName": format!("Team of {outer}")},
            }),
        ),
        (
            Some("butler-system"),
            json!({
                "apiVersion": "v1", "kind": "Event", "metadata": {"name": "planted"},
                "involvedObject": {"kind": "Pod", "name": "x", "namespace": "butler-system"},
                "message": format!("cannot log in with {outer}"), "reason": "Failed", "type": "Warning",
            }),
        ),
    ];
    for (namespace, object) in objects {
        create(&client, namespace, &object).await?;
    }
    Ok(())
}

#[tokio::test]
async fn nothing_that_was_planted_is_in_the_bundle_and_everything_else_is() -> Result<()> {
    let plane = ControlPlane::start().await?;
    people(&plane).await?;
    let lab = Lab::without(&[])?;
    let written = lab.bundle(&["--out", "b.tar.gz", "-o", "json"]).env("KUBECONFIG", plane.kubeconfig());
    let written = written.run()?.success()?;
    let files = lab.files("b.tar.gz")?;
    let run = format!("runs/{ID}");
    for name in [
        "version.json",
        "settings.json",
        "environment.json",
        "host.json",
        "programs.json",
        "index.json",
        "cluster/doctor.json",
        "cluster/teams.json",
        "cluster/events.json",
        "cluster/secrets.json",
        &format!("{run}/journal.ndjson"),
        &format!("{run}/run.log"),
        &format!("{run}/config.json"),
    ] {
        ensure!(files.contains_key(name), "{name} is missing: {:?}", files.keys());
    }
    // What a helper needs is still there.
    ensure!(files["cluster/secrets.json"].contains("\"planted\""), "the names of Secrets are told");
    ensure!(files["cluster/teams.json"].contains("Team of [removed]"));
    ensure!(
        files["environment.json"].contains("SOME_API_TOKEN")
            && files["environment.json"].contains("proxy.example")
    );
    ensure!(files[&format!("{run}/run.log")].contains("the provider said: [removed]"));
    ensure!(files[&format!("{run}/config.json")].contains("pve1"));
    let kubeconfig: Value = serde_saphyr::from_str(&fs::read_to_string(plane.kubeconfig())?)?;
    let user = &kubeconfig["users"][0]["user"];
    let own = ["token", "client-key-data"]
        .into_iter()
        .filter_map(|key| Some((format!("the {key} in use"), user[key].as_str()?.to_owned())));
    let own: Vec<(String, String)> = own.collect();
    ensure!(!own.is_empty(), "the kubeconfig has no secret");
    lab.holds_no_secret(&files, &own)?;
    lab.holds_no_secret(
        &[("stdout".to_owned(), written.stdout), ("stderr".to_owned(), written.stderr)].into(),
        &own,
    )?;
    let again = lab.bundle(&["--out", "b.tar.gz"]).run()?.failed_with(1)?;
    ensure!(again.stderr.contains("BTL-1303"), "an old bundle is not written over: {again}");
    Ok(())
}

#[test]
fn a_cluster_that_is_dead_is_a_line_in_the_index() -> Result<()> {
    let lab = Lab::without(&OF_THE_CLUSTER)?;
    let nowhere = "apiVersion: v1\nkind: Config\ncurrent-context: x\n\
                   clusters: [{name: x, cluster: {server: 'https://127.0.0.1:9'}}]\n\
                   contexts: [{name: x, context: {cluster: x, user: x}}]\nusers: [{name: x, user: {token: abcdefgh}}]\n";
    lab.write(&lab.env.butler_home().join("lab-kubeconfig"), nowhere)?;
    let written = lab.bundle(&["lab", "--out", "b.tar.gz", "-o", "json"]).run()?.success()?;
    let files = lab.files("b.tar.gz")?;
    let index: Value = serde_json::from_str(&files["index.json"])?;
    let missing: Vec<&str> =
        index["missing"].as_array().into_iter().flatten().filter_map(|one| one["name"].as_str()).collect();
    ensure!(missing.contains(&"nodes/") && missing.contains(&"cluster/teams.json"), "{missing:?}");
    ensure!(missing.iter().any(|name| name.contains("secrets of the cluster")), "{missing:?}");
    ensure!(written.json()?["missing"].as_array().is_some_and(|all| all.len() == missing.len()), "{written}");
    ensure!(files.contains_key(&format!("runs/{ID}/journal.ndjson")));
    lab.holds_no_secret(&files, &[])
}
