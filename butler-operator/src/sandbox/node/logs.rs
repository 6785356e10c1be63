//! What a node writes down: a kernel log in memory and a file per service on disk.

use std::{
    collections::VecDeque,
    fmt,
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{Stream, stream};
use tokio::sync::watch;

use super::{clock::Clock, disk::Disk};

/// Lines of the kernel log that are kept.
const CAPACITY: usize = 2000;
/// Pause between two looks at a file that is followed; children write to it by themselves.
const FOLLOW: Duration = Duration::from_millis(200);
const CHUNK: usize = 32 * 1024;
/// Above this a service's own log begins anew.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Logs of a boot.
pub(super) struct Logs {
    clock: Arc<Clock>,
    disk: Disk,
    kernel: Mutex<(u64, VecDeque<String>)>,
    count: watch::Sender<u64>,
    console: Mutex<Box<dyn Write + Send>>,
}

impl fmt::Debug for Logs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logs").finish_non_exhaustive()
    }
}

impl Logs {
    pub(super) fn new(clock: Arc<Clock>, disk: Disk, console: Box<dyn Write + Send>) -> Self {
        Self {
            clock,
            disk,
            kernel: Mutex::default(),
            count: watch::Sender::new(0),
            console: Mutex::new(console),
        }
    }

    /// A boot begins: the kernel's memory is empty.
    pub(super) fn clear(&self) {
        *self.kernel.lock().unwrap_or_else(PoisonError::into_inner) = (0, VecDeque::new());
        self.count.send_replace(0);
    }

    /// The kernel speaks.
    pub(super) fn kernel(&self, text: impl fmt::Display) {
        self.push("kern", "info", &text.to_string());
    }

    /// Talos speaks through the kernel log.
    pub(super) fn talos(&self, text: impl fmt::Display) {
        self.push("user", "warning", &format!("[talos] {text}"));
    }

    fn push(&self, facility: &str, priority: &str, text: &str) {
        let now = self.clock.now();
        let line = format!("{facility}: {priority:>7}: [{now:.9}]: {}\n", one_line(text));
        {
            let mut console = self.console.lock().unwrap_or_else(PoisonError::into_inner);
            // Nobody may be there to read it.
            let _ = console.write_all(line.as_bytes()).and_then(|()| console.flush());
        }
        let mut kernel = self.kernel.lock().unwrap_or_else(PoisonError::into_inner);
        kernel.1.push_back(line);
        if kernel.1.len() > CAPACITY {
            kernel.1.pop_front();
            kernel.0 += 1;
        }
        let count = kernel.0 + kernel.1.len() as u64;
        drop(kernel);
        self.count.send_replace(count);
    }

    /// The lines of the kernel log: from the first, or with `tail` only what comes.
    pub(super) fn dmesg(
        self: &Arc<Self>,
        follow: bool,
        tail: bool,
    ) -> impl Stream<Item = Vec<u8>> + Send + use<> {
        let next = if tail { *self.count.borrow() } else { 0 };
        let state = (self.clone(), self.count.subscribe(), next);
        stream::unfold(state, move |(logs, mut count, next)| async move {
            loop {
                if let Some((next, line)) = logs.kernel_line(next) {
                    return Some((line.into_bytes(), (logs, count, next + 1)));
                }
                if !follow {
                    return None;
                }
                count.changed().await.ok()?;
            }
        })
    }

    fn kernel_line(&self, number: u64) -> Option<(u64, String)> {
        let kernel = self.kernel.lock().unwrap_or_else(PoisonError::into_inner);
        let number = number.max(kernel.0);
        let index = usize::try_from(number - kernel.0).ok()?;
        kernel.1.get(index).map(|line| (number, line.clone()))
    }

    /// Where a service's log lies.
    pub(super) fn file(&self, id: &str) -> PathBuf {
        self.disk.logs().join(format!("{id}.log"))
    }

