//! What apid does with a call: answers it here, hands it to another node, or asks many and joins
//! their answers.
//!
//! Calls travel as bytes: whoever forwards needs to know nothing of a method but its name.

mod forward;
mod frames;
mod route;

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use futures::{
    StreamExt,
    stream::{self, BoxStream, FuturesUnordered},
};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use prost::Message;
use tonic::{Status, body::Body, service::Routes};
use tower::ServiceExt;

pub(super) use forward::Forwarder;
use frames::Frames;
use route::{Route, route};

use super::{
    context::Node,
    listen::Peer,
    roles::{self, Roles},
};
use crate::talos::proto::{common::Metadata, google::rpc};

/// The largest call and answer.
pub(super) const LARGEST: usize = 32 * 1024 * 1024;

/// apid: knows this node's own answers and the way to other nodes.
#[derive(Clone)]
pub(super) struct Apid {
    node: Arc<Node>,
    local: Routes,
    /// Workers have none.
    forwarder: Option<Arc<Forwarder>>,
}

impl Apid {
    pub(super) fn new(node: Arc<Node>, local: Routes, forwarder: Option<Arc<Forwarder>>) -> Self {
        Self { node, local, forwarder }
    }

    /// Answers a call.
    pub(super) async fn handle(self, peer: Peer, request: Request<Incoming>) -> Response<Body> {
        let named = request.headers().get_all("talos-role").iter();
        let named = named.filter_map(|value| value.to_str().ok()).map(str::to_owned);
        let roles = roles::effective(peer.roles, named);
        let is_self = |name: &str| self.is_self(name);
        let chosen = route(request.headers(), request.uri().path(), self.forwarder.is_some(), is_self);
        let request = request.map(Body::new);
        match chosen {
            Err(status) => status.into_http(),
            Ok(Route::Local) => self.here(request, &roles).await,
            Ok(Route::One(target)) => match self.one(&target, request, &roles).await {
                Ok(answer) => answer,
                Err(status) => status.into_http(),
            },
            Ok(Route::Many(targets)) => match self.many(targets, request, roles).await {
                Ok(answer) => answer,
                Err(status) => status.into_http(),
            },
        }
    }

    fn is_self(&self, name: &str) -> bool {
        name == self.node.hostname()
            || name.parse().is_ok_and(|address: std::net::IpAddr| address == self.node.machine.file.address)
    }

    /// The answer of this node.
    async fn here(&self, mut request: Request<Body>, roles: &Roles) -> Response<Body> {
        if !roles::may_call(roles, request.uri().path()) {
            return Status::permission_denied("not authorized").into_http();
        }
        request.extensions_mut().insert(roles.clone());
        match self.local.clone().oneshot(request).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        }
    }

    /// The answer of one node, which may be this one.
    async fn one(
        &self,
        target: &str,
        request: Request<Body>,
        roles: &Roles,
    ) -> Result<Response<Body>, Status> {
        if self.is_self(target) {
            return Ok(self.here(request, roles).await);
        }
        let forwarder =
            self.forwarder.as_ref().ok_or_else(|| Status::permission_denied("no request forwarding"))?;
        forwarder.call(target, request, roles).await
    }

    /// The answers of many nodes, each marked with the name it was asked by.
    async fn many(
        self,
        targets: Vec<String>,
        request: Request<Body>,
        roles: Roles,
    ) -> Result<Response<Body>, Status> {
        let (parts, body) = request.into_parts();
        let body = Limited::new(body, LARGEST + 5)
            .collect()
            .await
            .map_err(|_| Status::resource_exhausted("the request is cut off or too large"))?
            .to_bytes();
        let is_stream = route::is_stream(parts.uri.path());
        let answers = targets.into_iter().map(|target| {
            let (apid, roles, body) = (self.clone(), roles.clone(), body.clone());
            let mut copy = Request::new(Body::new(http_body_util::Full::new(body)));
            *copy.method_mut() = parts.method.clone();
            *copy.uri_mut() = parts.uri.clone();
            *copy.version_mut() = parts.version;
            *copy.headers_mut() = parts.headers.clone();
            async move {
                let answer = apid.one(&target, copy, &roles).await;
                (target, answer)
            }
        });
        let answers: FuturesUnordered<_> = answers.collect();
        let frames: BoxStream<'static, Bytes> = if is_stream {
            let streams =
                answers.flat_map_unordered(None, |(target, answer)| Box::pin(items(target, answer)));
            streams.map(|item| frame(&item)).boxed()
        } else {
            let joined = answers
                .fold(BytesMut::new(), |mut joined, (target, answer)| async move {
                    joined.extend_from_slice(&unary(&target, answer).await);
                    joined
                })
                .await;
            stream::iter([frame(&joined)]).boxed()
        };
        Ok(answer(frames))
    }
}

/// The elements of a unary answer, or one that tells the failure, as fields of the joined answer.
async fn unary(target: &str, answer: Result<Response<Body>, Status>) -> Bytes {
    let mut joined = BytesMut::new();
    let read = async {
        let mut frames = Frames::of(answer?);
        let mut elements = Vec::new();
        while let Some(message) = frames.next().await? {
            let wrong = || Status::internal("the answer cannot be read");
            elements.extend(route::elements(&message).ok_or_else(wrong)?);
        }
        Ok::<_, Status>(elements)
    };
    match read.await {
        Ok(elements) => {
            for element in elements {
                put_field(&mut joined, &[element.as_ref(), &marked(target, None)].concat());
            }
        }
        Err(status) => put_field(&mut joined, &marked(target, Some(&status))),
    }
    joined.freeze()
}

