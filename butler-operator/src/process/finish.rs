//! Programs that are run to their end.

use std::{
    io::{Read, Write},
    process::ExitStatus,
    time::Duration,
};

use tokio::task::{JoinHandle, spawn_blocking};

use super::{Guard, ProcessError, Spawn};

/// How a program ended that was started with [`Streams::Piped`](super::Streams::Piped).
#[derive(Debug)]
pub struct Finished {
    /// Its status.
    pub status: ExitStatus,
    /// It was stopped because its time was over.
    pub late: bool,
    /// Its output.
    pub stdout: Vec<u8>,
    /// Its other output.
    pub stderr: Vec<u8>,
}

impl Guard {
    /// Runs a program to its end. What it is given to read is seen by nobody else. When `limit` is over it
    /// is told to stop, and killed after `grace`; dropping the future kills it at once.
    pub async fn finish(
        &self,
        spawn: &Spawn,
        input: Vec<u8>,
        limit: Duration,
        grace: Duration,
    ) -> Result<Finished, ProcessError> {
        let mut child = self.spawn(spawn)?;
        let Some(pipes) = child.take_pipes() else {
            let (status, late) = (child.wait().await, false);
            return Ok(Finished { status, late, stdout: Vec::new(), stderr: Vec::new() });
        };
        let mut stdin = pipes.stdin;
        // Who ends early does not read everything.
        let writing = spawn_blocking(move || drop(stdin.write_all(&input)));
        let (stdout, stderr) = (collect(pipes.stdout), collect(pipes.stderr));
        let (status, late) = match tokio::time::timeout(limit, child.wait()).await {
            Ok(status) => (status, false),
            Err(_) => (child.stop(grace).await, true),
        };
        // Its group is gone, so the pipes end.
        let _ = writing.await;
        let (stdout, stderr) = (stdout.await.unwrap_or_default(), stderr.await.unwrap_or_default());
        Ok(Finished { status, late, stdout, stderr })
    }
}

fn collect(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    spawn_blocking(move || {
        let mut bytes = Vec::new();
        // What was read before an error is still what it said.
        let _ = stream.read_to_end(&mut bytes);
        bytes
    })
}
