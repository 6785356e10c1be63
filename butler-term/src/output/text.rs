//! Text that came from elsewhere, made safe and fit for a terminal.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns a text takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    // Most cells of a long list; the tables of Unicode are only for the rest.
    if text.is_ascii() { text.len() } else { text.width() }
}

/// One line without anything a terminal would obey: line breaks and tabs become spaces, other
/// control characters a replacement mark. An object's field must not be able to move the cursor.
pub fn one_line(text: &str) -> Cow<'_, str> {
    clean(text, |c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { char::REPLACEMENT_CHARACTER })
}

/// The same for text of several lines, which keeps its line breaks and tabs.
pub(crate) fn lines(text: &str) -> Cow<'_, str> {
    clean(text, |c| if matches!(c, '\n' | '\t') { c } else { char::REPLACEMENT_CHARACTER })
}

fn clean(text: &str, replace: impl Fn(char) -> char) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || !text.contains(is_command) {
        return Cow::Borrowed(text);
    }
    text.chars().map(|c| if is_command(c) { replace(c) } else { c }).collect()
}

/// Control characters, and the invisible ones that reorder the text around them.
fn is_command(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// How many there are of something: `1 machine`, `2 machines`.
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Cuts a text to so many columns; a cut shows as `…`.
pub(crate) fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide + 1 > columns {
            break;
        }
        out.push(c);
        used += wide;
    }
    if columns > 0 {
        out.push('…');
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_terminal_obeys_is_left() {
        assert_eq!(one_line("a\x1b[31mb\nc\u{9b}2J\u{202e}d"), "a\u{fffd}[31mb c\u{fffd}2J\u{fffd}d");
        assert_eq!(lines("a\n\tb\x07\r"), "a\n\tb\u{fffd}\u{fffd}");
        assert!(matches!(one_line("日本 é"), Cow::Borrowed(_)));
    }

    #[test]
    fn cuts_count_columns_not_characters() {
        for (text, columns, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("日本語", 1, "…"),
            ("abc", 0, ""),
        ] {
            let cut = fit(text, columns);
            assert_eq!(cut, expected, "{text} in {columns}");
            assert!(width(&cut) <= columns);
        }
    }
}
