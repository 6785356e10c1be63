//! The client configuration of `talosctl` and of our own client: who we are to which nodes.

use std::collections::BTreeMap;

use butler_core::{
    pki::{Leaf, Usage, valid_from},
    redact::Secret,
};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    document::{self, Document, DocumentError},
    secrets::{SecretsBundle, base64_secret, base64_text},
};

/// How long an administrator's certificate lives: a year.
const CLIENT_LIFE: SignedDuration = SignedDuration::from_hours(8760);

/// A talosconfig file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Talosconfig {
    pub context: String,
    pub contexts: BTreeMap<String, Context>,
}

/// One way in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Context {
    pub endpoints: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    #[serde(with = "base64_text")]
    pub ca: String,
    #[serde(with = "base64_text")]
    pub crt: String,
    #[serde(with = "base64_secret")]
    pub key: Secret,
}

impl Talosconfig {
    /// The administrator's way in: a certificate with every right, signed by the bundle's authority.
    pub fn admin(
        cluster: &str,
        bundle: &SecretsBundle,
        endpoints: Vec<String>,
        now: Timestamp,
    ) -> Result<Self, DocumentError> {
        let wrong =
            |source| DocumentError::Certificate { document: Document::Secrets, field: "certs.os", source };
        let authority = bundle.certs.os.authority().map_err(wrong)?;
        let leaf = Leaf {
            common_name: None,
            organization: Some("os:admin".to_owned()),
            names: Vec::new(),
            usage: Usage::Client,
            not_before: valid_from(now),
            life: CLIENT_LIFE,
        };
        let issued = authority.issue(&leaf).map_err(wrong)?;
        let context = Context {
            nodes: endpoints.clone(),
            endpoints,
            ca: authority.certificate().to_owned(),
            crt: issued.certificate,
            key: issued.key,
        };
        Ok(Self { context: cluster.to_owned(), contexts: BTreeMap::from([(cluster.to_owned(), context)]) })
    }

    /// Reads a talosconfig.
    pub fn from_yaml(text: &Secret) -> Result<Self, DocumentError> {
        document::read(Document::Talosconfig, text.expose())
    }

    /// Writes it.
    pub fn to_yaml(&self) -> Result<Secret, DocumentError> {
        document::write(Document::Talosconfig, self)
    }

    /// The context in use.
    pub fn current(&self) -> Result<&Context, DocumentError> {
        self.contexts.get(&self.context).ok_or_else(|| {
            DocumentError::field(Document::Talosconfig, "context", "names none of the contexts")
        })
    }

    /// Takes in another file as `talosctl config merge` does: nothing is overwritten, a name that is
    /// taken gets a number, and the other file's current context becomes ours.
    pub fn merge(&mut self, other: Self) {
        for (name, context) in other.contexts {
            let mut free = name.clone();
            let mut number = 0;
            while self.contexts.contains_key(&free) {
                number += 1;
                free = format!("{name}-{number}");
            }
            if name == other.context {
                self.context.clone_from(&free);
            }
            self.contexts.insert(free, context);
        }
    }
}

#[cfg(test)]
mod tests {
    use butler_core::pki::CertificateInfo;

    use super::*;

    #[test]
    fn the_administrator_is_signed_by_the_cluster_and_survives_the_file() {
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        let bundle = SecretsBundle::generate(now).unwrap();
        let config = Talosconfig::admin("prod", &bundle, vec!["10.0.0.1".into()], now).unwrap();
        assert_eq!(Talosconfig::from_yaml(&config.to_yaml().unwrap()).unwrap(), config);
        let context = config.current().unwrap();
        let leaf = CertificateInfo::from_pem(&context.crt).unwrap();
        assert_eq!(
            (leaf.common_name.clone(), leaf.organizations.clone()),
            (None, vec!["os:admin".to_owned()])
        );
        assert!(leaf.signed_by(&CertificateInfo::from_pem(&bundle.certs.os.crt).unwrap()));
        assert!(!format!("{config:?}").contains("PRIVATE KEY"));
    }

    #[test]
    fn a_merge_keeps_what_is_there_and_switches_to_the_newcomer() {
        let named = |name: &str, endpoint: &str| Talosconfig {
            context: name.into(),
            contexts: [(name.into(), Context { endpoints: vec![endpoint.into()], ..Context::default() })]
                .into(),
        };
        let mut config = named("prod", "10.0.0.1");
        config.merge(named("prod", "10.0.0.2"));
        config.merge(named("prod", "10.0.0.3"));
        config.merge(named("lab", "10.0.0.4"));
        assert_eq!(config.contexts.keys().collect::<Vec<_>>(), ["lab", "prod", "prod-1", "prod-2"]);
        assert_eq!(config.contexts["prod"].endpoints, ["10.0.0.1"]);
        assert_eq!(config.context, "lab");
    }

    #[test]
    fn a_context_that_is_not_there_is_named() {
        let error = Talosconfig { context: "gone".into(), ..Talosconfig::default() }.current().unwrap_err();
        assert_eq!(error.to_string(), "the talosconfig is not usable: `context` names none of the contexts");
    }
}
