//! Plain aligned columns: upper-case headings, two spaces between, the last column unpadded.
//!
//! On a terminal that is too narrow the widest columns give way first. When even that leaves nothing
//! legible, every row becomes a block of `HEADING value` lines, so that no column is lost.

use std::fmt::Write;

use anstyle::Style;
use jiff::Timestamp;

use super::text::{fit, one_line, width};
use crate::theme;

/// Spaces between two columns.
const GAP: usize = 2;
/// The least a column is cut to. The first one names the row and keeps more; so does the last, which
/// is often a sentence.
const MIN_WIDTH: usize = 6;
const MIN_FIRST: usize = 8;
const MIN_LAST: usize = 10;

/// One value, with the colour of its meaning.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A value in a colour.
    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        let mut text = text.into();
        if let std::borrow::Cow::Owned(clean) = one_line(&text) {
            text = clean;
        }
        Self { text, style }
    }

    /// A phase, in its colour.
    pub fn phase(phase: impl Into<String>) -> Self {
        let text = phase.into();
        let style = theme::phase(&text);
        Self::styled(text, style)
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, theme::PLAIN)
    }
}

/// Rows under headings. The texts of all cells lie in one string, because a list may have ten thousand
/// rows: what is kept of a cell beside its text is eight bytes.
#[derive(Clone, Debug, Default)]
pub struct Table {
    headings: Vec<String>,
    text: String,
    cells: Vec<Kept>,
    styles: Vec<Style>,
}

/// A cell that was pushed: where its text ends (it begins where that of the cell before it ends), and
/// which of the styles it has.
#[derive(Clone, Copy, Debug)]
struct Kept {
    end: u32,
    style: u32,
}

impl Table {
    /// An empty table.
    pub fn new(columns: impl IntoIterator<Item = &'static str>) -> Self {
        Self { headings: columns.into_iter().map(str::to_uppercase).collect(), ..Self::default() }
    }

    /// Adds a row; it has one cell per column.
    pub fn push(&mut self, row: impl IntoIterator<Item = Cell>) {
        for cell in row {
            self.text.push_str(&cell.text);
            let style = self.styles.iter().position(|style| *style == cell.style).unwrap_or_else(|| {
                self.styles.push(cell.style);
                self.styles.len() - 1
            });
            // Four gigabytes of text are no table; what is beyond them is not shown.
            let end = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
            self.cells.push(Kept { end, style: u32::try_from(style).unwrap_or_default() });
        }
        let columns = self.headings.len().max(1);
        debug_assert_eq!(self.cells.len() % columns, 0, "a row has one cell per column");
    }

    /// The rows, each with its cells.
    fn rows(&self) -> impl Iterator<Item = impl Iterator<Item = (&str, Style)>> {
        let columns = self.headings.len().max(1);
        (0..self.cells.len() / columns).map(move |row| {
            (row * columns..(row + 1) * columns).map(move |index| {
                let start = index.checked_sub(1).map_or(0, |before| self.cells[before].end as usize);
                let cell = self.cells[index];
                let text = self.text.get(start..cell.end as usize).unwrap_or_default();
                (text, self.styles.get(cell.style as usize).copied().unwrap_or(theme::PLAIN))
            })
        })
    }

    /// Lays the table out; lines fit into `columns` if there is a limit.
    pub fn render(&self, columns: Option<usize>) -> String {
        let natural = self.widths();
        match columns {
            None => self.aligned(&natural),
            Some(columns) => match shrink(&natural, columns) {
                Some(widths) => self.aligned(&widths),
                None if self.cells.is_empty() => format!("{}\n", fit(&self.headings.join("  "), columns)),
                None => self.blocks(),
            },
        }
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.headings.iter().map(|heading| width(heading)).collect();
        for row in self.rows() {
            for (widest, (text, _)) in widths.iter_mut().zip(row) {
                *widest = (*widest).max(width(text));
            }
        }
        widths
    }

    fn aligned(&self, widths: &[usize]) -> String {
        let mut out = String::new();
        let headings = self.headings.iter().map(|heading| (heading.as_str(), theme::HEADING));
        line(&mut out, headings, widths);
        for row in self.rows() {
            line(&mut out, row, widths);
        }
        out
    }

    fn blocks(&self) -> String {
        let label = self.headings.iter().map(|heading| width(heading)).max().unwrap_or(0);
        let mut out = String::new();
        for (index, row) in self.rows().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            for (heading, cell) in self.headings.iter().zip(row) {
                line(&mut out, [(heading.as_str(), theme::HEADING), cell], &[label, usize::MAX]);
            }
        }
        out
    }
}

