//! Nodes in the backend pool that Azure's cloud controller manager makes for Services.
//!
//! That controller manager never fills the pool for machines that are in no scale set, so a Service of type
//! LoadBalancer would have an address at which nobody answers. Every node's network card is read and, where
//! the pool is missing, written back with it: repeating the step changes nothing.

use butler_core::{bootstrap::addons::BackendPool, cluster::ApiError, error::ErrorKind, redact::Secret};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, ResourceExt, api::ListParams};
use reqwest::{Client, Method, StatusCode, Url};
use serde_json::{Value, json};

use super::{
    AddonError, HelmInstaller, Target,
    error::Words,
    fetch::{failure, is_protected, root},
};

/// The version of the resource manager's calls.
const API_VERSION: &str = "2023-09-01";
/// Nodes that are asked for at once.
const PAGE: u32 = 500;

/// The resource manager, signed in.
struct Manager<'a> {
    client: &'a Client,
    pool: &'a BackendPool,
    token: Secret,
}

impl HelmInstaller {
    pub(super) async fn backend_pool(
        &self,
        pool: &BackendPool,
        target: &Target,
    ) -> Result<Value, AddonError> {
        let client = self.fetcher.client().map_err(|error| {
            failure("a client of the resource manager", ErrorKind::Failed, root(&error.without_url()))
        })?;
        let token = sign_in(client, pool, target).await?;
        let manager = Manager { client, pool, token };
        let balancer = format!("loadBalancers/{}", pool.name);
        let Some(found) = manager.get(&balancer).await? else {
            // The first Service of type LoadBalancer makes it.
            let said = format!("the cloud controller manager has made no load balancer `{}` yet", pool.name);
            return Err(failure("the load balancer of Services", ErrorKind::Transient, said));
        };
        let pools = found.pointer("/properties/backendAddressPools").and_then(Value::as_array);
        let id = pools.into_iter().flatten().find(|found| found["name"] == *pool.name);
        let id = id.and_then(|found| found["id"].as_str()).ok_or_else(|| {
            let said = format!("it has no backend pool `{}`", pool.name);
            AddonError::Invalid { what: format!("load balancer `{}`", pool.name), said: Words::new(said) }
        })?;
        let (mut added, mut there, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
        for node in nodes(target).await? {
            let card = format!("networkInterfaces/{node}-nic");
            let mut found = match manager.get(&card).await {
                Ok(Some(found)) => found,
                // A node that is not ours, or is just going away, keeps nobody else out.
                Ok(None) => {
                    skipped.push(node);
                    continue;
                }
                Err(error) if error.is_retryable() => return Err(error),
                Err(error) => {
                    tracing::warn!(node, %error, "a network card cannot be read and is left alone");
                    skipped.push(node);
                    continue;
                }
            };
            match join(&mut found, id) {
                None => skipped.push(node),
                Some(false) => there.push(node),
                Some(true) => {
                    manager.put(&card, &found).await?;
                    added.push(node);
                }
            }
        }
        Ok(json!({ "backendPool": id, "added": added, "there": there, "skipped": skipped }))
    }
}

/// Puts a pool into the first address of a network card. False when it was there; none without an address.
fn join(card: &mut Value, pool: &str) -> Option<bool> {
    let address = card.pointer_mut("/properties/ipConfigurations/0/properties")?.as_object_mut()?;
    let pools = address.entry("loadBalancerBackendAddressPools").or_insert_with(|| json!([]));
    if pools.is_null() {
        *pools = json!([]);
    }
    let pools = pools.as_array_mut()?;
    // The resource manager does not mind the case of ids.
    if pools.iter().any(|known| known["id"].as_str().is_some_and(|id| id.eq_ignore_ascii_case(pool))) {
        return Some(false);
    }
    pools.push(json!({ "id": pool }));
    Some(true)
}

async fn nodes(target: &Target) -> Result<Vec<String>, AddonError> {
    let api: Api<Node> = Api::all(target.client.clone());
    let mut params = ListParams::default().limit(PAGE);
    let mut names = Vec::new();
    loop {
        let page = api.list(&params).await.map_err(|error| ApiError::new("list the nodes", error))?;
        names.extend(page.items.iter().map(ResourceExt::name_any));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(names),
        }
    }
}

