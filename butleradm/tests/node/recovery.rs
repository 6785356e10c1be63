//! etcd's data handed out, and a cluster that begins from it: as talosctl does both.

use std::fs;

use anyhow::Result;
use butler_operator::driver::Role;

use super::lab::Lab;

#[tokio::test]
async fn a_control_plane_begins_from_the_snapshot_of_another() -> Result<()> {
    let lab = Lab::new()?;
    lab.generate(&lab.address(11))?;
    let first = lab.create("cp-1", 11, Role::ControlPlane)?;
    fs::write(first.dir.user_data(), fs::read_to_string(lab.file("controlplane.yaml"))?)?;
    let running = lab.boot(&first)?;
    lab.talk_to(&first)?;
    lab.eventually(&["version"], "NODE:").await?;
    lab.ok(&["bootstrap"])?;
    lab.ok(&["health", "--wait-timeout", "100s"])?;
    lab.ok(&["kubeconfig", "kubeconfig"])?;
    lab.kubectl(&["create", "configmap", "kept", "--from-literal=word=kept"])?;
    lab.ok(&["etcd", "snapshot", "snapshot.db"])?;
    lab.kubectl(&["create", "configmap", "later", "--from-literal=word=later"])?;
    let text = lab.fails(&["bootstrap", "--recover-from=snapshot.db"])?;
    assert!(text.contains("not empty"), "{text}");
    drop(running);

    // Another machine at the same address: nothing of the first is left but the file.
    let second = lab.create("cp-1-again", 11, Role::ControlPlane)?;
    fs::write(second.dir.user_data(), fs::read_to_string(lab.file("controlplane.yaml"))?)?;
    let _running = lab.boot(&second)?;
    lab.eventually(&["version"], "NODE:").await?;

    let whole = fs::read(lab.file("snapshot.db"))?;
    fs::write(lab.file("broken.db"), &whole[..whole.len() - 4096])?;
    lab.ok(&["bootstrap", "--recover-from=broken.db"])?;
    lab.eventually(&["service", "etcd"], "failed to recover etcd").await?;

    lab.ok(&["bootstrap", "--recover-from=snapshot.db"])?;
    lab.ok(&["health", "--wait-timeout", "100s"])?;
    let names = lab.kubectl(&["get", "configmaps", "-o", "name"])?;
    assert!(names.contains("configmap/kept") && !names.contains("configmap/later"), "{names}");
    Ok(())
}
