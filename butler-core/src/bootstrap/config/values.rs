//! What the first pass accepts: values of the right type, by the names of the table, with their places.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
    rc::Rc,
};

use ipnet::Ipv4Net;

use super::{SecretSource, format, tree::Span};

/// A value and its place.
#[derive(Debug)]
pub(super) struct At {
    pub span: Span,
    pub item: Item,
}

/// A value.
#[derive(Debug)]
pub(super) enum Item {
    Text(Rc<str>),
    Integer(i64),
    Flag(bool),
    Secret(SecretSource),
    List(Vec<At>),
    Object(Object),
}

/// A mapping.
#[derive(Debug, Default)]
pub(super) struct Object {
    /// Its own path; empty for the file.
    pub path: String,
    /// Its key, or the beginning of the file.
    pub span: Span,
    pub entries: BTreeMap<&'static str, At>,
    /// Keys that are given, also with a wrong value.
    pub given: BTreeSet<&'static str>,
}

impl Object {
    /// The value at a path such as `network.vip`.
    pub(super) fn get(&self, path: &str) -> Option<&At> {
        match path.split_once('.') {
            None => {
                #[cfg(test)]
                tests::note(&self.path, path);
                self.entries.get(path)
            }
            Some((name, rest)) => match &self.entries.get(name)?.item {
                Item::Object(object) => object.get(rest),
                _ => None,
            },
        }
    }

    /// Whether a value is given, right or wrong: what is wrong has been told already.
    pub(super) fn has(&self, path: &str) -> bool {
        match path.split_once('.') {
            None => self.given.contains(path),
            Some((name, rest)) => match self.entries.get(name) {
                Some(At { item: Item::Object(object), .. }) => object.has(rest),
                _ => self.given.contains(name),
            },
        }
    }

    /// The place of a value; that of its nearest mapping when it is not there.
    pub(super) fn span(&self, path: &str) -> Span {
        match path.split_once('.') {
            None => self.entries.get(path).map_or(self.span, |at| at.span),
            Some((name, rest)) => match self.entries.get(name) {
                Some(At { item: Item::Object(object), .. }) => object.span(rest),
                Some(at) => at.span,
                None => self.span,
            },
        }
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        match &self.get(path)?.item {
            Item::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn owned(&self, path: &str) -> Option<String> {
        self.text(path).map(str::to_owned)
    }

    pub(super) fn integer(&self, path: &str) -> Option<i64> {
        match self.get(path)?.item {
            Item::Integer(number) => Some(number),
            _ => None,
        }
    }

    /// A number that the table keeps within 32 bits.
    pub(super) fn int32(&self, path: &str) -> Option<i32> {
        self.integer(path).and_then(|number| i32::try_from(number).ok())
    }

    /// A number; 0 is as good as none.
    pub(super) fn positive(&self, path: &str) -> Option<i32> {
        self.int32(path).filter(|number| *number > 0)
    }

    pub(super) fn flag(&self, path: &str) -> Option<bool> {
        match self.get(path)?.item {
            Item::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    pub(super) fn secret(&self, path: &str) -> Option<&SecretSource> {
        match &self.get(path)?.item {
            Item::Secret(source) => Some(source),
            _ => None,
        }
    }

    pub(super) fn object(&self, path: &str) -> Option<&Self> {
        match &self.get(path)?.item {
            Item::Object(object) => Some(object),
            _ => None,
        }
    }

    pub(super) fn list(&self, path: &str) -> &[At] {
        match self.get(path).map(|at| &at.item) {
            Some(Item::List(list)) => list,
            _ => &[],
        }
    }

    /// The texts of a list.
    pub(super) fn texts(&self, path: &str) -> Vec<String> {
        let text = |at: &At| match &at.item {
            Item::Text(text) => Some(text.to_string()),
            _ => None,
        };
        self.list(path).iter().filter_map(text).collect()
    }

    /// The mappings of a list.
    pub(super) fn objects(&self, path: &str) -> impl Iterator<Item = &Self> {
        self.list(path).iter().filter_map(|at| match &at.item {
            Item::Object(object) => Some(object),
            _ => None,
        })
    }

    pub(super) fn ipv4(&self, path: &str) -> Option<Ipv4Addr> {
        self.text(path)?.parse().ok()
    }

    pub(super) fn cidr(&self, path: &str) -> Option<Ipv4Net> {
        format::cidr(self.text(path)?).ok()
    }

    /// Every secret in it, with its path.
    pub(super) fn secrets(&self, found: &mut Vec<(String, Span, SecretSource)>) {
        for (name, at) in &self.entries {
            match &at.item {
                Item::Secret(source) => {
                    found.push((format!("{}.{name}", self.path), at.span, source.clone()));
                }
                Item::Object(object) => object.secrets(found),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::{cell::RefCell, collections::BTreeSet};

    thread_local! {
        static READ: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
    }

    /// Remembers that somebody asked for a key.
    pub(super) fn note(path: &str, name: &str) {
        // Which item of a list it was does not matter.
        let mut full: String =
            path.split('[').map(|part| part.split_once(']').map_or(part, |(_, rest)| rest)).collect();
        if !full.is_empty() {
            full.push('.');
        }
        READ.with_borrow_mut(|read| read.insert(full + name));
    }

    /// Every key that was asked for on this thread.
    pub(in super::super) fn read() -> BTreeSet<String> {
        READ.with_borrow(Clone::clone)
    }
}
