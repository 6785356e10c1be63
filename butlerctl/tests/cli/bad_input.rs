//! What is wrong with the world is said by name, with the right exit status, and never with a panic.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt, time::Instant};

use anyhow::Result;
use butler_tests::{
    Env, Invocation, Output,
    http::{HttpServer, Reply},
    pki::Authority,
};
use insta::assert_snapshot;
use serde_json::json;

use crate::support::{Butlerctl, LIMIT, plane, program, write_kubeconfig};

/// Runs `cluster list` with this kubeconfig text, or with none.
fn list_with(text: Option<&str>) -> Result<(Env, Invocation)> {
    let env = Env::new()?;
    let path = env.work_dir().join("kubeconfig");
    if let Some(text) = text {
        butler_core::settings::home::write_private(&path, text.as_bytes())?;
    }
    let run = program(&env).args(["cluster", "list", "--kubeconfig"]).arg(&path).timeout(LIMIT);
    Ok((env, run))
}

/// Runs `cluster list` against a server that answers like this.
fn list_from(reply: Reply) -> Result<(Output, usize)> {
    let server = HttpServer::start(move |_| reply.clone())?;
    let program = Butlerctl::with_server(&server.url())?;
    let output = program.run(["cluster", "list", "--request-timeout", "20s"]).timeout(LIMIT).run()?;
    Ok((output, server.requests().len()))
}

