//! A journal that somebody else writes, read piece by piece: each record once.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::PathBuf,
};

use super::{
    Event, JournalError,
    journal::{Parsed, parse},
};

/// Where reading goes on.
#[derive(Debug)]
pub struct JournalReader {
    path: PathBuf,
    at: u64,
    records: usize,
}

impl JournalReader {
    /// Begins at the beginning; the journal need not exist yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, at: 0, records: 0 }
    }

    /// The complete records that were added since the last look.
    pub fn more(&mut self) -> Result<Vec<Event>, JournalError> {
        let content = match self.added() {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(JournalError::Read { path: self.path.clone(), source }),
        };
        if content.is_empty() {
            return Ok(Vec::new());
        }
        let Parsed { events, len } = parse(&self.path, &content, self.records)?;
        self.at += len as u64;
        self.records += events.len();
        Ok(events)
    }

    fn added(&self) -> io::Result<Vec<u8>> {
        let mut file = File::open(&self.path)?;
        let mut content = Vec::new();
        if file.metadata()?.len() > self.at {
            file.seek(SeekFrom::Start(self.at))?;
            file.read_to_end(&mut content)?;
        }
        Ok(content)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use jiff::Timestamp;

    use super::*;
    use crate::event::{EventKind, Journal, RunId};

    #[test]
    fn each_record_is_read_once_and_a_torn_one_when_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.ndjson");
        let mut reader = JournalReader::new(path.clone());
        assert!(reader.more().unwrap().is_empty());
        let (mut journal, _) = Journal::open(&path, RunId::new(Timestamp::now())).unwrap();
        let mut append = |text: &str| journal.append(EventKind::info("a", text)).unwrap();
        let first = [append("1"), append("2")];
        assert_eq!(reader.more().unwrap(), first);
        assert!(reader.more().unwrap().is_empty());
        let third = append("3");
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 5]).unwrap();
        assert!(reader.more().unwrap().is_empty());
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(&whole[whole.len() - 5..]).unwrap();
        assert_eq!(reader.more().unwrap(), [third]);
    }
}
