//! Plain aligned columns: upper-case headings, two spaces between, the last column unpadded.

use anstyle::Style;
use jiff::Timestamp;
use unicode_width::UnicodeWidthStr;

use crate::theme;

/// One value, with the colour of its meaning.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A value in a colour.
    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }

    /// A phase, in its colour.
    pub fn phase(phase: impl Into<String>) -> Self {
        let text = phase.into();
        Self { style: theme::phase(&text), text }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, theme::PLAIN)
    }
}

/// Rows under headings.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table.
    pub fn new(columns: impl IntoIterator<Item = &'static str>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row; it has one cell per column.
    pub fn push(&mut self, row: impl IntoIterator<Item = Cell>) {
        let row: Vec<Cell> = row.into_iter().collect();
        debug_assert_eq!(row.len(), self.columns.len(), "a row has one cell per column");
        self.rows.push(row);
    }

    /// Lays the table out, cutting lines at `width` if there is one.
    pub fn render(&self, width: Option<usize>) -> String {
        let _ = width;
        let mut widths: Vec<usize> = self.columns.iter().map(|heading| heading.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.width());
            }
        }
        let headings: Vec<Cell> =
            self.columns.iter().map(|heading| Cell::styled(heading.to_uppercase(), theme::HEADING)).collect();
        let mut out = String::new();
        for row in std::iter::once(&headings).chain(&self.rows) {
            for (index, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let style = cell.style;
                out.push_str(&format!("{style}{}{style:#}", cell.text));
                if index + 1 < row.len() {
                    out.push_str(&" ".repeat(width - cell.text.width() + 2));
                }
            }
            out.push('\n');
        }
        out
    }
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
