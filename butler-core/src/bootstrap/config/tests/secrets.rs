//! Secrets in files: by reference, in clear, and never in what is said.

use std::{os::unix::fs::PermissionsExt, path::PathBuf};

use rstest::rstest;

use super::*;
use crate::{
    error::Diagnose,
    settings::{Environment, home::write_private},
};

fn password(text: &str) -> SecretSource {
    match read_text(text).unwrap().config.provider {
        ProviderSettings::Nutanix(block) => block.password,
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[case("{env: PRISM_PASSWORD}", SecretSource::Env("PRISM_PASSWORD".into()))]
#[case("{file: ~/pw}", SecretSource::File("/home/me/pw".into()))]
#[case("{file: pw}", SecretSource::File("/srv/site/pw".into()))]
#[case("{file: /etc/pw}", SecretSource::File("/etc/pw".into()))]
#[case("{keyring: prism}", SecretSource::Keyring("prism".into()))]
#[case("{Env: PRISM_PASSWORD}", SecretSource::Env("PRISM_PASSWORD".into()))]
#[case("'{env: X}'", SecretSource::Plain("{env: X}".into()))]
#[case("12345", SecretSource::Plain("12345".into()))]
#[case("true", SecretSource::Plain("true".into()))]
fn a_secret_is_a_text_or_a_reference(#[case] value: &str, #[case] expected: SecretSource) {
    let text = with(NUTANIX, "password: hunter2", &format!("password: {value}"));
    assert!(password(&text) == expected);
    let loaded = read_text(&text).unwrap();
    let used: Vec<&str> = loaded.secrets.iter().map(|used| used.path.as_str()).collect();
    assert_eq!(used, ["providerConfig.nutanix.username", "providerConfig.nutanix.password"]);
    assert_eq!((loaded.secrets[1].line, loaded.secrets[1].column), (14, 15));
}

#[rstest]
#[case("{enw: hunter2}", "`enw` is not a place for a secret", "did you mean `env`?")]
#[case(
    "{vault: hunter2}",
    "`vault` is not a place for a secret",
    "write {env: NAME}, {file: PATH} or {keyring: NAME}"
)]
#[case("{env: hunter2 is it}", "must be the name of an environment variable", "")]
#[case("{env: A, file: hunter2}", "must name one place", "write {env: NAME}")]
#[case("{}", "must name one place", "write {env: NAME}")]
#[case("[hunter2]", "must be a text or a reference, not a list", "write {env: NAME} or {file: PATH}")]
#[case("{env: [hunter2]}", "must be text, not a list", "")]
#[case("\n", "`providerConfig.nutanix.password` is empty", "add `password: {env: NAME}`")]
#[case("''", "`providerConfig.nutanix.password` is empty", "add `password: {env: NAME}`")]
fn a_wrong_reference_is_told_without_the_secret(
    #[case] value: &str,
    #[case] message: &str,
    #[case] suggestion: &str,
) {
    let text = with(NUTANIX, "password: hunter2", &format!("password: {value}"));
    let found = problems(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.contains(message), "{found:?}");
    assert_eq!(found[0].suggestion.as_deref().unwrap_or_default(), suggestion);
    assert!(!format!("{found:?}").contains("hunter2"), "{found:?}");
    assert_eq!(found[0].line, 14);
}

/// Mistakes on the same line as a secret, in a key of a secret, and in the syntax around one.
#[rstest]
#[case("pasword: hunter2")]
#[case("password: [hunter2, x]")]
#[case("password: hunter2\n    password: hunter2")]
#[case("password: \"hunter2")]
#[case("password: hunter2: x")]
#[case("password: {env: hunter2 x}")]
#[case("password: >-\n      hunter2\n    portt: 1")]
#[case("{password: hunter2, portt: 1}")]
#[case("password: hunter2\n\tport: 1")]
#[case("password: !!binary [hunter2")]
fn no_problem_shows_a_secret(#[case] line: &str) {
    let text = with(NUTANIX, "password: hunter2", line);
    let found = problems(&text);
    assert!(found.iter().any(Problem::is_error), "{line}");
    let error = read_text(&text).unwrap_err();
    let shown = format!("{found:?} {error} {:?} {:?}", error.problems(), error.hints());
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(!serde_json::to_string(&found).unwrap().contains("hunter2"));
}

