use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use rstest::rstest;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::error::ErrorKind;

/// A user with a home directory.
struct Person {
    dir: TempDir,
    vars: Vec<(String, String)>,
    options: ConnectOptions,
}

const NOW: &str = "2026-06-01T12:00:00Z";

impl Person {
    fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let dir = tempfile::tempdir().unwrap();
        let vars = vec![
            ("HOME".to_owned(), dir.path().display().to_string()),
            ("BUTLER_CLOCK".to_owned(), NOW.to_owned()),
        ];
        let options =
            ConnectOptions { kubeconfig: None, context: None, request_timeout: Duration::from_secs(1) };
        Self { dir, vars, options }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }

    fn login(&self, entry: serde_json::Value) {
        let store = json!({"activeServer": "https://butler.example", "later": {"version": 9},
            "servers": {"https://butler.example": entry, "https://other.example": {"user": {}}}});
        self.write(".butler/credentials.json", &store.to_string());
    }

    fn env(mut self, name: &str, value: impl AsRef<Path>) -> Self {
        self.vars.push((name.to_owned(), value.as_ref().display().to_string()));
        self
    }

    async fn connect(&self) -> Result<Connection, ConnectError> {
        connect(&self.options, &Environment::of(self.vars.clone())).await
    }

    /// The address the connection leads to; each kubeconfig of these tests has its own.
    async fn server(&self) -> String {
        self.connect().await.map(|connection| connection.server).unwrap()
    }

    async fn failure(&self) -> ConnectError {
        self.connect().await.err().expect("no connection is wanted")
    }
}

fn kubeconfig(server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: main\n\
         clusters: [{{name: c, cluster: {{server: 'https://{server}:6443'}}}}]\n\
         users: [{{name: u, user: {{token: s3cret-token}}}}]\n\
         contexts: [{{name: main, context: {{cluster: c, user: u}}}}, {{name: spare, context: {{cluster: c, user: u}}}}]\n"
    )
}

fn login(server: &str) -> serde_json::Value {
    json!({
        "user": {"email": "  Alice@Example.COM ", "name": "Alice", "teams": [{"name": "red", "role": "admin"}]},
        "kubeconfig": BASE64_STANDARD.encode(kubeconfig(server)),
        "expiresAt": "2026-06-02T12:00:00Z", "refreshToken": "s3cret-refresh", "activeTeam": "red",
    })
}

#[tokio::test]
async fn places_are_searched_in_the_documented_order() {
    let mut person = Person::new();
    assert!(matches!(person.failure().await, ConnectError::NoIdentity { .. }));

    person.write(".kube/config", &kubeconfig("usual"));
    assert_eq!(person.server().await, "https://usual:6443");
    person.write(".butler/kubeconfig", &kubeconfig("plain"));
    assert_eq!(person.server().await, "https://plain:6443");
    person.write(".butler/b-kubeconfig", &kubeconfig("second"));
    person.write(".butler/a-kubeconfig", &kubeconfig("first"));
    assert_eq!(person.server().await, "https://first:6443");
    person.login(login("login"));
    assert_eq!(person.server().await, "https://login:6443");

    // A context is a matter of files: the login is not considered.
    person.options.context = Some("spare".to_owned());
    assert_eq!(person.server().await, "https://first:6443");
    person.options.context = None;

    let listed = person.write("listed", &kubeconfig("listed"));
    let list = format!("{}:{}", person.path("missing").display(), listed.display());
    let mut person = person.env("KUBECONFIG", list);
    assert_eq!(person.server().await, "https://listed:6443");
    person.options.kubeconfig = Some(person.write("flag", &kubeconfig("flag")));
    let connection = person.connect().await.unwrap();
    assert_eq!(connection.server, "https://flag:6443");
    let path = person.path("flag").display().to_string();
    assert_eq!(connection.source.to_string(), format!("kubeconfig {path} (context main)"));
    assert_eq!(connection.active_team, None);
    assert!(connection.warnings.is_empty());
}

