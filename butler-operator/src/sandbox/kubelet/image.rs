//! Names and identities of images and containers, as a container runtime would tell them.

use ring::digest::{SHA256, digest};

/// The full name of an image: registry, path and tag or digest.
pub(super) fn full_name(image: &str) -> String {
    let (first, rest) = image.split_once('/').map_or(("", image), |(first, rest)| (first, rest));
    let has_registry = first.contains(['.', ':']) || first == "localhost";
    let mut name = match (has_registry, first.is_empty()) {
        (true, _) => image.to_owned(),
        (false, true) => format!("docker.io/library/{rest}"),
        (false, false) => format!("docker.io/{image}"),
    };
    let last = name.rsplit('/').next().unwrap_or_default();
    if !last.contains([':', '@']) {
        name.push_str(":latest");
    }
    name
}

/// The identity of an image: its name with a digest, the same wherever it runs.
pub(super) fn id(image: &str) -> String {
    let full = full_name(image);
    if full.contains('@') {
        return full;
    }
    let slash = full.rfind('/').map_or(0, |at| at + 1);
    let repository = match full[slash..].rfind(':') {
        Some(colon) => &full[..slash + colon],
        None => &full,
    };
    format!("{repository}@sha256:{}", hex(&[&full]))
}

/// The identity of one run of a container.
pub(super) fn container_id(pod_uid: &str, container: &str, run: i32) -> String {
    format!("containerd://{}", hex(&[pod_uid, container, &run.to_string()]))
}

/// A digest of several texts.
pub(super) fn hex(texts: &[&str]) -> String {
    let digest = digest(&SHA256, texts.join("\n").as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("nginx", "docker.io/library/nginx:latest", "docker.io/library/nginx@sha256:")]
    #[case("team/app:2", "docker.io/team/app:2", "docker.io/team/app@sha256:")]
    #[case("quay.io/team/app", "quay.io/team/app:latest", "quay.io/team/app@sha256:")]
    #[case("localhost:5000/app:1", "localhost:5000/app:1", "localhost:5000/app@sha256:")]
    #[case("app@sha256:0123", "docker.io/library/app@sha256:0123", "docker.io/library/app@sha256:0123")]
    fn images_have_full_names_and_identities(#[case] image: &str, #[case] full: &str, #[case] begin: &str) {
        assert_eq!(full_name(image), full);
        let id = id(image);
        assert!(id.starts_with(begin), "{id}");
        assert_eq!(id, super::id(full));
    }

    #[test]
    fn every_run_has_an_identity_of_its_own() {
        let ids = [("a", "b", 0), ("a", "b", 1), ("a", "c", 0), ("b", "b", 0)]
            .map(|(uid, name, run)| container_id(uid, name, run));
        let unique: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len());
        assert_eq!(ids[0].len(), "containerd://".len() + 64);
    }
}
