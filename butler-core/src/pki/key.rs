//! Private keys, in the PEM forms that Talos and Kubernetes write and read.
//!
//! ring speaks PKCS#8. Go programs write P-256 keys as SEC1 and Talos writes Ed25519 keys as PKCS#8
//! under a label of its own; both have one fixed length, so the forms are turned into each other by
//! prefix. Every other kind of key is refused.

use base64::{Engine, engine::general_purpose::STANDARD};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, PublicKeyData};
use x509_parser::pem::Pem;

use super::PkiError;
use crate::redact::Secret;

/// The kinds of keys we make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// What Talos uses for its own API.
    Ed25519,
    /// ECDSA on P-256, what Kubernetes and etcd get.
    P256,
}

/// A private key that can sign.
#[derive(Debug)]
pub struct PrivateKey(KeyPair);

const ED25519_LABEL: &str = "ED25519 PRIVATE KEY";
const SEC1_LABEL: &str = "EC PRIVATE KEY";
const PKCS8_LABEL: &str = "PRIVATE KEY";

/// PKCS#8 version 1 around a 32-byte Ed25519 seed.
const ED25519_PKCS8: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
/// Where the seed or scalar begins in the PKCS#8 that ring makes.
const ED25519_SEED: usize = 16;
const P256_SCALAR: usize = 36;
/// SEC1 for P-256: before the scalar, and between scalar and public point (the curve's name).
const SEC1_HEAD: [u8; 7] = [0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20];
const SEC1_CURVE: [u8; 17] =
    [0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0xa1, 0x44, 0x03, 0x42, 0x00];
const SEC1_LENGTH: usize = SEC1_HEAD.len() + 32 + SEC1_CURVE.len() + 65;
/// PKCS#8 around SEC1 of exactly that length.
const P256_PKCS8: [u8; 29] = [
    0x30, 0x81, 0x93, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01,
    0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x04, 0x79,
];

impl PrivateKey {
    /// Makes a new key from the system's randomness (ring takes no other).
    pub fn generate(kind: KeyKind) -> Result<Self, PkiError> {
        let algorithm = match kind {
            KeyKind::Ed25519 => &PKCS_ED25519,
            KeyKind::P256 => &PKCS_ECDSA_P256_SHA256,
        };
        KeyPair::generate_for(algorithm).map(Self).map_err(PkiError::Sign)
    }

    /// Reads the first PEM block: PKCS#8 under either label, or SEC1.
    pub fn from_pem(text: &Secret) -> Result<Self, PkiError> {
        let malformed = PkiError::Malformed { what: "a private key" };
        let Some(Ok(block)) = Pem::iter_from_buffer(text.expose().as_bytes()).next() else {
            return Err(malformed);
        };
        let der = match block.label.as_str() {
            ED25519_LABEL | PKCS8_LABEL => block.contents,
            SEC1_LABEL if block.contents.len() == SEC1_LENGTH => {
                [P256_PKCS8.as_slice(), &block.contents].concat()
            }
            SEC1_LABEL | "RSA PRIVATE KEY" => return Err(PkiError::Unsupported),
            _ => return Err(malformed),
        };
        let pair = KeyPair::try_from(der).map_err(|_| PkiError::Unsupported)?;
        if pair.algorithm() == &PKCS_ED25519 || pair.algorithm() == &PKCS_ECDSA_P256_SHA256 {
            Ok(Self(pair))
        } else {
            Err(PkiError::Unsupported)
        }
    }

    /// The kind of this key.
    pub fn kind(&self) -> KeyKind {
        if self.0.algorithm() == &PKCS_ED25519 { KeyKind::Ed25519 } else { KeyKind::P256 }
    }

    /// The PEM form Talos itself writes for this kind.
    pub fn to_pem(&self) -> Secret {
        let der = self.0.serialized_der();
        let scalar = |from: usize| der.get(from..from + 32).unwrap_or_default();
        match self.kind() {
            KeyKind::Ed25519 => {
                encode_pem(ED25519_LABEL, &[&ED25519_PKCS8[..], scalar(ED25519_SEED)].concat())
            }
            KeyKind::P256 => encode_pem(
                SEC1_LABEL,
                &[&SEC1_HEAD[..], scalar(P256_SCALAR), &SEC1_CURVE, self.0.der_bytes()].concat(),
            ),
        }
    }

    /// The same key as PKCS#8 under the label every library knows; TLS stacks want this one.
    pub fn to_pkcs8_pem(&self) -> Secret {
        encode_pem(PKCS8_LABEL, self.0.serialized_der())
    }

    pub(super) fn pair(&self) -> &KeyPair {
        &self.0
    }
}

fn encode_pem(label: &str, der: &[u8]) -> Secret {
    let body = STANDARD.encode(der);
    let mut text = format!("-----BEGIN {label}-----\n");
    let mut rest = body.as_str();
    while !rest.is_empty() {
        let (line, tail) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = tail;
    }
    text.push_str(&format!("-----END {label}-----\n"));
    Secret::from(text)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(KeyKind::Ed25519, "ED25519 PRIVATE KEY")]
    #[case(KeyKind::P256, "EC PRIVATE KEY")]
    fn a_key_survives_every_pem_form_it_can_take(#[case] kind: KeyKind, #[case] label: &str) {
        let key = PrivateKey::generate(kind).unwrap();
        let native = key.to_pem();
        assert!(native.expose().starts_with(&format!("-----BEGIN {label}-----\n")));
        for form in [native, key.to_pkcs8_pem()] {
            let again = PrivateKey::from_pem(&form).unwrap();
            assert_eq!(again.kind(), kind);
            assert_eq!(again.pair().public_key_raw(), key.pair().public_key_raw());
            assert_eq!(again.to_pem(), key.to_pem());
        }
    }

    #[rstest]
    #[case("")]
    #[case("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")]
    #[case("-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n")]
    #[case("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n")]
    #[case("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")]
    fn what_is_no_usable_key_is_refused(#[case] text: &str) {
        assert!(PrivateKey::from_pem(&Secret::from(text)).is_err());
    }
}
