//! Fetches charts and manifests. Certificates are always checked; plain HTTP is for this computer only.

use std::{error::Error, net::IpAddr, sync::OnceLock, time::Duration};

use butler_core::error::ErrorKind;
use reqwest::{Client, StatusCode, Url, redirect};
use ring::digest;

use super::{AddonError, error::Words};

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
        let failed = |kind, said: String| failure(&format!("{what} from `{url}`"), kind, said);
        let address = Url::parse(url).map_err(|error| failed(ErrorKind::Invalid, error.to_string()))?;
        if !is_protected(&address) {
            let said = "plain HTTP is only accepted on this computer's own addresses; use https://";
            return Err(failed(ErrorKind::Invalid, said.to_owned()));
        }
        let lost = |error: reqwest::Error| failed(ErrorKind::Transient, root(&error.without_url()));
        let mut answer = self.client().map_err(lost)?.get(address).send().await.map_err(lost)?;
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

    /// Made when it is first needed: loading the system's certificates is slow.
    fn client(&self) -> Result<&Client, reqwest::Error> {
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

/// HTTPS, or an address that nobody else can answer at.
pub(super) fn is_protected(url: &Url) -> bool {
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

/// The innermost cause: the outer ones only say "error sending request".
fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

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
