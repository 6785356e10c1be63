//! The messages in an answer's body.

use bytes::{Buf, Bytes, BytesMut};
use http::{HeaderMap, Response};
use http_body_util::BodyExt;
use tonic::{Code, Status, body::Body};

use super::LARGEST;

/// Reads one message after the other, then the status.
pub(super) struct Frames {
    body: Body,
    buffer: BytesMut,
    headers: HeaderMap,
    trailers: Option<HeaderMap>,
}

impl Frames {
    pub(super) fn of(answer: Response<Body>) -> Self {
        let (parts, body) = answer.into_parts();
        Self { body, buffer: BytesMut::new(), headers: parts.headers, trailers: None }
    }

    /// The next message, or `None` after the last one of a successful answer.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(Some(message));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.buffer.extend_from_slice(&data),
                    Err(frame) => self.trailers = frame.into_trailers().ok().or(self.trailers.take()),
                },
                Some(Err(status)) => return Err(Status::unavailable(status.message())),
                None => return self.end(),
            }
        }
    }

    fn take(&mut self) -> Result<Option<Bytes>, Status> {
        let Some(header) = self.buffer.first_chunk::<5>() else { return Ok(None) };
        let [compressed, length @ ..] = *header;
        if compressed != 0 {
            return Err(Status::internal("the answer is compressed, and nobody asked for that"));
        }
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length > LARGEST {
            return Err(Status::resource_exhausted("the answer is too large"));
        }
        if self.buffer.len() < 5 + length {
            return Ok(None);
        }
        self.buffer.advance(5);
        Ok(Some(self.buffer.split_to(length).freeze()))
    }

    fn end(&mut self) -> Result<Option<Bytes>, Status> {
        if !self.buffer.is_empty() {
            return Err(Status::unavailable("the answer is cut off"));
        }
        // A failure without any message stands in the headers.
        let status = self.trailers.as_ref().and_then(Status::from_header_map);
        match status.or_else(|| Status::from_header_map(&self.headers)) {
            Some(status) if status.code() == Code::Ok => Ok(None),
            Some(status) => Err(Status::new(status.code(), status.message())),
            None => Err(Status::unavailable("the answer has no status")),
        }
    }
}
