//! Who a node is: its key's fingerprint before it has a configuration, the cluster's authority after.
//!
//! A node in maintenance mode makes its own certificate at boot, which nobody can vouch for. Its key
//! is looked at once ([`observe`](super::client::observe)) or read off the console, and pinned: the
//! configuration, with all keys of the cluster, then goes to that key or nowhere. A pinned key is
//! taken whatever dates stand in its certificate, because a new machine's clock is often wrong.

use std::{
    fmt, io,
    str::FromStr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use butler_core::pki::{PkiError, PrivateKey, fingerprint};
use http::Uri;
use hyper_util::rt::TokioIo;
use rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme, WantsVerifier,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring::default_provider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

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

/// TLS to a node that must have the pinned key.
pub(super) fn pinned(pin: Arc<KeyPin>) -> Arc<ClientConfig> {
    let builder = client().dangerous().with_custom_certificate_verifier(pin);
    for_http2(builder.with_no_client_auth())
}

/// Mutual TLS as a talosconfig context asks for it.
pub(crate) fn mutual(context: &Context) -> Result<Arc<ClientConfig>, DocumentError> {
    let wrong = |field, what| DocumentError::Certificate {
        document: Document::Talosconfig,
        field,
        source: PkiError::Malformed { what },
    };
    let mut roots = RootCertStore::empty();
    let authorities = CertificateDer::pem_slice_iter(context.ca.as_bytes()).filter_map(Result::ok);
    if roots.add_parsable_certificates(authorities).0 == 0 {
        return Err(wrong("ca", "a certificate"));
    }
    let chain: Vec<_> = CertificateDer::pem_slice_iter(context.crt.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|_| wrong("crt", "a certificate"))?;
    // Read by our own hands first: Talos writes a label that rustls does not know.
    let key = PrivateKey::from_pem(&context.key).map_err(|source| DocumentError::Certificate {
        document: Document::Talosconfig,
        field: "key",
        source,
    })?;
    let key = PrivateKeyDer::from_pem_slice(key.to_pkcs8_pem().expose().as_bytes())
        .map_err(|_| wrong("key", "a private key"))?;
    let config = client()
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)
        .map_err(|_| wrong("crt", "a certificate for the key"))?;
    Ok(for_http2(config))
}

#[expect(clippy::expect_used, reason = "ring implements the default protocol versions")]
fn client() -> ConfigBuilder<ClientConfig, WantsVerifier> {
    ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring speaks TLS 1.2 and 1.3")
}

fn for_http2(mut config: ClientConfig) -> Arc<ClientConfig> {
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

/// How long a server may stay silent before the client has to speak first.
const FIRST_WORD: Duration = Duration::from_secs(1);

/// Opens a connection and waits for the server's verdict on our certificate. In TLS 1.3 it comes after
/// the handshake, and HTTP/2 would only tell that the connection broke.
pub(crate) async fn dial(uri: Uri, config: Arc<ClientConfig>) -> io::Result<TokioIo<TlsStream<TcpStream>>> {
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
    let tcp = TcpStream::connect((host.as_str(), uri.port_u16().unwrap_or(super::API_PORT))).await?;
    tcp.set_nodelay(true)?;
    let name = ServerName::try_from(host).map_err(io::Error::other)?;
    let mut stream = TlsConnector::from(config).connect(name, tcp).await?;
    let (tcp, session) = stream.get_mut();
    if tokio::time::timeout(FIRST_WORD, tcp.readable()).await.is_ok() {
        let mut buffer = [0; 4096];
        let count = match tcp.try_read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            count => count?,
        };
        let mut unread = &buffer[..count];
        while !unread.is_empty() {
            // What is no verdict stays in the session for HTTP/2 to read.
            session.read_tls(&mut unread)?;
            session.process_new_packets().map_err(io::Error::other)?;
        }
    }
    Ok(TokioIo::new(stream))
}
