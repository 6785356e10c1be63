//! YAML text as a tree in which every node knows where it stands.
//!
//! What cannot be a configuration is refused here: too large, too deep, too many aliases, more than one
//! document. A syntax error keeps what stands before it, so that its problems can be told as well.

use std::{collections::HashMap, rc::Rc};

use serde_saphyr::granit_parser::{self as yaml, ErrorKind, Event, Parser, ScalarStyle, ScanError};

use super::problem::Draft;

/// Largest file that is read.
pub const MAX_BYTES: usize = 1 << 20;
/// Most values in a file, each alias counted as what it stands for.
const MAX_NODES: usize = 20_000;
/// Deepest nesting.
const MAX_DEPTH: usize = 48;

/// A piece of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    /// First byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// Line of the first byte, from 1.
    pub line: usize,
    /// Column of the first byte, in characters from 1.
    pub column: usize,
}

impl Span {
    /// The very beginning of a file.
    pub(super) const START: Self = Self { start: 0, end: 0, line: 1, column: 1 };

    fn of(span: &yaml::Span) -> Self {
        let start = span.start.byte_offset().unwrap_or_default();
        Self {
            start,
            end: span.end.byte_offset().unwrap_or_default().max(start),
            line: span.start.line().max(1),
            column: span.start.col() + 1,
        }
    }
}

/// One value of the text.
#[derive(Debug)]
pub(super) struct Node {
    pub span: Span,
    pub value: Value,
    /// How many values it is, itself included.
    weight: usize,
}

/// What a node is.
#[derive(Debug)]
pub(super) enum Value {
    /// `~`, `null` or nothing at all.
    Null,
    /// A scalar; plain when it stands without quotes.
    Text { text: Rc<str>, plain: bool },
    /// A list.
    List(Vec<Rc<Node>>),
    /// A mapping, with what it merges from others.
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub key: Rc<str>,
    pub span: Span,
    pub value: Rc<Node>,
}

impl Node {
    fn new(span: Span, value: Value) -> Self {
        let below = match &value {
            Value::Null | Value::Text { .. } => 0,
            Value::List(items) => total(items.iter().map(|item| item.weight)),
            Value::Map(entries) => total(entries.iter().map(|entry| entry.value.weight)),
        };
        Self { span, value, weight: below.saturating_add(1) }
    }

    /// What it is, in the words of a message.
    pub(super) fn describe(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
            Value::Text { plain: false, .. } => "text",
            Value::Text { text, .. } => match &**text {
                "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => "true or false",
                text if text.parse::<f64>().is_ok() => "a number",
                _ => "text",
            },
        }
    }

    /// Hands over the places of all scalars in it.
    pub(super) fn scalars(&self, found: &mut impl FnMut(Span)) {
        match &self.value {
            Value::Null => {}
            Value::Text { .. } => found(self.span),
            Value::List(items) => items.iter().for_each(|item| item.scalars(found)),
            Value::Map(entries) => entries.iter().for_each(|entry| entry.value.scalars(found)),
        }
    }
}

fn total(weights: impl Iterator<Item = usize>) -> usize {
    weights.fold(0, usize::saturating_add)
}

/// What became of a text.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// The document, as far as it could be read.
    pub root: Option<Rc<Node>>,
    /// What is wrong with it as YAML. The document may be cut off where there is anything.
    pub problems: Vec<Draft>,
    /// Line of the last piece that was understood.
    pub last_line: usize,
}

/// A collection that is not complete yet.
enum Open {
    List { span: Span, anchor: usize, items: Vec<Rc<Node>> },
    Map { span: Span, anchor: usize, entries: Vec<Entry>, key: Option<Rc<Node>> },
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Rc<Node>>,
    anchors: HashMap<usize, Rc<Node>>,
    problems: Vec<Draft>,
    documents: usize,
    placed: usize,
    last_line: usize,
}

