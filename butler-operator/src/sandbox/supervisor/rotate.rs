//! Logs of the parts, kept from growing for ever. A part holds its log open and adds to its end, so the
//! log is copied and cut in place.

use std::path::Path;

use fs_err as fs;

use crate::sandbox::Place;

/// A longer log is cut; what was in it stays in one older file.
const CAP: u64 = 16 << 20;

/// Looks at every log. What cannot be done now is tried again.
pub(super) fn all(place: &Place) {
    let logs = fs::read_dir(place.logs()).into_iter().flatten().flatten().map(|entry| entry.path());
    for log in logs.chain([place.supervisor_log()]) {
        let too_long = fs::metadata(&log).is_ok_and(|meta| meta.len() > CAP);
        if too_long && log.extension().is_some_and(|extension| extension == "log") {
            cut(&log);
        }
    }
}

fn cut(log: &Path) {
    let copied = fs::copy(log, log.with_extension("log.1"));
    let cut = copied.and_then(|_| fs::OpenOptions::new().write(true).open(log)?.set_len(0));
    if let Err(error) = cut {
        tracing::warn!(%error, "a log cannot be cut");
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_log_that_is_cut_takes_what_comes_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("etcd.log");
        let mut log = fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
        log.write_all(b"before\n").unwrap();
        cut(&path);
        log.write_all(b"after\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "after\n");
        assert_eq!(fs::read_to_string(path.with_extension("log.1")).unwrap(), "before\n");
    }
}
