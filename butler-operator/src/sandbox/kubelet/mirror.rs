//! Static Pods and the mirrors that show them in the API. Pure.

use k8s_openapi::{
    api::core::v1::{Pod, Toleration},
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};

use super::{StaticPod, image, pods::PodKey};

const MIRROR: &str = "kubernetes.io/config.mirror";
const HASH: &str = "kubernetes.io/config.hash";
const SOURCE: &str = "kubernetes.io/config.source";
const DEFAULT_NAMESPACE: &str = "kube-system";

/// The node that a mirror names as its owner.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner<'a> {
    pub(super) name: &'a str,
    pub(super) uid: &'a str,
}

/// Where the mirror of a static Pod lives.
pub(super) fn key(pod: &StaticPod, node_name: &str) -> PodKey {
    let metadata = &pod.0.metadata;
    let name = metadata.name.as_deref().unwrap_or_default();
    let suffix = format!("-{node_name}");
    let name = if name.ends_with(&suffix) { name.to_owned() } else { format!("{name}{suffix}") };
    let namespace = metadata.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE).to_owned();
    PodKey { namespace, name }
}

/// Tells two versions of a static Pod apart.
pub(super) fn hash(pod: &StaticPod) -> String {
    let text = serde_json::to_string(&pod.0).unwrap_or_default();
    image::hex(&[&text])[..32].to_owned()
}

/// The mirror of a static Pod.
pub(super) fn mirror(pod: &StaticPod, owner: Owner<'_>) -> Pod {
    let PodKey { namespace, name } = key(pod, owner.name);
    let hash = hash(pod);
    let mut mirror = pod.0.clone();
    mirror.status = None;
    mirror.metadata.name = Some(name);
    mirror.metadata.namespace = Some(namespace);
    mirror.metadata.uid = None;
    mirror.metadata.resource_version = None;
    let annotations = mirror.metadata.annotations.get_or_insert_default();
    for (name, value) in [(MIRROR, hash.as_str()), (HASH, &hash), (SOURCE, "file")] {
        annotations.insert(name.to_owned(), value.to_owned());
    }
    mirror.metadata.owner_references = Some(vec![OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        name: owner.name.to_owned(),
        uid: owner.uid.to_owned(),
        controller: Some(true),
        ..OwnerReference::default()
    }]);
    let spec = mirror.spec.get_or_insert_default();
    spec.node_name = Some(owner.name.to_owned());
    let tolerations = spec.tolerations.get_or_insert_default();
    if tolerations.is_empty() {
        tolerations.push(Toleration {
            effect: Some("NoExecute".to_owned()),
            operator: Some("Exists".to_owned()),
            ..Toleration::default()
        });
    }
    mirror
}

/// The version of the static Pod that this Pod mirrors; `None` for every other Pod.
pub(super) fn mirrored(pod: &Pod) -> Option<&str> {
    pod.metadata.annotations.as_ref()?.get(MIRROR).map(String::as_str)
}

/// True when the Pod's owner is the Node that is registered now.
pub(super) fn belongs_to(pod: &Pod, owner: Owner<'_>) -> bool {
    pod.metadata.owner_references.iter().flatten().any(|reference| reference.uid == owner.uid)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mirror_names_its_node_and_its_version() {
        let make = |image: &str| {
            StaticPod(
                serde_json::from_value(json!({
                    "metadata": {"name": "etcd", "labels": {"k8s-app": "etcd"}},
                    "spec": {"hostNetwork": true, "containers": [{"name": "etcd", "image": image}]},
                }))
                .unwrap(),
            )
        };
        let owner = Owner { name: "cp-1", uid: "u-1" };
        let (one, two) = (make("etcd:1"), make("etcd:2"));
        assert_ne!(hash(&one), hash(&two));
        let pod = mirror(&one, owner);
        assert_eq!(pod.metadata.name.as_deref(), Some("etcd-cp-1"));
        assert_eq!(pod.metadata.namespace.as_deref(), Some("kube-system"));
        assert_eq!(mirrored(&pod), Some(hash(&one).as_str()));
        assert!(belongs_to(&pod, owner) && !belongs_to(&pod, Owner { uid: "u-2", ..owner }));
        assert_eq!(pod.spec.unwrap().node_name.as_deref(), Some("cp-1"));
        let named = StaticPod(Pod { metadata: mirror(&one, owner).metadata, ..Pod::default() });
        assert_eq!(key(&named, "cp-1"), key(&one, "cp-1"), "a name that has the node's is left alone");
    }
}
