//! A machine's console: what its process writes to stderr, in a file that does not grow for ever.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use fs_err::{self as fs, os::unix::fs::OpenOptionsExt};

/// A console that is longer begins anew; one older file is kept.
const CAP: u64 = 1 << 20;

/// Writes a console.
#[derive(Debug)]
pub(super) struct Console {
    path: PathBuf,
    open: Option<(fs::File, u64)>,
}

impl Console {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, open: None }
    }

    /// Adds text. A disk that takes no more costs the text, not the machine.
    pub(super) fn write(&mut self, text: &[u8]) {
        if self.try_write(text).is_err() {
            self.open = None;
        }
    }

    fn try_write(&mut self, text: &[u8]) -> io::Result<()> {
        if self.open.as_ref().is_some_and(|(_, size)| *size >= CAP) {
            self.open = None;
            fs::rename(&self.path, older(&self.path))?;
        }
        let (file, size) = match &mut self.open {
            Some(open) => open,
            None => {
                let file = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path)?;
                let size = file.metadata()?.len();
                self.open.insert((file, size))
            }
        };
        file.write_all(text)?;
        *size += text.len() as u64;
        Ok(())
    }
}

/// The console of a machine, or its last lines. A machine that has said nothing has an empty one.
pub(super) fn read(path: &Path, lines: Option<usize>) -> io::Result<String> {
    let mut bytes = Vec::new();
    for path in [older(path), path.to_owned()] {
        match fs::read(path) {
            Ok(text) => bytes.extend(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(match lines {
        None => text.into_owned(),
        Some(lines) => tail(&text, lines).to_owned(),
    })
}

/// The last lines of a text.
pub(crate) fn tail(text: &str, lines: usize) -> &str {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let begin = match lines {
        0 => text.len(),
        _ => body.rmatch_indices('\n').nth(lines - 1).map_or(0, |(at, _)| at + 1),
    };
    &text[begin..]
}

fn older(path: &Path) -> PathBuf {
    path.with_extension("log.1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_console_keeps_its_end_and_not_everything() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("console.log");
        assert_eq!(read(&path, None).unwrap(), "");
        let mut console = Console::new(path.clone());
        let line = "x".repeat(1023) + "\n";
        for _ in 0..3000 {
            console.write(line.as_bytes());
        }
        console.write(b"the end\n");
        let text = read(&path, None).unwrap();
        assert!(text.ends_with("x\nthe end\n"));
        assert!(text.len() < 3 * CAP as usize && text.len() > CAP as usize / 2, "{}", text.len());
        assert_eq!(read(&path, Some(1)).unwrap(), "the end\n");
    }

    #[test]
    fn the_last_lines_are_whole() {
        for (lines, expected) in [(0, ""), (1, "c\n"), (2, "b\nc\n"), (3, "a\nb\nc\n"), (9, "a\nb\nc\n")] {
            assert_eq!(tail("a\nb\nc\n", lines), expected);
        }
        assert_eq!(tail("a\nb", 1), "b");
    }
}