/// Reads one document.
pub(super) fn parse(text: &str) -> Parsed {
    if text.len() > MAX_BYTES {
        let message = format!("the file is larger than {} KiB", MAX_BYTES / 1024);
        let draft = Draft::error("", Span::START, message).suggest("a configuration has a few hundred lines");
        return Parsed { problems: vec![draft], ..Parsed::default() };
    }
    let options = yaml::options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut parser = Parser::new_from_str_with_options(text, options);
    let mut builder = Builder::default();
    while let Some(next) = parser.next_event() {
        let done = match next {
            Ok((event, span)) => {
                builder.last_line = builder.last_line.max(span.start.line());
                builder.event(event, Span::of(&span))
            }
            Err(error) => {
                builder.problems.extend(syntax(text, &error));
                false
            }
        };
        if !done {
            break;
        }
    }
    builder.finish()
}

impl Builder {
    /// Takes one event; false when there is no point in going on.
    fn event(&mut self, event: Event<'_>, span: Span) -> bool {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let message = "the file holds more than one document";
                    self.problems
                        .push(Draft::error("", span, message).suggest("remove `---` and what follows"));
                    return false;
                }
                true
            }
            Event::Scalar(text, style, anchor, _) => {
                let plain = style == ScalarStyle::Plain;
                let null = plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let value =
                    if null { Value::Null } else { Value::Text { text: text.as_ref().into(), plain } };
                self.add(Node::new(span, value), anchor)
            }
            Event::Alias(anchor) => match self.anchors.get(&anchor).cloned() {
                Some(node) => self.place(node),
                None => self.refuse(Draft::error("", span, "the alias stands inside of what it names")),
            },
            Event::UnresolvedAlias(name) => {
                let message = format!("nothing before this line is called `&{}`", brief(&name));
                self.refuse(Draft::error("", span, message))
            }
            Event::SequenceStart(_, anchor, _) => self.open(Open::List { span, anchor, items: Vec::new() }),
            Event::MappingStart(_, anchor, _) => {
                self.open(Open::Map { span, anchor, entries: Vec::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            _ => true,
        }
    }

    fn refuse(&mut self, draft: Draft) -> bool {
        self.problems.push(draft);
        false
    }

    fn open(&mut self, collection: Open) -> bool {
        let (Open::List { span, .. } | Open::Map { span, .. }) = collection;
        if self.open.len() >= MAX_DEPTH {
            return self.refuse(too_deep(span));
        }
        self.open.push(collection);
        true
    }

    fn close(&mut self) -> bool {
        match self.open.pop() {
            Some(Open::List { span, anchor, items }) => self.add(Node::new(span, Value::List(items)), anchor),
            Some(Open::Map { span, anchor, entries, .. }) => {
                let entries = self.merge(entries);
                self.add(Node::new(span, Value::Map(entries)), anchor)
            }
            None => true,
        }
    }

    fn add(&mut self, node: Node, anchor: usize) -> bool {
        let node = Rc::new(node);
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        self.place(node)
    }

    /// Puts a node where the document is at.
    fn place(&mut self, node: Rc<Node>) -> bool {
        self.placed += 1;
        if node.weight > MAX_NODES || self.placed > MAX_NODES {
            let message = format!("the file holds more than {MAX_NODES} values, aliases included");
            return self.refuse(Draft::error("", node.span, message));
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, key, .. }) => match key.take() {
                None => *key = Some(node),
                Some(name) => {
                    let text = match &name.value {
                        Value::Text { text, .. } => Rc::clone(text),
                        Value::Null => "~".into(),
                        Value::List(_) | Value::Map(_) => {
                            let message = format!("a key must be a word, not {}", name.describe());
                            self.problems.push(Draft::error("", name.span, message));
                            return true;
                        }
                    };
                    entries.push(Entry { key: text, span: name.span, value: node });
                }
            },
        }
        true
    }

    /// Replaces `<<` by what it names; what a mapping says itself wins.
    fn merge(&mut self, entries: Vec<Entry>) -> Vec<Entry> {
        if !entries.iter().any(|entry| &*entry.key == "<<") {
            return entries;
        }
        let (merged, mut own): (Vec<Entry>, Vec<Entry>) =
            entries.into_iter().partition(|entry| &*entry.key == "<<");
        let mut known: std::collections::HashSet<String> =
            own.iter().map(|entry| entry.key.to_lowercase()).collect();
        for entry in merged {
            let sources = match &entry.value.value {
                Value::List(items) => items.clone(),
                _ => vec![Rc::clone(&entry.value)],
            };
            for source in sources {
                let Value::Map(inherited) = &source.value else {
                    let message = format!("`<<` takes a mapping, not {}", source.describe());
                    self.problems.push(Draft::error("", entry.span, message));
                    continue;
                };
                for inherited in inherited {
                    if known.insert(inherited.key.to_lowercase()) {
                        own.push(inherited.clone());
                    }
                }
            }
        }
        own
    }

    fn finish(mut self) -> Parsed {
        // After a syntax error collections are still open: what they hold so far is kept.
        while !self.open.is_empty() {
            if !self.close() {
                break;
            }
        }
        Parsed { root: self.root, problems: self.problems, last_line: self.last_line }
    }
}

