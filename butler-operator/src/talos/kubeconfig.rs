//! The administrator's kubeconfig: made from the cluster's authority, or taken out of the archive a
//! node sends.

use std::io::Read;

use base64::{Engine, engine::general_purpose::STANDARD};
use butler_core::{
    pki::{Authority, Leaf, PkiError, TOLERANCE, Usage, valid_from},
    redact::Secret,
};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

/// More than any kubeconfig; stops an archive made to fill memory.
const LARGEST: u64 = 1 << 20;

/// A kubeconfig with every right in the cluster. Talos nodes make the same one on request.
pub fn admin(
    cluster: &str,
    endpoint: &str,
    authority: &Authority,
    now: Timestamp,
    life: SignedDuration,
) -> Result<Secret, PkiError> {
    let issued = authority.issue(&Leaf {
        common_name: Some("admin".to_owned()),
        organization: Some("system:masters".to_owned()),
        names: Vec::new(),
        usage: Usage::Client,
        not_before: valid_from(now),
        life: life + TOLERANCE,
    })?;
    let user = format!("admin@{cluster}");
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": cluster, "cluster": {
            "server": endpoint,
            "certificate-authority-data": STANDARD.encode(authority.certificate()),
        }}],
        "users": [{ "name": user, "user": {
            "client-certificate-data": STANDARD.encode(&issued.certificate),
            "client-key-data": STANDARD.encode(issued.key.expose()),
        }}],
        "contexts": [{ "name": user, "context": { "cluster": cluster, "namespace": "default", "user": user } }],
        "current-context": user,
    });
    // JSON is YAML, and kubectl reads either.
    Ok(Secret::from(format!("{config:#}\n")))
}

/// Takes the file `kubeconfig` out of the gzipped tar archive a node sends. Nodes neither pad the
/// last block nor close the archive, so the first entry is read and nothing after it.
pub(super) fn from_archive(bytes: &[u8]) -> Option<Secret> {
    let mut archive = tar::Archive::new(GzDecoder::new(bytes).take(LARGEST));
    let mut file = archive.entries().ok()?.next()?.ok()?;
    if file.path_bytes().as_ref() != b"kubeconfig" {
        return None;
    }
    let announced = file.size();
    let mut content = String::new();
    file.read_to_string(&mut content).ok()?;
    (content.len() as u64 == announced).then(|| content.into())
}

/// The archive a node sends for a kubeconfig.
pub fn to_archive(kubeconfig: &Secret) -> std::io::Result<Vec<u8>> {
    let content = kubeconfig.expose().as_bytes();
    let mut header = tar::Header::new_ustar();
    header.set_mode(0o600);
    header.set_size(content.len() as u64);
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    archive.append_data(&mut header, "kubeconfig", content)?;
    archive.into_inner()?.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::talos::secrets::SecretsBundle;

    #[test]
    fn the_archive_gives_back_what_was_put_in_and_refuses_what_is_cut() {
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        let authority = SecretsBundle::generate(now).unwrap().certs.k8s.authority().unwrap();
        let life = SignedDuration::from_hours(1);
        let kubeconfig = admin("prod", "https://10.0.0.1:6443", &authority, now, life).unwrap();
        let archive = to_archive(&kubeconfig).unwrap();
        assert_eq!(from_archive(&archive), Some(kubeconfig));
        assert_eq!(from_archive(&archive[..archive.len() / 2]), None);
        assert_eq!(from_archive(b"not gzip"), None);
    }

    #[test]
    fn the_kubeconfig_names_cluster_user_and_server() {
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        let authority = SecretsBundle::generate(now).unwrap().certs.k8s.authority().unwrap();
        let text =
            admin("prod", "https://10.0.0.1:6443", &authority, now, SignedDuration::from_hours(1)).unwrap();
        let config: serde_json::Value = serde_saphyr::from_str(text.expose()).unwrap();
        assert_eq!(config["current-context"], "admin@prod");
        assert_eq!(config["clusters"][0]["cluster"]["server"], "https://10.0.0.1:6443");
    }
}
