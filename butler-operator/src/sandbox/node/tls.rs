//! How a node proves itself, and whom it lets in.

use std::sync::Arc;

use butler_core::{
    pki::{
        Authority, CertificateInfo, Issued, KeyKind, Leaf, PkiError, PrivateKey, TOLERANCE, Usage,
        fingerprint, valid_from,
    },
    redact::Secret,
};
use jiff::{SignedDuration, Timestamp};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, ServerConfig,
    SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem::PemObject},
    server::{
        WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};

use super::{clock::Clock, context::Node, roles::IMPERSONATOR};
use crate::talos::talosconfig::Context;

/// How long certificates of the Talos API live, and after what they are renewed.
pub(super) const LIFE: SignedDuration = SignedDuration::from_hours(24);

/// The TLS of a server that shows `identity` and, with authorities, wants a certificate of its callers.
pub(super) fn server(
    certificate: &str,
    key: &Secret,
    callers: Option<&str>,
    clock: Arc<Clock>,
) -> Result<Arc<ServerConfig>, Error> {
    let provider = Arc::new(default_provider());
    let wrong = |what: &str| Error::General(format!("cannot read {what} from PEM"));
    let chain: Vec<_> = CertificateDer::pem_slice_iter(certificate.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|_| wrong("the certificate"))?;
    let key = PrivateKey::from_pem(key).map_err(|_| wrong("the key"))?;
    let key = PrivateKeyDer::from_pem_slice(key.to_pkcs8_pem().expose().as_bytes())
        .map_err(|_| wrong("the key"))?;
    let builder =
        ServerConfig::builder_with_details(provider.clone(), clock).with_safe_default_protocol_versions()?;
    let builder = match callers {
        None => builder.with_no_client_auth(),
        Some(authorities) => {
            let mut roots = RootCertStore::empty();
            let certificates = CertificateDer::pem_slice_iter(authorities.as_bytes()).filter_map(Result::ok);
            roots.add_parsable_certificates(certificates);
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|_| wrong("the authorities of callers"))?;
            builder.with_client_cert_verifier(Arc::new(OnlyClients(verifier)))
        }
    };
    let mut config = builder.with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// Refuses certificates that prove anything besides a client.
#[derive(Debug)]
struct OnlyClients(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for OnlyClients {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.0.verify_client_cert(certificate, intermediates, now)?;
        match CertificateInfo::from_der(certificate) {
            Ok(info) if info.only_client => Ok(verified),
            Ok(_) => Err(CertificateError::InvalidPurpose.into()),
            Err(_) => Err(CertificateError::BadEncoding.into()),
        }
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

/// A certificate that nobody can vouch for, for the time before there is a configuration; and its
/// fingerprint, which the console shows.
pub(super) fn throw_away(node: &Node) -> Result<(Issued, String), PkiError> {
    let now = node.machine.clock.now();
    let authority = Authority::generate(KeyKind::Ed25519, None, now, LIFE)?;
    let issued = authority.issue(&Leaf {
        common_name: Some("maintenance-service.talos.dev".to_owned()),
        organization: None,
        names: own_names(node, &[]),
        usage: Usage::Server,
        not_before: valid_from(now),
        life: LIFE + TOLERANCE * 2,
    })?;
    let print = fingerprint(CertificateInfo::from_pem(&issued.certificate)?.der())?;
    Ok((issued, print))
}

/// The certificate of a control plane's Talos API, signed with the key it has.
pub(super) fn own_server(node: &Node, authority: &Authority, names: &[String]) -> Result<Issued, PkiError> {
    authority.issue(&Leaf {
        common_name: Some(node.hostname()),
        organization: None,
        names: own_names(node, names),
        usage: Usage::Server,
        not_before: valid_from(node.machine.clock.now()),
        // Here everything has the same clock, and it may be set while nodes run.
        life: LIFE + TOLERANCE * 2,
    })
}

/// The certificate of a worker's Talos API, which has a key of its own.
pub(super) fn sign_server(node: &Node, authority: &Authority, request: &str) -> Result<String, PkiError> {
    authority.sign_server(request, valid_from(node.machine.clock.now()), LIFE + TOLERANCE * 2)
}

/// What a control plane shows to other nodes when it forwards calls.
pub(super) fn forwarder(node: &Node, authority: &Authority, now: Timestamp) -> Result<Context, PkiError> {
    let issued = authority.issue(&Leaf {
        common_name: Some(node.hostname()),
        organization: Some(IMPERSONATOR.to_owned()),
        names: Vec::new(),
        usage: Usage::Client,
        not_before: valid_from(now),
        life: LIFE + TOLERANCE * 2,
    })?;
    Ok(Context {
        ca: authority.certificate().to_owned(),
        crt: issued.certificate,
        key: issued.key,
        ..Context::default()
    })
}

/// Names and addresses of this node, and more.
pub(super) fn own_names(node: &Node, more: &[String]) -> Vec<String> {
    let address = node.machine.file.address.to_string();
    let mut names =
        vec![address, "127.0.0.1".to_owned(), "::1".to_owned(), node.hostname(), "localhost".to_owned()];
    names.extend(more.iter().cloned());
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| !name.is_empty() && seen.insert(name.clone()));
    names
}
