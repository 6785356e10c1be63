//! Who a node is: its key's fingerprint before it has a configuration, the cluster's authority after.
//!
//! A node in maintenance mode makes its own certificate at boot, which nobody can vouch for. Its key
//! is looked at once ([`observe`](super::client::observe)) or read off the console, and pinned: the
//! configuration, with all keys of the cluster, then goes to that key or nowhere. A pinned key is
//! taken whatever dates stand in its certificate, because a new machine's clock is often wrong.

use std::{
    fmt,
    str::FromStr,
    sync::{Arc, OnceLock},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use butler_core::pki::{PrivateKey, fingerprint};
use rustls::{
    CertificateError, DigitallySignedStruct, Error, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring::default_provider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use super::{
    document::{Document, DocumentError},
    talosconfig::Context,
};

/// SHA-256 over a certificate's public key, as `talosctl --cert-fingerprint` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint(String);

impl FromStr for Fingerprint {
    type Err = DocumentError;

    fn from_str(text: &str) -> Result<Self, DocumentError> {
        match STANDARD.decode(text) {
            Ok(bytes) if bytes.len() == 32 => Ok(Self(text.to_owned())),
            _ => Err(DocumentError::field(
                Document::Talosconfig,
                text,
                "is not a fingerprint: 32 bytes in base64",
            )),
        }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Accepts one key, or any key once to learn it, and remembers the key it saw.
#[derive(Debug)]
pub(super) struct KeyPin {
    expected: Option<Fingerprint>,
    seen: OnceLock<Fingerprint>,
    provider: CryptoProvider,
}

impl KeyPin {
    pub(super) fn new(expected: Option<Fingerprint>) -> Arc<Self> {
        Arc::new(Self { expected, seen: OnceLock::new(), provider: default_provider() })
    }

    pub(super) fn seen(&self) -> Option<&Fingerprint> {
        self.seen.get()
    }
}

impl ServerCertVerifier for KeyPin {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _stapled: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let seen = fingerprint(certificate).map(Fingerprint).map_err(|_| CertificateError::BadEncoding)?;
        let known = self.expected.as_ref().is_none_or(|expected| *expected == seen);
        // Only the first connection is reported; the pin itself holds for every one.
        let _ = self.seen.set(seen);
        if known {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Mutual TLS as a talosconfig context asks for it.
pub(super) fn mutual(context: &Context) -> Result<ClientTlsConfig, DocumentError> {
    let key = PrivateKey::from_pem(&context.key).map_err(|source| DocumentError::Certificate {
        document: Document::Talosconfig,
        field: "key",
        source,
    })?;
    Ok(ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(&context.ca))
        .identity(Identity::from_pem(&context.crt, key.to_pkcs8_pem().expose())))
}
