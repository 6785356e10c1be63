//! Lines that keep coming: the last of them, those that matter, those that match.
//!
//! However many come, what is kept is bounded; how many were let go is said.

use std::{cell::Cell, collections::VecDeque};

use butler_core::event::Level;
use jiff::{Timestamp, tz::TimeZone};
use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};

use super::{input::Input, put, words};
use crate::tui::Theme;

/// Lines that are kept.
const MOST_LINES: usize = 20_000;
/// Bytes that are kept.
const MOST_BYTES: usize = 8 << 20;
/// Bytes of a line that are kept.
const LONGEST: usize = 4096;

/// One line.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When; none when nobody knows.
    pub time: Option<Timestamp>,
    /// How much it matters.
    pub level: Level,
    /// The words.
    pub text: String,
}

/// The lines and what is shown of them.
#[derive(Clone, Debug)]
pub struct LogPanel {
    lines: VecDeque<Entry>,
    bytes: usize,
    /// Lines that came and are gone; also the number of the first one kept.
    gone: u64,
    /// What lines must contain.
    pub filter: Input,
    /// What lines must matter at least.
    pub level: Level,
    /// The number behind the last line in view; none follows the newest.
    at: Option<u64>,
    height: Cell<usize>,
}

impl Default for LogPanel {
    fn default() -> Self {
        Self {
            lines: VecDeque::new(),
            bytes: 0,
            gone: 0,
            filter: Input::default(),
            level: Level::Info,
            at: None,
            height: Cell::new(0),
        }
    }
}

impl LogPanel {
    /// Adds a line.
    pub fn push(&mut self, mut entry: Entry) {
        if entry.text.len() > LONGEST {
            let end = (0..=LONGEST).rev().find(|at| entry.text.is_char_boundary(*at)).unwrap_or(0);
            entry.text.truncate(end);
            entry.text.push('…');
        }
        entry.text.shrink_to_fit();
        self.bytes += entry.text.len();
        self.lines.push_back(entry);
        while self.lines.len() > MOST_LINES || self.bytes > MOST_BYTES {
            let Some(first) = self.lines.pop_front() else { break };
            self.bytes -= first.text.len();
            self.gone += 1;
        }
    }

    /// True while the newest line is in view.
    pub fn follows(&self) -> bool {
        self.at.is_none()
    }

    /// Follows the newest line, or stays.
    pub fn follow(&mut self, follow: bool) {
        self.at = (!follow).then(|| self.end());
    }

    /// The least that matters, next.
    pub fn next_level(&mut self) {
        self.level = match self.level {
            Level::Debug => Level::Info,
            Level::Info => Level::Warn,
            Level::Warn => Level::Error,
            Level::Error => Level::Debug,
        };
    }

    /// Moves by so many lines that match; at the end it follows again.
    pub fn by(&mut self, lines: isize) {
        let mut at = self.at.unwrap_or_else(|| self.end());
        for _ in 0..lines.unsigned_abs() {
            let next = if lines < 0 {
                self.before(at).filter(|at| self.before(*at).is_some())
            } else {
                self.after(at)
            };
            let Some(next) = next else {
                if lines > 0 {
                    self.at = None;
                    return;
                }
                break;
            };
            at = next;
        }
        self.at = (at < self.end()).then_some(at);
    }

    /// Moves by so many screens.
    pub fn page(&mut self, screens: isize) {
        let height = isize::try_from(self.height.get().max(2) - 1).unwrap_or(1);
        self.by(screens * height);
    }

    /// To the oldest line that is kept.
    pub fn top(&mut self) {
        let mut at = self.gone;
        for _ in 0..self.height.get().max(1) {
            let Some(next) = self.after(at) else { break };
            at = next;
        }
        self.at = Some(at);
    }

    /// Lines that are kept, and lines that are gone.
    pub fn counts(&self) -> (usize, u64) {
        (self.lines.len(), self.gone)
    }

    /// Every line that is shown, as text.
    pub fn text(&self) -> String {
        let needle = self.needle();
        let shown = self.lines.iter().filter(|entry| self.matches(entry, &needle));
        shown.map(|entry| format!("{} {}\n", clock(entry.time), entry.text)).collect()
    }

    fn end(&self) -> u64 {
        self.gone + self.lines.len() as u64
    }

    fn needle(&self) -> String {
        self.filter.text().to_lowercase()
    }

    fn matches(&self, entry: &Entry, needle: &str) -> bool {
        entry.level >= self.level && (needle.is_empty() || entry.text.to_lowercase().contains(needle))
    }

    fn index(&self, number: u64) -> usize {
        usize::try_from(number.saturating_sub(self.gone)).unwrap_or(usize::MAX).min(self.lines.len())
    }

