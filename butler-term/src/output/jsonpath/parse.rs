//! Reading a template. Positions in errors are characters, counted from 1.

use serde_json::Value;

use super::{JsonPathError, Operator, Part, Slice, Step};

/// How deep ranges and filters may be nested; far beyond any use, and safe for the stack.
const MAX_DEPTH: usize = 32;

type Parsed<T> = Result<T, JsonPathError>;

pub(super) fn template(text: &str) -> Parsed<Vec<Part>> {
    let relaxed;
    let (text, shift) = if text.contains('{') {
        (text, 0)
    } else {
        let dot = if text.starts_with(['.', '[', '$', '@']) { "" } else { "." };
        relaxed = format!("{{{dot}{text}}}");
        (relaxed.as_str(), 1 + dot.len())
    };
    let mut parser = Parser { chars: text.chars().collect(), at: 0, shift, depth: 0 };
    parser.parts(None)
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    /// Characters put in front of what the person wrote.
    shift: usize,
    depth: usize,
}

impl Parser {
    /// Text and actions: of the whole template, or of the range that starts at `range` up to its `{end}`.
    fn parts(&mut self, range: Option<usize>) -> Parsed<Vec<Part>> {
        let mut parts = Vec::new();
        while let Some(next) = self.peek() {
            if next != '{' {
                let start = self.at;
                self.skip_while(|c| c != '{');
                parts.push(Part::Text(self.since(start)));
                continue;
            }
            self.at += 1;
            self.skip_spaces();
            let start = self.at;
            if self.take_word("end") {
                if range.is_none() {
                    return Err(self.error_at(start, "`end` without a `range` before it"));
                }
                self.close('}')?;
                return Ok(parts);
            }
            if self.take_word("range") {
                let path = self.steps(false)?;
                self.close('}')?;
                let body = self.nested(start, |parser| parser.parts(Some(start)))?;
                parts.push(Part::Range(path, body));
            } else {
                let path = self.steps(false)?;
                self.close('}')?;
                parts.push(Part::Path(path));
            }
        }
        match range {
            Some(start) => Err(self.error_at(start, "this `range` has no `end`")),
            None => Ok(parts),
        }
    }

