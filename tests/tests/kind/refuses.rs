//! What is in the way of a real engine: each with its code and the next command, and nothing made.

use std::{net::TcpListener, os::unix::fs::PermissionsExt, path::Path};

use anyhow::{Context, Result, ensure};
use butler_tests::Invocation;

use crate::lab::Lab;

const CLUSTER: &str = "butler-test-refused";

fn config(lab: &Lab, image: &str, port: u16) -> Result<String> {
    lab.config(&format!(
        "provider: local
cluster:
  name: {CLUSTER}
  topology: single-node
  controlPlane: {{replicas: 1, cpu: 2, memoryMB: 2048, diskGB: 20}}
providerConfig: {{local: {{consolePort: {port}}}}}
bootstrapCluster: {{kind: {{image: \"{image}\"}}}}
"
    ))
}

/// Demands this end, and that it can be cleared away.
fn refused(lab: &Lab, run: Invocation, status: i32, words: &[&str]) -> Result<()> {
    let output = run.run()?.failed_with(status)?;
    for word in words {
        ensure!(output.stderr.contains(word), "{word}: {output}");
    }
    ensure!(lab.containers()?.is_empty(), "something was made");
    lab.destroy(CLUSTER)
}

#[test]
fn an_engine_that_is_off_denied_or_lacks_image_or_port_is_explained() -> Result<()> {
    let lab = Lab::new(CLUSTER)?;
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let port = taken.local_addr()?.port();
    let good = lab.engine.image.clone();

    let file = config(&lab, &good, port)?;
    let run = lab.bootstrap(&["--config", &file])?;
    let process = format!("process {}", std::process::id());
    refused(&lab, run, 1, &["BTL-1828", &process, "ss -ltnp", "consolePort"])?;
    drop(taken);

    let run = lab.bootstrap(&["--config", &file])?.env("DOCKER_HOST", "unix:///nowhere/docker.sock");
    refused(&lab, run, 1, &["BTL-1824", "unix:///nowhere/docker.sock", "docker info"])?;

    let run = lab.bootstrap(&["--config", &file])?.env("PATH", "/nowhere");
    refused(&lab, run, 3, &["BTL-1823", "docker", "runtime: process"])?;

    let file = config(&lab, "butler-test/no-such-node:1", port)?;
    let run = lab.bootstrap(&["--config", &file])?;
    refused(
        &lab,
        run,
        1,
        &["BTL-1831", "butler-test/no-such-node:1", "docker pull", "bootstrapCluster.kind.image"],
    )
}

#[test]
fn a_user_who_may_not_use_the_socket_is_told_so() -> Result<()> {
    let lab = Lab::new(CLUSTER)?;
    let file = config(&lab, &lab.engine.image, 0)?;
    let text = std::fs::read_to_string(&file)?.replace("consolePort: 0", "consolePort: 18080");
    // Everything that somebody else needs, in a place of theirs.
    let dir = tempfile::Builder::new().prefix("butler-nobody-").tempdir()?;
    let open = |path: &Path| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777));
    open(dir.path())?;
    let program = dir.path().join("butleradm");
    std::fs::copy(lab.engine.program()?, &program)?;
    std::fs::write(dir.path().join("bootstrap.yaml"), text)?;
    let tools = dir.path().join("tools");
    std::fs::create_dir(&tools)?;
    for name in ["kind", "helm"] {
        std::fs::copy(butler_tests::part(name)?, tools.join(name))?;
    }
    let socket = dir.path().join("docker.sock");
    let _listens = std::os::unix::net::UnixListener::bind(&socket)?;
    std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o000))?;

    let path = lab.engine.environment.get("PATH").context("a PATH")?;
    // Whoever is root may use every socket.
    let run = match rustix::process::geteuid().is_root() {
        true => {
            let ids = ["--reuid=65534", "--regid=65534", "--clear-groups"];
            lab.env.command("/usr/bin/setpriv").args(ids).arg(&program)
        }
        false => lab.env.command(&program),
    };
    let output = run
        .args(["bootstrap", "--config", "bootstrap.yaml"])
        .current_dir(dir.path())
        .env("BUTLER_HOME", dir.path().join("home"))
        .env("BUTLER_SYSTEM_CONFIG", dir.path().join("config.toml"))
        .env("HOME", dir.path())
        .env("TMPDIR", dir.path())
        .env("PATH", path)
        .env("BUTLER_TOOLS_DIR", &tools)
        .env("DOCKER_HOST", format!("unix://{}", socket.display()))
        .run()?
        .failed_with(5)?;
    for word in ["BTL-1825", "docker.sock", "ls -l", "usermod -aG docker"] {
        ensure!(output.stderr.contains(word), "{word}: {output}");
    }
    Ok(())
}
