//! A text that must not be seen: it is wiped from memory when dropped, and neither `Debug` nor an
//! error message can show it. It serialises in clear, because files and wires need the real value.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A secret text.
#[derive(Clone, Default)]
pub struct Secret(SecretString);

impl Secret {
    /// The text itself. Call it where the value leaves for a file or a wire, nowhere else.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// True when there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.expose().is_empty()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "(empty)" } else { "(hidden)" })
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.expose())
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_the_text_and_serde_keeps_it() {
        let secret = Secret::from("hunter2");
        assert_eq!(format!("{secret:?} {:?}", Secret::default()), "(hidden) (empty)");
        let json = serde_json::to_string(&secret).unwrap();
        assert_eq!(json, r#""hunter2""#);
        assert_eq!(serde_json::from_str::<Secret>(&json).unwrap(), secret);
    }
}