fn too_deep(span: Span) -> Draft {
    Draft::error("", span, format!("the file is nested more than {MAX_DEPTH} deep"))
}

/// What a syntax error is, in our words where the mistake is a common one.
fn syntax(text: &str, error: &ScanError) -> Vec<Draft> {
    let marker = error.marker();
    let start = marker.byte_offset().unwrap_or(text.len()).min(text.len());
    let span = Span { start, end: start, line: marker.line().max(1), column: marker.col() + 1 };
    let tabs = tabs(text);
    // Elsewhere a tab may be part of a text.
    if tabs.iter().any(|tab| tab.line().abs_diff(span.line) <= 1) {
        return tabs;
    }
    let (message, advice) = match error.kind() {
        ErrorKind::RecursionLimitExceeded => return vec![too_deep(span)],
        ErrorKind::UnclosedQuotedScalar => {
            ("a quote is opened and never closed".to_owned(), "close the quote")
        }
        ErrorKind::InvalidQuotedScalarIndent => (
            "a quote is opened above and never closed".to_owned(),
            "close the quote, or indent the text in it",
        ),
        ErrorKind::UnclosedFlowCollection { open } => {
            (format!("`{open}` is opened and never closed"), "close the bracket")
        }
        ErrorKind::InvalidIndentation | ErrorKind::ExpectedBlockMappingKey => {
            ("the line is indented unlike the lines before it".to_owned(), "align it with its neighbours")
        }
        ErrorKind::MappingValueNotAllowed => (
            "a second `:` stands where no key can be".to_owned(),
            "indent the line under its key, or put quotes around the value",
        ),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            ("a key stands here without a `:` after it".to_owned(), "write `key: value`")
        }
        ErrorKind::UnexpectedCharacter { character } => (
            format!("a value cannot begin with `{}`", character.escape_default()),
            "put quotes around the value",
        ),
        kind => (format!("this is not YAML: {kind}"), ""),
    };
    let draft = Draft::error("", span, message).syntax();
    vec![if advice.is_empty() { draft } else { draft.suggest(advice) }]
}

/// Every line that is indented with a tab.
fn tabs(text: &str) -> Vec<Draft> {
    let mut found = Vec::new();
    let mut start = 0;
    for (index, line) in text.split('\n').enumerate() {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        if let Some(tab) = line[..indent].find('\t') {
            let at = start + tab;
            let span = Span { start: at, end: at + 1, line: index + 1, column: tab + 1 };
            let draft = Draft::error("", span, "the line is indented with a tab").syntax();
            found.push(draft.suggest("indent with spaces"));
        }
        start += line.len() + 1;
    }
    found
}

/// A word from the file, short enough for a message.
pub(super) fn brief(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
