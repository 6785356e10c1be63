//! Keys in the form of the program `age`: whom a backup is encrypted to, and who opens it.

use std::path::{Path, PathBuf};

use age::{
    secrecy::ExposeSecret,
    x25519::{Identity, Recipient},
};
use butler_core::redact::Secret;

use super::BackupError;

/// Whom a backup is encrypted to.
#[derive(Clone, Debug)]
pub struct Recipients(Vec<Recipient>);

impl Recipients {
    /// Reads keys such as `age1…`. There must be one, or nobody could open the backup.
    pub fn parse<'a>(keys: impl IntoIterator<Item = &'a str>) -> Result<Self, BackupError> {
        let read = |key: &str| {
            key.parse().map_err(|why: &str| {
                // Somebody may have taken the wrong half of the pair.
                let secret = key.trim().to_ascii_uppercase().starts_with("AGE-SECRET-KEY-");
                let what = if secret {
                    "an identity in place of a recipient".to_owned()
                } else {
                    format!("recipient `{key}`")
                };
                BackupError::Key { what, why: why.to_owned() }
            })
        };
        let all: Vec<Recipient> = keys.into_iter().map(read).collect::<Result<_, _>>()?;
        if all.is_empty() {
            let what = "an empty list of recipients".to_owned();
            return Err(BackupError::Key { what, why: "nobody could open the backup".to_owned() });
        }
        Ok(Self(all))
    }

    /// As texts.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }

    pub(super) fn each(&self) -> impl Iterator<Item = &dyn age::Recipient> {
        self.0.iter().map(|recipient| recipient as &dyn age::Recipient)
    }
}

/// Who opens backups.
#[derive(Clone)]
pub struct Identities {
    file: PathBuf,
    all: Vec<Identity>,
}

impl std::fmt::Debug for Identities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identities").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Identities {
    /// Reads the text of an identity file.
    pub fn parse(file: &Path, text: &Secret) -> Result<Self, BackupError> {
        let lines = text.expose().lines().map(str::trim).enumerate();
        let keys = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let read = |(index, line): (usize, &str)| {
            line.parse().map_err(|why: &str| BackupError::Key {
                // The line itself may be a key with a slip in it.
                what: format!("line {} of the identity file `{}`", index + 1, file.display()),
                why: why.to_owned(),
            })
        };
        let all: Vec<Identity> = keys.map(read).collect::<Result<_, _>>()?;
        if all.is_empty() {
            let what = format!("the identity file `{}`", file.display());
            return Err(BackupError::Key { what, why: "it has no identity".to_owned() });
        }
        Ok(Self { file: file.to_owned(), all })
    }

    /// Where they were read from.
    pub fn file(&self) -> &Path {
        &self.file
    }

    pub(super) fn each(&self) -> impl Iterator<Item = &dyn age::Identity> {
        self.all.iter().map(|identity| identity as &dyn age::Identity)
    }
}

/// A new pair: the text of an identity file, and its recipient.
pub fn generate() -> (Secret, String) {
    let identity = Identity::generate();
    let recipient = identity.to_public().to_string();
    let text = format!("# recipient: {recipient}\n{}\n", identity.to_string().expose_secret());
    (text.into(), recipient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_fits_and_its_secret_half_is_never_shown() {
        let (text, recipient) = generate();
        let identities = Identities::parse(Path::new("key"), &text).unwrap();
        assert!(!format!("{identities:?} {text:?}").contains("AGE-SECRET"));
        assert_eq!(Recipients::parse([recipient.as_str()]).unwrap().names(), [recipient.as_str()]);

        let secret = text.expose().lines().last().unwrap();
        let error = Recipients::parse([secret]).unwrap_err().to_string();
        assert!(!error.contains(secret) && error.contains("an identity"), "{error}");
        let slip = format!("{}\n# a comment\n{}x\n", secret, secret);
        let error = Identities::parse(Path::new("key"), &slip.clone().into()).unwrap_err().to_string();
        assert!(error.contains("line 3") && !error.contains(secret), "{error}");
        assert!(Identities::parse(Path::new("key"), &"# nothing\n".into()).is_err());
        assert!(Recipients::parse([]).is_err());
        assert!(Recipients::parse(["age1nonsense"]).unwrap_err().to_string().contains("age1nonsense"));
    }
}