#[tokio::test]
async fn a_login_says_who_it_is() {
    let person = Person::new();
    person.login(login("login"));
    let connection = person.connect().await.unwrap();
    assert_eq!(connection.source.to_string(), "login alice@example.com on https://butler.example");
    assert_eq!(connection.active_team.as_deref(), Some("red"));
}

#[rstest]
#[case::expired(json!({"user": {"email": "a@b.c"}, "kubeconfig": "YQ==", "expiresAt": "2026-06-01T11:59:59Z"}), Code::LoginExpired)]
#[case::without_an_end(json!({"kubeconfig": "YQ=="}), Code::LoginExpired)]
#[case::zero_time(json!({"kubeconfig": "YQ==", "expiresAt": "0001-01-01T00:00:00Z"}), Code::LoginExpired)]
#[case::without_kubeconfig(json!({"expiresAt": "2026-06-02T00:00:00Z"}), Code::CredentialsMalformed)]
#[case::not_base64(json!({"kubeconfig": "%%%", "expiresAt": "2026-06-02T00:00:00Z"}), Code::CredentialsMalformed)]
#[case::empty(json!({"kubeconfig": "", "expiresAt": "2026-06-02T00:00:00Z"}), Code::CredentialsMalformed)]
#[case::not_a_kubeconfig(json!({"kubeconfig": "LSBhCi0gYgo=", "expiresAt": "2026-06-02T00:00:00Z"}), Code::KubeconfigMalformed)]
#[case::wrong_type(json!({"kubeconfig": ["s3cret-list"]}), Code::CredentialsMalformed)]
#[tokio::test]
async fn a_login_that_is_of_no_use_ends_the_search(#[case] entry: serde_json::Value, #[case] code: Code) {
    let person = Person::new();
    person.write(".butler/admin-kubeconfig", &kubeconfig("admin"));
    person.write(".kube/config", &kubeconfig("usual"));
    person.login(entry);
    let error = person.failure().await;
    assert_eq!(error.code(), code, "{error}");
}

#[tokio::test]
async fn an_active_server_without_login_ends_the_search_too() {
    let person = Person::new();
    person.write(".kube/config", &kubeconfig("usual"));
    person.write(".butler/credentials.json", r#"{"activeServer": "https://gone.example", "servers": {}}"#);
    let error = person.failure().await;
    assert_eq!(error.kind(), ErrorKind::Unauthenticated);
    assert_eq!(error.hints()[0], "sign in again to https://gone.example");

    person.write(".butler/credentials.json", r#"{"activeServer": "", "servers": {}}"#);
    assert_eq!(person.server().await, "https://usual:6443");
}

#[tokio::test]
async fn a_torn_store_is_named_by_position_without_its_content() {
    let person = Person::new();
    person.write(".kube/config", &kubeconfig("usual"));
    person.write(".butler/credentials.json", "{\"activeServer\": \"x\",\n \"servers\": \"s3cret-token\"}");
    let error = person.failure().await;
    assert_eq!(error.code(), Code::CredentialsMalformed);
    assert!(error.to_string().contains("line 2"), "{error}");
    assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
}

#[rstest]
#[case::missing(None, Code::KubeconfigUnreadable, "cannot read")]
#[case::empty(Some("  \n"), Code::KubeconfigMalformed, "is empty")]
#[case::torn(Some("clusters:\n  - {name: [s3cret"), Code::KubeconfigMalformed, "is not valid")]
#[case::a_list(Some("- s3cret\n"), Code::KubeconfigMalformed, "is not valid")]
#[case::wrong_type(
    Some("clusters: s3cret\n"),
    Code::KubeconfigMalformed,
    "is not valid at line 1, column 11"
)]
#[case::no_context(Some("apiVersion: v1\n"), Code::KubeconfigMalformed, "has no current context")]
#[case::no_cluster(
    Some("current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"),
    Code::KubeconfigMalformed,
    "names the cluster `c`"
)]
#[case::no_user(
    Some(
        "current-context: x\nclusters: [{name: c, cluster: {server: 'https://a'}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
    ),
    Code::KubeconfigMalformed,
    "names the user `u`"
)]
#[case::bad_address(
    Some(
        "current-context: x\nclusters: [{name: c, cluster: {server: 'https://[::'}}]\ncontexts: [{name: x, context: {cluster: c}}]\n"
    ),
    Code::KubeconfigMalformed,
    "cannot use"
)]
#[tokio::test]
async fn a_bad_kubeconfig_is_named_with_what_is_wrong(
    #[case] text: Option<&str>,
    #[case] code: Code,
    #[case] message: &str,
) {
    let mut person = Person::new();
    let path = person.path("bad");
    text.inspect(|text| drop(person.write("bad", text)));
    person.options.kubeconfig = Some(path.clone());
    let error = person.failure().await;
    assert_eq!(error.code(), code, "{error}");
    let said = error.to_string();
    assert!(said.contains(message) && said.contains(&path.display().to_string()), "{said}");
    assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
}

