//! One raw request: the bytes of an answer, checked to be the API's JSON before anybody parses them.

use http::{HeaderValue, Request, header};
use http_body_util::BodyExt;
use kube::{Client, client::Body, core::Status};

use super::ApiError;

/// Asks for full objects.
pub const JSON: &str = "application/json";
/// Asks for rows made by the server; a server that cannot make them sends objects.
pub const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// Sends a GET and returns the body of its 2xx answer. `action` completes "cannot …".
pub async fn fetch(
    client: &Client,
    action: &str,
    mut request: Request<Vec<u8>>,
    accept: &'static str,
) -> Result<Vec<u8>, ApiError> {
    request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static(accept));
    let fail = |error| ApiError::new(action, error);
    let answer = client.send(request.map(Body::from)).await.map_err(fail)?;
    let status = answer.status();
    let is_json = answer
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.starts_with("application/json"));
    // Frames are appended as they come: collecting them first would hold the answer twice.
    let mut body = answer.into_body();
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(fail)?.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    if status.is_success() && is_json {
        return Ok(bytes);
    }
    match serde_json::from_slice::<Status>(&bytes) {
        Ok(said) if !status.is_success() => {
            Err(fail(kube::Error::Api(said.with_code(status.as_u16()).boxed())))
        }
        _ => Err(ApiError::not_kubernetes(action, status, &bytes)),
    }
}