fn line<'a>(out: &mut String, cells: impl IntoIterator<Item = (&'a str, Style)>, widths: &[usize]) {
    let mut padding = 0;
    for ((text, style), columns) in cells.into_iter().zip(widths) {
        let text = fit(text, *columns);
        // Writing to a string cannot fail.
        let _ = write!(out, "{:padding$}", "");
        if !text.is_empty() {
            let _ = write!(out, "{style}{text}{style:#}");
        }
        padding = columns.saturating_sub(width(&text)).saturating_add(GAP);
    }
    // Empty cells at the end leave no spaces behind.
    out.truncate(out.trim_end_matches(' ').len());
    out.push('\n');
}

/// Widths that fit into `columns`: the widest column gives way first, none below its minimum. None
/// when that is not enough.
fn shrink(natural: &[usize], columns: usize) -> Option<Vec<usize>> {
    let gaps = GAP * natural.len().saturating_sub(1);
    let room = columns.checked_sub(gaps)?;
    let least = |index: usize| {
        natural[index].min(match index {
            0 => MIN_FIRST,
            _ if index + 1 == natural.len() => MIN_LAST,
            _ => MIN_WIDTH,
        })
    };
    if (0..natural.len()).map(least).sum::<usize>() > room {
        return None;
    }
    let mut widths = natural.to_vec();
    while widths.iter().sum::<usize>() > room {
        let widest = (0..widths.len())
            .filter(|index| widths[*index] > least(*index))
            .max_by_key(|index| widths[*index])?;
        widths[widest] -= 1;
    }
    Some(widths)
}

/// How long ago, in one unit: `12s`, `5m`, `3h`, `6d`, `9w`.
pub fn age(then: Option<Timestamp>, now: Timestamp) -> String {
    let Some(then) = then else { return "<unknown>".to_owned() };
    let seconds = now.duration_since(then).as_secs().max(0);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        86_400..604_800 => format!("{}d", seconds / 86_400),
        _ => format!("{}w", seconds / 604_800),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn plain(table: &Table, columns: Option<usize>) -> String {
        anstream::adapter::strip_str(&table.render(columns)).to_string()
    }

    fn clusters() -> Table {
        let mut table = Table::new(["name", "phase", "workers", "version", "message"]);
        table.push([
            "payments-production".into(),
            Cell::phase("Ready"),
            "3/3".into(),
            "v1.34.4".into(),
            "all control plane parts answer".into(),
        ]);
        table.push(["日本".into(), Cell::phase("Failed"), "-".into(), "".into(), "".into()]);
        table
    }

    #[test]
    fn columns_align_and_nothing_is_cut_off_a_terminal() {
        assert_snapshot!(plain(&clusters(), None), @r"
        NAME                 PHASE   WORKERS  VERSION  MESSAGE
        payments-production  Ready   3/3      v1.34.4  all control plane parts answer
        日本                 Failed  -
        ");
    }

    #[test]
    fn the_widest_columns_give_way_first() {
        assert_snapshot!(plain(&clusters(), Some(60)), @r"
        NAME              PHASE   WORKERS  VERSION  MESSAGE
        payments-produc…  Ready   3/3      v1.34.4  all control pla…
        日本              Failed  -
        ");
        assert_snapshot!(plain(&clusters(), Some(46)), @"
        NAME      PHASE   WORKERS  VERSION  MESSAGE
        payment…  Ready   3/3      v1.34.4  all contr…
        日本      Failed  -
        ");
    }

    #[test]
    fn twenty_columns_show_every_value_in_blocks() {
        assert_snapshot!(plain(&clusters(), Some(20)), @r"
        NAME     payments-production
        PHASE    Ready
        WORKERS  3/3
        VERSION  v1.34.4
        MESSAGE  all control plane parts answer

        NAME     日本
        PHASE    Failed
        WORKERS  -
        VERSION
        MESSAGE
        ");
        assert_eq!(
            plain(&Table::new(["name", "phase", "message", "version"]), Some(20)),
            "NAME  PHASE  MESSAG…\n"
        );
    }

    #[test]
    fn lines_never_exceed_the_terminal_unless_in_blocks() {
        for columns in 44..120 {
            for line in plain(&clusters(), Some(columns)).lines() {
                assert!(width(line) <= columns, "{columns}: {line}");
            }
        }
    }

    #[test]
    fn cells_cannot_command_the_terminal() {
        let mut table = Table::new(["name"]);
        table.push(["a\x1b]0;owned\x07\nb".into()]);
        assert_eq!(plain(&table, None), "NAME\na\u{fffd}]0;owned\u{fffd} b\n");
    }

    #[test]
    fn ages_have_one_unit() {
        let now: Timestamp = "2026-01-10T00:00:00Z".parse().unwrap();
        let ago = |seconds: i64| Some(now - jiff::SignedDuration::from_secs(seconds));
        for (then, expected) in [
            (ago(-5), "0s"),
            (ago(59), "59s"),
            (ago(60), "1m"),
            (ago(3600), "1h"),
            (ago(86_400), "1d"),
            (ago(604_800 * 3), "3w"),
            (None, "<unknown>"),
        ] {
            assert_eq!(age(then, now), expected);
        }
    }
}
