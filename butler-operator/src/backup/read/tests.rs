//! Backups that are whole, cut off, changed, or of somebody else.

use butler_core::{
    error::{Code, Diagnose},
    event::RunId,
};
use jiff::Timestamp;

use super::*;
use crate::backup::{Recipients, generate, header::Facts, seal};

struct Bench {
    dir: tempfile::TempDir,
    identities: Identities,
    path: PathBuf,
}

const SECRET: &str = "a-secret-of-the-cluster";

async fn bench() -> Bench {
    let dir = tempfile::tempdir().unwrap();
    let (text, recipient) = generate();
    let identities = Identities::parse(Path::new("key"), &text).unwrap();
    let recipients = Recipients::parse([recipient.as_str()]).unwrap();
    let header = Header::of(Facts {
        cluster: "m",
        provider: "sandbox",
        run: &RunId::new(Timestamp::UNIX_EPOCH),
        created: Timestamp::UNIX_EPOCH,
        version: "0.0.0",
        kubernetes: "v1.34.4".into(),
        cluster_id: "uid".into(),
        recipients: recipients.names(),
    });
    let path = dir.path().join("backups/m.butler-backup");
    let sealed = seal(&path, &header, &recipients, async |contents| {
        contents.add("run/a", SECRET.as_bytes())?;
        contents.add("run/b", &vec![7; 200_000])
    });
    assert_eq!(sealed.await.unwrap().bytes, std::fs::metadata(&path).unwrap().len());
    Bench { dir, identities, path }
}

fn read(path: &Path, identities: &Identities) -> Result<Vec<(String, usize)>, BackupError> {
    let backup = Backup::open(path)?;
    backup.check()?;
    let mut all = Vec::new();
    backup.each(identities, |name, body| {
        let mut content = Vec::new();
        body.read_to_end(&mut content).unwrap();
        all.push((name.to_owned(), content.len()));
        Ok(())
    })?;
    Ok(all)
}

#[tokio::test]
async fn what_was_written_is_read_again_and_nobody_else_sees_it() {
    use std::os::unix::fs::PermissionsExt;
    let Bench { identities, path, dir } = bench().await;
    let all = read(&path, &identities).unwrap();
    assert_eq!(all[1..], [("run/a".to_owned(), SECRET.len()), ("run/b".to_owned(), 200_000)]);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let bytes = std::fs::read(&path).unwrap();
    assert!(!bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()));
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    drop(dir);
}

#[tokio::test]
async fn a_backup_that_is_there_is_not_written_over_and_one_that_fails_leaves_nothing() {
    let Bench { identities, path, .. } = &bench().await;
    let header = Backup::open(path).unwrap().header().clone();
    let recipients = Recipients::parse(header.recipients.iter().map(String::as_str)).unwrap();
    let again = seal(path, &header, &recipients, async |_| Ok(())).await.unwrap_err();
    assert_eq!(again.code(), Code::FileUnwritable);
    assert_eq!(read(path, identities).unwrap().len(), 3, "the old one is whole");

    let other = path.with_file_name("other");
    let failed = seal(&other, &header, &recipients, async |contents| {
        contents.add("run/a", b"x")?;
        Err(BackupError::damaged(Path::new("x"), "y", "z"))
    });
    failed.await.unwrap_err();
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_file_that_is_cut_off_anywhere_is_never_taken_for_whole() {
    let Bench { identities, path, .. } = &bench().await;
    let whole = std::fs::read(path).unwrap();
    // The last two blocks of a tar are empty and say nothing.
    let end = whole.len() - 1024 - 512;
    for length in (0..end).step_by(4099).chain([end, 1, 511, 512, 513, 1535, 1536, 2048]) {
        std::fs::write(path, &whole[..length]).unwrap();
        let error = read(path, identities).unwrap_err();
        assert!(matches!(error.code(), Code::BackupDamaged | Code::BackupUnknown), "{length}: {error}");
        if length > 1536 {
            assert_eq!(error.code(), Code::BackupDamaged, "{length}: {error}");
        }
    }
}

#[tokio::test]
async fn a_byte_that_is_another_one_is_noticed_wherever_it_stands() {
    let Bench { identities, path, .. } = &bench().await;
    let whole = std::fs::read(path).unwrap();
    let data = Backup::open(path).unwrap().data;
    for at in (data.0..data.0 + data.1).step_by(7919) {
        let mut bytes = whole.clone();
        bytes[usize::try_from(at).unwrap()] ^= 1;
        std::fs::write(path, &bytes).unwrap();
        let error = read(path, identities).unwrap_err();
        assert_eq!(error.code(), Code::BackupDamaged, "{at}: {error}");
        assert!(error.to_string().contains("checksum"), "{error}");
    }
}

#[tokio::test]
async fn only_the_recipient_opens_it_and_is_told_who_that_is() {
    let Bench { path, .. } = &bench().await;
    let (text, _) = generate();
    let stranger = Identities::parse(Path::new("theirs"), &text).unwrap();
    let error = read(path, &stranger).unwrap_err();
    assert_eq!(error.code(), Code::BackupLocked);
    assert!(error.to_string().contains("age1") && error.to_string().contains("theirs"), "{error}");
    assert_eq!(error.kind().exit_code(), 2);
}

#[tokio::test]
async fn something_else_is_no_backup() {
    let Bench { dir, identities, .. } = &bench().await;
    let path = dir.path().join("other");
    for content in [&b""[..], b"hello", &[0; 4096], &[b'x'; 4096]] {
        std::fs::write(&path, content).unwrap();
        assert_eq!(read(&path, identities).unwrap_err().code(), Code::BackupUnknown);
    }
    assert_eq!(read(dir.path(), identities).unwrap_err().code(), Code::BackupUnknown);
    assert_eq!(read(&dir.path().join("nothing"), identities).unwrap_err().code(), Code::FileUnreadable);
    assert!(Header::read(br#"{"kind":"Backup","format":2}"#).unwrap_err().contains("format 2"));
    assert!(Header::read(br#"{"kind":"Pod"}"#).is_err());
    assert!(Header::read(br#"{"kind":"Backup","format":1}"#).unwrap_err().contains("not complete"));
}
