//! A host of a sandbox that answers as a test wants, above all badly: the same wire over the same socket,
//! without any machine behind it.

use std::{
    io::{self, BufReader, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

use anyhow::Result;
use butler_core::settings::home::make_private_dir;
use butler_operator::process::LockFile;

use crate::http::{Reply, Request, head, read_request};

/// The host; gone with this value. The sandbox counts as running while it is there.
pub struct FakeHost {
    socket: PathBuf,
    requests: Arc<Mutex<Vec<Request>>>,
    listener: Option<JoinHandle<()>>,
    _lock: LockFile,
}

impl FakeHost {
    /// Serves in the directory of a sandbox, which is made.
    pub fn start(dir: &Path, script: impl Fn(&Request) -> Reply + Send + 'static) -> Result<Self> {
        make_private_dir(dir)?;
        let lock = LockFile::take(&dir.join("lock"))?;
        let socket = dir.join("host.sock");
        let listener = UnixListener::bind(&socket)?;
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let seen = requests.clone();
        let listener = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(io::Result::ok) {
                // One that says nothing is the end.
                let Ok(request) = read_request(&mut BufReader::new(&stream)) else { break };
                let reply = script(&request);
                seen.lock().unwrap_or_else(PoisonError::into_inner).push(request);
                let _ = answer(&stream, &reply);
            }
        });
        Ok(Self { socket, requests, listener: Some(listener), _lock: lock })
    }

    /// What was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for FakeHost {
    fn drop(&mut self) {
        // Wakes the thread that accepts.
        drop(UnixStream::connect(&self.socket));
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn answer(mut stream: &UnixStream, reply: &Reply) -> io::Result<()> {
    match reply {
        Reply::Answer { status, headers, body } => {
            stream.write_all(head(*status, headers, body.len()).as_bytes())?;
            stream.write_all(body)
        }
        Reply::Bytes(bytes) => stream.write_all(bytes),
        Reply::Truncated { body, sent } => {
            stream.write_all(head(200, &[], body.len()).as_bytes())?;
            stream.write_all(&body[..*sent])
        }
        Reply::Reset | Reply::Hang => Ok(()),
    }
}
