//! What is done in a node that runs. Nothing here keeps a bootstrap from going on: what fails is said.

use std::time::{Duration, Instant};

use butler_core::{
    cluster::ApiError,
    event::{EventKind, Level, Reporter},
};
use jiff::Timestamp;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use serde_json::json;

use super::{
    KindRuntime, TARGET,
    dns::{self, HostAlias},
    engine::Engine,
};
use crate::{plane, runtime::RuntimeError};

/// Limits of the kernel that many watching programs reach, and how loudly a refusal is said.
const SYSCTLS: [(&str, Level); 2] = [
    ("fs.inotify.max_user_instances=1024", Level::Warn),
    ("fs.inotify.max_user_watches=524288", Level::Debug),
];
const DNS_LIMIT: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(200);

impl KindRuntime {
    /// Trust, limits of the kernel, names.
    pub(super) async fn furnish(&self, engine: &Engine, reporter: &Reporter) {
        let node = format!("{}-control-plane", self.name());
        let say = async |level: Level, what: &str, error: &RuntimeError| {
            let why = match error {
                RuntimeError::Command { said, .. } => said.lines().last().unwrap_or_default().to_owned(),
                other => other.to_string(),
            };
            let message = format!("{what}: {why}");
            reporter.emit(EventKind::Log { level, target: TARGET.to_owned(), message }).await;
        };
        if !self.options.certificates.is_empty()
            && let Err(error) = engine.exec(&node, &["update-ca-certificates"]).await
        {
            say(Level::Warn, "the node does not trust the given certificates", &error).await;
        }
        for (setting, level) in SYSCTLS {
            if let Err(error) = engine.exec(&node, &["sysctl", "-w", setting]).await {
                say(level, &format!("cannot set {setting} in the node"), &error).await;
            }
        }
        let aliases = self.aliases(reporter).await;
        if let Err(error) = write_hosts(engine, &node, &aliases).await {
            say(Level::Warn, "the node does not know the host aliases", &error).await;
        }
        if let Err(error) = self.write_dns(engine, &node, &aliases).await {
            say(Level::Warn, "the DNS of the temporary cluster is as `kind` made it", &error).await;
        }
    }

    /// The configured aliases, and the provider's endpoint as this computer resolves it: a VPN may show
    /// it here and not in a container.
    async fn aliases(&self, reporter: &Reporter) -> Vec<HostAlias> {
        let mut aliases = self.options.host_aliases.clone();
        let Some(host) = &self.options.endpoint_host else { return aliases };
        if aliases.iter().any(|alias| alias.name == *host) {
            return aliases;
        }
        let found = tokio::net::lookup_host((host.as_str(), 0)).await.ok().and_then(|mut found| found.next());
        match found.map(|address| HostAlias::new(address.ip(), host)) {
            Some(Ok(alias)) => aliases.push(alias),
            Some(Err(_)) => {}
            None => {
                let message = format!("this computer does not resolve `{host}`");
                reporter.emit(EventKind::warning(TARGET, message)).await;
            }
        }
        aliases
    }

    async fn write_dns(
        &self,
        engine: &Engine,
        node: &str,
        aliases: &[HostAlias],
    ) -> Result<(), RuntimeError> {
        let resolv_conf = engine.exec(node, &["cat", "/etc/resolv.conf"]).await?;
        let upstreams = dns::upstreams(&resolv_conf, &self.options.name_servers);
        let corefile = dns::corefile(&upstreams, aliases);
        let client = plane::client(&self.kubeconfig()).await?;
        let failed = |error| ApiError::new("configure CoreDNS", error);
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
        let known = maps.get("coredns").await.map_err(failed)?;
        if known.data.as_ref().and_then(|data| data.get("Corefile")) == Some(&corefile) {
            return Ok(());
        }
        let params = PatchParams::default();
        let patch = json!({ "data": { "Corefile": corefile } });
        maps.patch("coredns", &params, &Patch::Merge(patch)).await.map_err(failed)?;
        let deployments: Api<Deployment> = Api::namespaced(client, "kube-system");
        let stamp = json!({ "kubectl.kubernetes.io/restartedAt": Timestamp::now().to_string() });
        let patch = json!({ "spec": { "template": { "metadata": { "annotations": stamp } } } });
        deployments.patch("coredns", &params, &Patch::Merge(patch)).await.map_err(failed)?;
        if self.options.local.is_none() {
            // No Pod of ours runs in a temporary cluster, so nobody waits for its DNS.
            return Ok(());
        }
        let end = Instant::now() + DNS_LIMIT;
        while Instant::now() < end {
            if is_rolled_out(&deployments.get("coredns").await.map_err(failed)?) {
                return Ok(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Err(RuntimeError::NotReady { name: "kube-system/coredns".to_owned(), limit: DNS_LIMIT })
    }
}

async fn write_hosts(engine: &Engine, node: &str, aliases: &[HostAlias]) -> Result<(), RuntimeError> {
    if aliases.is_empty() {
        return Ok(());
    }
    let hosts = engine.exec(node, &["cat", "/etc/hosts"]).await?;
    match dns::missing_lines(&hosts, aliases) {
        lines if lines.is_empty() => Ok(()),
        lines => engine.append(node, "/etc/hosts", &lines).await,
    }
}

/// As `kubectl rollout status` sees it.
fn is_rolled_out(deployment: &Deployment) -> bool {
    let wanted = deployment.spec.replicas.unwrap_or(1);
    let Some(status) = &deployment.status else { return false };
    status.observed_generation >= deployment.metadata.generation
        && status.updated_replicas.unwrap_or(0) >= wanted
        && status.replicas.unwrap_or(0) == status.updated_replicas.unwrap_or(0)
        && status.available_replicas.unwrap_or(0) >= wanted
}

/// The host of an endpoint, if it is a name: a URL, or `host` or `host:port` as people write it.
pub(super) fn host_of(endpoint: &str) -> Option<String> {
    let rest = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = host.split(':').next()?.to_ascii_lowercase();
    (dns::is_host_name(&host) && host.parse::<std::net::IpAddr>().is_err()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_endpoint_is_a_name_or_nothing() {
        for endpoint in
            ["https://Prism.corp:9440/api", "prism.corp:9440", "prism.corp", "https://u@prism.corp"]
        {
            assert_eq!(host_of(endpoint).as_deref(), Some("prism.corp"), "{endpoint}");
        }
        for endpoint in ["https://10.0.0.5:9440", "10.0.0.5", "https://[fd00::5]:9440", "", "a b"] {
            assert_eq!(host_of(endpoint), None, "{endpoint}");
        }
    }

    #[test]
    fn a_deployment_is_rolled_out_when_all_of_it_is_new_and_available() {
        let of = |generation: i64, updated: i32, total: i32, available: i32| -> Deployment {
            serde_json::from_value(json!({
                "metadata": { "generation": 2 },
                "spec": { "replicas": 2, "selector": {}, "template": {} },
                "status": { "observedGeneration": generation, "updatedReplicas": updated, "replicas": total,
                            "availableReplicas": available },
            }))
            .unwrap()
        };
        assert!(is_rolled_out(&of(2, 2, 2, 2)));
        for not_yet in [of(1, 2, 2, 2), of(2, 1, 2, 2), of(2, 2, 3, 2), of(2, 2, 2, 1)] {
            assert!(!is_rolled_out(&not_yet));
        }
    }
}
