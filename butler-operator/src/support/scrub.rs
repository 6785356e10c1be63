//! Takes secrets out of what leaves this computer.
//!
//! Two ways, because each alone misses something. What is *known* to be secret here (files, variables, Secrets of the
//! cluster) is taken out wherever it stands and in whatever form: as it is, in JSON, in an address, in base64, also
//! as a part of something that was encoded whole. And what *looks* like a secret goes too, known or not: values of
//! keys with such names, private keys, tokens, names and passwords in addresses.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE},
};
use serde_json::{Map, Value, json};

/// Stands where something was taken out.
pub(super) const GONE: &str = "[removed]";
/// Shorter texts are words that stand everywhere.
const SHORTEST: usize = 5;
/// Larger ones are whole files, whose parts are learnt one by one.
const LARGEST: usize = 64 << 10;
/// The least of a text in base64 that says which text it is.
const SHORTEST_CODE: usize = 8;
/// The annotation in which kubectl keeps the whole object.
pub(super) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Names that hold secrets, without what separates words.
const SECRET_NAMES: [&str; 18] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "clientkey",
    "credential",
    "userdata",
    "certificatekey",
    "encryptionkey",
    "authorization",
    "bearer",
    "cookie",
    "jwt",
    "keydata",
];
/// Ends of names that only say where a secret is, or what it is about.
const HARMLESS_ENDS: [&str; 14] = [
    "name",
    "names",
    "ref",
    "refs",
    "namespace",
    "type",
    "file",
    "path",
    "ttl",
    "seconds",
    "policy",
    "count",
    "version",
    "keyname",
];

/// What is known to be secret, and how to find it.
#[derive(Debug, Default)]
pub(super) struct Known {
    texts: BTreeSet<String>,
}

impl Known {
    /// Learns a secret.
    pub(super) fn add(&mut self, secret: &str) {
        let secret = secret.trim();
        let is_word = matches!(secret, "false" | "default" | "admin" | "Opaque");
        if secret.len() < SHORTEST || secret.len() > LARGEST || is_word {
            return;
        }
        for form in forms(secret) {
            self.texts.insert(form);
        }
    }

    /// Learns what a document has under names of secrets; with `all` every text in it.
    pub(super) fn add_document(&mut self, value: &Value, all: bool) {
        match value {
            Value::String(text) if all => self.add(text),
            Value::Object(map) => {
                for (key, value) in map {
                    self.add_document(value, all || is_secret_name(key) || key == "key");
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.add_document(value, all)),
            _ => {}
        }
    }

    /// Ready to search.
    pub(super) fn scrubber(&self) -> Scrubber {
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&self.texts);
        // Patterns that are too many to search for at once would be millions.
        Scrubber { search: search.ok().filter(|_| !self.texts.is_empty()) }
    }
}

/// The forms in which a text may stand somewhere.
fn forms(secret: &str) -> Vec<String> {
    let mut all = vec![secret.to_owned()];
    let quoted = serde_json::to_string(secret).unwrap_or_default();
    all.push(quoted.trim_matches('"').to_owned());
    all.push(secret.bytes().map(escaped).collect());
    // Encoded as a part of something longer, a text has one of three beginnings.
    for ahead in 0..3 {
        let bytes = [&[0_u8; 3][..ahead], secret.as_bytes()].concat();
        for engine in [&STANDARD, &URL_SAFE] {
            let code = engine.encode(&bytes);
            let begin = (ahead * 8).div_ceil(6);
            let end = bytes.len() * 8 / 6;
            let core = code.get(begin..end).unwrap_or_default();
            if core.len() >= SHORTEST_CODE {
                all.push(core.to_owned());
            }
        }
    }
    all
}

/// A byte as addresses have it.
fn escaped(byte: u8) -> String {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    }
}

/// True for the name of something that is a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let bare: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
    SECRET_NAMES.iter().any(|word| bare.contains(word))
        && !HARMLESS_ENDS.iter().any(|end| bare.ends_with(end))
}

/// Takes secrets out.
#[derive(Debug)]
pub(super) struct Scrubber {
    search: Option<AhoCorasick>,
}

impl Scrubber {
    /// A text, line by line or whole.
    pub(super) fn text(&self, text: &str) -> String {
        let known = self.known(text);
        let keys = without_private_keys(&known);
        let lines: Vec<String> = keys.split('\n').map(line).collect();
        lines.join("\n")
    }

