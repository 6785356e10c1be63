//! How a person gets to the web console of a new cluster, and into it.

use butler_core::{
    api::names::namespaces,
    bootstrap::{
        addons::AddonStep,
        config::{Config, ProviderSettings},
    },
};

/// The Service that the console's chart makes for people.
const SERVICE: &str = "butler-console-frontend";
/// The Secret with the password that the console's chart makes for `admin`.
const PASSWORD: &str = "butler-console-admin";

/// The console.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Console {
    /// Where it answers, as far as that is known.
    pub(super) url: Option<String>,
    /// Commands that lead to it and to the password of `admin`; none when it was not installed.
    pub(super) commands: Vec<String>,
}

/// The console of this configuration, if these addons have it.
pub(super) fn console(config: &Config, addons: &[AddonStep]) -> Console {
    if !addons.iter().any(|step| step.key == "butler-console") {
        return Console::default();
    }
    let url = address(config);
    let system = namespaces::SYSTEM;
    let reach = if config.provider.is_cloud() {
        format!("kubectl get service -n {system} {SERVICE}")
    } else {
        format!("kubectl port-forward -n {system} service/{SERVICE} 3000:80")
    };
    let password = format!(
        "kubectl get secret -n {system} {PASSWORD} -o jsonpath='{{.data.admin-password}}' | base64 -d"
    );
    let commands = Some(reach).filter(|_| url.is_none()).into_iter().chain([password]).collect();
    Console { url, commands }
}

fn address(config: &Config) -> Option<String> {
    if let ProviderSettings::Local(local) = &config.provider {
        return Some(format!("http://localhost:{}", local.console_port));
    }
    let console = config.addons.console.as_ref()?;
    let ingress = console.ingress.as_ref().filter(|ingress| ingress.enabled == Some(true))?;
    let scheme = if ingress.tls == Some(true) { "https" } else { "http" };
    Some(format!("{scheme}://{}", ingress.host.as_deref()?))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use butler_core::bootstrap::{
        addons::{AddonInput, plan_addons},
        config::{Source, read},
        objects,
    };
    use rstest::rstest;

    use super::*;

    const AWS: &str = "{accessKeyID: a, secretAccessKey: s, region: r, vpcID: v, subnetID: s}";
    const HARVESTER: &str = "{kubeconfigPath: k, networkName: a/b}";
    const PASSWORD: &str = "kubectl get secret -n butler-system butler-console-admin -o jsonpath='{.data.admin-password}' | base64 -d";
    const FORWARD: &str = "kubectl port-forward -n butler-system service/butler-console-frontend 3000:80";

    #[rstest]
    #[case::port_forward("harvester", HARVESTER, "{}", None, &[FORWARD, PASSWORD])]
    #[case::balancer("aws", AWS, "{}", None, &["kubectl get service -n butler-system butler-console-frontend", PASSWORD])]
    #[case::ingress("harvester", HARVESTER, "{console: {ingress: {enabled: true}}}", Some("http://butler.m.local"), &[PASSWORD])]
    #[case::tls("harvester", HARVESTER, "{console: {ingress: {enabled: true, host: c.example.org, tls: true}}}", Some("https://c.example.org"), &[PASSWORD])]
    #[case::local("local", "{consolePort: 8081}", "{}", Some("http://localhost:8081"), &[PASSWORD])]
    #[case::switched_off("harvester", HARVESTER, "{console: {enabled: false, ingress: {enabled: true}}}", None, &[])]
    #[case::without_the_platform("harvester", HARVESTER, "{butlerController: {enabled: false}}", None, &[])]
    #[case::sandbox("sandbox", "{}", "{}", None, &[])]
    fn a_person_is_told_how_to_get_there(
        #[case] provider: &str,
        #[case] block: &str,
        #[case] addons: &str,
        #[case] url: Option<&str>,
        #[case] commands: &[&str],
    ) {
        let text = format!(
            "provider: {provider}\ncluster: {{name: m, topology: single-node, controlPlane: {{cpu: 2, memoryMB: 2048, diskGB: 20}}}}\naddons: {addons}\nproviderConfig: {{{provider}: {block}}}\n"
        );
        let directory = Path::new("/");
        let source = Source { name: "b.yaml", text: &text, directory, home: None, shared: None };
        let config = read(&source, None).unwrap_or_else(|error| panic!("{error:?}")).config;
        let steps = plan_addons(&AddonInput {
            bootstrap: objects::cluster_bootstrap(&config).spec,
            provider: objects::provider_config(&config, "p").spec,
            multi_tenancy: None,
            no_catalog: false,
            network_pool: None,
            offered: Default::default(),
        });
        let found = console(&config, &steps);
        assert_eq!(found.url.as_deref(), url);
        assert_eq!(found.commands, commands);
    }
}
