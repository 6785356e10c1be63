//! The secrets bundle: everything random or private of a cluster, in the file that
//! `talosctl gen secrets` writes and `talosctl gen config --with-secrets` reads.
//!
//! Two runs with one bundle give the same configurations, so a bundle is made once per cluster and
//! kept. The key that signs service account tokens is P-256 here and RSA in talosctl's bundles: ring
//! makes no RSA keys, Kubernetes takes either, and a bundle of theirs keeps its key.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE},
};
use butler_core::{
    pki::{Authority, KeyKind, PkiError, PrivateKey, valid_from},
    redact::Secret,
};
use jiff::{SignedDuration, Timestamp};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use super::document::{self, Document, DocumentError};

/// How long an authority lives: ten years of 365 days.
const AUTHORITY_LIFE: SignedDuration = SignedDuration::from_hours(87_600);

/// The secrets of one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretsBundle {
    pub cluster: Identity,
    pub secrets: KubernetesSecrets,
    pub trustdinfo: Trustd,
    pub certs: Certificates,
}

/// What the discovery service knows a cluster by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub id: String,
    pub secret: Secret,
}

/// What Kubernetes joins nodes and encrypts objects with. One of the two encryption secrets is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KubernetesSecrets {
    pub bootstraptoken: Secret,
    #[serde(default, skip_serializing_if = "Secret::is_empty")]
    pub aescbcencryptionsecret: Secret,
    #[serde(default, skip_serializing_if = "Secret::is_empty")]
    pub secretboxencryptionsecret: Secret,
}

/// What a worker asks a control plane for its certificate with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trustd {
    pub token: Secret,
}

/// The authorities, and the key of service accounts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificates {
    pub etcd: CertificateAndKey,
    pub k8s: CertificateAndKey,
    pub k8saggregator: CertificateAndKey,
    pub k8sserviceaccount: Key,
    pub os: CertificateAndKey,
}

/// PEM texts that travel as base64. A worker's configuration has empty keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CertificateAndKey {
    #[serde(with = "base64_text")]
    pub crt: String,
    #[serde(with = "base64_secret")]
    pub key: Secret,
}

/// A private key alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    #[serde(with = "base64_secret")]
    pub key: Secret,
}

impl CertificateAndKey {
    /// The authority these make up.
    pub fn authority(&self) -> Result<Authority, PkiError> {
        Authority::from_pem(&self.crt, &self.key)
    }

    fn of(authority: &Authority) -> Self {
        Self { crt: authority.certificate().to_owned(), key: authority.key().to_pem() }
    }
}

impl SecretsBundle {
    /// Makes the secrets of a new cluster; its authorities live from `now`, and a while before.
    pub fn generate(now: Timestamp) -> Result<Self, DocumentError> {
        let authority = |field, kind, organization| {
            Authority::generate(kind, organization, valid_from(now), AUTHORITY_LIFE)
                .map(|authority| CertificateAndKey::of(&authority))
                .map_err(|source| DocumentError::Certificate { document: Document::Secrets, field, source })
        };
        let service_account =
            PrivateKey::generate(KeyKind::P256).map_err(|source| DocumentError::Certificate {
                document: Document::Secrets,
                field: "certs.k8sserviceaccount",
                source,
            })?;
        Ok(Self {
            cluster: Identity {
                id: URL_SAFE.encode(random::<32>()?),
                secret: STANDARD.encode(random::<32>()?).into(),
            },
            secrets: KubernetesSecrets {
                bootstraptoken: token()?,
                aescbcencryptionsecret: Secret::default(),
                secretboxencryptionsecret: STANDARD.encode(random::<32>()?).into(),
            },
            trustdinfo: Trustd { token: token()? },
            certs: Certificates {
                etcd: authority("certs.etcd", KeyKind::P256, Some("etcd"))?,
                k8s: authority("certs.k8s", KeyKind::P256, Some("kubernetes"))?,
                k8saggregator: authority("certs.k8saggregator", KeyKind::P256, None)?,
                k8sserviceaccount: Key { key: service_account.to_pem() },
                os: authority("certs.os", KeyKind::Ed25519, Some("talos"))?,
            },
        })
    }

    /// Reads and checks a bundle, ours or talosctl's.
    pub fn from_yaml(text: &Secret) -> Result<Self, DocumentError> {
        let bundle: Self = document::read(Document::Secrets, text.expose())?;
        bundle.check()?;
        Ok(bundle)
    }

    /// Writes the bundle.
    pub fn to_yaml(&self) -> Result<Secret, DocumentError> {
        document::write(Document::Secrets, self)
    }