#[test]
fn a_secret_beside_a_mistake_is_replaced_in_the_line() {
    let text = with(MINIMAL, "provider: sandbox", "provider: nutanix")
        + "providerConfig:\n  nutanix: {password: hunter2, portt: 1, username: admin}\n";
    let found = problems(&text);
    let wrong = found.iter().find(|problem| problem.path.ends_with("portt")).unwrap();
    let excerpt = wrong.excerpt.as_ref().unwrap();
    assert_eq!(excerpt.line, "  nutanix: {password: (hidden), portt: (hidden), username: admin}");
    assert_eq!((excerpt.before, excerpt.width), (32, 5));
}

#[test]
fn a_file_that_others_can_read_holds_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bootstrap.yaml");
    let environment = Environment::default();
    write_private(&path, NUTANIX.as_bytes()).unwrap();
    load(&path, None, &environment).unwrap();

    fs_err::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let Err(ConfigError::Problems { problems, .. }) = load(&path, None, &environment) else {
        panic!("it is refused")
    };
    assert_eq!(problems.len(), 1, "the account's name is no secret: {problems:?}");
    assert_eq!((problems[0].line, problems[0].path.as_str()), (14, "providerConfig.nutanix.password"));
    assert_eq!(
        problems[0].message,
        "`providerConfig.nutanix.password` stands in a file that other users can read"
    );
    let advice = problems[0].suggestion.as_deref().unwrap();
    assert_eq!(advice, format!("chmod 600 {}, or write {{env: NAME}} or {{file: PATH}}", path.display()));
    assert!(!format!("{problems:?}").contains("hunter2"));

    let by_reference = with(NUTANIX, "password: hunter2", "password: {env: PW}");
    fs_err::write(&path, by_reference).unwrap();
    let loaded = load(&path, None, &environment).unwrap().loaded;
    let failed = loaded.check_secrets(&environment, &NoKeyring);
    assert_eq!(failed.len(), 1);
    assert_eq!(
        (failed[0].0.line, failed[0].1.to_string().as_str()),
        (14, "environment variable `PW` is not set")
    );
    assert_eq!(loaded.check_secrets(&Environment::of([("PW", "x")]), &NoKeyring).len(), 0);
}

#[test]
fn a_shell_variable_is_told_to_be_none() {
    let text = with(NUTANIX, "password: hunter2", "password: ${PRISM_PASSWORD}");
    assert_eq!(
        told(&text),
        [
            "warning 14:15: `providerConfig.nutanix.password` looks like a variable of a shell, which nobody fills in \
          [write {env: NAME}]"
        ]
    );
}

#[test]
fn who_signs_in_is_not_told_with_an_address() {
    let endpoint = with(NUTANIX, "prism.example.org", "https://admin:hunter2@prism.example.org");
    let endpoint = with(&endpoint, "password: hunter2", "password: {env: P}");
    let found = problems(&endpoint);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].path.as_str(), found[0].is_error()), ("providerConfig.nutanix.endpoint", true));
    assert!(found[0].message.contains("has a name or password in it"), "{found:?}");
    assert!(!format!("{found:?}").contains("hunter2"), "{found:?}");

    // A mirror has no other place for them, so they are kept as other secrets are.
    let mirror = format!("{MINIMAL}charts: {{mirror: 'https://me:hunter2@charts.example.org', mirorr: x}}\n");
    let found = problems(&mirror);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(!format!("{found:?}").contains("hunter2"), "{found:?}");
    let shared = Source {
        name: "b.yaml",
        text: &with(&mirror, ", mirorr: x", ""),
        directory: Path::new("/"),
        home: None,
        shared: Some(Path::new("b.yaml")),
    };
    let Err(ConfigError::Problems { problems, .. }) = read(&shared, None) else { panic!("it is refused") };
    assert_eq!(problems[0].message, "`charts.mirror` stands in a file that other users can read");
}

#[test]
fn files_that_are_none_are_told_with_the_systems_reason() {
    let environment = Environment::default();
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().join("nothing.yaml"), dir.path().to_owned(), PathBuf::from("/dev/null/x")] {
        let error = load(&path, None, &environment).unwrap_err();
        assert!(matches!(error, ConfigError::Unreadable { .. }), "{error:?}");
        assert_eq!(error.kind().exit_code(), 2);
        assert!(std::error::Error::source(&error).is_some());
    }
    let path = dir.path().join("binary.yaml");
    write_private(&path, b"provider: x\n\xff\xfe\n").unwrap();
    let Err(ConfigError::Problems { problems, .. }) = load(&path, None, &environment) else {
        panic!("it is refused")
    };
    assert_eq!((problems[0].line, problems[0].message.as_str()), (2, "the file is not text in UTF-8"));
}
