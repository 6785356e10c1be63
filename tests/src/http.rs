//! A server on loopback that answers as a test wants, above all badly.
//!
//! It runs in threads of its own, so a test may block in [`Invocation::run`](crate::Invocation::run).

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use anyhow::Result;
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use crate::pki::Identity;

/// A request that arrived.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header, its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }
}

/// How to answer.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A proper answer.
    Answer {
        /// The status.
        status: u16,
        /// Headers besides `content-length`.
        headers: Vec<(String, String)>,
        /// The body.
        body: Vec<u8>,
    },
    /// These bytes as they are, then the end.
    Bytes(Vec<u8>),
    /// A proper head for the whole body, but only the first bytes of it.
    Truncated {
        /// What is announced.
        body: Vec<u8>,
        /// How much of it is sent.
        sent: usize,
    },
    /// The connection is reset.
    Reset,
    /// Nothing, until the client or the test ends.
    Hang,
}

impl Reply {
    /// A status with a body of this type.
    pub fn typed(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Self::Answer { status, headers, body: body.into() }
    }

    /// A status with a plain body.
    pub fn status(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::typed(status, "text/plain", body)
    }

    /// 200 with a JSON body.
    pub fn json(body: &serde_json::Value) -> Self {
        Self::typed(200, "application/json", body.to_string())
    }

    /// 200 with a page for people, as a captive portal sends it.
    pub fn html() -> Self {
        Self::typed(200, "text/html", "<!doctype html><title>Sign in</title><p>Please sign in.")
    }

    /// A redirect.
    pub fn redirect(to: impl Into<String>) -> Self {
        Self::Answer { status: 302, headers: vec![("location".to_owned(), to.into())], body: Vec::new() }
    }
}

type Script = dyn Fn(&Request) -> Reply + Send + Sync;

struct Shared {
    script: Box<Script>,
    tls: Option<Arc<ServerConfig>>,
    requests: Mutex<Vec<Request>>,
    /// Ends every connection when the server goes.
    open: Mutex<Vec<TcpStream>>,
    stopping: AtomicBool,
}

/// The server; gone with this value.
pub struct HttpServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

impl HttpServer {
    /// Serves plain HTTP.
    pub fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Result<Self> {
        Self::listen(Box::new(script), None)
    }

    /// Serves HTTPS with this certificate.
    pub fn start_tls(
        identity: &Identity,
        script: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Result<Self> {
        let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes())?;
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)?;
        Self::listen(Box::new(script), Some(Arc::new(config)))
    }

    fn listen(script: Box<Script>, tls: Option<Arc<ServerConfig>>) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script,
            tls,
            requests: Mutex::default(),
            open: Mutex::default(),
            stopping: AtomicBool::new(false),
        });
        let accepting = shared.clone();
        let listener = std::thread::spawn(move || {
            let mut serving = Vec::new();
            for stream in listener.incoming().map_while(io::Result::ok) {
                if accepting.stopping.load(Ordering::SeqCst) {
                    break;
                }
                let shared = accepting.clone();
                if let Ok(handle) = stream.try_clone() {
                    lock(&shared.open).push(handle);
                }
                // A client that goes away is no concern of the server.
                serving.push(std::thread::spawn(move || shared.serve(stream)));
            }
            lock(&accepting.open).drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
            serving.into_iter().for_each(|thread| drop(thread.join()));
        });
        Ok(Self { address, shared, listener: Some(listener) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its base address, without a slash at the end.
    pub fn url(&self) -> String {
        let scheme = if self.shared.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// What was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared.requests).clone()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl Shared {
    fn serve(&self, socket: TcpStream) -> io::Result<()> {
        let raw = socket.try_clone()?;
        match &self.tls {
            None => self.converse(socket, &raw),
            Some(config) => {
                let session = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
                self.converse(StreamOwned::new(session, socket), &raw)
            }
        }
    }

    /// One request, one answer, and the connection closes.
    fn converse(&self, stream: impl Read + Write, raw: &TcpStream) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        let request = read_request(&mut stream)?;
        let reply = (self.script)(&request);
        lock(&self.requests).push(request);
        let stream = stream.get_mut();
        match reply {
            Reply::Answer { status, headers, body } => {
                stream.write_all(head(status, &headers, body.len()).as_bytes())?;
                stream.write_all(&body)?;
            }
            Reply::Bytes(bytes) => stream.write_all(&bytes)?,
            Reply::Truncated { body, sent } => {
                stream.write_all(head(200, &[], body.len()).as_bytes())?;
                stream.write_all(&body[..sent.min(body.len())])?;
            }
            Reply::Reset => {
                // Closing without lingering sends a reset; so all handles must go now.
                rustix::net::sockopt::set_socket_linger(raw, Some(Duration::ZERO))?;
                let peer = raw.peer_addr()?;
                lock(&self.open).retain(|open| open.peer_addr().is_ok_and(|address| address != peer));
                return Ok(());
            }
            Reply::Hang => {
                io::copy(stream, &mut io::sink())?;
            }
        }
        stream.flush()?;
        raw.shutdown(Shutdown::Write)
    }
}

pub(crate) fn read_request(stream: &mut impl BufRead) -> io::Result<Request> {
    let mut line = || -> io::Result<String> {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    };
    let first = line()?;
    let mut words = first.split(' ').map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let mut headers = Vec::new();
    while let Some((name, value)) = line()?.split_once(':') {
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request { method, path, headers, body: Vec::new() };
    let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    stream.take(length).read_to_end(&mut request.body)?;
    Ok(request)
}

pub(crate) fn head(status: u16, headers: &[(String, String)], length: usize) -> String {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("HTTP/1.1 {status} -\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
