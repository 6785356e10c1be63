//! Lines that are scrolled: an object as YAML, a help page, a tree.

use std::cell::Cell;

use ratatui::{buffer::Buffer, layout::Rect, text::Line};

use super::put;
use crate::tui::Theme;

/// Where a text is scrolled to. The height is remembered from the last frame.
#[derive(Clone, Debug, Default)]
pub struct Scroll {
    offset: Cell<usize>,
    height: Cell<usize>,
}

impl Scroll {
    /// Moves by so many lines.
    pub fn by(&mut self, lines: isize) {
        self.offset.set(self.offset.get().saturating_add_signed(lines));
    }

    /// Moves by so many screens.
    pub fn page(&mut self, screens: isize) {
        let height = isize::try_from(self.height.get().max(2) - 1).unwrap_or(1);
        self.by(screens * height);
    }

    /// To the first line.
    pub fn top(&mut self) {
        self.offset.set(0);
    }

    /// To the last line.
    pub fn bottom(&mut self) {
        self.offset.set(usize::MAX / 2);
    }

    /// Draws the lines that are in view, and says when there are more.
    pub fn draw(&self, buffer: &mut Buffer, area: Rect, lines: &[Line<'_>], theme: &Theme) {
        let height = usize::from(area.height);
        self.height.set(height);
        let offset = self.offset.get().min(lines.len().saturating_sub(height));
        self.offset.set(offset);
        for (row, line) in (0..).zip(lines.iter().skip(offset).take(height)) {
            put(buffer, area, row, line);
        }
        let below = lines.len().saturating_sub(offset + height);
        if (below > 0 || offset > 0) && area.width > 12 && height > 0 {
            let text = format!(" {}-{} of {} ", offset + 1, (offset + height).min(lines.len()), lines.len());
            let columns = u16::try_from(text.chars().count()).unwrap_or(area.width).min(area.width);
            let corner = Rect { x: area.right() - columns, width: columns, ..area };
            put(buffer, corner, area.height - 1, &Line::styled(text, theme.bar));
        }
    }
}

/// Breaks lines of plain text so that none is longer than an area is wide.
pub fn wrap(text: &str, columns: u16) -> Vec<String> {
    let columns = usize::from(columns).max(1);
    let width = crate::output::text::width;
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut current = String::new();
        for word in line.split(' ') {
            let mut word = word.to_owned();
            if !current.is_empty() && width(&current) + 1 + width(&word) > columns {
                lines.push(std::mem::take(&mut current));
            }
            while width(&word) > columns {
                let mut head = String::new();
                while let Some(c) =
                    word.chars().next().filter(|c| head.is_empty() || width(&format!("{head}{c}")) <= columns)
                {
                    head.push(c);
                    word.remove(0);
                }
                lines.push(head);
            }
            if !current.is_empty() {
                current.push(' ');
            }
            current += &word;
        }
        lines.push(current);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_do_not_fit_are_broken() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("日本語", 3), ["日", "本", "語"]);
        assert_eq!(wrap("日本", 1), ["日", "本", ""]);
        assert_eq!(wrap("", 5), Vec::<String>::new());
    }
}
