//! What a certificate says about itself.

use std::net::IpAddr;

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use x509_parser::{
    certificate::X509Certificate,
    extensions::GeneralName,
    pem::Pem,
    prelude::{ASN1Time, FromDer},
};

use super::PkiError;

/// The readable part of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CertificateInfo {
    /// CN of the subject.
    pub common_name: Option<String>,
    /// Every O of the subject.
    pub organizations: Vec<String>,
    /// Host names and addresses, in the certificate's order.
    pub names: Vec<String>,
    /// Begin of its life.
    pub not_before: Timestamp,
    /// End of its life.
    pub not_after: Timestamp,
    /// True when it may sign others.
    pub is_authority: bool,
    /// True when it proves a client, and nothing else.
    pub only_client: bool,
    /// The public key's own bytes.
    pub public_key: Vec<u8>,
    der: Vec<u8>,
}

impl CertificateInfo {
    /// Reads the first certificate of a PEM text.
    pub fn from_pem(text: &str) -> Result<Self, PkiError> {
        Pem::iter_from_buffer(text.as_bytes())
            .filter_map(Result::ok)
            .find(|block| block.label == "CERTIFICATE")
            .ok_or(PkiError::Malformed { what: "a certificate" })
            .and_then(|block| Self::from_der(&block.contents))
    }

    /// Reads a certificate.
    pub fn from_der(der: &[u8]) -> Result<Self, PkiError> {
        let x509 = parse(der)?;
        let subject = x509.subject();
        let text =
            |value: &x509_parser::x509::AttributeTypeAndValue<'_>| value.as_str().ok().map(str::to_owned);
        let names = match x509.subject_alternative_name() {
            Ok(Some(extension)) => extension.value.general_names.iter().filter_map(name).collect(),
            _ => Vec::new(),
        };
        Ok(Self {
            common_name: subject.iter_common_name().find_map(text),
            organizations: subject.iter_organization().filter_map(text).collect(),
            names,
            not_before: time(x509.validity().not_before),
            not_after: time(x509.validity().not_after),
            is_authority: x509.is_ca(),
            only_client: only_client(&x509),
            public_key: x509.public_key().subject_public_key.data.to_vec(),
            der: der.to_vec(),
        })
    }

    /// The certificate itself.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// True when the issuer's key made the signature of this certificate.
    pub fn signed_by(&self, issuer: &Self) -> bool {
        let (Ok(this), Ok(issuer)) = (parse(&self.der), parse(&issuer.der)) else { return false };
        this.verify_signature(Some(issuer.public_key())).is_ok()
    }
}

/// The fingerprint that Talos prints on a console and takes for a pin: SHA-256 over the public key
/// information, in base64.
pub fn fingerprint(der: &[u8]) -> Result<String, PkiError> {
    let x509 = parse(der)?;
    Ok(STANDARD.encode(digest(&SHA256, x509.public_key().raw)))
}

fn parse(der: &[u8]) -> Result<X509Certificate<'_>, PkiError> {
    match X509Certificate::from_der(der) {
        Ok((_, x509)) => Ok(x509),
        Err(_) => Err(PkiError::Malformed { what: "a certificate" }),
    }
}

fn only_client(x509: &X509Certificate<'_>) -> bool {
    let Ok(Some(extension)) = x509.extended_key_usage() else { return false };
    let usage = extension.value;
    let others = usage.any
        || usage.server_auth
        || usage.code_signing
        || usage.email_protection
        || usage.time_stamping
        || usage.ocsp_signing
        || !usage.other.is_empty();
    usage.client_auth && !others
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => <[u8; 4]>::try_from(*bytes).ok().map(|bytes| IpAddr::from(bytes).to_string()),
            _ => <[u8; 16]>::try_from(*bytes).ok().map(|bytes| IpAddr::from(bytes).to_string()),
        },
        _ => None,
    }
}

fn time(time: ASN1Time) -> Timestamp {
    // Dates beyond what a timestamp holds mean "for ever".
    Timestamp::from_second(time.timestamp()).unwrap_or(Timestamp::MAX)
}
