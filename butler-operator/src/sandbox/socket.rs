//! JSON over HTTP over a Unix socket: how the host and the supervisor are spoken to.
//!
//! A socket's address holds some hundred bytes, and a home directory may lie deeper than that. The
//! directory is then opened and the socket reached through the open directory, so every process finds
//! it under its full path.

use std::{
    fs::Permissions,
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::PermissionsExt,
    },
    path::{Path, PathBuf},
    time::Duration,
};

use axum::{body::Bytes, response::IntoResponse};
use fs_err as fs;
use futures::stream::BoxStream;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde::{Serialize, de::DeserializeOwned};
use tokio::net::{UnixListener, UnixStream};

/// The longest path that fits into a socket's address everywhere.
const LONGEST: usize = 100;
/// More than any answer of ours.
const LARGEST: usize = 64 << 20;
/// More than any line of a stream of ours.
const LONGEST_LINE: usize = 64 << 10;

/// Longer than anything that is asked for takes; a machine may need seconds to stop.
const LIMIT: Duration = Duration::from_secs(30);

/// Why a call over a socket failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// Nobody answers there.
    #[error("nobody answers at `{}`", path.display())]
    Unreachable {
        /// The socket.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The connection broke, or the answer is not HTTP.
    #[error("the connection to `{}` broke", path.display())]
    Broken {
        /// The socket.
        path: PathBuf,
        /// What happened.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No answer came in time.
    #[error("no answer from `{}` within {} s", path.display(), LIMIT.as_secs())]
    Late {
        /// The socket.
        path: PathBuf,
    },
    /// The answer is an error.
    #[error("the answer is {status}")]
    Refused {
        /// HTTP's word for it.
        status: StatusCode,
        /// How long the server wants to be left in peace.
        retry_after: Option<Duration>,
        /// What was said.
        body: Vec<u8>,
    },
}

/// Listens at `path`, for this user alone. A socket that is left over is replaced, so the caller has
/// made sure that its owner is gone.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let (short, _dir) = shortened(path)?;
    let listener = UnixListener::bind(&short)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

async fn connect(path: &Path) -> io::Result<UnixStream> {
    let (short, _dir) = shortened(path)?;
    UnixStream::connect(&short).await
}

/// A path for the socket that fits into an address; valid while the directory is held.
fn shortened(path: &Path) -> io::Result<(PathBuf, Option<OwnedFd>)> {
    if path.as_os_str().len() <= LONGEST {
        return Ok((path.to_owned(), None));
    }
    let too_long = || {
        let text =
            format!("`{}` is too long for a socket; set BUTLER_HOME to a shorter path", path.display());
        io::Error::new(io::ErrorKind::InvalidFilename, text)
    };
    let (dir, name) = path.parent().zip(path.file_name()).ok_or_else(too_long)?;
    if !Path::new("/proc/self/fd").exists() {
        return Err(too_long());
    }
    let dir: OwnedFd = fs::File::open(dir)?.into_parts().0.into();
    let short = Path::new("/proc/self/fd").join(dir.as_raw_fd().to_string()).join(name);
    if short.as_os_str().len() > LONGEST {
        return Err(too_long());
    }
    Ok((short, Some(dir)))
}

/// A client of one socket. It holds no connection, so a server that comes back is found again.
#[derive(Clone, Debug)]
pub struct Client {
    path: PathBuf,
}

impl Client {
    /// For the socket at this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Asks for a value.
    pub async fn get<R: DeserializeOwned>(&self, target: &str) -> Result<R, CallError> {
        self.call(Method::GET, target, &()).await
    }

    /// Makes a call with a body and reads a value.
    pub async fn call<R: DeserializeOwned>(
        &self,
        method: Method,
        target: &str,
        body: &impl Serialize,
    ) -> Result<R, CallError> {
        let call = async { self.read(self.send(method, target, body).await?).await };
        let late = |_| CallError::Late { path: self.path.clone() };
        let bytes = tokio::time::timeout(LIMIT, call).await.map_err(late)??;
        serde_json::from_slice(&bytes).map_err(|error| self.broken(error))
    }

    /// Reads values, one per line, until the server ends the stream or sends something else.
    pub async fn follow<R: DeserializeOwned + Send + 'static>(
        &self,
        target: &str,
    ) -> Result<BoxStream<'static, R>, CallError> {
        let late = |_| CallError::Late { path: self.path.clone() };
        let body = tokio::time::timeout(LIMIT, self.send(Method::GET, target, &())).await.map_err(late)??;
        let lines = futures::stream::unfold((body, Vec::new()), |(mut body, mut buffer)| async move {
            loop {
                if let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = buffer.drain(..=end).collect();
                    let value = serde_json::from_slice(&line).ok()?;
                    return Some((value, (body, buffer)));
                }
                let frame = body.frame().await?.ok()?;
                buffer.extend_from_slice(frame.data_ref()?);
                if buffer.len() > LONGEST_LINE {
                    return None;
                }
            }
        });
        Ok(Box::pin(lines))
    }

    async fn send(&self, method: Method, target: &str, body: &impl Serialize) -> Result<Incoming, CallError> {
        let unreachable = |source| CallError::Unreachable { path: self.path.clone(), source };
        let stream = connect(&self.path).await.map_err(unreachable)?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| self.broken(error))?;
        // It ends when the answer has been read, or dropped.
        tokio::spawn(connection);
        let body = serde_json::to_vec(body).map_err(|error| self.broken(error))?;
        let request = Request::builder()
            .method(method)
            .uri(target)
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| self.broken(error))?;
        let answer = sender.send_request(request).await.map_err(|error| self.broken(error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer.into_body());
        }
        let seconds =
            answer.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let retry_after = seconds.map(Duration::from_secs);
        Err(CallError::Refused { status, retry_after, body: self.read(answer.into_body()).await? })
    }

    async fn read(&self, body: Incoming) -> Result<Vec<u8>, CallError> {
        let body = http_body_util::Limited::new(body, LARGEST).collect().await;
        Ok(body.map_err(|error| self.broken(error))?.to_bytes().to_vec())
    }

    fn broken(&self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> CallError {
        CallError::Broken { path: self.path.clone(), source: source.into() }
    }
}

