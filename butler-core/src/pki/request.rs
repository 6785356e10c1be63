//! Requests for certificates: made by who has a key, signed by who has an authority.

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    CertificateParams, CertificateSigningRequestParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyUsagePurpose,
};

use super::{Authority, PkiError, PrivateKey, authority::params};

/// What a request asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// CN of the subject.
    pub common_name: String,
    /// O of the subject.
    pub organization: Option<String>,
    /// Host names and addresses.
    pub names: Vec<String>,
}

impl Request {
    /// The request as PEM, signed with the key it is for.
    pub fn to_pem(&self, key: &PrivateKey) -> Result<String, PkiError> {
        let mut params = CertificateParams::new(self.names.clone()).map_err(PkiError::Sign)?;
        let mut subject = DistinguishedName::new();
        if let Some(organization) = &self.organization {
            subject.push(DnType::OrganizationName, organization);
        }
        subject.push(DnType::CommonName, &self.common_name);
        params.distinguished_name = subject;
        params.serialize_request(key.pair()).and_then(|request| request.pem()).map_err(PkiError::Sign)
    }
}

impl Authority {
    /// Signs a request for a server, as trustd does: subject's name and host names are taken over,
    /// an organisation (which would be a right) is not.
    pub fn sign_server(
        &self,
        request: &str,
        now: Timestamp,
        life: SignedDuration,
    ) -> Result<String, PkiError> {
        let malformed = |_| PkiError::Malformed { what: "a certificate request" };
        let mut request = CertificateSigningRequestParams::from_pem(request).map_err(malformed)?;
        let asked = request.params;
        let name = asked.distinguished_name.get(&DnType::CommonName).and_then(|value| match value {
            rcgen::DnValue::Utf8String(text) => Some(text.clone()),
            rcgen::DnValue::PrintableString(text) => Some(text.as_str().to_owned()),
            _ => None,
        });
        let mut granted = params(name.as_deref(), None, now, life);
        granted.subject_alt_names = asked.subject_alt_names;
        granted.is_ca = IsCa::NoCa;
        granted.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        granted.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        granted.use_authority_key_identifier_extension = true;
        request.params = granted;
        let issuer =
            Issuer::from_ca_cert_pem(self.certificate(), self.key().pair()).map_err(PkiError::Sign)?;
        Ok(request.signed_by(&issuer).map_err(PkiError::Sign)?.pem())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pki::{CertificateInfo, KeyKind};

    #[test]
    fn a_signed_request_proves_a_server_and_grants_no_right() {
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        let day = SignedDuration::from_hours(24);
        let authority = Authority::generate(KeyKind::Ed25519, Some("talos"), now, day).unwrap();
        let key = PrivateKey::generate(KeyKind::Ed25519).unwrap();
        let request = Request {
            common_name: "node-1".into(),
            organization: Some("os:admin".into()),
            names: vec!["10.0.0.1".into(), "node-1".into()],
        };
        let signed = authority.sign_server(&request.to_pem(&key).unwrap(), now, day).unwrap();
        let info = CertificateInfo::from_pem(&signed).unwrap();
        assert_eq!(info.common_name.as_deref(), Some("node-1"));
        assert!(info.organizations.is_empty());
        assert_eq!(info.names, ["10.0.0.1", "node-1"]);
        assert!(info.signed_by(&CertificateInfo::from_pem(authority.certificate()).unwrap()));
        assert!(authority.sign_server("not a request", now, day).is_err());
    }
}
