//! What can be saved of a journal whose middle is damaged.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use fs_err as fs;
use jiff::Timestamp;
use serde::Serialize;

use super::{Event, EventKind, Journal, JournalError, MARK, RunId, TRAILER, VERSION, encode, holds_record};
use crate::settings::home::write_private;

/// How every record begins.
const BEGINNING: &[u8] = br#"{"version":"#;

/// What is left of a journal, and what is not.
#[derive(Clone, Debug, PartialEq)]
pub struct Salvage {
    /// Every record that is as it was written, in the order of their numbers.
    pub events: Vec<Event>,
    /// Lines that are not what was written there.
    pub bad: Vec<BadLine>,
    /// Numbers of the records that are gone, below the last one that is there.
    pub missing: Vec<u64>,
}

/// A line that is not what was written there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BadLine {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
    /// The effect that it seems to be about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

impl Salvage {
    /// True when nothing is damaged.
    pub fn is_whole(&self) -> bool {
        self.bad.is_empty() && self.missing.is_empty()
    }
}

/// Looks what can be saved. Changes nothing.
pub fn salvage(path: &Path, run_id: &RunId) -> Result<Salvage, JournalError> {
    let content = fs::read(path).map_err(|source| JournalError::Read { path: path.to_owned(), source })?;
    Ok(sort(&content, run_id))
}

fn sort(content: &[u8], run_id: &RunId) -> Salvage {
    let mut events: BTreeMap<u64, Event> = BTreeMap::new();
    let mut bad = Vec::new();
    let mut end = 0;
    let mut take = |event: Event| -> Result<(), String> {
        if event.run_id != *run_id {
            return Err(format!("it belongs to run `{}`", event.run_id));
        }
        let seq = event.seq;
        match events.get(&seq) {
            Some(known) if *known == event => Err(format!("it repeats record {seq}")),
            Some(_) => Err(format!("there is another record {seq}")),
            None => {
                let last = events.keys().next_back().copied().filter(|last| *last > seq);
                events.insert(seq, event);
                last.map_or(Ok(()), |last| Err(format!("record {seq} stands behind record {last}")))
            }
        }
    };
    for (index, line) in content.split_inclusive(|byte| *byte == b'\n').enumerate() {
        end += line.len();
        let number = index + 1;
        let read = whole(line).and_then(&mut take);
        let Err(why) = read else { continue };
        // What a crash in the middle of a write leaves is no damage.
        if end == content.len() && !holds_record(line) {
            continue;
        }
        // An end of line that is gone joins two records, of which both may be as they were.
        embedded(line).into_iter().for_each(|event| drop(take(event)));
        bad.push(BadLine { line: number, why, step: step(line) });
    }
    let last = events.keys().next_back().copied().unwrap_or_default();
    let missing = (1..=last).filter(|seq| !events.contains_key(seq)).collect();
    Salvage { events: events.into_values().collect(), bad, missing }
}

/// A record, whatever its number.
fn whole(line: &[u8]) -> Result<Event, String> {
    let line = line.strip_suffix(b"\n").ok_or("it has no end")?;
    let body = super::verified(line).ok_or("its checksum does not fit")?;
    serde_json::from_slice(&[body, b"}"].concat()).map_err(|error| format!("it is no event: {error}"))
}

/// Whole records inside a line that is none itself.
fn embedded(line: &[u8]) -> Vec<Event> {
    let at = |pattern: &'static [u8]| {
        let windows = line.windows(pattern.len()).enumerate();
        windows.filter(move |(_, window)| *window == pattern).map(|(at, _)| at)
    };
    let mut found = Vec::new();
    for begin in at(BEGINNING) {
        let ends =
            at(MARK.as_bytes()).map(|mark| mark + TRAILER).filter(|end| *end > begin && *end <= line.len());
        let mut records = ends.filter_map(|end| whole(&[&line[begin..end], b"\n"].concat()).ok());
        found.extend(records.next());
    }
    found
}

