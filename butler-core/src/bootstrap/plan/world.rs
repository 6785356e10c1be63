//! What was seen of the world when a plan was made.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use ring::digest;
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;

/// What was seen. A fact that nobody looked at is none, and is not compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct World {
    /// SHA-256 of the configuration's text.
    pub config_sha256: String,
    /// Machines at the provider that have a name of the plan.
    pub machines: Option<Vec<String>>,
    /// Whether something answers at the address that control planes will share.
    pub vip_answers: Option<bool>,
    /// Whether a temporary cluster of that name exists.
    pub temporary_cluster: Option<bool>,
    /// Programs that the run uses, with their versions.
    pub programs: BTreeMap<String, String>,
}

impl World {
    /// A world of which nothing was seen but the configuration.
    pub fn of(config: &[u8]) -> Self {
        Self { config_sha256: sha256(config), ..Self::default() }
    }
}

/// SHA-256 in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let digest = digest::digest(&digest::SHA256, bytes);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
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
    fn a_digest_is_that_of_the_standard() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(World::of(b"abc").config_sha256, expected);
    }
}
