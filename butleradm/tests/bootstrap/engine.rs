//! What a person is told when the container engine or `kind` is not as it must be. `make test-kind` shows
//! the same with real ones; these answer as theirs do in states that nobody can make on purpose.

use std::{net::TcpListener, process::Command};

use anyhow::{Context, Result, ensure};

use super::Lab;

/// Answers from files beside it.
const DOCKER: &str = r#"#!/bin/sh
cd "${0%/*}" && PATH=/usr/bin:/bin
case "$1" in
version) printf '{"Client":{"Version":"27.0.0"},"Server":%s}\n' "$(cat server 2>/dev/null || echo null)" ;;
context) echo '{"Endpoints":{"docker":{"Host":"unix:///nowhere/docker.sock"}}}' ;;
info) printf '{"DockerRootDir":"%s"}\n' "$(cat root)" ;;
ps) [ ! -e cluster ] || echo f00d ;;
inspect) echo '[{"Name":"/x-control-plane","State":{"Running":true},"Mounts":[{"Source":"/runs/theirs/owner"}]}]' ;;
*) exit 125 ;;
esac
"#;
const KIND: &str = "#!/bin/sh\necho kind v0.33.0 go1.26.3 linux/amd64\n";
const SERVER: &str = r#"{"Version":"29.1.0"}"#;

impl Lab {
    fn program(&self, name: &str, text: &str) -> Result<()> {
        let path = self.tools().join(name);
        // Written by another process, so that no test holds it open while it is run.
        let write = r#"printf %s "$1" >"$0" && chmod 755 "$0""#;
        let written = Command::new("sh").args(["-c", write]).arg(path).arg(text).status()?;
        ensure!(written.success(), "{name}: {written}");
        Ok(())
    }

    fn fact(&self, name: &str, text: &str) -> Result<()> {
        Ok(std::fs::write(self.tools().join(name), text)?)
    }

    /// Runs a bootstrap of `local`, which must end like this before it makes anything.
    fn told(&self, port: u16, status: i32, words: &[&str]) -> Result<()> {
        let config = self.env.work_dir().join("local.yaml");
        let text = format!(
            "provider: local\ncluster: {{name: dev, topology: single-node, controlPlane: {{replicas: 1, cpu: 2, \
             memoryMB: 2048, diskGB: 20}}}}\nproviderConfig: {{local: {{consolePort: {port}}}}}\n"
        );
        std::fs::write(&config, text)?;
        let run = self.bootstrap(&["local", "--config", &config.display().to_string()]);
        let output = run.env("PATH", self.tools()).run()?.failed_with(status)?;
        for word in words {
            ensure!(output.stderr.contains(word), "{word} is missing: {output}");
        }
        let listed = self.bootstrap(&["list", "-o", "json"]).run()?.success()?.json()?;
        let stages = listed["items"].as_array().context("runs")?;
        ensure!(stages.iter().all(|run| run["stage"] == "Failed"), "{listed}");
        ensure!(self.processes().is_empty(), "something still runs");
        Ok(())
    }
}

#[test]
fn each_trouble_of_an_engine_has_its_code_and_the_next_command() -> Result<()> {
    let lab = Lab::new()?;
    lab.program("kind", KIND)?;
    lab.told(18080, 3, &["BTL-1823", "docker, nerdctl, podman", "`bootstrapCluster.runtime: process`"])?;

    lab.program("docker", DOCKER)?;
    let off = ["BTL-1824", "unix:///nowhere/docker.sock", "sudo systemctl start docker", "docker info"];
    lab.told(18080, 1, &off)?;

    lab.fact("server", r#"{"Version":"19.03.15"}"#)?;
    lab.told(18080, 1, &["BTL-1826", "19.3.15", "20.10.0", "docker version"])?;

    lab.fact("server", SERVER)?;
    lab.fact("root", "/proc")?;
    lab.told(18080, 1, &["BTL-1821", "0 MiB free", "2048 MiB", "df -h /proc"])?;

    lab.fact("cluster", "")?;
    let theirs = ["BTL-1829", "`dev`", "/runs/theirs", "kind delete cluster --name dev"];
    lab.told(18080, 1, &theirs)?;
    std::fs::remove_file(lab.tools().join("cluster"))?;

    lab.fact("root", "/tmp")?;
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let port = taken.local_addr()?.port();
    let holder = format!("process {}", std::process::id());
    lab.told(port, 1, &["BTL-1828", &holder, &format!("sport = :{port}"), "consolePort"])
}

#[test]
fn without_kind_and_a_way_to_get_it_a_person_is_told_which_program_is_missing() -> Result<()> {
    let lab = Lab::new()?;
    lab.program("docker", DOCKER)?;
    lab.fact("server", SERVER)?;
    lab.fact("root", "/tmp")?;
    lab.told(18080, 3, &["BTL-14", "`kind`"])
}
