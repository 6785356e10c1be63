//! Flags of the three programs, as the machine configuration asks for them.

use std::{collections::BTreeMap, path::PathBuf};

use super::{api_address, pki};
use crate::{
    plane::{self, TlsFiles},
    sandbox::node::{config::Config, context::Node, etcd},
};

pub(super) fn api_server(node: &Node, config: &Config) -> Vec<String> {
    let dir = pki::dir(node);
    let cluster = &config.machine.main.cluster;
    let file = |name: &str| dir.join(name);
    let flag = |name: &str, path: PathBuf| format!("--{name}={}", path.display());
    let mut extra = vec![
        "--authorization-mode=Node,RBAC".into(),
        "--enable-admission-plugins=NodeRestriction".into(),
        "--enable-bootstrap-token-auth=true".into(),
        "--anonymous-auth=false".into(),
        "--allow-privileged=true".into(),
        "--profiling=false".into(),
        "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname".into(),
        flag("kubelet-client-certificate", file("kubelet-client.crt")),
        flag("kubelet-client-key", file("kubelet-client.key")),
        flag("proxy-client-cert-file", file("front-proxy.crt")),
        flag("proxy-client-key-file", file("front-proxy.key")),
        flag("requestheader-client-ca-file", file("aggregator-ca.crt")),
        "--requestheader-allowed-names=front-proxy-client".into(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
        "--requestheader-group-headers=X-Remote-Group".into(),
        "--requestheader-username-headers=X-Remote-User".into(),
        format!("--api-audiences={}", cluster.control_plane.endpoint),
        flag("admission-control-config-file", file(pki::ADMISSION)),
    ];
    if pki::encrypts(config) {
        extra.push(flag("encryption-provider-config", file(pki::ENCRYPTION)));
    }
    let own = cluster.api_server.as_ref().map(|server| &server.extra_args);
    let etcd_dir = etcd::pki(node);
    plane::ApiServer {
        bind: api_address(node, config),
        etcd: vec![etcd::address(node)],
        etcd_tls: TlsFiles::in_dir(&etcd_dir, "client"),
        serving: TlsFiles::in_dir(&dir, "apiserver"),
        service_range: subnets(&cluster.network.service_subnets, "10.96.0.0/12"),
        issuer: cluster.control_plane.endpoint.clone(),
        token_public_key: file("service-account.key"),
        token_key: file("service-account.key"),
        cert_dir: file("generated"),
        extra: with_own(extra, own),
    }
    .args()
}

pub(super) fn controller_manager(node: &Node, config: &Config) -> Vec<String> {
    let dir = pki::dir(node);
    let cluster = &config.machine.main.cluster;
    let mut extra = leader_election();
    extra.extend([
        "--allocate-node-cidrs=true".into(),
        format!("--cluster-cidr={}", subnets(&cluster.network.pod_subnets, "10.244.0.0/16")),
        format!("--service-cluster-ip-range={}", subnets(&cluster.network.service_subnets, "10.96.0.0/12")),
        format!("--cluster-name={}", cluster.cluster_name),
        "--controllers=*,tokencleaner".into(),
        "--profiling=false".into(),
    ]);
    let own = cluster.controller_manager.as_ref().map(|component| &component.extra_args);
    plane::ControllerManager {
        kubeconfig: dir.join("controller-manager.kubeconfig"),
        token_key: dir.join("service-account.key"),
        root_ca: dir.join("ca.crt"),
        signing: (dir.join("ca.crt"), dir.join("ca.key")),
        extra: with_own(extra, own),
    }
    .args()
}

pub(super) fn scheduler(node: &Node, config: &Config) -> Vec<String> {
    let mut extra = leader_election();
    extra.push("--profiling=false".into());
    let own = config.machine.main.cluster.scheduler.as_ref().map(|component| &component.extra_args);
    plane::Scheduler { kubeconfig: pki::dir(node).join("scheduler.kubeconfig"), extra: with_own(extra, own) }
        .args()
}

/// Shorter than usual: after a crash nobody should wait long for the next leader. They serve nothing, and
/// they need not spare an API server of their own.
fn leader_election() -> Vec<String> {
    [
        "--secure-port=0",
        "--leader-elect=true",
        "--leader-elect-lease-duration=8s",
        "--leader-elect-renew-deadline=6s",
        "--leader-elect-retry-period=2s",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn subnets(all: &[String], default: &str) -> String {
    if all.is_empty() { default.to_owned() } else { all.join(",") }
}

/// A person's own flags replace ours.
fn with_own(flags: Vec<String>, own: Option<&BTreeMap<String, String>>) -> Vec<String> {
    let Some(own) = own else { return flags };
    let name_of = |flag: &str| flag.trim_start_matches('-').split('=').next().unwrap_or_default().to_owned();
    let mut flags: Vec<String> = flags.into_iter().filter(|flag| !own.contains_key(&name_of(flag))).collect();
    flags.extend(own.iter().map(|(name, value)| format!("--{name}={value}")));
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persons_own_flags_replace_ours() {
        let own = [("profiling".to_owned(), "true".to_owned()), ("v".to_owned(), "4".to_owned())].into();
        let flags = with_own(vec!["--profiling=false".into(), "--a=b".into()], Some(&own));
        assert_eq!(flags, ["--a=b", "--profiling=true", "--v=4"]);
    }
}
