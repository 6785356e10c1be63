//! What was seen of the world when a plan was made.

use std::{collections::BTreeMap, net::SocketAddr, num::NonZeroU32, time::Duration};

use ring::{
    digest, pbkdf2,
    rand::{SecureRandom, SystemRandom},
};
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;

use crate::redact::Secret;

/// How often the fingerprint of a secret is worked over: a plan that somebody finds must not tell a
/// password to whoever tries all the usual ones.
const ROUNDS: NonZeroU32 = match NonZeroU32::new(200_000) {
    Some(rounds) => rounds,
    None => NonZeroU32::MIN,
};

/// What was seen. A fact that nobody looked at is none, and is not compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct World {
    /// Version of the program that made the plan.
    pub program_version: Option<String>,
    /// SHA-256 of the configuration's text.
    pub config_sha256: String,
    /// Secrets that the configuration refers to, by key; see [`fingerprint`].
    pub secrets: BTreeMap<String, String>,
    /// What the fingerprints of this plan are made with, so that those of two plans cannot be compared.
    pub secrets_salt: Option<String>,
    /// Machines at the provider that have a name of the plan.
    pub machines: Option<Vec<Taken>>,
    /// Load balancers at the provider that have a name of the plan.
    pub load_balancers: Option<Vec<Taken>>,
    /// Whether something answers at the address that control planes will share.
    pub vip_answers: Option<bool>,
    /// Whether a temporary cluster of that name exists.
    pub temporary_cluster: Option<bool>,
    /// Runs of this home that make the cluster, or have made it and were not destroyed.
    pub runs: Option<Vec<SeenRun>>,
    /// Programs that the run uses, with their versions.
    pub programs: BTreeMap<String, String>,
    /// What could not be looked at, and why. Not compared.
    pub unseen: BTreeMap<String, String>,
}

/// Something at the provider that has a name of the plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Taken {
    /// Its name.
    pub name: String,
    /// The run or management cluster that it belongs to; null when it does not say.
    pub owner: Option<String>,
}

/// A run that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeenRun {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub stage: String,
}

impl World {
    /// A world of which nothing was seen but the configuration and this program.
    pub fn of(config: &[u8]) -> Self {
        Self {
            program_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            config_sha256: sha256(config),
            ..Self::default()
        }
    }
}

/// Something to make fingerprints with; each plan has its own.
pub fn salt() -> String {
    let mut bytes = [0; 16];
    // Without randomness two plans may share their salt, and are no less true for it.
    let _ = SystemRandom::new().fill(&mut bytes);
    hex(&bytes)
}

/// What tells whether a secret has still the same value, and nothing else about it.
pub fn fingerprint(secret: &Secret, salt: &str) -> String {
    let mut out = [0; 16];
    let text = secret.expose().as_bytes();
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, ROUNDS, salt.as_bytes(), text, &mut out);
    hex(&out)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// Whether something accepts connections there before the deadline.
pub async fn answers(address: SocketAddr, deadline: Duration) -> bool {
    matches!(tokio::time::timeout(deadline, TcpStream::connect(address)).await, Ok(Ok(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_answers_while_somebody_listens() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let open = listener.local_addr().unwrap();
        assert!(answers(open, Duration::from_secs(10)).await);
        drop(listener);
        assert!(!answers(open, Duration::from_secs(10)).await);
    }

    #[test]
    fn a_fingerprint_is_of_one_value_and_one_plan() {
        let (one, other) = (salt(), salt());
        assert_ne!(one, other);
        let print = |text: &str, salt: &str| fingerprint(&text.to_owned().into(), salt);
        assert_eq!(print("hunter2", &one), print("hunter2", &one));
        assert_ne!(print("hunter2", &one), print("hunter3", &one));
        assert_ne!(print("hunter2", &one), print("hunter2", &other));
        assert!(!print("hunter2", &one).contains("hunter2"));
    }

    #[test]
    fn a_digest_is_that_of_the_standard() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(World::of(b"abc").config_sha256, expected);
    }
}
