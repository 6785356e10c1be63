//! Listing tenant clusters: rows for people in one request, objects for programs page by page.

use kube::{Client, api::ListParams, core::Request};
use serde_json::Value;

use super::{Scope, summary::Summary, table};
use crate::cluster::{ApiError, pages::Pages, request};

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// By namespace, then name.
    pub clusters: Vec<Summary>,
    /// True when the list changed while it was read in pages.
    pub moved: bool,
}

/// Lists with a single request, whatever the number of clusters: the server makes a table without
/// objects. A server whose definitions lack our columns is read in pages instead.
pub async fn list(client: &Client, scope: &Scope) -> Result<Listing, ApiError> {
    let action = scope.action("list");
    let params = ListParams { label_selector: scope.selector.clone(), ..ListParams::default() };
    let mut request = Request::new(scope.url())
        .list(&params)
        .map_err(|error| ApiError::new(&action, kube::Error::BuildRequest(error)))?;
    *request.uri_mut() =
        format!("{}&includeObject=None", request.uri()).parse().map_err(|error: http::uri::InvalidUri| {
            ApiError::new(&action, kube::Error::HttpError(error.into()))
        })?;
    let body = request::fetch(client, &action, request, request::TABLE).await?;
    let rows = table::read(&body).map_err(|error| ApiError::new(&action, kube::Error::SerdeError(error)))?;
    drop(body);
    let mut listing = match rows {
        Some(clusters) => Listing { clusters, moved: false },
        None => in_pages(client, scope).await?,
    };
    listing.clusters.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    Ok(listing)
}

async fn in_pages(client: &Client, scope: &Scope) -> Result<Listing, ApiError> {
    let mut pages = objects(client, scope);
    let mut clusters = Vec::new();
    while let Some(page) = pages.next().await? {
        clusters.extend(page.iter().map(|raw| {
            // Raw values were checked to be JSON when the page was parsed.
            Summary::of(&serde_json::from_str::<Value>(raw.get()).unwrap_or_default())
        }));
    }
    Ok(Listing { clusters, moved: pages.moved() })
}

/// The objects themselves, in the server's order: by namespace, then name.
pub fn objects(client: &Client, scope: &Scope) -> Pages {
    Pages::new(client, scope.url(), scope.action("list"), scope.selector.as_deref())
}
