//! Enumerations of the wire format that a newer Butler may extend.
//!
//! Every enumerated text of the API is made by [`text_enum!`]. The schema lists the values we know, so
//! the API server refuses others; but an object that was accepted by a newer definition still parses
//! here, and a value we do not know is kept and written back as it was, in `Unrecognized`.

macro_rules! text_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $(#[doc = concat!("`", $text, "`")] #[doc = ""] $(#[$variant_doc])* $variant,)+
            /// A value that this version does not know.
            Unrecognized(String),
        }

        impl $name {
            /// Every value of the schema.
            pub const VALUES: &'static [&'static str] = &[$($text),+];

            /// The value on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)+
                    Self::Unrecognized(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)+
                    other => Self::Unrecognized(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)
                    .map(|text| Self::from(&*text))
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": Self::VALUES })
            }
        }
    };
}

pub(super) use text_enum;

#[cfg(test)]
mod tests {
    use crate::api::tenant_cluster::TenantClusterPhase;

    #[test]
    fn a_value_of_a_newer_butler_is_kept_as_it_was_written() {
        let phase: TenantClusterPhase = serde_json::from_str(r#""Hibernating""#).unwrap();
        assert_eq!(phase, TenantClusterPhase::Unrecognized("Hibernating".into()));
        assert_eq!(serde_json::to_string(&phase).unwrap(), r#""Hibernating""#);
    }

    #[test]
    fn known_values_round_trip() {
        for text in TenantClusterPhase::VALUES {
            let phase = TenantClusterPhase::from(*text);
            assert!(!matches!(phase, TenantClusterPhase::Unrecognized(_)), "{text}");
            assert_eq!(phase.to_string(), *text);
        }
    }
}