#[tokio::test]
async fn a_directory_is_not_a_kubeconfig() {
    let mut person = Person::new();
    person.options.kubeconfig = Some(person.dir.path().to_owned());
    assert_eq!(person.failure().await.code(), Code::KubeconfigUnreadable);
}

#[tokio::test]
async fn an_unknown_context_lists_the_known_ones() {
    let mut person = Person::new();
    person.write(".kube/config", &kubeconfig("usual"));
    person.options.context = Some("spaer".to_owned());
    let error = person.failure().await;
    assert_eq!(error.code(), Code::ContextUnknown);
    assert_eq!(error.hints(), ["did you mean --context spare", "contexts in it: main, spare"]);
}

#[tokio::test]
async fn kubeconfig_with_only_missing_files_is_an_error() {
    let person = Person::new().env("KUBECONFIG", "/nowhere/a:/nowhere/b");
    person.write(".kube/config", &kubeconfig("usual"));
    let error = person.failure().await;
    assert_eq!(error.code(), Code::KubeconfigUnreadable);
    assert_eq!(error.to_string(), "KUBECONFIG names no file that exists: `/nowhere/a`, `/nowhere/b`");
}

#[tokio::test]
async fn without_a_home_files_that_are_named_still_work() {
    let mut person = Person::new();
    person.vars.clear();
    assert!(matches!(person.failure().await, ConnectError::NoIdentity { .. }));
    let listed = person.write("listed", &kubeconfig("listed"));
    let person = person.env("KUBECONFIG", listed);
    assert_eq!(person.server().await, "https://listed:6443");
}

#[tokio::test]
async fn a_kubeconfig_that_others_can_read_is_used_with_a_warning() {
    let person = Person::new();
    let path = person.write(".kube/config", &kubeconfig("usual"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let connection = person.connect().await.unwrap();
    assert_eq!(connection.warnings.len(), 1);
    assert!(connection.warnings[0].contains("chmod 600"), "{:?}", connection.warnings);
}

#[tokio::test]
async fn a_failing_credential_plugin_does_not_leak_what_it_printed() {
    let mut person = Person::new();
    let text = "current-context: x\nclusters: [{name: c, cluster: {server: 'https://a'}}]\n\
        users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, \
        args: [-c, 'echo s3cret; exit 7'], env: [{name: KEY, value: s3cret}], interactiveMode: Never}}}]\n\
        contexts: [{name: x, context: {cluster: c, user: u}}]\n";
    person.options.kubeconfig = Some(person.write("exec", text));
    let error = person.failure().await;
    assert_eq!(error.code(), Code::CredentialPluginFailed);
    assert!(error.to_string().contains('7') && !format!("{error} {error:?}").contains("s3cret"), "{error}");
}
