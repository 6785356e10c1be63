//! The way to other nodes.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::{HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use jiff::Timestamp;
use tonic::{
    Status,
    body::Body,
    transport::{Channel, Endpoint},
};
use tower::ServiceExt;

use crate::{
    sandbox::node::{config::full, context::Node, roles::Roles, tls as node_tls},
    talos::{API_PORT, tls},
};

/// How long a connection to another node may take.
const CONNECT: Duration = Duration::from_secs(10);

/// Calls other nodes as one that may speak for its callers.
pub(crate) struct Forwarder {
    node: Arc<Node>,
    channels: Mutex<BTreeMap<String, (Timestamp, Channel)>>,
}

impl Forwarder {
    pub(crate) fn new(node: Arc<Node>) -> Arc<Self> {
        Arc::new(Self { node, channels: Mutex::default() })
    }

    /// Hands a call to another node.
    pub(crate) async fn call(
        &self,
        target: &str,
        request: Request<Body>,
        roles: &Roles,
    ) -> Result<Response<Body>, Status> {
        let (mut parts, body) = request.into_parts();
        let from = parts.uri.authority().map(|authority| authority.as_str().to_owned());
        let path = parts.uri.path_and_query().cloned();
        parts.uri = path.map(Uri::from).unwrap_or_default();
        for name in ["node", "nodes", "host", "talos-role"] {
            parts.headers.remove(name);
        }
        mark(&mut parts.headers, from.as_deref().unwrap_or("localhost"), roles);
        let channel = self.channel(target)?;
        match channel.oneshot(Request::from_parts(parts, body)).await {
            Ok(answer) => Ok(answer.map(whole)),
            Err(error) => {
                self.channels.lock().unwrap_or_else(PoisonError::into_inner).remove(target);
                Err(Status::unavailable(format!("connection error: desc = {:?}", full(&error))))
            }
        }
    }

    /// A connection to a node, made at the first call and kept.
    pub(crate) fn channel(&self, target: &str) -> Result<Channel, Status> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Timestamp::now();
        if let Some((made, channel)) = channels.get(target)
            // Certificates live for a day.
            && (now - *made).get_seconds() < 6 * 3600
        {
            return Ok(channel.clone());
        }
        let config = self.node.current().ok_or_else(|| Status::unavailable("there is no configuration"))?;
        let broken = |error: &dyn std::error::Error| Status::internal(full(error));
        let authority = config.machine.main.machine.ca.authority().map_err(|error| broken(&error))?;
        let context = node_tls::forwarder(&self.node, &authority, self.node.machine.clock.now())
            .map_err(|error| broken(&error))?;
        let config = tls::mutual(&context).map_err(|error| broken(&error))?;
        let address = self.address(target);
        let url = |scheme| Uri::try_from(format!("{scheme}://{address}")).map_err(|error| broken(&error));
        let endpoint = Endpoint::from(url("http")?).origin(url("https")?).connect_timeout(CONNECT);
        let connector = tower::service_fn(move |uri| {
            let config = config.clone();
            async move {
                match tokio::time::timeout(CONNECT, tls::dial(uri, config)).await {
                    Ok(stream) => stream,
                    Err(_) => Err(std::io::ErrorKind::TimedOut.into()),
                }
            }
        });
        let channel = endpoint.connect_with_connector_lazy(connector);
        channels.insert(target.to_owned(), (now, channel.clone()));
        Ok(channel)
    }

    /// Where a node listens: members are known by address and by name.
    fn address(&self, target: &str) -> String {
        let members = self.node.members.borrow();
        let known = members.iter().find(|member| {
            member.hostname == target || member.addresses.iter().any(|address| address.to_string() == target)
        });
        match (known, target.parse::<IpAddr>()) {
            (Some(member), _) => member.talos().map_or_else(|| target.to_owned(), |at| at.to_string()),
            (None, Ok(address)) => SocketAddr::new(address, API_PORT).to_string(),
            (None, Err(_)) => format!("{target}:{API_PORT}"),
        }
    }
}

/// An answer that breaks off ends with a status: the caller's connection to this node is fine.
fn whole(body: Body) -> Body {
    let frames = futures::stream::unfold(Some(body), |body| async move {
        let mut body = body?;
        match body.frame().await? {
            Ok(frame) => Some((Ok::<_, Status>(frame), Some(body))),
            Err(error) => {
                let mut trailers = http::HeaderMap::new();
                let status = Status::unavailable(format!("error reading from server: {}", error.message()));
                // A message that no header can hold is left out.
                if status.add_header(&mut trailers).is_err() {
                    trailers.insert("grpc-status", HeaderValue::from_static("14"));
                }
                Some((Ok(Frame::trailers(trailers)), None))
            }
        }
    });
    Body::new(StreamBody::new(frames))
}

/// Marks a call as forwarded, with the roles of who made it.
pub(crate) fn mark(headers: &mut http::HeaderMap, from: &str, roles: &Roles) {
    headers.append("proxyfrom", HeaderValue::from_str(from).unwrap_or(HeaderValue::from_static("localhost")));
    for role in roles {
        if let Ok(value) = HeaderValue::from_str(role) {
            headers.append("talos-role", value);
        }
    }
}
