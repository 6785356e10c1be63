//! Addresses as bars, and what overlaps in words.

use butler_core::bootstrap::wizard::map::{Map, Row};
use ratatui::text::{Line, Span};

use crate::{output::text::fit, tui::Theme};

/// Columns for the name of a row.
const NAME: usize = 16;
/// Columns for the widest range, two addresses.
const RANGE: usize = 33;
/// A bar that is worth drawing.
const BAR: usize = 10;

/// The picture, line by line.
pub(super) fn lines<'a>(map: &Map, columns: u16, theme: &Theme) -> Vec<Line<'a>> {
    let room = usize::from(columns).saturating_sub(NAME + 2);
    // Where there is no room for both, the bar stands and the range is in the fields above.
    let beside = room >= RANGE + 2 + BAR.max(map.pieces.len());
    let bar = if beside { room - RANGE - 2 } else { room };
    map.rows.iter().map(|row| line(map, row, bar, beside, theme)).collect()
}

fn line<'a>(map: &Map, row: &Row, bar: usize, beside: bool, theme: &Theme) -> Line<'a> {
    let clash = !row.clashes.is_empty();
    let style = if clash { theme.bad } else { theme.good };
    let mark = if clash { "✗" } else { " " };
    let mut line = Line::from(Span::styled(format!("{mark} {:NAME$}", row.name), theme.text));
    if beside {
        line.push_span(Span::styled(format!("{:RANGE$}  ", row.range), theme.dim));
    }
    if clash {
        let words = format!("overlaps {}", row.clashes.join(", "));
        line.push_span(Span::styled(fit(&words, bar).into_owned(), style));
        return line;
    }
    let columns = map.columns(bar);
    let mut used = 0;
    for (at, width) in columns.iter().enumerate() {
        let width = (*width).min(bar.saturating_sub(used));
        used += width;
        let (block, style) = if row.pieces.contains(&at) { ("█", style) } else { ("·", theme.dim) };
        line.push_span(Span::styled(block.repeat(width), style));
    }
    line
}