    /// A simulated service speaks.
    pub(super) fn service(&self, id: &str, text: impl fmt::Display) {
        let line = format!("{:.3} {}\n", self.clock.now(), one_line(&text.to_string()));
        // A log that cannot be written is lost, as on a real node.
        let _ = self.append(&self.file(id), line.as_bytes());
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.disk.room()?;
        let mut options = std::fs::OpenOptions::new();
        let large = std::fs::metadata(path).is_ok_and(|file| file.len() > LARGEST);
        options.create(true).mode(0o600);
        let mut file = if large {
            options.write(true).truncate(true).open(path)?
        } else {
            options.append(true).open(path)?
        };
        file.write_all(bytes)
    }

    /// Ids of everything that has a log.
    pub(super) fn ids(&self) -> Vec<String> {
        let Ok(entries) = fs_err::read_dir(self.disk.logs()) else { return Vec::new() };
        let mut ids: Vec<_> = entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".log").map(str::to_owned))
            .collect();
        ids.sort();
        ids
    }
}

/// Reads a file in pieces, the last `tail` lines or all; with `follow` it never ends.
pub(super) fn read_file(
    path: PathBuf,
    tail: i32,
    follow: bool,
) -> impl Stream<Item = io::Result<Vec<u8>>> + Send {
    let begin = usize::try_from(tail).ok().map(|lines| tail_offset(&path, lines));
    let state = (path, begin.unwrap_or(Ok(0)), false);
    stream::unfold(state, move |(path, offset, ended)| async move {
        if ended {
            return None;
        }
        let mut offset = match offset {
            Ok(offset) => offset,
            Err(error) => return Some((Err(error), (path, Ok(0), true))),
        };
        loop {
            match read_at(&path, offset) {
                Ok(bytes) if bytes.is_empty() && !follow => return None,
                Ok(bytes) if bytes.is_empty() => {
                    if std::fs::metadata(&path).is_ok_and(|file| file.len() < offset) {
                        // It began anew.
                        offset = 0;
                    }
                    tokio::time::sleep(FOLLOW).await;
                }
                Ok(bytes) => {
                    let next = offset + bytes.len() as u64;
                    return Some((Ok(bytes), (path, Ok(next), false)));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound && follow => {
                    tokio::time::sleep(FOLLOW).await;
                }
                Err(error) => return Some((Err(error), (path, Ok(0), true))),
            }
        }
    })
}

fn read_at(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(CHUNK as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Where the last `lines` lines of a file begin.
fn tail_offset(path: &Path, lines: usize) -> io::Result<u64> {
    let mut file = match std::fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        file => file?,
    };
    let mut end = file.seek(SeekFrom::End(0))?;
    let length = end;
    if lines == 0 {
        return Ok(length);
    }
    let mut found = 0;
    let mut buffer = vec![0; CHUNK];
    while end > 0 {
        let size = usize::try_from(end).unwrap_or(CHUNK).min(CHUNK);
        end -= size as u64;
        file.seek(SeekFrom::Start(end))?;
        let piece = &mut buffer[..size];
        file.read_exact(piece)?;
        for (at, byte) in piece.iter().enumerate().rev() {
            let after = end + at as u64 + 1;
            // The file's last line break ends a line and begins none.
            if *byte == b'\n' && after != length {
                found += 1;
                if found == lines {
                    return Ok(after);
                }
            }
        }
    }
    Ok(0)
}

fn one_line(text: &str) -> String {
    text.trim_end().replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt, TryStreamExt};
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(-1, "a\nb\nc\n")]
    #[case(0, "")]
    #[case(1, "c\n")]
    #[case(2, "b\nc\n")]
    #[case(9, "a\nb\nc\n")]
    #[tokio::test]
    async fn the_last_lines_are_read(#[case] tail: i32, #[case] expected: &str) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.log");
        std::fs::write(&path, "a\nb\nc\n").unwrap();
        let read: Vec<u8> = read_file(path, tail, false).try_concat().await.unwrap();
        assert_eq!(String::from_utf8(read).unwrap(), expected);
    }

    #[tokio::test]
    async fn a_followed_file_may_come_later_and_grow() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.log");
        let mut stream = Box::pin(read_file(path.clone(), -1, true));
        let writer = async {
            std::fs::write(&path, "a\n").unwrap();
            std::future::pending::<()>().await
        };
        let first = tokio::select! { item = stream.next() => item, () = writer => None };
        assert_eq!(first.unwrap().unwrap(), b"a\n");
    }
}
