//! Fetches charts and manifests. Certificates are always checked; plain HTTP is for this computer only.

use std::{error::Error, net::IpAddr, sync::OnceLock, time::Duration};

use butler_core::{bootstrap::config::without_user, error::ErrorKind};
use reqwest::{Client, StatusCode, Url, redirect};
use ring::digest;

use super::{
    AddonError,
    digests::{SUMS, SUMS_LIMIT, Sums},
    error::Words,
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A server that sends nothing for so long has gone away.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 5;

#[derive(Debug, Default)]
pub(super) struct Fetcher {
    client: OnceLock<Client>,
}

impl Fetcher {
    /// The body at an address, of at most `limit` bytes. `what` completes "cannot get …".
    pub(super) async fn get(&self, what: &str, url: &str, limit: usize) -> Result<Vec<u8>, AddonError> {
        let place = without_user(url);
        let failed = |kind, said: String| failure(&format!("{what} from `{place}`"), kind, said);
        let address = Url::parse(url).map_err(|error| failed(ErrorKind::Invalid, error.to_string()))?;
        if !is_protected(&address) {
            let said = "plain HTTP is only accepted on this computer's own addresses; use https://";
            return Err(failed(ErrorKind::Invalid, said.to_owned()));
        }
        let lost = |error: reqwest::Error| {
            let error = error.without_url();
            // A certificate does not get better by trying again.
            let kind = if is_certificate(&error) { ErrorKind::Invalid } else { ErrorKind::Transient };
            failed(kind, root(&error))
        };
        let sent = self.client().map_err(lost)?.get(address.clone()).send().await;
        let mut answer = match sent {
            Ok(answer) => answer,
            Err(error) if error.is_connect() && !is_certificate(&error) => {
                let what = format!("{what} from `{place}`");
                return Err(unresolved(&what, &address).await.unwrap_or_else(|| lost(error)));
            }
            Err(error) => return Err(lost(error)),
        };
        let status = answer.status();
        if !status.is_success() {
            let kind = match status {
                StatusCode::NOT_FOUND | StatusCode::GONE => ErrorKind::Invalid,
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ErrorKind::Unauthenticated,
                _ => ErrorKind::Transient,
            };
            return Err(failed(kind, format!("the answer was {status}")));
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(lost)? {
            body.extend_from_slice(&chunk);
            if body.len() > limit {
                return Err(failed(ErrorKind::Invalid, format!("it has more than {limit} bytes")));
            }
        }
        Ok(body)
    }

    /// The checksums of a repository; none when it has none.
    pub(super) async fn sums(&self, url: &str) -> Result<Option<Sums>, AddonError> {
        match self.get("the checksums", &format!("{url}/{SUMS}"), SUMS_LIMIT).await {
            Ok(text) => Ok(Some(Sums::parse(&String::from_utf8_lossy(&text)))),
            // It is not there.
            Err(AddonError::Source { kind: ErrorKind::Invalid, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Made when it is first needed: loading the system's certificates is slow.
    pub(super) fn client(&self) -> Result<&Client, reqwest::Error> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // Fails only when a provider is installed already, and then it is this one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let policy = redirect::Policy::custom(|attempt| {
            if attempt.previous().len() > MAX_REDIRECTS {
                attempt.error("too many redirects")
            } else if is_protected(attempt.url()) {
                attempt.follow()
            } else {
                attempt.error("it redirects to an unprotected address")
            }
        });
        let client = Client::builder()
            .redirect(policy)
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .build()?;
        Ok(self.client.get_or_init(|| client))
    }
}

pub(super) fn failure(what: &str, kind: ErrorKind, said: impl Into<String>) -> AddonError {
    AddonError::Source { what: what.to_owned(), kind, said: Words::new(said) }
}

/// The failure of a connection whose host has no address: the client's error does not tell it from others.
async fn unresolved(what: &str, address: &Url) -> Option<AddonError> {
    let host = address.host_str()?.to_owned();
    let found = tokio::net::lookup_host((host.as_str(), address.port_or_known_default()?)).await;
    let source = found.err()?;
    Some(AddonError::Unresolved { what: what.to_owned(), host, source })
}

/// HTTPS, or an address that nobody else can answer at.
pub(crate) fn is_protected(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && url.host_str().is_some_and(is_loopback))
}

/// True for names of this computer.
pub(super) fn is_loopback(host: &str) -> bool {
    let address: Result<IpAddr, _> = host.trim_matches(['[', ']']).parse();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// SHA-256 as it is published.
pub(super) fn sha256(bytes: &[u8]) -> String {
    digest::digest(&digest::SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// True when the other side's certificate was not accepted.
fn is_certificate(error: &reqwest::Error) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if matches!(tls(error), Some(rustls::Error::InvalidCertificate(_))) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The error of TLS in another one: input and output wrap it, more than once.
fn tls<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    if let Some(found) = error.downcast_ref::<rustls::Error>() {
        return Some(found);
    }
    tls(error.downcast_ref::<std::io::Error>()?.get_ref()?)
}

/// The innermost cause: the outer ones only say "error sending request".
pub(super) fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_that_cannot_be_resolved_is_told_from_a_server_that_is_down() {
        use butler_core::error::{Code, Diagnose};
        let get = async |url| Fetcher::default().get("the index", url, 1).await.unwrap_err();
        let error = get("https://charts.invalid/index.yaml").await;
        assert_eq!((error.code(), error.is_retryable()), (Code::AddonSourceUnresolved, true), "{error}");
        assert!(error.to_string().contains("`charts.invalid`"), "{error}");
        let error = get("http://127.0.0.1:9/index.yaml").await;
        assert_eq!((error.code(), error.is_retryable()), (Code::AddonSourceUnreachable, true), "{error}");
    }

    #[test]
    fn plain_http_is_for_this_computer_only() {
        for (url, wanted) in [
            ("https://charts.example", true),
            ("http://127.0.0.1:8080/x", true),
            ("http://127.44.0.9/", true),
            ("http://[::1]:5000/", true),
            ("http://localhost/", true),
            ("http://charts.example/", false),
            ("http://127.0.0.1.example/", false),
            ("http://10.0.0.1/", false),
            ("ftp://localhost/", false),
        ] {
            assert_eq!(is_protected(&Url::parse(url).unwrap()), wanted, "{url}");
        }
    }
}