    /// The number of the last line before this one that matches.
    fn before(&self, number: u64) -> Option<u64> {
        let needle = self.needle();
        let kept = self.lines.iter().take(self.index(number)).rposition(|entry| self.matches(entry, &needle));
        kept.map(|at| self.gone + at as u64)
    }

    /// The number behind the next line that matches.
    fn after(&self, number: u64) -> Option<u64> {
        let needle = self.needle();
        let from = self.index(number);
        let next = self.lines.iter().skip(from).position(|entry| self.matches(entry, &needle));
        next.map(|at| self.gone + (from + at) as u64 + 1)
    }

    /// Draws the lines in view.
    pub fn draw(&self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let height = usize::from(area.height);
        self.height.set(height);
        let needle = self.needle();
        let end = self.index(self.at.unwrap_or_else(|| self.end()));
        let before = self.lines.iter().take(end).rev().filter(|entry| self.matches(entry, &needle));
        let mut shown: Vec<&Entry> = before.take(height).collect();
        shown.reverse();
        for (row, entry) in (0..).zip(shown) {
            let (word, style) = match entry.level {
                Level::Debug => ("debug", theme.dim),
                Level::Info => ("info ", theme.text),
                Level::Warn => ("warn ", theme.warn),
                Level::Error => ("error", theme.bad),
            };
            let mut line = Line::default();
            if area.width >= 60 {
                line.push_span(Span::styled(format!("{} ", clock(entry.time)), theme.dim));
            }
            if area.width >= 30 {
                line.push_span(Span::styled(format!("{word} "), style));
            }
            line.push_span(words(&entry.text, if entry.level >= Level::Warn { style } else { theme.text }));
            put(buffer, area, row, &line);
        }
    }
}

fn clock(time: Option<Timestamp>) -> String {
    let local = |time: Timestamp| time.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string();
    time.map_or_else(|| " ".repeat(8), local)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::Palette;

    fn panel(lines: usize) -> LogPanel {
        let mut panel = LogPanel::default();
        for number in 0..lines {
            let level = if number % 10 == 0 { Level::Warn } else { Level::Info };
            panel.push(Entry { time: None, level, text: format!("line {number}") });
        }
        panel
    }

    fn shown(panel: &LogPanel) -> Vec<String> {
        let area = Rect::new(0, 0, 20, 3);
        let mut buffer = Buffer::empty(area);
        panel.draw(&mut buffer, area, &Theme::new(Palette::None));
        let row = |y| (0..20).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..3).map(row).collect()
    }

    #[test]
    fn a_million_lines_leave_a_bounded_rest() {
        let mut panel = panel(1_000_000);
        assert_eq!(panel.counts(), (MOST_LINES, 1_000_000 - MOST_LINES as u64));
        assert_eq!(shown(&panel), ["line 999997", "line 999998", "line 999999"]);
        panel.push(Entry { time: None, level: Level::Info, text: "é".repeat(1 << 20) });
        assert!(panel.bytes < MOST_BYTES && panel.lines.back().unwrap().text.len() <= LONGEST + 3);
        for _ in 0..5_000 {
            panel.push(Entry { time: None, level: Level::Info, text: "x".repeat(LONGEST) });
        }
        assert!(panel.bytes <= MOST_BYTES);
    }

    #[test]
    fn who_scrolls_up_stays_there_until_the_end_is_reached_again() {
        let mut panel = panel(100);
        shown(&panel);
        panel.by(-5);
        assert_eq!(shown(&panel), ["line 92", "line 93", "line 94"]);
        panel.push(Entry { time: None, level: Level::Info, text: "new".into() });
        assert_eq!(shown(&panel)[2], "line 94");
        panel.by(5);
        assert!(!panel.follows());
        panel.by(1);
        assert!(panel.follows());
        panel.top();
        assert_eq!(shown(&panel), ["line 0", "line 1", "line 2"]);
        panel.page(1);
        assert_eq!(shown(&panel), ["line 2", "line 3", "line 4"]);
    }

    #[test]
    fn filters_hide_what_does_not_matter_or_match() {
        let mut panel = panel(100);
        panel.level = Level::Warn;
        assert_eq!(shown(&panel), ["line 70", "line 80", "line 90"]);
        panel.filter = Input::with("LINE 8");
        assert_eq!(shown(&panel), ["line 80", "", ""]);
        assert_eq!(panel.text().lines().count(), 1);
        panel.filter = Input::with("nothing");
        panel.by(-1);
        panel.page(1);
        panel.top();
        assert_eq!(shown(&panel), ["", "", ""]);
    }
}
