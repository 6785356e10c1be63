//! A certificate authority and the leaves it signs.

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyUsagePurpose, PublicKeyData, date_time_ymd,
};

use super::{CertificateInfo, KeyKind, PkiError, PrivateKey};
use crate::redact::Secret;

/// An authority: its certificate and the key that signs.
#[derive(Debug)]
pub struct Authority {
    certificate: String,
    key: PrivateKey,
}

/// What a leaf may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// To prove a server.
    Server,
    /// To prove a client.
    Client,
    /// Both, as etcd peers need.
    Both,
}

/// What a leaf should say.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// CN of the subject.
    pub common_name: Option<String>,
    /// O of the subject: the role for Talos, the group for Kubernetes.
    pub organization: Option<String>,
    /// Host names and addresses, in any order.
    pub names: Vec<String>,
    /// What it proves.
    pub usage: Usage,
    /// Begin of its life.
    pub not_before: Timestamp,
    /// Length of its life.
    pub life: SignedDuration,
}

/// A signed leaf with its key, both PEM.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its key, in the form Talos writes.
    pub key: Secret,
}

impl Authority {
    /// Makes a self-signed authority whose subject is the organisation alone, or empty.
    pub fn generate(
        kind: KeyKind,
        organization: Option<&str>,
        now: Timestamp,
        life: SignedDuration,
    ) -> Result<Self, PkiError> {
        let key = PrivateKey::generate(kind)?;
        let mut params = params(None, organization, now, life);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.self_signed(key.pair()).map_err(PkiError::Sign)?.pem();
        Ok(Self { certificate, key })
    }

    /// Takes an existing authority, after checking that certificate and key belong together.
    pub fn from_pem(certificate: &str, key: &Secret) -> Result<Self, PkiError> {
        let key = PrivateKey::from_pem(key)?;
        if CertificateInfo::from_pem(certificate)?.public_key != key.pair().der_bytes() {
            return Err(PkiError::Mismatch);
        }
        Ok(Self { certificate: certificate.to_owned(), key })
    }

    /// The certificate as PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The key that signs.
    pub fn key(&self) -> &PrivateKey {
        &self.key
    }

    /// Signs a leaf with a new key of the authority's own kind.
    pub fn issue(&self, leaf: &Leaf) -> Result<Issued, PkiError> {
        let key = PrivateKey::generate(self.key.kind())?;
        let mut params = CertificateParams::new(leaf.names.clone()).map_err(PkiError::Sign)?;
        let common = params_of(leaf);
        params.not_before = common.not_before;
        params.not_after = common.not_after;
        params.distinguished_name = common.distinguished_name;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        if self.key.kind() == KeyKind::P256 {
            // Kubernetes' own tools set it; Talos' Ed25519 leaves do without.
            params.key_usages.push(KeyUsagePurpose::KeyEncipherment);
        }
        params.extended_key_usages = match leaf.usage {
            Usage::Server => vec![ExtendedKeyUsagePurpose::ServerAuth],
            Usage::Client => vec![ExtendedKeyUsagePurpose::ClientAuth],
            Usage::Both => vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth],
        };
        let issuer = Issuer::from_ca_cert_pem(&self.certificate, self.key.pair()).map_err(PkiError::Sign)?;
        let certificate = params.signed_by(key.pair(), &issuer).map_err(PkiError::Sign)?.pem();
        Ok(Issued { certificate, key: key.to_pem() })
    }
}

fn params_of(leaf: &Leaf) -> CertificateParams {
    params(leaf.common_name.as_deref(), leaf.organization.as_deref(), leaf.not_before, leaf.life)
}

pub(super) fn params(
    common_name: Option<&str>,
    organization: Option<&str>,
    not_before: Timestamp,
    life: SignedDuration,
) -> CertificateParams {
    let mut subject = DistinguishedName::new();
    if let Some(name) = organization {
        subject.push(DnType::OrganizationName, name);
    }
    if let Some(name) = common_name {
        subject.push(DnType::CommonName, name);
    }
    let at = |time: Timestamp| {
        // Certificates know whole seconds and nothing before 1970 is ours.
        let seconds = u64::try_from(time.as_second()).unwrap_or_default();
        date_time_ymd(1970, 1, 1) + std::time::Duration::from_secs(seconds)
    };
    let mut params = CertificateParams::default();
    params.distinguished_name = subject;
    params.not_before = at(not_before);
    params.not_after = at(not_before.saturating_add(life).unwrap_or(Timestamp::MAX));
    params
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const DAY: SignedDuration = SignedDuration::from_hours(24);

    fn leaf(now: Timestamp) -> Leaf {
        Leaf {
            common_name: Some("node-1".into()),
            organization: Some("os:admin".into()),
            names: vec!["10.0.0.1".into(), "node-1".into()],
            usage: Usage::Client,
            not_before: now,
            life: DAY,
        }
    }

    #[rstest]
    #[case(KeyKind::Ed25519, Some("talos"))]
    #[case(KeyKind::P256, Some("kubernetes"))]
    #[case(KeyKind::P256, None)]
    fn a_leaf_says_what_was_asked_and_chains_to_its_authority(
        #[case] kind: KeyKind,
        #[case] organization: Option<&str>,
    ) {
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        let made = Authority::generate(kind, organization, now, DAY * 10).unwrap();
        let authority = Authority::from_pem(made.certificate(), &made.key().to_pem()).unwrap();
        let root = CertificateInfo::from_pem(authority.certificate()).unwrap();
        assert!(root.is_authority);
        assert_eq!(root.organizations, organization.map(str::to_owned).into_iter().collect::<Vec<_>>());
        assert_eq!((root.not_before, root.not_after), (now, now + DAY * 10));

        let issued = authority.issue(&leaf(now)).unwrap();
        let info = CertificateInfo::from_pem(&issued.certificate).unwrap();
        assert!(!info.is_authority);
        assert_eq!(info.common_name.as_deref(), Some("node-1"));
        assert_eq!(info.organizations, ["os:admin"]);
        assert_eq!(info.names, ["10.0.0.1", "node-1"]);
        assert_eq!(info.not_after, now + DAY);
        assert!(info.signed_by(&root), "the signature verifies");
        assert_eq!(PrivateKey::from_pem(&issued.key).unwrap().kind(), kind);
    }

    #[test]
    fn a_key_of_another_authority_is_refused() {
        let now = Timestamp::UNIX_EPOCH;
        let [one, two] = [(); 2].map(|()| Authority::generate(KeyKind::P256, None, now, DAY).unwrap());
        let error = Authority::from_pem(one.certificate(), &two.key().to_pem()).unwrap_err();
        assert!(matches!(error, PkiError::Mismatch));
    }
}
