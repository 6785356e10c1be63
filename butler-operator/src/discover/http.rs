//! Calls to a provider's own HTTP API.

use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, StatusCode, Url};
use serde_json::Value;

use super::SurveyError;
use crate::{
    addons::is_protected,
    driver::{DriverError, ErrorClass},
};

/// How long a call may take.
const LIMIT: Duration = Duration::from_secs(30);
/// The most that an answer may hold.
const MOST: usize = 16 << 20;

/// A provider's API.
pub(super) struct Api {
    client: Client,
    base: Url,
}

impl Api {
    /// At an address as a person writes it, with or without `https://`; `port` counts when it names none.
    /// Credentials go over plain HTTP on this computer only.
    pub(super) fn new(address: &str, port: Option<u16>, insecure: bool) -> Result<Self, SurveyError> {
        let action = format!("use the address `{address}`");
        let invalid = |words: String| DriverError::new(ErrorClass::Invalid, action.clone(), words);
        let address = address.trim().trim_end_matches('/');
        let full = if address.contains("://") { address.to_owned() } else { format!("https://{address}") };
        let mut base = Url::parse(&full).map_err(|error| invalid(error.to_string()))?;
        if !is_protected(&base) {
            return Err(invalid("credentials go over https:// only".to_owned()).into());
        }
        if base.port().is_none() && port.is_some() {
            base.set_port(port).map_err(|()| invalid("it takes no port".to_owned()))?;
        }
        let client = Client::builder().timeout(LIMIT).tls_danger_accept_invalid_certs(insecure).build();
        Ok(Self { client: client.map_err(|error| invalid(error.to_string()))?, base })
    }

    /// A call that is not sent yet.
    pub(super) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let base = self.base.as_str().trim_end_matches('/');
        self.client.request(method, format!("{base}/{path}"))
    }
}

/// Sends a call; its answer is JSON. What the provider says of a failure stays out: it may repeat what it was
/// sent.
pub(super) async fn send(request: RequestBuilder, what: &str) -> Result<Value, SurveyError> {
    let failed = |class, words: String| DriverError::new(class, format!("ask for {what}"), words);
    let lost = |error: reqwest::Error| {
        let error = error.without_url();
        if error.is_timeout() {
            return DriverError::late(format!("ask for {what}"), "no answer came in time");
        }
        failed(ErrorClass::Transient, "nobody answers there as expected".to_owned()).because(error)
    };
    let mut answer = request.send().await.map_err(lost)?;
    let status = answer.status();
    let class = match status {
        _ if status.is_success() => None,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Some(ErrorClass::Auth),
        StatusCode::NOT_FOUND => Some(ErrorClass::NotFound),
        StatusCode::TOO_MANY_REQUESTS => Some(ErrorClass::Transient),
        _ if status.is_server_error() => Some(ErrorClass::Transient),
        _ => Some(ErrorClass::Invalid),
    };
    if let Some(class) = class {
        return Err(failed(class, format!("the answer was {status}")).into());
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(lost)? {
        body.extend_from_slice(&chunk);
        if body.len() > MOST {
            return Err(failed(ErrorClass::Invalid, "the answer is too long".to_owned()).into());
        }
    }
    let json = serde_json::from_slice(&body);
    Ok(json.map_err(|_| failed(ErrorClass::Invalid, "the answer is no JSON".to_owned()))?)
}