    /// A document: besides what stands in its texts, what its structure says is secret.
    pub(super) fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(values) => values.iter().map(|value| self.value(value)).collect(),
            Value::Object(map) => Value::Object(self.object(map)),
            other => other.clone(),
        }
    }

    fn object(&self, map: &Map<String, Value>) -> Map<String, Value> {
        let is_secret = map.get("kind").is_some_and(|kind| kind == "Secret");
        // A variable of a container, a header: its name is a value.
        let names_secret = map.get("name").and_then(Value::as_str).is_some_and(is_secret_name);
        let mut kept = Map::new();
        for (key, value) in map {
            let new = match (key.as_str(), value) {
                ("managedFields" | LAST_APPLIED, _) => continue,
                ("data" | "stringData", Value::Object(data)) if is_secret => {
                    data.keys().map(|key| (key.clone(), json!(GONE))).collect::<Map<_, _>>().into()
                }
                ("value", Value::String(_)) if names_secret => json!(GONE),
                (key, Value::String(text)) if is_secret_name(key) && !text.is_empty() => json!(GONE),
                (_, value) => self.value(value),
            };
            kept.insert(self.known(key), new);
        }
        kept
    }

    fn known(&self, text: &str) -> String {
        let Some(search) = &self.search else { return text.to_owned() };
        let mut out = String::with_capacity(text.len());
        search.replace_all_with(text, &mut out, |_, _, out| {
            out.push_str(GONE);
            true
        });
        out
    }
}

/// Private keys in PEM stand on many lines.
fn without_private_keys(text: &str) -> String {
    const BEGIN: &str = "PRIVATE KEY-----";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        out += &rest[..at + BEGIN.len()];
        out += GONE;
        rest = &rest[at + BEGIN.len()..];
        rest = match rest.find("-----END") {
            Some(end) => rest[end..].split_once('\n').map_or("", |(_, rest)| rest),
            // Cut off in the middle: what follows may be anything of it.
            None => "",
        };
        out.push('\n');
    }
    out + rest
}

/// One line without what looks like a secret.
fn line(line: &str) -> String {
    let line = without_users(line);
    let line = without_tokens(&line);
    without_values(&line)
}

/// `scheme://name:password@host` without name and password.
fn without_users(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out += before;
        let end = after.find(|c: char| c.is_whitespace() || "\"'<>`".contains(c)).unwrap_or(after.len());
        let authority = after[..end].find(['/', '?', '#']).unwrap_or(end);
        // A password may have a slash in it that nobody escaped.
        let user = after[..authority]
            .rfind('@')
            .or_else(|| after[..end].rfind('@').filter(|_| after[..authority].contains(':')));
        rest = match user {
            Some(user) => {
                out += GONE;
                &after[user..]
            }
            None => after,
        };
    }
    out + rest
}

/// Tokens that are known by their look, and what follows words that announce one.
fn without_tokens(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut announced = false;
    for word in line.split_inclusive(|c: char| c.is_whitespace() || "\"',;()[]{}<>=".contains(c)) {
        let bare = word.trim_end_matches(|c: char| c.is_whitespace() || "\"',;()[]{}<>=".contains(c));
        let tail = &word[bare.len()..];
        let is_jwt = bare.starts_with("eyJ") && bare.len() > 20 && bare.matches('.').count() == 2;
        let is_identity = bare.starts_with("AGE-SECRET-KEY-");
        if is_jwt || is_identity || (announced && bare.len() >= SHORTEST) {
            out += GONE;
        } else {
            out += bare;
        }
        out += tail;
        let lower = bare.to_ascii_lowercase();
        announced = match lower.as_str() {
            "" => announced,
            word => matches!(word, "bearer" | "basic"),
        };
    }
    out
}