/// A token for the resource manager, by client credentials.
async fn sign_in(client: &Client, pool: &BackendPool, target: &Target) -> Result<Secret, AddonError> {
    let credential = |key: &str| {
        let missing = || AddonError::Credential { key: key.to_owned() };
        target.credentials.get(key).ok_or_else(missing)
    };
    let what = "a token for Azure's resource manager";
    let url = format!("{}/{}/oauth2/v2.0/token", pool.login, credential("tenantID")?.expose());
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", credential("clientID")?.expose()),
        ("client_secret", credential("clientSecret")?.expose()),
        ("scope", &format!("{}/.default", pool.management)),
    ];
    let body: String = form
        .iter()
        .map(|(name, value)| format!("{name}={}", crate::sandbox::socket::escape(value)))
        .collect::<Vec<_>>()
        .join("&");
    let request = client
        .post(protected(&url, what)?)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body);
    let answer = send(request, what).await?;
    match answer["access_token"].as_str() {
        Some(token) => Ok(token.into()),
        None => Err(failure(what, ErrorKind::Failed, "the answer holds no token")),
    }
}

impl Manager<'_> {
    fn request(&self, method: Method, resource: &str) -> Result<reqwest::RequestBuilder, AddonError> {
        let BackendPool { management, subscription, resource_group, .. } = self.pool;
        let url = format!(
            "{management}/subscriptions/{subscription}/resourceGroups/{resource_group}/providers/Microsoft.Network/{resource}?api-version={API_VERSION}"
        );
        Ok(self.client.request(method, protected(&url, resource)?).bearer_auth(self.token.expose()))
    }

    async fn get(&self, resource: &str) -> Result<Option<Value>, AddonError> {
        match send(self.request(Method::GET, resource)?, resource).await {
            Err(AddonError::Source { kind: ErrorKind::NotFound, .. }) => Ok(None),
            other => other.map(Some),
        }
    }

    async fn put(&self, resource: &str, body: &Value) -> Result<Value, AddonError> {
        let request = self.request(Method::PUT, resource)?.header("content-type", "application/json");
        send(request.body(body.to_string()), resource).await
    }
}

fn protected(url: &str, what: &str) -> Result<Url, AddonError> {
    let parsed = Url::parse(url).map_err(|error| failure(what, ErrorKind::Invalid, error.to_string()))?;
    if is_protected(&parsed) {
        return Ok(parsed);
    }
    Err(failure(what, ErrorKind::Invalid, "credentials go over https:// only"))
}

/// The answer as JSON. What the other side says about a failure stays out: it may repeat what it was sent.
async fn send(request: reqwest::RequestBuilder, what: &str) -> Result<Value, AddonError> {
    let lost = |error: reqwest::Error| failure(what, ErrorKind::Transient, root(&error.without_url()));
    let answer = request.send().await.map_err(lost)?;
    let status = answer.status();
    if !status.is_success() {
        let kind = match status {
            StatusCode::NOT_FOUND => ErrorKind::NotFound,
            // The sign-in answers 400 to a client that it does not know.
            StatusCode::UNAUTHORIZED | StatusCode::BAD_REQUEST => ErrorKind::Unauthenticated,
            StatusCode::FORBIDDEN => ErrorKind::Forbidden,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::CONFLICT => ErrorKind::Transient,
            status if status.is_server_error() => ErrorKind::Transient,
            _ => ErrorKind::Failed,
        };
        return Err(failure(what, kind, format!("the answer was {status}")));
    }
    let body = answer.bytes().await.map_err(lost)?;
    serde_json::from_slice(&body).map_err(|_| failure(what, ErrorKind::Failed, "the answer is no JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_added_once_and_everything_else_stays() {
        let mut card = json!({ "etag": "x", "properties": { "ipConfigurations": [
            { "name": "a", "properties": { "primary": true } }, { "name": "b", "properties": {} },
        ]}});
        assert_eq!(join(&mut card, "/Pools/A"), Some(true));
        assert_eq!(join(&mut card, "/pools/a"), Some(false));
        assert_eq!(
            card,
            json!({ "etag": "x", "properties": { "ipConfigurations": [
                { "name": "a", "properties": { "primary": true,
                  "loadBalancerBackendAddressPools": [{ "id": "/Pools/A" }] } },
                { "name": "b", "properties": {} },
            ]}})
        );
        assert_eq!(join(&mut json!({ "properties": {} }), "/p"), None);
    }
}
