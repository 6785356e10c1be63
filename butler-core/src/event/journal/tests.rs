//! Journals that are cut, changed, held, and written on a full disk.

use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn run_id() -> RunId {
    RunId("20261114-101112-00ff00".into())
}

fn intent(step: &str) -> EventKind {
    EventKind::Intent { step: step.into(), data: json!({ "note": "a\nb ,\"sum\":\" \u{1f600}" }) }
}

/// A journal of `records` records: its directory, its path and the events in it.
fn written(records: usize) -> (tempfile::TempDir, PathBuf, Vec<Event>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("runs/one/journal.ndjson");
    let (mut journal, found) = Journal::open(&path, run_id()).unwrap();
    assert!(found.is_empty());
    let events = (0..records).map(|n| journal.append(intent(&format!("vm/{n}"))).unwrap()).collect();
    (dir, path, events)
}

/// Where each line starts.
fn starts(content: &[u8]) -> Vec<usize> {
    let ends = content.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).collect()
}

#[test]
fn records_come_back_and_the_next_writer_goes_on() {
    let (_dir, path, mut events) = written(2);
    let (mut journal, found) = Journal::open(&path, run_id()).unwrap();
    assert_eq!(found, events);
    events.push(journal.append(EventKind::Result { step: "vm/0".into(), data: json!("id") }).unwrap());
    assert_eq!(read(&path).unwrap(), events);
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn only_one_process_writes_and_the_other_learns_who() {
    let (_dir, path, _) = written(1);
    let held = Journal::open(&path, run_id()).unwrap();
    let error = Journal::open(&path, run_id()).unwrap_err();
    assert_eq!(error.code(), Code::JournalHeld);
    assert!(error.to_string().contains(&format!("process {} on", std::process::id())), "{error}");
    assert_eq!(read(&path).unwrap().len(), 1);
    drop(held);
    Journal::open(&path, run_id()).unwrap();
}

#[test]
fn lines_that_are_lost_or_doubled_are_named() {
    let (_dir, path, _) = written(3);
    let content = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = content.lines().collect();
    for (lines, bad) in [([lines[0], lines[2]].as_slice(), 2), (&[lines[0], lines[0], lines[1]], 2)] {
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        let error = read(&path).unwrap_err();
        assert!(matches!(error, JournalError::Damaged { line, .. } if line == bad), "{error}");
    }
}

#[test]
fn a_journal_of_another_run_is_refused() {
    let (_dir, path, _) = written(1);
    let error = Journal::open(&path, RunId("other".into())).unwrap_err();
    assert!(matches!(error, JournalError::OtherRun { .. }), "{error}");
}

/// Takes so many bytes, then has no space left.
#[derive(Default)]
struct SmallDisk {
    disk: io::Cursor<Vec<u8>>,
    space: usize,
}

impl Write for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = bytes.len().min(self.space - self.disk.position() as usize);
        if fits == 0 { Err(io::ErrorKind::StorageFull.into()) } else { self.disk.write(&bytes[..fits]) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for SmallDisk {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.disk.seek(to)
    }
}

impl Storage for SmallDisk {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.disk.get_mut().truncate(len as usize);
        Ok(())
    }
}

proptest! {
    #[test]
    fn a_file_cut_anywhere_opens_to_its_complete_records(records in 0_usize..4, cut in any::<prop::sample::Index>()) {
        let (_dir, path, events) = written(records);
        let content = fs::read(&path).unwrap();
        let cut = cut.index(content.len() + 1);
        fs::write(&path, &content[..cut]).unwrap();
        let complete = starts(&content).into_iter().filter(|start| *start > 0 && *start <= cut).count();

        prop_assert_eq!(&read(&path).unwrap(), &events[..complete]);
        let (mut journal, found) = Journal::open(&path, run_id()).unwrap();
        prop_assert_eq!(&found, &events[..complete]);
        journal.append(intent("after")).unwrap();
        prop_assert_eq!(read(&path).unwrap().len(), complete + 1);
    }

    #[test]
    fn a_byte_changed_before_the_last_line_is_reported_with_its_line(
        at in any::<prop::sample::Index>(), flip in 1_u8..,
    ) {
        let (_dir, path, _) = written(3);
        let mut content = fs::read(&path).unwrap();
        let starts = starts(&content);
        let at = at.index(starts[2]);
        content[at] ^= flip;
        fs::write(&path, &content).unwrap();
        let bad = starts.iter().filter(|start| **start <= at).count();
        for error in [read(&path).unwrap_err(), Journal::open(&path, run_id()).map(|_| ()).unwrap_err()] {
            prop_assert!(matches!(error, JournalError::Damaged { line, .. } if line == bad), "{}", error);
        }
        prop_assert_eq!(fs::read(&path).unwrap(), content, "a damaged journal is left alone");
    }

    #[test]
    fn a_full_disk_leaves_the_complete_records(space in 0_usize..60) {
        let mut tail = Tail { file: SmallDisk { space, ..Default::default() }, len: 0, torn: false };
        let line = [b'x'; 20];
        let written = (0..5).map(|_| tail.append(&line)).filter(Result::is_ok).count();
        prop_assert_eq!(written, space / line.len());
        prop_assert_eq!(tail.file.disk.get_ref().len(), written * line.len());
        tail.file.space = 1000;
        tail.append(&line).unwrap();
        prop_assert_eq!(tail.file.disk.get_ref().len(), (written + 1) * line.len());
    }
}
