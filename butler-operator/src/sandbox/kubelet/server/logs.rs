//! `kubectl logs`: reads what containers wrote, and goes on while they write.

use std::{
    collections::VecDeque,
    io::{Read, Seek, SeekFrom},
};

use axum::{
    body::Body,
    extract::{Path, Query as UrlQuery, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use fs_err as fs;
use futures::stream;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::Shared;
use crate::sandbox::kubelet::{
    engine::Query,
    logs::{self, CHATTER},
    pods::{LogSource, PodKey},
};

/// What is asked for; every value as the API server writes it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct LogOptions {
    follow: bool,
    previous: bool,
    timestamps: bool,
    tail_lines: Option<usize>,
    since_seconds: Option<i64>,
    since_time: Option<Timestamp>,
    limit_bytes: Option<usize>,
}

pub(super) async fn serve(
    State(shared): State<Shared>,
    Path((namespace, name, container)): Path<(String, String, String)>,
    UrlQuery(options): UrlQuery<LogOptions>,
) -> Response {
    let (reply, answer) = oneshot::channel();
    let key = PodKey { namespace, name };
    let query = Query::Log { key, container, previous: options.previous, reply };
    let _ = shared.ask.send(query).await;
    match answer.await {
        Ok(Ok(source)) => {
            let body = Body::from_stream(stream::unfold(Reader::new(shared, source, options), Reader::next));
            ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], body).into_response()
        }
        Ok(Err((status, text))) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
            (status, format!("{text}\n")).into_response()
        }
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "the kubelet goes down\n").into_response(),
    }
}

/// Reads one log from some place on.
struct Reader {
    shared: Shared,
    source: LogSource,
    options: LogOptions,
    since: Option<Timestamp>,
    offset: u64,
    /// How many bytes may still be sent.
    room: Option<usize>,
    begun: bool,
    ended: bool,
}

impl Reader {
    fn new(shared: Shared, source: LogSource, options: LogOptions) -> Self {
        let now = shared.clock.now();
        let ago = options
            .since_seconds
            .map(|seconds| now.checked_sub(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MIN));
        let since = options.since_time.or(ago);
        let room = options.limit_bytes;
        Self { shared, source, options, since, offset: 0, room, begun: false, ended: false }
    }

    /// The next piece, when there is one; the end otherwise.
    async fn next(mut self) -> Option<(std::io::Result<String>, Self)> {
        while !self.ended {
            // Looked at before reading, so that the last words are not missed.
            let over = self.source.run.as_ref().is_none_or(CancellationToken::is_cancelled);
            let text = self.read();
            self.ended = !self.options.follow || over || self.room == Some(0);
            if !text.is_empty() {
                return Some((Ok(text), self));
            }
            if !self.ended {
                self.wait().await;
            }
        }
        None
    }

    /// Everything that was written since the last time, as it was asked for.
    fn read(&mut self) -> String {
        let Ok(new) = self.new_bytes() else { return String::new() };
        let new = String::from_utf8_lossy(&new);
        let mut lines: VecDeque<String> = new
            .lines()
            .filter_map(logs::parse)
            .filter(|(time, _)| self.since.is_none_or(|since| since <= *time))
            .map(
                |(time, text)| {
                    if self.options.timestamps { format!("{time} {text}\n") } else { format!("{text}\n") }
                },
            )
            .collect();
        if !std::mem::replace(&mut self.begun, true)
            && let Some(tail) = self.options.tail_lines
        {
            lines.drain(..lines.len().saturating_sub(tail));
        }
        let mut text: String = lines.into_iter().collect();
        if let Some(room) = &mut self.room {
            let end = (0..=text.len().min(*room)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            // What does not fit is the end of it.
            *room = if end < text.len() { 0 } else { *room - end };
            text.truncate(end);
        }
        text
    }

    /// Whole lines only: the rest of a line may be on its way.
    fn new_bytes(&mut self) -> std::io::Result<Vec<u8>> {
        let mut file = fs::File::open(&self.source.path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        bytes.truncate(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
        self.offset += bytes.len() as u64;
        Ok(bytes)
    }

    /// Waits for something to be written, and sees to it that something is.
    async fn wait(&mut self) {
        let Some(run) = self.source.run.clone() else { return };
        tokio::select! {
            _ = self.shared.changes.changed() => {}
            () = run.cancelled() => {}
            () = self.shared.stop.cancelled() => self.ended = true,
            () = tokio::time::sleep(CHATTER) => {
                let line = "level=info msg=\"still at work\"".to_owned();
                // A log that cannot be written stays silent.
                let _ = logs::write(&self.source.path, self.shared.clock.now(), &[line]);
            }
        }
    }
}
