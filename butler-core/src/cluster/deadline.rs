//! One deadline for a whole request: connecting, retries, headers and body together.
//!
//! A watch is open on purpose: for it only the way to the first header counts.

use std::{
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

/// Puts the deadline around every request of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeadlineLayer(pub(crate) Duration);

impl<S> Layer<S> for DeadlineLayer {
    type Service = Deadline<S>;

    fn layer(&self, inner: S) -> Deadline<S> {
        Deadline { inner, limit: self.0 }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Deadline<S> {
    inner: S,
    limit: Duration,
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
        let limit = self.limit;
        let end = Instant::now() + limit;
        let watches = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let answer = self.inner.call(request);
        async move {
            let answer = timeout_at(end, answer).await.map_err(|_| DeadlineExceeded(limit))??;
            Ok(answer.map(|body| if watches { body.boxed_unsync() } else { limited(body, end, limit) }))
        }
        .boxed()
    }
}

/// The body, failing once the deadline has passed.
fn limited(body: Box<DynBody>, end: Instant, limit: Duration) -> UnsyncBoxBody<Bytes, BoxError> {
    let frames = futures::stream::unfold(body, move |mut body| async move {
        let frame = match timeout_at(end, body.frame()).await {
            Ok(frame) => frame?,
            Err(_) => Err(DeadlineExceeded(limit).into()),
        };
        Some((frame, body))
    });
    StreamBody::new(frames).boxed_unsync()
}
