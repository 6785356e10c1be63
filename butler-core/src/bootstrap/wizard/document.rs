//! From answers to the configuration: the same answers, the same bytes.

use std::{fmt::Write, net::Ipv4Addr};

use ipnet::{Ipv4Net, Ipv4Subnets};

use super::{
    Answers, Show,
    pages::PAGES,
    question::{Ask, Question},
};
use crate::bootstrap::config::{FactKind, sections};

/// Why a part of a pool is kept back.
const RESERVED: &str = "management cluster infrastructure";

/// What stands at a key.
#[derive(Debug)]
enum Node {
    Line(String),
    Block(Vec<(String, Node)>),
    /// Items of a list, each a line of a flow mapping.
    Items(Vec<String>),
}

/// The configuration that answers come to.
pub fn document(answers: &Answers) -> String {
    let mut root = Vec::new();
    for question in PAGES.iter().flat_map(|page| page.questions) {
        if question.shown(answers) == Show::Absent {
            continue;
        }
        if let Some(node) = node(question, answers) {
            let path: Vec<&str> = question.key.split('.').collect();
            put(&mut root, &path, node);
        }
    }
    let mut text =
        "# A management cluster, as it was asked for by the wizard of butleradm. It needs nothing else:\n\
                    #   butleradm bootstrap --config FILE\n"
            .to_owned();
    for (name, doc) in sections() {
        let Some((_, node)) = root.iter().find(|(key, _)| key == name) else { continue };
        if matches!(node, Node::Line(_)) {
            write(&mut text, name, node, 0);
            continue;
        }
        let _ = writeln!(text, "\n# {doc}");
        write(&mut text, name, node, 0);
    }
    text
}

/// What an answer is in the configuration; none when there is nothing to write.
fn node(question: &Question, answers: &Answers) -> Option<Node> {
    let kind = question.kind()?;
    let answer = answers.of(question);
    let items = || answer.split(',').map(str::trim).filter(|item| !item.is_empty());
    // An answer of commas alone is none.
    items().next()?;
    Some(match (question.ask, kind) {
        (Ask::Secret, _) => {
            let place = answers.text(&format!("{}.from", question.key));
            Node::Line(format!("{{{place}: {}}}", quoted(&answer)))
        }
        (_, FactKind::Block) => Node::Items(items().flat_map(blocks).map(reserved).collect()),
        (_, FactKind::List) => {
            Node::Line(format!("[{}]", items().map(quoted).collect::<Vec<_>>().join(", ")))
        }
        (_, FactKind::Number) if answer.parse::<i64>().is_ok() => Node::Line(answer),
        (_, FactKind::Flag) if matches!(answer.as_str(), "true" | "false") => Node::Line(answer),
        _ => Node::Line(quoted(&answer)),
    })
}

fn put(block: &mut Vec<(String, Node)>, path: &[&str], node: Node) {
    let [name, below @ ..] = path else { return };
    let at = block.iter().position(|(key, _)| key == name);
    let at = at.unwrap_or_else(|| {
        block.push(((*name).to_owned(), Node::Block(Vec::new())));
        block.len() - 1
    });
    match (&mut block[at].1, below) {
        (slot, []) => *slot = node,
        (Node::Block(inner), below) => put(inner, below, node),
        _ => {}
    }
}

fn write(text: &mut String, name: &str, node: &Node, depth: usize) {
    let indent = "  ".repeat(depth);
    match node {
        Node::Line(value) => {
            let _ = writeln!(text, "{indent}{name}: {value}");
        }
        Node::Items(items) => {
            let _ = writeln!(text, "{indent}{name}:");
            for item in items {
                let _ = writeln!(text, "{indent}  - {item}");
            }
        }
        Node::Block(inner) => {
            let _ = writeln!(text, "{indent}{name}:");
            for (name, node) in inner {
                write(text, name, node, depth + 1);
            }
        }
    }
}

/// A part of a pool as the networks it is made of; what is neither network nor range stays as it is, so
/// that the checker can say so.
fn blocks(part: &str) -> Vec<String> {
    let range = part.split_once('-').and_then(|(first, last)| {
        let ends: (Ipv4Addr, Ipv4Addr) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        Some(ends).filter(|(first, last)| first <= last)
    });
    match range {
        Some((first, last)) => Ipv4Subnets::new(first, last, 0).map(|network| network.to_string()).collect(),
        None => match part.parse::<Ipv4Addr>() {
            Ok(address) => vec![Ipv4Net::from(address).to_string()],
            Err(_) => vec![part.to_owned()],
        },
    }
}

fn reserved(network: String) -> String {
    format!("{{cidr: {}, description: {RESERVED}}}", quoted(&network))
}

/// A text as YAML reads it back: plain where nobody can take it for anything else.
fn quoted(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || "/~".contains(c))
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/~".contains(&byte));
    let address = !text.is_empty()
        && text.contains('.')
        && text.matches('.').count() > 1
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"./".contains(&byte));
    let word = ["true", "false", "yes", "no", "on", "off", "y", "n", "null", "~"];
    if (plain && !word.contains(&text.to_ascii_lowercase().as_str())) || address {
        return text.to_owned();
    }
    // A JSON string is a YAML string.
    serde_json::Value::from(text).to_string()
}
