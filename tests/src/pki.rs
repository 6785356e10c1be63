//! Certificates for one test: an authority, and what it signs, good and bad.

use anyhow::{Result, ensure};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};

/// Names and addresses of a server on loopback.
const LOOPBACK: [&str; 2] = ["127.0.0.1", "localhost"];

/// A certificate with its key, both PEM.
#[derive(Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// A certificate authority.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// Makes a new one.
    pub fn new(name: &str) -> Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name = subject(name, &[])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        Ok(Self { issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)? })
    }

    /// Its certificate and key.
    pub fn identity(&self) -> Identity {
        Identity { certificate: self.issuer.pem(), key: self.issuer.key().serialize_pem() }
    }

    /// For a server on loopback, which may also be a client of its kind.
    pub fn server(&self) -> Result<Identity> {
        self.sign(server_params()?)
    }

    /// For a server on loopback, long expired.
    pub fn expired_server(&self) -> Result<Identity> {
        let mut params = server_params()?;
        params.not_after = date_time_ymd(2001, 1, 1);
        self.sign(params)
    }

    /// For a Kubernetes user who is a member of these groups.
    pub fn client(&self, user: &str, groups: &[&str]) -> Result<Identity> {
        let mut params = CertificateParams::default();
        params.distinguished_name = subject(user, groups)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Result<Identity> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Identity { certificate, key: key.serialize_pem() })
    }
}

fn server_params() -> Result<CertificateParams> {
    let mut params = CertificateParams::new(LOOPBACK.map(str::to_owned))?;
    params.distinguished_name = subject("loopback", &[])?;
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    Ok(params)
}

fn subject(name: &str, groups: &[&str]) -> Result<DistinguishedName> {
    // The library keeps one value per attribute type; the same attribute by number makes a second.
    let organisation = [DnType::OrganizationName, DnType::CustomDnType(vec![2, 5, 4, 10])];
    ensure!(groups.len() <= organisation.len(), "a certificate of the kit names at most two groups");
    let mut subject = DistinguishedName::new();
    organisation.into_iter().zip(groups).for_each(|(kind, group)| subject.push(kind, *group));
    subject.push(DnType::CommonName, name);
    Ok(subject)
}
