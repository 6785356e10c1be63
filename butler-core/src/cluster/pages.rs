//! All objects of a kind, some hundred at a time, so that memory does not grow with their number.
//!
//! Objects stay raw JSON: fields this version does not know pass through unchanged.

use kube::{Client, api::ListParams, core::Request};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ApiError, request};

/// Objects per request.
pub const PAGE: u32 = 500;

/// A walk through a collection.
#[derive(Clone)]
pub struct Pages {
    client: Client,
    url: String,
    action: String,
    params: ListParams,
    done: bool,
    moved: bool,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    metadata: Meta,
    #[serde(deserialize_with = "null_is_empty")]
    items: Vec<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
struct Meta {
    #[serde(default, rename = "continue")]
    next: Option<String>,
}

/// Some servers write an empty list as `null`.
fn null_is_empty<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Box<RawValue>>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

impl Pages {
    /// Begins at the start of the collection at `url`. `action` completes "cannot …".
    pub fn new(client: &Client, url: String, action: String, selector: Option<&str>) -> Self {
        let mut params = ListParams::default().limit(PAGE);
        params.label_selector = selector.map(str::to_owned);
        Self { client: client.clone(), url, action, params, done: false, moved: false }
    }

    /// The next objects; none after the last page.
    pub async fn next(&mut self) -> Result<Option<Vec<Box<RawValue>>>, ApiError> {
        if self.done {
            return Ok(None);
        }
        let body = match self.fetch().await {
            // The snapshot is gone, but the server names a token that goes on behind the last
            // object we saw: nothing comes twice, though later objects are newer than earlier ones.
            Err(error) if !self.moved && error.resume_token().is_some() => {
                self.params.continue_token = error.resume_token().map(str::to_owned);
                self.moved = true;
                self.fetch().await?
            }
            other => other?,
        };
        let answer: Answer = serde_json::from_slice(&body)
            .map_err(|error| ApiError::new(self.action.clone(), kube::Error::SerdeError(error)))?;
        self.params.continue_token = answer.metadata.next.filter(|token| !token.is_empty());
        self.done = self.params.continue_token.is_none();
        Ok(Some(answer.items))
    }

    /// True when the collection changed under the walk, so that pages are of different times.
    pub fn moved(&self) -> bool {
        self.moved
    }

    async fn fetch(&self) -> Result<Vec<u8>, ApiError> {
        let request = Request::new(&self.url)
            .list(&self.params)
            .map_err(|error| ApiError::new(self.action.clone(), kube::Error::BuildRequest(error)))?;
        request::fetch(&self.client, &self.action, request, request::JSON).await
    }
}