/// The items of a streamed answer; a failure is one more item.
fn items(
    target: String,
    answer: Result<Response<Body>, Status>,
) -> impl futures::Stream<Item = Bytes> + Send {
    let start = match answer {
        Ok(answer) => Ok(Frames::of(answer)),
        Err(status) => Err(status),
    };
    stream::unfold(Some(start), move |state| {
        let target = target.clone();
        async move {
            let mut frames = match state? {
                Ok(frames) => frames,
                Err(status) => return Some((marked(&target, Some(&status)).into(), None)),
            };
            match frames.next().await {
                Ok(Some(item)) => {
                    let item = [item.as_ref(), &marked(&target, None)].concat();
                    Some((item.into(), Some(Ok(frames))))
                }
                Ok(None) => None,
                Err(status) => Some((marked(&target, Some(&status)).into(), None)),
            }
        }
    })
}

/// The envelope as field 1 of an element. Bytes are appended: protobuf merges both.
fn marked(target: &str, failure: Option<&Status>) -> Vec<u8> {
    let metadata = Metadata {
        hostname: target.to_owned(),
        error: failure.map(go_text).unwrap_or_default(),
        status: failure.map(|status| rpc::Status {
            code: status.code().into(),
            message: status.message().to_owned(),
            details: Vec::new(),
        }),
    };
    let mut field = BytesMut::new();
    put_field(&mut field, &metadata.encode_to_vec());
    field.to_vec()
}

/// Field 1, length-delimited.
fn put_field(into: &mut BytesMut, content: &[u8]) {
    into.put_u8(0x0a);
    prost::encoding::encode_varint(content.len() as u64, into);
    into.extend_from_slice(content);
}

/// A failure as Go programs print it.
fn go_text(status: &Status) -> String {
    format!("rpc error: code = {:?} desc = {}", status.code(), status.message())
}

/// One message, framed.
fn frame(message: &[u8]) -> Bytes {
    let mut framed = BytesMut::with_capacity(message.len() + 5);
    framed.put_u8(0);
    framed.put_u32(u32::try_from(message.len()).unwrap_or(u32::MAX));
    framed.extend_from_slice(message);
    framed.freeze()
}

/// A successful answer made of frames.
fn answer(frames: BoxStream<'static, Bytes>) -> Response<Body> {
    let end = stream::once(async {
        let mut trailers = HeaderMap::new();
        trailers.insert(HeaderName::from_static("grpc-status"), HeaderValue::from_static("0"));
        Ok::<_, Status>(Frame::trailers(trailers))
    });
    let body = StreamBody::new(frames.map(|frame| Ok(Frame::data(frame))).chain(end));
    let mut answer = Response::new(Body::new(body));
    answer.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::talos::proto::machine::{Version, VersionInfo, VersionResponse};

    fn version(tag: &str) -> Version {
        let version = Some(VersionInfo { tag: tag.into(), ..VersionInfo::default() });
        Version { version, ..Version::default() }
    }

    fn framed(message: &impl Message) -> Response<Body> {
        answer(stream::iter([frame(&message.encode_to_vec())]).boxed())
    }

    #[tokio::test]
    async fn answers_are_joined_and_failures_stand_beside_them() {
        let reply = VersionResponse { messages: vec![version("v1")] };
        let mut joined = unary("10.0.0.1", Ok(framed(&reply))).await.to_vec();
        let refused = Status::already_exists("etcd data directory is not empty");
        joined.extend(unary("10.0.0.2", Err(refused)).await);
        let read = VersionResponse::decode(joined.as_slice()).unwrap();
        assert_eq!(read.messages.len(), 2);
        assert_eq!(read.messages[0].metadata.as_ref().unwrap().hostname, "10.0.0.1");
        assert_eq!(read.messages[0].version.as_ref().unwrap().tag, "v1");
        let failed = read.messages[1].metadata.as_ref().unwrap();
        assert_eq!(failed.hostname, "10.0.0.2");
        assert_eq!(failed.error, "rpc error: code = AlreadyExists desc = etcd data directory is not empty");
        assert_eq!(failed.status.as_ref().unwrap().code, 6);
    }

    #[tokio::test]
    async fn an_answer_that_is_no_answer_becomes_a_failure() {
        let garbage = answer(stream::iter([frame(b"\xff\xff\xff")]).boxed());
        let read = VersionResponse::decode(unary("a", Ok(garbage)).await).unwrap();
        assert!(read.messages[0].metadata.as_ref().unwrap().error.contains("cannot be read"));
        let cut = answer(stream::iter([Bytes::from_static(b"\0\0\0\x01\0abc")]).boxed());
        let read = VersionResponse::decode(unary("a", Ok(cut)).await).unwrap();
        assert!(!read.messages[0].metadata.as_ref().unwrap().error.is_empty());
    }
}
