//! Certificates of authorities that the temporary cluster is to trust besides the usual ones.

use std::path::{Path, PathBuf};

use butler_core::{
    pki::CertificateInfo,
    settings::{Environment, Home},
};
use fs_err as fs;

use crate::runtime::RuntimeError;

/// A file or a directory with further certificates.
pub const BUTLER_CA_CERT_PATH: &str = "BUTLER_CA_CERT_PATH";

/// The files: those of `BUTLER_CA_CERT_PATH`, then those in `certificates/` of the Butler home.
pub fn ca_files(environment: &Environment, home: &Home) -> Result<Vec<PathBuf>, RuntimeError> {
    let mut files = Vec::new();
    if let Some(path) = environment.path(BUTLER_CA_CERT_PATH) {
        if path.is_dir() {
            files.extend(in_dir(&path)?);
        } else {
            files.push(path);
        }
    }
    let own = home.dir().join("certificates");
    if own.is_dir() {
        files.extend(in_dir(&own)?);
    }
    files.iter().map(|file| check(file)).collect()
}

fn in_dir(dir: &Path) -> Result<Vec<PathBuf>, RuntimeError> {
    let list = || -> std::io::Result<Vec<PathBuf>> {
        fs::read_dir(dir)?.map(|entry| entry.map(|entry| entry.path())).collect()
    };
    let is_certificate = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "crt" || extension == "pem") && path.is_file()
    };
    let mut files: Vec<PathBuf> = list()
        .map_err(RuntimeError::system(format!("read `{}`", dir.display())))?
        .into_iter()
        .filter(is_certificate)
        .collect();
    files.sort();
    Ok(files)
}

/// A file that is no certificate would be left out by the node without a word.
fn check(file: &Path) -> Result<PathBuf, RuntimeError> {
    let what = format!("the certificate file `{}`", file.display());
    let text = fs::read_to_string(file)
        .map_err(|error| RuntimeError::Settings { what: what.clone(), why: error.to_string() })?;
    if text.contains("PRIVATE KEY") {
        return Err(RuntimeError::Settings { what, why: "it holds a private key".to_owned() });
    }
    CertificateInfo::from_pem(&text)
        .map_err(|error| RuntimeError::Settings { what, why: error.to_string() })?;
    // The engine has another working directory, and a link may lead where it sees nothing.
    fs::canonicalize(file).map_err(RuntimeError::system(format!("read `{}`", file.display())))
}

#[cfg(test)]
mod tests {
    use butler_core::pki::{Authority, KeyKind};
    use jiff::{SignedDuration, Timestamp};

    use super::*;

    #[test]
    fn certificates_come_from_both_places_and_anything_else_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let life = SignedDuration::from_hours(1);
        let authority = Authority::generate(KeyKind::P256, Some("corp"), Timestamp::now(), life).unwrap();
        let (own, given) = (dir.path().join("home/certificates"), dir.path().join("given"));
        for dir in [&own, &given] {
            fs::create_dir_all(dir).unwrap();
        }
        for file in [own.join("b.pem"), own.join("a.crt"), given.join("c.crt"), own.join("readme.txt")] {
            fs::write(file, authority.certificate()).unwrap();
        }
        let home = dir.path().join("home");
        let environment =
            |path: &Path| Environment::of([("BUTLER_HOME", home.as_path()), (BUTLER_CA_CERT_PATH, path)]);
        let files = |path: &Path| ca_files(&environment(path), &Home::resolve(&environment(path)).unwrap());
        let found = files(&given).unwrap();
        let names: Vec<_> = found.iter().filter_map(|path| path.file_name()).collect();
        assert_eq!(names, ["c.crt", "a.crt", "b.pem"]);
        assert_eq!(files(&given.join("c.crt")).unwrap().len(), 3, "one file is as good");

        assert!(files(&given.join("absent.crt")).unwrap_err().to_string().contains("absent.crt"));
        let key = authority.key().to_pem();
        fs::write(given.join("d.pem"), key.expose()).unwrap();
        let error = files(&given).unwrap_err().to_string();
        assert!(error.contains("private key"), "{error}");
        fs::write(given.join("d.pem"), "not a certificate").unwrap();
        assert!(files(&given).unwrap_err().to_string().contains("d.pem"));
    }
}
