//! `addons`, in the shape of the ClusterBootstrap.

use crate::{
    api::{
        cluster_bootstrap::{
            BootstrapAddons, BootstrapCertManager, BootstrapCni, BootstrapGitOps, BootstrapIngress,
            BootstrapLoadBalancer, BootstrapStorage, ButlerController, Capi, Console, ConsoleIngress,
            ControlPlaneHa, ControlPlaneProvider,
        },
        common::ProviderKind,
    },
    bootstrap::config::{defaults, values::Object},
};

/// What is installed. A block that is absent there follows the rules of that object: pod network, storage
/// and load balancer are then not installed, so they are always written.
pub(super) fn addons(root: &Object, kind: &ProviderKind, cluster: &str) -> BootstrapAddons {
    let hubble = root.flag("addons.cni.hubbleEnabled");
    BootstrapAddons {
        cni: Some(BootstrapCni {
            type_: Some(defaults::cni(root, kind)),
            version: root.owned("addons.cni.version"),
            hubble_enabled: hubble,
        }),
        storage: Some(BootstrapStorage {
            type_: Some(defaults::storage(root, kind)),
            version: root.owned("addons.storage.version"),
            replica_count: root.int32("addons.storage.replicaCount"),
        }),
        // The old spelling of the pool has become `network.loadBalancerPool`.
        load_balancer: Some(BootstrapLoadBalancer {
            type_: Some(defaults::load_balancer(root, kind)),
            address_pool: None,
        }),
        control_plane_ha: root.object("addons.controlPlaneHA").map(|ha| ControlPlaneHa {
            type_: ha.text("type").map(Into::into),
            version: ha.owned("version"),
        }),
        cert_manager: root.object("addons.certManager").map(|switch| BootstrapCertManager {
            enabled: enabled(switch),
            version: switch.owned("version"),
        }),
        ingress: root.object("addons.ingress").map(|ingress| BootstrapIngress {
            enabled: enabled(ingress),
            type_: ingress.text("type").map(Into::into),
            version: ingress.owned("version"),
        }),
        control_plane_provider: root.object("addons.controlPlaneProvider").map(|host| ControlPlaneProvider {
            enabled: enabled(host),
            type_: host.text("type").map(Into::into),
            version: host.owned("version"),
        }),
        capi: capi(root, kind),
        butler_controller: root.object("addons.butlerController").map(controller),
        console: root.object("addons.console").map(|object| console(object, cluster)),
        git_ops: root.object("addons.gitOps").map(|engine| BootstrapGitOps {
            enabled: enabled(engine),
            type_: Some(engine.text("type").unwrap_or("flux").into()),
        }),
    }
}

/// A block that does not say means yes.
fn enabled(object: &Object) -> Option<bool> {
    Some(object.flag("enabled").unwrap_or(true))
}

fn capi(root: &Object, kind: &ProviderKind) -> Option<Capi> {
    let given = root.object("addons.capi").map(|capi| Capi {
        enabled: enabled(capi),
        version: capi.owned("version"),
        infrastructure_providers: Vec::new(),
    });
    let local = || Capi {
        enabled: Some(true),
        version: Some(defaults::LOCAL_CAPI_VERSION.to_owned()),
        infrastructure_providers: Vec::new(),
    };
    given.or_else(|| (*kind == ProviderKind::Local).then(local))
}

fn controller(object: &Object) -> ButlerController {
    let (image, tag) = object.text("image").map_or((None, None), |image| {
        let (image, tag) = split_image(image);
        (Some(image.to_owned()), tag.map(str::to_owned))
    });
    ButlerController { enabled: enabled(object), image, version: object.owned("version").or(tag) }
}

/// Image and tag. A colon before the last slash is the port of a registry.
pub(in super::super) fn split_image(image: &str) -> (&str, Option<&str>) {
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (image, None),
    }
}

fn console(object: &Object, cluster: &str) -> Console {
    let on = object.flag("enabled").unwrap_or(true);
    let version = object.owned("version");
    Console {
        enabled: Some(on),
        version: version.or_else(|| on.then(|| defaults::CONSOLE_VERSION.to_owned())),
        ingress: object.object("ingress").map(|ingress| ConsoleIngress {
            enabled: Some(ingress.flag("enabled").unwrap_or(false)),
            class_name: ingress.owned("className"),
            host: Some(ingress.owned("host").unwrap_or_else(|| format!("butler.{cluster}.local"))),
            tls: ingress.flag("tls"),
            tls_secret_name: ingress.owned("tlsSecretName"),
        }),
    }
}