    fn check(&self) -> Result<(), DocumentError> {
        let wrong = |field: &str, problem| DocumentError::field(Document::Secrets, field, problem);
        let KubernetesSecrets { bootstraptoken, aescbcencryptionsecret, secretboxencryptionsecret } =
            &self.secrets;
        for (field, token) in
            [("secrets.bootstraptoken", bootstraptoken), ("trustdinfo.token", &self.trustdinfo.token)]
        {
            if !is_token(token.expose()) {
                return Err(wrong(field, "is not a token of six and sixteen letters or digits"));
            }
        }
        if aescbcencryptionsecret.is_empty() == secretboxencryptionsecret.is_empty() {
            return Err(wrong("secrets", "must have one of the two encryption secrets"));
        }
        if self.cluster.id.is_empty() || self.cluster.secret.is_empty() {
            return Err(wrong("cluster", "has no id or no secret"));
        }
        if !self.certs.k8sserviceaccount.key.expose().contains("PRIVATE KEY-----") {
            return Err(wrong("certs.k8sserviceaccount.key", "is not a private key"));
        }
        let certs = &self.certs;
        for (field, pair) in [
            ("certs.etcd", &certs.etcd),
            ("certs.k8s", &certs.k8s),
            ("certs.k8saggregator", &certs.k8saggregator),
            ("certs.os", &certs.os),
        ] {
            pair.authority().map_err(|source| DocumentError::Certificate {
                document: Document::Secrets,
                field,
                source,
            })?;
        }
        Ok(())
    }
}

fn random<const N: usize>() -> Result<[u8; N], DocumentError> {
    let mut bytes = [0; N];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| DocumentError::Randomness { document: Document::Secrets })?;
    Ok(bytes)
}

const TOKEN_LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// A token as kubeadm makes them: six and sixteen characters.
fn token() -> Result<Secret, DocumentError> {
    let mut text = String::with_capacity(23);
    while text.len() < 23 {
        if text.len() == 6 {
            text.push('.');
        }
        let [byte] = random::<1>()?;
        // 252 is the last multiple of 36: beyond it some letters would come more often.
        if byte < 252 {
            text.push(char::from(TOKEN_LETTERS[usize::from(byte % 36)]));
        }
    }
    Ok(text.into())
}

fn is_token(text: &str) -> bool {
    let letters = |part: &str| part.bytes().all(|byte| TOKEN_LETTERS.contains(&byte));
    text.split_once('.')
        .is_some_and(|(id, secret)| id.len() == 6 && secret.len() == 16 && letters(id) && letters(secret))
}

/// Text as base64.
pub(super) mod base64_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use super::{Engine, STANDARD};

    pub(crate) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(text))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD.decode(text).map_err(|_| D::Error::custom("not base64"))?;
        String::from_utf8(bytes).map_err(|_| D::Error::custom("not text in base64"))
    }
}

/// Secret text as base64.
pub(super) mod base64_secret {
    use butler_core::redact::Secret;
    use serde::{Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(secret: &Secret, serializer: S) -> Result<S::Ok, S::Error> {
        super::base64_text::serialize(secret.expose(), serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
        super::base64_text::deserialize(deserializer).map(Secret::from)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bundle() -> SecretsBundle {
        SecretsBundle::generate("2026-01-02T03:04:05Z".parse().unwrap()).unwrap()
    }

    #[test]
    fn a_bundle_survives_its_file_and_hides_in_debug() {
        let bundle = bundle();
        let text = bundle.to_yaml().unwrap();
        assert_eq!(SecretsBundle::from_yaml(&text).unwrap(), bundle);
        assert_eq!(bundle.to_yaml().unwrap(), text);
        let debug = format!("{bundle:?}");
        for secret in [&bundle.trustdinfo.token, &bundle.secrets.bootstraptoken, &bundle.certs.os.key] {
            assert!(!debug.contains(secret.expose()));
        }
    }

    #[test]
    fn a_bundle_with_a_foreign_key_is_refused_without_quoting_it() {
        let mut bundle = bundle();
        bundle.certs.etcd.key = bundle.certs.k8s.key.clone();
        let error = SecretsBundle::from_yaml(&bundle.to_yaml().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "the secrets bundle is not usable: `certs.etcd`");

        let damaged = bundle.to_yaml().unwrap().expose().replace("token: ", "token: [");
        let error = SecretsBundle::from_yaml(&damaged.into()).unwrap_err();
        assert!(!format!("{error:?}").contains(bundle.trustdinfo.token.expose()));
    }

    proptest! {
        #[test]
        fn any_values_survive_the_file(id in "[A-Za-z0-9_-]{43}=", digits in "[0-9]{6}\\.[0-9e]{16}", key in "\\PC{0,200}") {
            // Tokens of digits alone look like numbers, which the writer must quote.
            let mut bundle = bundle_for_properties().clone();
            bundle.cluster.id = id;
            bundle.trustdinfo.token = digits.into();
            bundle.certs.k8sserviceaccount.key = format!("-----BEGIN PRIVATE KEY-----{key}").into();
            let text = bundle.to_yaml().unwrap();
            prop_assert_eq!(SecretsBundle::from_yaml(&text).unwrap(), bundle);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,300}") {
            prop_assert!(SecretsBundle::from_yaml(&text.into()).is_err());
        }
    }

    fn bundle_for_properties() -> &'static SecretsBundle {
        static BUNDLE: std::sync::OnceLock<SecretsBundle> = std::sync::OnceLock::new();
        BUNDLE.get_or_init(bundle)
    }
}
