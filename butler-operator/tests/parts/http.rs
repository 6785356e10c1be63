//! A server on loopback that answers every request as a script says, one per connection.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
};

pub(crate) enum Reply {
    /// A status, with a body of which only the first bytes may be sent.
    Body { status: u16, body: Vec<u8>, sent: usize },
    /// A redirect.
    Redirect(String),
}

impl Reply {
    pub(crate) fn ok(body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self::Body { status: 200, sent: body.len(), body }
    }

    pub(crate) fn not_found() -> Self {
        Self::Body { status: 404, body: Vec::new(), sent: 0 }
    }
}

pub(crate) struct HttpServer {
    address: SocketAddr,
    stopping: Arc<AtomicBool>,
    requests: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl HttpServer {
    pub(crate) fn start(script: impl Fn(&str) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (stopping, requests) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (stop, count) = (stopping.clone(), requests.clone());
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                count.fetch_add(1, Ordering::SeqCst);
                // A client that goes away is no concern of the server.
                let _ = answer(stream, &script);
            }
        });
        Self { address, stopping, requests, thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(mut stream: TcpStream, script: &dyn Fn(&str) -> Reply) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    match script(first.split(' ').nth(1).unwrap_or_default()) {
        Reply::Body { status, body, sent } => {
            let length = body.len();
            write!(stream, "HTTP/1.1 {status} -\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n")?;
            stream.write_all(&body[..sent])
        }
        Reply::Redirect(to) => {
            write!(
                stream,
                "HTTP/1.1 302 -\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            )
        }
    }
}