/// Text for a place in a path or a query, with what has a meaning there spelt in hexadecimal.
pub fn escape(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Answers with values, one per line, as they come.
pub fn lines<T: Serialize + Send + 'static>(values: BoxStream<'static, T>) -> axum::response::Response {
    use futures::StreamExt;

    let lines = values.map(|value| {
        let mut line = serde_json::to_vec(&value)?;
        line.push(b'\n');
        Ok::<_, serde_json::Error>(line)
    });
    ([(header::CONTENT_TYPE, "application/x-ndjson")], axum::body::Body::from_stream(lines)).into_response()
}

#[cfg(test)]
mod tests {
    use axum::{Json, Router, routing::get};

    use super::*;

    #[tokio::test]
    async fn a_socket_is_reached_under_a_path_longer_than_its_address() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("d".repeat(80)).join("e".repeat(80));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("host.sock");
        let client = Client::new(&path);
        let error = client.get::<u32>("/").await.unwrap_err();
        assert!(matches!(error, CallError::Unreachable { .. }), "{error:?}");
        let router = Router::new().route("/", get(|| async { Json(7) }));
        let _server = tokio::spawn(axum::serve(listen(&path).unwrap(), router).into_future());
        assert_eq!(client.get::<u32>("/").await.unwrap(), 7);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let error = client.get::<u32>("/other").await.unwrap_err();
        assert!(matches!(error, CallError::Refused { status: StatusCode::NOT_FOUND, .. }), "{error:?}");
    }

    #[test]
    fn what_has_a_meaning_in_an_address_is_escaped() {
        assert_eq!(escape("sandbox://a/b c?"), "sandbox%3A%2F%2Fa%2Fb%20c%3F");
    }
}