/// `password=…`, `"token": "…"`, `--secret …`: the value after a name that says so.
fn without_values(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find([':', '=']) {
        let (before, after) = rest.split_at(at + 1);
        out += before;
        let name: String = {
            let name = before[..at].trim_end_matches(['"', '\'', '\\', ' ']);
            name.chars().rev().take_while(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).collect()
        };
        let name: String = name.chars().rev().collect();
        rest = after;
        if !is_secret_name(&name) {
            continue;
        }
        let value = after.trim_start_matches([' ', '\\', '"', '\'']);
        let skipped = &after[..after.len() - value.len()];
        let quoted = skipped.contains(['"', '\'']);
        let end = value.find(|c: char| match quoted {
            true => c == '"' || c == '\'',
            false => c.is_whitespace() || ",;&)]}\"'".contains(c),
        });
        let end = end.unwrap_or(value.len());
        // A structure is looked at name by name.
        if value.starts_with(['{', '[']) && !value.starts_with(GONE) || end == 0 {
            continue;
        }
        out += skipped;
        out += GONE;
        rest = &value[end..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn scrubber(secrets: &[&str]) -> Scrubber {
        let mut known = Known::default();
        secrets.iter().for_each(|secret| known.add(secret));
        known.scrubber()
    }

    #[test]
    fn what_is_known_is_found_in_every_form_and_inside_of_what_was_encoded() {
        let secret = "planted/\"quoted\"+value-ÿ";
        let scrubber = scrubber(&[secret]);
        let json = serde_json::to_string(&json!({ "a": secret })).unwrap();
        let address: String = secret.bytes().map(escaped).collect();
        let mut texts = vec![format!("it is {secret}."), json, format!("https://x/?q={address}")];
        for ahead in ["", "a", "ab", "abc"] {
            let text = format!("{ahead}{secret} and more");
            texts.push(STANDARD.encode(&text));
            texts.push(URL_SAFE.encode(&text));
        }
        for text in texts {
            let clean = scrubber.text(&text);
            assert!(clean.contains(GONE), "{text}: {clean}");
            assert!(
                !clean.contains("planted") && !clean.contains(&STANDARD.encode("lanted")[1..7]),
                "{clean}"
            );
        }
        assert_eq!(scrubber.text("nothing here"), "nothing here");
    }

    #[rstest]
    #[case("proxy http://user:hush@proxy:3128/x is used", "proxy http://[removed]@proxy:3128/x is used")]
    #[case("http://user:h/ush@proxy", "http://[removed]@proxy")]
    #[case("see https://example.org/@you", "see https://example.org/@you")]
    #[case("Authorization: Bearer abcdefgh", "Authorization: [removed] [removed]")]
    #[case("key AGE-SECRET-KEY-1ABC", "key [removed]")]
    #[case("t eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln end", "t [removed] end")]
    #[case("password=hush user=me", "password=[removed] user=me")]
    #[case(r#"{"apiToken":"hu sh","name":"x"}"#, r#"{"apiToken":"[removed]","name":"x"}"#)]
    #[case(r#"msg="client-key-data: abcd\nnext""#, r#"msg="client-key-data: [removed]""#)]
    #[case("secretName: mgmt-credentials", "secretName: mgmt-credentials")]
    #[case(r#"secretRef: {"name":"x"}"#, r#"secretRef: {"name":"x"}"#)]
    #[case("12:04:05 phase=Ready", "12:04:05 phase=Ready")]
    #[case("", "")]
    fn what_looks_like_a_secret_is_taken_out_of_lines(#[case] text: &str, #[case] clean: &str) {
        assert_eq!(scrubber(&[]).text(text), clean);
    }

    #[test]
    fn a_private_key_goes_whole_also_when_it_is_cut_off() {
        let key = "a\n-----BEGIN EC PRIVATE KEY-----\nAAAA\nBBBB\n-----END EC PRIVATE KEY-----\nb";
        let clean = scrubber(&[]).text(key);
        assert!(clean.starts_with("a\n-----BEGIN EC PRIVATE KEY-----[removed]\nb"), "{clean}");
        let cut = scrubber(&[]).text("x -----BEGIN PRIVATE KEY-----\nAAAA\nBBBB");
        assert!(!cut.contains("AAAA") && !cut.contains("BBBB"), "{cut}");
    }

    #[test]
    fn an_object_keeps_its_shape_and_loses_what_is_secret() {
        let object = json!({
            "kind": "Secret",
            "metadata": {
                "name": "s",
                "annotations": { LAST_APPLIED: "{\"data\":{\"p\":\"aHVzaA==\"}}", "note": "known-secret" },
                "managedFields": [{}],
            },
            "data": { "password": "aHVzaA==", "user": "bWU=" },
            "spec": {
                "env": [{ "name": "DB_PASSWORD", "value": "hush" }, { "name": "MODE", "value": "fast" }],
                "credentialsRef": { "name": "x" },
                "apiToken": "hush",
                "secretName": "kept",
                "empty": { "token": "" },
            },
        });
        let clean = scrubber(&["known-secret"]).value(&object);
        let wanted = json!({
            "kind": "Secret",
            "metadata": { "name": "s", "annotations": { "note": GONE } },
            "data": { "password": GONE, "user": GONE },
            "spec": {
                "env": [{ "name": "DB_PASSWORD", "value": GONE }, { "name": "MODE", "value": "fast" }],
                "credentialsRef": { "name": "x" },
                "apiToken": GONE,
                "secretName": "kept",
                "empty": { "token": "" },
            },
        });
        assert_eq!(clean, wanted);
    }

    #[test]
    fn a_document_is_learnt_where_it_says_that_it_is_secret() {
        let mut known = Known::default();
        let text = r#"{"users":[{"name":"the-administrator","user":{"client-key-data":"the-key-itself"}}],"key":"another-key"}"#;
        known.add_document(&serde_json::from_str(text).unwrap(), false);
        let scrubber = known.scrubber();
        let clean = scrubber.text("the-administrator the-key-itself another-key");
        assert_eq!(clean, "the-administrator [removed] [removed]");
    }
}