/// The step that a damaged line names, as far as it can be read; only characters that steps have.
fn step(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let (_, rest) = text.split_once(r#""step":""#)?;
    let (step, _) = rest.split_once('"')?;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "/-.".contains(c);
    (!step.is_empty() && step.len() < 100 && step.chars().all(plain)).then(|| step.to_owned())
}

impl Journal {
    /// Replaces a damaged journal by one of the records that `compose` makes of what was saved. The damaged
    /// file is kept beside it, under the name that is returned; none when there was nothing to repair.
    /// Records are numbered anew. Killed at any point, either journal is whole on disk, and the damaged
    /// one is never lost.
    pub fn repair(
        path: &Path,
        run_id: &RunId,
        now: Timestamp,
        compose: impl FnOnce(Salvage, &Path) -> Vec<(Timestamp, EventKind)>,
    ) -> Result<Option<PathBuf>, JournalError> {
        let _lock = super::lock(path)?;
        let unreadable = |source| JournalError::Read { path: path.to_owned(), source };
        let content = fs::read(path).map_err(unreadable)?;
        let salvage = sort(&content, run_id);
        if salvage.is_whole() {
            return Ok(None);
        }
        let copy = copy_of(path, now, &content);
        write_private(&copy, &content)?;
        let mut text = String::new();
        for (index, (time, kind)) in compose(salvage, &copy).into_iter().enumerate() {
            let event = Event { version: VERSION, seq: index as u64 + 1, time, run_id: run_id.clone(), kind };
            text += &encode(&event)
                .map_err(|error| JournalError::Write { path: path.to_owned(), source: error.into() })?;
        }
        write_private(path, text.as_bytes())?;
        Ok(Some(copy))
    }
}

/// A name for the damaged file that no other file has; the same again when it was copied before.
fn copy_of(path: &Path, now: Timestamp, content: &[u8]) -> PathBuf {
    let stem = format!("damaged-{}", now.strftime("%Y%m%dT%H%M%SZ"));
    let mut names = (0_u32..).map(|n| match n {
        0 => path.with_extension(format!("{stem}.ndjson")),
        n => path.with_extension(format!("{stem}-{n}.ndjson")),
    });
    let free = |name: &PathBuf| match fs::read(name) {
        Ok(known) => known == content,
        Err(_) => true,
    };
    names.find(free).unwrap_or_else(|| path.with_extension("damaged.ndjson"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn id() -> RunId {
        RunId::parse("20261114-101112-00ff00").unwrap()
    }

    fn written(dir: &Path) -> (PathBuf, Vec<Event>) {
        let path = dir.join("journal.ndjson");
        let (mut journal, _) = Journal::open(&path, id()).unwrap();
        let step = |n: usize| EventKind::Intent { step: format!("machine/m-{n}"), data: json!({}) };
        let events = (0..5).map(|n| journal.append(step(n)).unwrap()).collect();
        (path, events)
    }

    /// Changes the lines of a journal.
    fn spoil(path: &Path, change: impl FnOnce(&mut Vec<String>)) {
        let mut lines: Vec<String> =
            fs::read_to_string(path).unwrap().lines().map(|line| format!("{line}\n")).collect();
        change(&mut lines);
        fs::write(path, lines.concat()).unwrap();
    }

    fn numbers(salvage: &Salvage) -> Vec<u64> {
        salvage.events.iter().map(|event| event.seq).collect()
    }

    #[rstest]
    #[case::changed(|lines: &mut Vec<String>| lines[2] = lines[2].replace("m-2", "m-7"), &[1, 2, 4, 5], &[3], &[3])]
    #[case::garbage(|lines: &mut Vec<String>| lines[2] = "\u{1f600}\n".into(), &[1, 2, 4, 5], &[3], &[3])]
    #[case::lost(|lines: &mut Vec<String>| drop(lines.remove(2)), &[1, 2, 4, 5], &[], &[3])]
    #[case::doubled(|lines: &mut Vec<String>| lines.insert(1, lines[0].clone()), &[1, 2, 3, 4, 5], &[2], &[])]
    #[case::exchanged(|lines: &mut Vec<String>| lines.swap(0, 1), &[1, 2, 3, 4, 5], &[2], &[])]
    #[case::joined(|lines: &mut Vec<String>| lines[1] = lines[1].replace('\n', "?"), &[1, 2, 3, 4, 5], &[2], &[])]
    #[case::first(|lines: &mut Vec<String>| lines[0].insert(0, 'x'), &[1, 2, 3, 4, 5], &[1], &[])]
    #[case::torn(|lines: &mut Vec<String>| lines[4].truncate(20), &[1, 2, 3, 4], &[], &[])]
    fn every_record_that_is_as_it_was_is_kept(
        #[case] change: fn(&mut Vec<String>),
        #[case] kept: &[u64],
        #[case] bad: &[usize],
        #[case] missing: &[u64],
    ) {
        let dir = tempfile::tempdir().unwrap();
        let (path, _) = written(dir.path());
        spoil(&path, change);
        let salvage = salvage(&path, &id()).unwrap();
        assert_eq!(numbers(&salvage), kept);
        assert_eq!(salvage.bad.iter().map(|bad| bad.line).collect::<Vec<_>>(), bad);
        assert_eq!(salvage.missing, missing);
    }

    #[test]
    fn a_bad_line_is_guessed_at_and_nothing_else_of_it_is_shown() {
        let dir = tempfile::tempdir().unwrap();
        let (path, _) = written(dir.path());
        spoil(&path, |lines| lines[2] = lines[2].replace("\"data\":{}", "\"data\":\"hush\""));
        let bad = salvage(&path, &id()).unwrap().bad;
        assert_eq!(bad[0].step.as_deref(), Some("machine/m-2"));
        assert!(!format!("{bad:?}").contains("hush"));
        spoil(&path, |lines| lines[2] = lines[2].replace("machine/m-2", "PASSWORD hush"));
        assert_eq!(salvage(&path, &id()).unwrap().bad[0].step, None);
    }

    #[test]
    fn what_was_saved_becomes_a_journal_and_the_damaged_file_stays_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let (path, events) = written(dir.path());
        spoil(&path, |lines| lines[2] = "damage\n".into());
        let damaged = fs::read(&path).unwrap();
        let compose = |salvage: Salvage, copy: &Path| {
            let mut kinds: Vec<_> =
                salvage.events.into_iter().map(|event| (event.time, event.kind)).collect();
            let note = json!(copy.file_name().unwrap().to_str().unwrap());
            kinds.push((Timestamp::UNIX_EPOCH, EventKind::Result { step: "repaired".into(), data: note }));
            kinds
        };
        let now = "2026-11-14T10:11:12Z".parse().unwrap();
        let copy = Journal::repair(&path, &id(), now, compose).unwrap().unwrap();
        assert!(copy.ends_with("journal.damaged-20261114T101112Z.ndjson"), "{}", copy.display());
        assert_eq!(fs::read(&copy).unwrap(), damaged);
        let (mut journal, now_there) = Journal::open(&path, id()).unwrap();
        let kinds: Vec<&EventKind> = now_there.iter().map(|event| &event.kind).collect();
        assert_eq!(kinds[..4], [&events[0].kind, &events[1].kind, &events[3].kind, &events[4].kind]);
        assert_eq!(now_there.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
        journal.append(EventKind::info("a", "goes on")).unwrap();
        drop(journal);
        assert_eq!(Journal::repair(&path, &id(), now, compose).unwrap(), None, "it is whole now");
    }

    #[test]
    fn a_journal_that_is_being_written_is_not_repaired() {
        let dir = tempfile::tempdir().unwrap();
        let (path, _) = written(dir.path());
        let held = Journal::open(&path, id()).unwrap();
        spoil(&path, |lines| lines[2] = "damage\n".into());
        let error = Journal::repair(&path, &id(), Timestamp::now(), |_, _| Vec::new()).unwrap_err();
        assert!(matches!(error, JournalError::Held { .. }), "{error}");
        drop(held);
    }
}
