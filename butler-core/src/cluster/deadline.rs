//! What surrounds every request: one deadline for connecting, retries, headers and body together, and
//! the name of the server in whatever goes wrong.
//!
//! A watch is open on purpose: for it only the way to the first header counts.

use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::{FutureExt, future::BoxFuture};
use http::{Request, Response};
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use kube::client::{Body, DynBody};
use tokio::time::{Instant, timeout_at};
use tower::{BoxError, Layer, Service};

/// No complete answer came in time.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("no complete answer within {0:?}")]
pub(crate) struct DeadlineExceeded(pub(crate) Duration);

/// A failure on the way to a server or back.
#[derive(Debug, thiserror::Error)]
#[error("cannot talk to {server}")]
pub(crate) struct OnTheWay {
    pub(crate) server: Arc<str>,
    source: BoxError,
}

/// Puts the deadline around every request of a client.
#[derive(Clone, Debug)]
pub(crate) struct DeadlineLayer {
    pub(crate) server: Arc<str>,
    pub(crate) limit: Duration,
}

impl<S> Layer<S> for DeadlineLayer {
    type Service = Deadline<S>;

    fn layer(&self, inner: S) -> Deadline<S> {
        Deadline { inner, layer: self.clone() }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Deadline<S> {
    inner: S,
    layer: DeadlineLayer,
}

impl<S> Service<Request<Body>> for Deadline<S>
where
    S: Service<Request<Body>, Response = Response<Box<DynBody>>, Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = Response<UnsyncBoxBody<Bytes, BoxError>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let layer = self.layer.clone();
        let end = Instant::now() + layer.limit;
        let watches = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let answer = self.inner.call(request);
        async move {
            match timeout_at(end, answer).await {
                Ok(Ok(answer)) if watches => Ok(answer.map(BodyExt::boxed_unsync)),
                Ok(Ok(answer)) => Ok(answer.map(|body| limited(body, end, layer))),
                Ok(Err(error)) => Err(layer.failed(error)),
                Err(_) => Err(layer.failed(DeadlineExceeded(layer.limit).into())),
            }
        }
        .boxed()
    }
}

impl DeadlineLayer {
    fn failed(&self, source: BoxError) -> BoxError {
        OnTheWay { server: self.server.clone(), source }.into()
    }
}

/// The body, failing once the deadline has passed.
fn limited(body: Box<DynBody>, end: Instant, layer: DeadlineLayer) -> UnsyncBoxBody<Bytes, BoxError> {
    let frames = futures::stream::unfold((body, layer), move |(mut body, layer)| async move {
        let frame = match timeout_at(end, body.frame()).await {
            Ok(frame) => frame?.map_err(|error| layer.failed(error)),
            Err(_) => Err(layer.failed(DeadlineExceeded(layer.limit).into())),
        };
        Some((frame, (body, layer)))
    });
    StreamBody::new(frames).boxed_unsync()
}
