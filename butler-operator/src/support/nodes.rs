//! What the nodes say of themselves, through the Talos API.

use butler_core::redact::Secret;
use futures::StreamExt;
use serde_json::json;

use super::{
    Scene,
    pack::{LARGEST, Pack},
    within, words,
};
use crate::talos::{
    client::Client,
    talosconfig::{Context, Talosconfig},
};

pub(super) async fn collect(scene: &Scene<'_>, pack: &mut Pack) {
    let Some(cluster) = &scene.cluster else {
        return pack.miss("nodes/", "no cluster of a run on this computer is meant");
    };
    let path = scene.home.dir().join(format!("{cluster}-talosconfig"));
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => Secret::from(text),
        Err(error) => return pack.miss("nodes/", &format!("`{}`: {error}", path.display())),
    };
    let config = match Talosconfig::from_yaml(&text) {
        Ok(config) => config,
        Err(error) => return pack.miss("nodes/", &error.to_string()),
    };
    let Ok(access) = config.current() else { return pack.miss("nodes/", "the talosconfig has no context") };
    for address in &access.endpoints {
        one(address, access, pack).await;
    }
}

async fn one(address: &str, access: &Context, pack: &mut Pack) {
    let at = |name: &str| format!("nodes/{address}/{name}");
    let node = within(async { Client::connect(address, access).await.map_err(|error| words(&error)) }).await;
    let node = match node {
        Ok(node) => node,
        Err(reason) => return pack.miss(&at(""), &reason),
    };
    let services = within(async {
        let services = node.services().await.map_err(|error| words(&error))?;
        let of = |service: &crate::talos::proto::machine::ServiceInfo| {
            let health = service
                .health
                .as_ref()
                .map(|health| json!({ "healthy": health.healthy, "message": health.last_message }));
            json!({ "id": service.id, "state": service.state, "health": health })
        };
        Ok(services.iter().map(of).collect())
    });
    pack.json(&at("services.json"), services.await);
    let members = within(async {
        let members = node.etcd_members().await.map_err(|error| words(&error))?;
        let of = |member: &crate::talos::proto::machine::EtcdMember| json!({ "name": member.hostname, "peers": member.peer_urls, "learner": member.is_learner });
        Ok(members.iter().map(of).collect())
    });
    pack.json(&at("etcd-members.json"), members.await);
    let dmesg = within(async {
        let mut lines = Box::pin(node.dmesg(false).await.map_err(|error| words(&error))?);
        let mut text = Vec::new();
        while let Some(piece) = lines.next().await {
            text.extend(piece.map_err(|error| words(&error))?);
            if text.len() as u64 >= LARGEST {
                break;
            }
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    });
    pack.text(&at("dmesg.txt"), dmesg.await);
}
