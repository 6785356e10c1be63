//! Who calls: a certificate is asked for and looked at, and judged only afterwards, so that a stranger
//! hears "401" and not the sound of a broken connection.

use std::{net::IpAddr, sync::Arc};

use butler_core::{
    pki::{CertificateInfo, PkiError, PrivateKey},
    redact::Secret,
};
use rustls::{
    DigitallySignedStruct, DistinguishedName, Error, RootCertStore, ServerConfig, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject},
    server::{
        WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};

/// A user whose certificate our authority signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) groups: Vec<String>,
}

/// Judges certificates of clients.
#[derive(Clone, Debug)]
pub(super) struct Judge(Arc<dyn ClientCertVerifier>);

impl Judge {
    /// Trusts an authority, PEM.
    pub(super) fn new(authority: &str) -> Result<Self, PkiError> {
        let mut roots = RootCertStore::empty();
        let certificates = CertificateDer::pem_slice_iter(authority.as_bytes()).filter_map(Result::ok);
        roots.add_parsable_certificates(certificates);
        let builder = WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::new(default_provider()));
        let verifier = builder.build().map_err(|_| PkiError::Malformed { what: "a certificate" })?;
        Ok(Self(verifier))
    }

    /// Who shows this chain; `None` for a stranger.
    pub(super) fn user(&self, chain: &[CertificateDer<'_>]) -> Option<User> {
        let (own, between) = chain.split_first()?;
        self.0.verify_client_cert(own, between, UnixTime::now()).ok()?;
        let info = CertificateInfo::from_der(own).ok()?;
        Some(User { name: info.common_name.filter(|name| !name.is_empty())?, groups: info.organizations })
    }
}

/// Takes every certificate whose holder has the key; [`Judge::user`] decides what it is worth.
#[derive(Debug)]
struct TakesAll(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for TakesAll {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// TLS of the server.
pub(super) fn config(judge: &Judge, certificate: &str, key: &Secret) -> Result<ServerConfig, PkiError> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(certificate.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|_| PkiError::Malformed { what: "a certificate" })?;
    // Read by our own hands first: Talos writes a label that rustls does not know.
    let key = PrivateKey::from_pem(key)?.to_pkcs8_pem();
    let key = PrivateKeyDer::from_pem_slice(key.expose().as_bytes())
        .map_err(|_| PkiError::Malformed { what: "a private key" })?;
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| PkiError::Unsupported)?;
    let mut config = builder
        .with_client_cert_verifier(Arc::new(TakesAll(judge.0.clone())))
        .with_single_cert(chain, key)
        .map_err(|_| PkiError::Mismatch)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// A certificate of the server's own, for its name and address.
pub(super) fn self_signed(node: &str, address: IpAddr) -> Result<(String, Secret), PkiError> {
    let names = [node.to_owned(), address.to_string()];
    let made = rcgen::generate_simple_self_signed(names).map_err(PkiError::Sign)?;
    Ok((made.cert.pem(), made.signing_key.serialize_pem().into()))
}
