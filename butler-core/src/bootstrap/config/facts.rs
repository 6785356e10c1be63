//! What the table of keys says of one of them, for whoever asks a person for its value.

use super::keys::{Key, ROOT, Shape};

/// What is known of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What it is for.
    pub doc: &'static str,
    /// What stands there.
    pub kind: FactKind,
    /// What counts when it is not given.
    pub default: Option<String>,
}

/// What stands at a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactKind {
    /// A text, also a path or the name of an account.
    Text,
    /// One of these.
    Choice(&'static [&'static str]),
    /// A whole number.
    Number,
    /// `true` or `false`.
    Flag,
    /// A secret.
    Secret,
    /// A list of texts.
    List,
    /// Keys of its own.
    Block,
}

/// What is known of the key with this full name, such as `network.vip`.
pub fn facts(path: &str) -> Option<Facts> {
    let mut keys = ROOT;
    let mut found: Option<&Key> = None;
    for name in path.split('.') {
        let key = keys.iter().find(|key| key.name == name)?;
        keys = match key.shape {
            Shape::Object(keys) | Shape::List(&Shape::Object(keys)) => keys,
            _ => &[],
        };
        found = Some(key);
    }
    let key = found?;
    let kind = match key.shape {
        Shape::Text(_) | Shape::Identity | Shape::File => FactKind::Text,
        Shape::Choice(values) => FactKind::Choice(values),
        Shape::Integer(..) => FactKind::Number,
        Shape::Flag => FactKind::Flag,
        Shape::Secret => FactKind::Secret,
        Shape::List(Shape::Object(_)) | Shape::Object(_) => FactKind::Block,
        Shape::List(_) => FactKind::List,
        Shape::Refused(_) => return None,
    };
    let default = key.default.map(|json| json.trim_matches('"').to_owned());
    Some(Facts { doc: key.doc, kind, default })
}

/// The keys at the top, in the order of the documentation, with what each is for.
pub fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROOT.iter().map(|key| (key.name, key.doc))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_their_full_name() {
        let pods = facts("network.podCIDR").unwrap();
        assert_eq!((pods.kind, pods.default.as_deref()), (FactKind::Text, Some("10.244.0.0/16")));
        assert_eq!(facts("addons.certManager.enabled").unwrap().kind, FactKind::Flag);
        assert_eq!(facts("providerConfig.nutanix.password").unwrap().kind, FactKind::Secret);
        assert_eq!(facts("networkPool.reserved").unwrap().kind, FactKind::Block);
        assert_eq!(facts("talos.timeServers").unwrap().kind, FactKind::List);
        for path in ["", "nothing", "network.nothing", "network.vip.more", "providerConfig.aws.ami"] {
            assert_eq!(facts(path), None, "{path}");
        }
        assert_eq!(sections().next().unwrap().0, "provider");
    }
}