#[test]
fn a_kubeconfig_that_is_of_no_use_is_named() -> Result<()> {
    assert_snapshot!(list_with(None)?.1.run()?, @r"
    exit 2
    [stderr]
    error[BTL-1009]: cannot read the kubeconfig `[TEMP]/work/kubeconfig`
      1: No such file or directory (os error 2)

    hint: check the path in --kubeconfig or KUBECONFIG
    hint: ls -l FILE
    ");
    assert_snapshot!(list_with(Some(""))?.1.run()?, @r"
    exit 2
    [stderr]
    error[BTL-1010]: the kubeconfig `[TEMP]/work/kubeconfig` is empty

    hint: kubectl config view --kubeconfig FILE
    ");
    assert_snapshot!(list_with(Some("clusters:\n\t- torn"))?.1.run()?, @r"
    exit 2
    [stderr]
    error[BTL-1010]: the kubeconfig `[TEMP]/work/kubeconfig` is not valid at line 2, column 2

    hint: kubectl config view --kubeconfig FILE
    ");
    let (env, _) = list_with(None)?;
    let directory = program(&env).args(["cluster", "list", "--kubeconfig", "."]).timeout(LIMIT).run()?;
    assert_snapshot!(directory, @r"
    exit 2
    [stderr]
    error[BTL-1009]: cannot read the kubeconfig `.`
      1: Is a directory (os error 21)

    hint: check the path in --kubeconfig or KUBECONFIG
    hint: ls -l FILE
    ");
    Ok(())
}

/// Root may read everything, so root gives that up first.
#[test]
fn a_kubeconfig_that_may_not_be_read_is_named() -> Result<()> {
    let (env, _) = list_with(Some("{}"))?;
    let path = env.work_dir().join("kubeconfig");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000))?;
    let program = if fs::File::open(&path).is_ok() {
        let drop = ["--bounding-set=-dac_override,-dac_read_search", env!("CARGO_BIN_EXE_butlerctl")];
        env.command("/usr/bin/setpriv").args(drop)
    } else {
        program(&env)
    };
    assert_snapshot!(program.args(["cluster", "list", "--kubeconfig"]).arg(&path).timeout(LIMIT).run()?, @r"
    exit 2
    [stderr]
    error[BTL-1009]: cannot read the kubeconfig `[TEMP]/work/kubeconfig`
      1: Permission denied (os error 13)

    hint: check the path in --kubeconfig or KUBECONFIG
    hint: ls -l FILE
    ");
    Ok(())
}

#[test]
fn an_unknown_context_lists_the_known_ones() -> Result<()> {
    let program = Butlerctl::with_server("https://127.0.0.1:1")?;
    assert_snapshot!(program.run(["cluster", "list", "--context", "mian"]).timeout(LIMIT).run()?, @r"
    exit 2
    [stderr]
    error[BTL-1011]: the kubeconfig `[TEMP]/work/kubeconfig` has no context `mian`

    hint: did you mean --context main
    hint: contexts in it: main
    ");
    Ok(())
}

#[test]
fn without_any_identity_the_next_commands_are_named() -> Result<()> {
    let env = Env::new()?;
    assert_snapshot!(program(&env).args(["cluster", "list"]).timeout(LIMIT).run()?, @r"
    exit 5
    [stderr]
    error[BTL-1005]: no cluster and no login was found

    hint: pass --kubeconfig FILE
    hint: sign in to a Butler server
    hint: butleradm sandbox up, to try the platform on this machine
    ");
    let homeless = program(&env).args(["cluster", "list"]).env_remove("HOME").env_remove("BUTLER_HOME");
    let _ = homeless.timeout(LIMIT).run()?.failed_with(5)?;
    Ok(())
}

#[test]
fn an_expired_login_does_not_fall_back_to_an_administrator() -> Result<()> {
    let env = Env::new()?;
    butler_core::settings::home::make_private_dir(&env.butler_home())?;
    write_kubeconfig(&env.butler_home().join("admin-kubeconfig"), "https://127.0.0.1:1", None)?;
    let store = json!({"activeServer": "https://butler.example", "servers": {"https://butler.example": {
        "user": {"email": "alice@example.com"}, "kubeconfig": "c2VjcmV0", "expiresAt": "2029-12-31T00:00:00Z"}}});
    let path = env.butler_home().join("credentials.json");
    butler_core::settings::home::write_private(&path, store.to_string().as_bytes())?;
    assert_snapshot!(program(&env).args(["cluster", "list"]).timeout(LIMIT).run()?, @r"
    exit 5
    [stderr]
    error[BTL-1006]: the login of `alice@example.com` on `https://butler.example` has expired

    hint: sign in again to https://butler.example
    hint: pass --kubeconfig FILE to use another identity on purpose
    ");
    Ok(())
}

#[test]
fn a_server_that_is_down_is_exit_1() -> Result<()> {
    // Bound and closed again: nobody listens there.
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let program = Butlerctl::with_server(&format!("https://{address}"))?;
    assert_snapshot!(program.run(["cluster", "list"]).timeout(LIMIT).run()?, @r"
    exit 1
    [stderr]
    error[BTL-1001]: cannot list tenant clusters in namespace `butler-tenants`
      1: https://127.0.0.1:PORT: Connection refused (os error 111)

    hint: butlerctl version
    hint: kubectl --kubeconfig FILE get --raw /readyz
    hint: try again when the server is back
    ");
    assert_snapshot!(program.run(["cluster", "get", "dev", "-o", "json"]).timeout(LIMIT).run()?, @r#"
    exit 1
    [stderr]
    {"apiVersion":"butler.butlerlabs.dev/v1alpha1","causes":["https://127.0.0.1:PORT: Connection refused (os error 111)"],"class":"Transient","code":"BTL-1001","hints":["butlerctl version","kubectl --kubeconfig FILE get --raw /readyz","try again when the server is back"],"kind":"Error","message":"cannot get tenant cluster `dev` in namespace `butler-tenants`"}
    "#);
    Ok(())
}

#[test]
fn a_server_that_does_not_answer_is_exit_6_in_time() -> Result<()> {
    let server = HttpServer::start(|_| Reply::Hang)?;
    let program = Butlerctl::with_server(&server.url())?;
    let start = Instant::now();
    let output = program.run(["cluster", "list", "--request-timeout", "1s"]).timeout(LIMIT).run()?;
    assert_snapshot!(output, @r"
    exit 6
    [stderr]
    error[BTL-1003]: cannot list tenant clusters in namespace `butler-tenants`
      1: http://127.0.0.1:PORT: no complete answer within 1s

    hint: repeat with a longer --request-timeout
    hint: butleradm doctor
    ");
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    Ok(())
}

#[test]
fn a_server_that_is_not_kubernetes_is_told_apart() -> Result<()> {
    assert_snapshot!(list_from(Reply::html())?.0, @r"
    exit 1
    [stderr]
    error[BTL-1002]: cannot list tenant clusters in namespace `butler-tenants`
      1: the answer was 200 OK and not JSON

    hint: check `server:` in the kubeconfig
    hint: curl -k SERVER/version
    ");
    let bad_gateway = Reply::typed(502, "text/html", "<html><h1>Bad Gateway</h1></html>");
    assert_snapshot!(list_from(bad_gateway)?.0, @r"
    exit 1
    [stderr]
    error[BTL-1002]: cannot list tenant clusters in namespace `butler-tenants`
      1: the answer was 502 Bad Gateway and not JSON

    hint: check `server:` in the kubeconfig
    hint: curl -k SERVER/version
    ");
    assert_snapshot!(list_from(Reply::Bytes(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec()))?.0, @r"
    exit 1
    [stderr]
    error[BTL-1002]: cannot list tenant clusters in namespace `butler-tenants`
      1: http://127.0.0.1:PORT: invalid HTTP version parsed

    hint: check `server:` in the kubeconfig
    hint: curl -k SERVER/version
    ");
    Ok(())
}

#[test]
fn answers_that_break_off_are_named() -> Result<()> {
    assert_snapshot!(list_from(Reply::Reset)?.0, @r"
    exit 1
    [stderr]
    error[BTL-1001]: cannot list tenant clusters in namespace `butler-tenants`
      1: http://127.0.0.1:PORT: Connection reset by peer (os error 104)

    hint: butlerctl version
    hint: kubectl --kubeconfig FILE get --raw /readyz
    hint: try again when the server is back
    ");
    let body = br#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefi"#.to_vec();
    assert_snapshot!(list_from(Reply::typed(200, "application/json", body.clone()))?.0, @r"
    exit 1
    [stderr]
    error[BTL-1108]: cannot list tenant clusters in namespace `butler-tenants`
      1: the answer ends in the middle

    hint: repeat with -v
    hint: butlerctl version
    ");
    let _ = list_from(Reply::Truncated { body, sent: 20 })?.0.failed_with(1)?;
    Ok(())
}

#[test]
fn a_busy_server_is_asked_again_before_giving_up() -> Result<()> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429,
        "reason": "TooManyRequests", "message": "too many requests, please try again later"});
    let (output, requests) = list_from(Reply::typed(429, "application/json", status.to_string()))?;
    assert_snapshot!(output, @r"
    exit 1
    [stderr]
    error[BTL-1109]: cannot list tenant clusters in namespace `butler-tenants`
      1: too many requests, please try again later

    hint: try again in a moment
    hint: kubectl get --raw '/readyz?verbose'
    ");
    assert_eq!(requests, 4);
    Ok(())
}

#[test]
fn certificates_that_do_not_hold_are_refused() -> Result<()> {
    let (ours, theirs) = (Authority::new("ours")?, Authority::new("theirs")?);
    for (identity, message) in [
        (ours.expired_server()?, "the server's certificate has expired"),
        (theirs.server()?, "the server's certificate is not signed by the authority in the kubeconfig"),
    ] {
        let server = HttpServer::start_tls(&identity, |_| Reply::html())?;
        let env = Env::new()?;
        let path = env.work_dir().join("kubeconfig");
        write_kubeconfig(&path, &server.url(), Some(&ours.identity().certificate))?;
        let output =
            program(&env).args(["cluster", "list", "--kubeconfig"]).arg(&path).timeout(LIMIT).run()?;
        let output = output.failed_with(1)?;
        assert!(output.stderr.contains("error[BTL-1004]") && output.stderr.contains(message), "{output}");
        assert!(server.requests().is_empty());
    }
    Ok(())
}

#[tokio::test]
async fn a_user_without_rights_gets_the_servers_words() -> Result<()> {
    let plane = plane().await?;
    let program = Butlerctl::new(&plane.kubeconfig_for("nobody", &[])?)?;
    assert_snapshot!(program.run(["cluster", "list", "-n", "default"]).timeout(LIMIT).run()?, @r#"
    exit 5
    [stderr]
    error[BTL-1008]: cannot list tenant clusters in namespace `default`
      1: tenantclusters.butler.butlerlabs.dev is forbidden: User "nobody" cannot list resource "tenantclusters" in API group "butler.butlerlabs.dev" in the namespace "default"

    hint: kubectl auth whoami
    hint: kubectl auth can-i --list -n NAMESPACE
    "#);
    Ok(())
}

#[tokio::test]
async fn a_selector_that_cannot_be_parsed_is_exit_2() -> Result<()> {
    let program = Butlerctl::new(plane().await?.kubeconfig())?;
    assert_snapshot!(program.run(["cluster", "list", "-l", "a b c"]).timeout(LIMIT).run()?, @r"
    exit 2
    [stderr]
    error[BTL-1105]: cannot list tenant clusters in namespace `butler-tenants`
      1: unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt

    hint: repeat with -v
    hint: butleradm doctor
    ");
    Ok(())
}

#[tokio::test]
async fn a_kubeconfig_others_can_read_is_used_with_a_warning() -> Result<()> {
    let plane = plane().await?;
    let env = Env::new()?;
    let path = env.work_dir().join("kubeconfig");
    fs::copy(plane.kubeconfig(), &path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644))?;
    let run = program(&env).args(["cluster", "list", "-n", "default", "--kubeconfig"]).arg(&path);
    assert_snapshot!(run.timeout(LIMIT).run()?, @r"
    exit 0
    [stdout]
    NAME  PHASE  K8S VERSION  WORKERS  AGE
    [stderr]
    warning: other users of this machine can read `[TEMP]/work/kubeconfig` (BTL-1012): chmod 600 [TEMP]/work/kubeconfig
    no tenant clusters in namespace `default`
    ");
    Ok(())
}

#[tokio::test]
async fn neither_home_nor_a_writable_butler_home_is_needed_to_read() -> Result<()> {
    let plane = plane().await?;
    let program = Butlerctl::new(plane.kubeconfig())?;
    let list = || program.run(["cluster", "list", "-n", "default"]).timeout(LIMIT);
    let _ = list().env_remove("HOME").env_remove("BUTLER_HOME").run()?.success()?;
    // Not even root can write there.
    let _ = list().env("BUTLER_HOME", "/proc").run()?.success()?;
    Ok(())
}

/// A server with so many rows that no pipe holds them.
fn many_rows() -> Result<HttpServer> {
    let columns = [
        "Name",
        "Phase",
        "K8s Version",
        "Endpoint",
        "Namespace",
        "Environment",
        "Ready Workers",
        "Desired Workers",
        "Spec Workers",
        "Provider",
        "Tenant Namespace",
        "Created",
    ];
    let columns: Vec<_> = columns.iter().map(|name| json!({"name": name})).collect();
    let rows: Vec<_> = (0..20_000)
        .map(|n| {
            json!({"cells": [format!("cluster-{n:05}"), "Ready", "v1.33.4", null, "default", null, 3, 3, 3,
                "harvester", null, "2029-12-25T00:00:00Z"]})
        })
        .collect();
    // The order of keys counts, so the columns are written first.
    let body = format!(r#"{{"kind":"Table","columnDefinitions":{},"rows":{}}}"#, json!(columns), json!(rows));
    HttpServer::start(move |_| Reply::typed(200, "application/json", body.clone()))
}

#[test]
fn a_closed_pipe_ends_quietly() -> Result<()> {
    let server = many_rows()?;
    let program = Butlerctl::with_server(&server.url())?;
    let script = format!("set -o pipefail; {} cluster list | head -1", env!("CARGO_BIN_EXE_butlerctl"));
    let kubeconfig = program.env.work_dir().join("kubeconfig");
    let shell = program.env.command("/bin/bash").args(["-c", &script]).env("KUBECONFIG", kubeconfig);
    assert_snapshot!(shell.timeout(LIMIT).run()?, @r"
    exit 0
    [stdout]
    NAME           PHASE  K8S VERSION  WORKERS  AGE
    ");
    Ok(())
}

#[test]
fn a_terminal_20_columns_wide_is_wide_enough() -> Result<()> {
    let server = many_rows()?;
    let program = Butlerctl::with_server(&server.url())?;
    let mut pty = program.run(["cluster", "list"]).pty(20, 12)?;
    let status = pty.wait(LIMIT)?;
    assert!(status.success());
    pty.wait_for("cluster-19999", LIMIT)?;
    Ok(())
}