    /// The steps of one path, up to something that cannot belong to it.
    fn steps(&mut self, in_filter: bool) -> Parsed<Vec<Step>> {
        let mut steps = Vec::new();
        while let Some(next) = self.peek() {
            let start = self.at;
            match next {
                // Both name the value at hand, which is where every path begins.
                ' ' | '@' | '$' => self.at += 1,
                '.' if self.ahead(1) == Some('.') => {
                    if steps.last() == Some(&Step::Descend) {
                        return Err(self.error_at(start, "`..` twice in a row"));
                    }
                    self.at += 2;
                    steps.push(Step::Descend);
                    if self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_') {
                        steps.push(self.field(in_filter));
                    }
                }
                '.' => {
                    self.at += 1;
                    steps.push(self.field(in_filter));
                }
                '[' => self.brackets(&mut steps)?,
                '"' | '\'' => steps.push(Step::Literal(Value::String(self.quoted()?))),
                '+' | '-' | '0'..='9' => steps.push(Step::Literal(self.number()?)),
                '}' => break,
                ')' | '!' | '<' | '>' | '=' if in_filter => break,
                c if c.is_alphabetic() || c == '_' => {
                    self.skip_while(|c| c.is_alphanumeric() || c == '_');
                    steps.push(Step::Literal(match self.since(start).as_str() {
                        "true" => Value::Bool(true),
                        "false" => Value::Bool(false),
                        word => {
                            return Err(self
                                .error_at(start, format!("unknown word `{word}`; a path begins with `.`")));
                        }
                    }));
                }
                c => return Err(self.error_at(start, format!("unexpected `{c}`"))),
            }
        }
        Ok(steps)
    }

    fn field(&mut self, in_filter: bool) -> Step {
        let mut name = String::new();
        while let Some(c) = self.peek() {
            match c {
                '\\' => {
                    self.at += 1;
                    name.extend(self.peek());
                }
                ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}' => break,
                ')' | '!' | '<' | '>' | '=' if in_filter => break,
                c => name.push(c),
            }
            self.at += 1;
        }
        if name == "*" { Step::Wildcard } else { Step::Field(name) }
    }

    /// `[…]`: a filter, keys, indexes, slices, or several of them.
    fn brackets(&mut self, steps: &mut Vec<Step>) -> Parsed<()> {
        let start = self.at;
        self.at += 1;
        if self.peek() == Some('?') && self.ahead(1) == Some('(') {
            self.at += 2;
            let filter = self.nested(start, Self::filter)?;
            steps.push(filter);
            return Ok(());
        }
        let mut choices = Vec::new();
        loop {
            self.skip_spaces();
            choices.push(match self.peek() {
                Some('\'' | '"') => self.keys()?,
                _ => vec![Step::Slice(self.slice()?)],
            });
            self.skip_spaces();
            match self.peek() {
                Some(',') => self.at += 1,
                _ => break,
            }
        }
        self.close(']')?;
        match choices.pop() {
            Some(only) if choices.is_empty() => steps.extend(only),
            last => {
                choices.extend(last);
                steps.push(Step::Union(choices));
            }
        }
        Ok(())
    }

    /// A quoted key. As in kubectl, a dot in it separates keys unless it is escaped.
    fn keys(&mut self) -> Parsed<Vec<Step>> {
        let start = self.at;
        let quote = self.chars[self.at];
        self.at += 1;
        let mut keys = vec![String::new()];
        loop {
            let Some(c) = self.peek() else { return Err(self.error_at(start, "this quote is not closed")) };
            self.at += 1;
            match (c, keys.last_mut()) {
                (c, _) if c == quote => break,
                ('.', _) => keys.push(String::new()),
                ('\\', Some(key)) => {
                    key.extend(self.peek());
                    self.at += 1;
                }
                (c, Some(key)) => key.push(c),
                (_, None) => {}
            }
        }
        Ok(keys.into_iter().map(|key| if key == "*" { Step::Wildcard } else { Step::Field(key) }).collect())
    }

    fn slice(&mut self) -> Parsed<Slice> {
        let start = self.at;
        if self.peek() == Some('*') {
            self.at += 1;
            return Ok(Slice::Bounds { start: 0, end: None, step: 1 });
        }
        let first = self.integer()?;
        if self.peek() != Some(':') {
            let expected = "expected an index, a slice, `*` or a quoted key";
            return first.map(Slice::Index).ok_or_else(|| self.error_at(start, expected));
        }
        self.at += 1;
        let end = self.integer()?;
        let mut step = 1;
        if self.peek() == Some(':') {
            self.at += 1;
            step = self.integer()?.unwrap_or(1);
        }
        if step < 1 {
            return Err(self.error_at(start, "the step of a slice must be positive"));
        }
        Ok(Slice::Bounds { start: first.unwrap_or(0), end, step })
    }

    fn integer(&mut self) -> Parsed<Option<i64>> {
        let start = self.at;
        if self.peek() == Some('-') {
            self.at += 1;
        }
        self.skip_while(|c| c.is_ascii_digit());
        let text = self.since(start);
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| self.error_at(start, format!("`{text}` is not an index")))
    }

    fn filter(&mut self) -> Parsed<Step> {
        let left = self.steps(true)?;
        let start = self.at;
        self.skip_while(|c| matches!(c, '!' | '<' | '>' | '='));
        let operator = match self.since(start).as_str() {
            "" => None,
            "==" => Some(Operator::Equal),
            "!=" => Some(Operator::NotEqual),
            "<" => Some(Operator::Less),
            "<=" => Some(Operator::LessOrEqual),
            ">" => Some(Operator::Greater),
            ">=" => Some(Operator::GreaterOrEqual),
            other => return Err(self.error_at(start, format!("unknown operator `{other}`"))),
        };
        let right = operator.map(|operator| Ok((operator, self.steps(true)?))).transpose()?;
        self.close(')')?;
        self.close(']')?;
        Ok(Step::Filter(left, right))
    }

    fn number(&mut self) -> Parsed<Value> {
        let start = self.at;
        self.at += 1;
        self.skip_while(|c| c == '.' || c.is_ascii_digit());
        let text = self.since(start);
        let integer = text.parse::<i64>().map(Value::from);
        integer
            .or_else(|_| text.parse::<f64>().map(Value::from))
            .map_err(|_| self.error_at(start, format!("`{text}` is not a number")))
    }

    /// Quoted text with the escapes of Go.
    fn quoted(&mut self) -> Parsed<String> {
        let quote = self.chars[self.at];
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.peek() {
                None | Some('\n') => return Err(self.error_at(self.at, "a quote is not closed")),
                Some(c) if c == quote => break,
                Some('\\') => {
                    self.at += 1;
                    text.push(self.escape()?);
                }
                Some(c) => {
                    text.push(c);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        Ok(text)
    }

    fn escape(&mut self) -> Parsed<char> {
        let start = self.at;
        let c = self.peek().unwrap_or(' ');
        let (digits, radix) = match c {
            'x' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            '0'..='7' => (3, 8),
            _ => {
                self.at += 1;
                return match c {
                    'a' => Ok('\u{7}'),
                    'b' => Ok('\u{8}'),
                    'f' => Ok('\u{c}'),
                    'n' => Ok('\n'),
                    'r' => Ok('\r'),
                    't' => Ok('\t'),
                    'v' => Ok('\u{b}'),
                    '\\' | '\'' | '"' => Ok(c),
                    _ => Err(self.error_at(start, format!("unknown escape `\\{c}`"))),
                };
            }
        };
        let from = if radix == 16 { start + 1 } else { start };
        let number = self.chars.get(from..from + digits).map(|digits| digits.iter().collect::<String>());
        self.at = (from + digits).min(self.chars.len());
        number
            .and_then(|number| u32::from_str_radix(&number, radix).ok())
            .and_then(char::from_u32)
            .ok_or_else(|| self.error_at(start, "this escape is not a character"))
    }

    fn nested<T>(&mut self, start: usize, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            return Err(self.error_at(start, format!("more than {MAX_DEPTH} levels of nesting")));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn close(&mut self, expected: char) -> Parsed<()> {
        self.skip_spaces();
        if self.peek() != Some(expected) {
            return Err(self.error_at(self.at, format!("expected `{expected}`")));
        }
        self.at += 1;
        Ok(())
    }

    /// Takes a word that stands alone.
    fn take_word(&mut self, word: &str) -> bool {
        let length = word.chars().count();
        let found = self.chars[self.at..].iter().take(length).copied().eq(word.chars())
            && !self.ahead(length).is_some_and(|c| c.is_alphanumeric() || c == '_');
        if found {
            self.at += length;
        }
        found
    }

    fn peek(&self) -> Option<char> {
        self.ahead(0)
    }

    fn ahead(&self, distance: usize) -> Option<char> {
        self.chars.get(self.at + distance).copied()
    }

    fn skip_spaces(&mut self) {
        self.skip_while(|c| c == ' ');
    }

    fn skip_while(&mut self, belongs: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&belongs) {
            self.at += 1;
        }
    }

    fn since(&self, start: usize) -> String {
        self.chars[start..self.at].iter().collect()
    }

    fn error_at(&self, at: usize, reason: impl Into<String>) -> JsonPathError {
        JsonPathError::Syntax { position: (at + 1).saturating_sub(self.shift).max(1), reason: reason.into() }
    }
}
