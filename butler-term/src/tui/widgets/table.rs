//! Rows under headings, of which only those in view are made. Columns that do not fit give way, the least
//! important first.

use std::cell::{Cell as Kept, RefCell};

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
};

use super::{put, words};
use crate::{
    output::text::{fit, width},
    tui::Theme,
};

/// Columns between two columns.
const GAP: usize = 2;
/// The mark in front of the chosen row.
const MARK: usize = 2;

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its heading.
    pub title: &'static str,
    /// What it is cut to at least.
    pub least: usize,
    /// The higher, the sooner it gives way.
    pub rank: u8,
}

/// A value in its style.
pub type Value = (String, Style);

/// What is chosen and in view.
#[derive(Clone, Debug, Default)]
pub struct TableState {
    selected: usize,
    offset: Kept<usize>,
    height: Kept<usize>,
    /// The widest seen of each column, so that columns stay where they are while one scrolls.
    widths: RefCell<(u16, Vec<usize>)>,
    /// Where the first row was drawn, for the mouse.
    first: Kept<u16>,
}

impl TableState {
    /// The chosen row.
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// Chooses a row.
    pub fn select(&mut self, row: usize) {
        self.selected = row;
    }

    /// Keeps the choice among so many rows.
    pub fn clamp(&mut self, rows: usize) {
        self.selected = self.selected.min(rows.saturating_sub(1));
    }

    /// Moves the choice by so many rows.
    pub fn by(&mut self, step: isize, rows: usize) {
        self.selected = self.selected.saturating_add_signed(step);
        self.clamp(rows);
    }

    /// Moves the choice by so many screens.
    pub fn page(&mut self, screens: isize, rows: usize) {
        let height = isize::try_from(self.height.get().max(2) - 1).unwrap_or(1);
        self.by(screens * height, rows);
    }

    /// The row that is drawn at a line of the screen.
    pub fn row_at(&self, line: u16, rows: usize) -> Option<usize> {
        let below = usize::from(line.checked_sub(self.first.get())?);
        let row = self.offset.get() + below;
        (below < self.height.get() && row < rows).then_some(row)
    }
}

/// Rows to draw.
pub struct Table<'a, F> {
    /// The columns, in order.
    pub columns: &'a [Column],
    /// The column that it is sorted by, and whether that is reversed.
    pub sorted: Option<(usize, bool)>,
    /// How many rows there are.
    pub rows: usize,
    /// Makes a row: a value for each column.
    pub row: F,
    /// Whether the keyboard is here.
    pub focused: bool,
}

impl<F: Fn(usize) -> Vec<Value>> Table<'_, F> {
    /// Draws what is in view.
    pub fn draw(&self, buffer: &mut Buffer, area: Rect, state: &TableState, theme: &Theme) {
        let height = usize::from(area.height.saturating_sub(1));
        state.height.set(height);
        state.first.set(area.y + 1);
        let offset = view(state.offset.get(), state.selected, height, self.rows);
        state.offset.set(offset);
        let rows: Vec<Vec<Value>> = (offset..self.rows.min(offset + height)).map(&self.row).collect();
        let natural = self.natural(&rows, area.width, state);
        let widths = shares(&natural, self.columns, usize::from(area.width).saturating_sub(MARK));
        let headings =
            self.columns.iter().enumerate().map(|(at, column)| (self.heading(at, column), theme.title));
        put(buffer, area, 0, &line("  ", theme.text, headings, &widths));
        for (index, row) in (offset..).zip(rows) {
            let y = u16::try_from(index - offset + 1).unwrap_or(u16::MAX);
            let chosen = index == state.selected && self.focused;
            let (mark, style) = if chosen { ("▌ ", theme.focus) } else { ("  ", theme.text) };
            if chosen && y < area.height {
                buffer.set_style(Rect { y: area.y + y, height: 1, ..area }, theme.selected);
            }
            let cells = row
                .into_iter()
                .map(|(text, style)| (text, if chosen { theme.selected.patch(style) } else { style }));
            let style = if chosen { theme.selected.patch(style) } else { style };
            put(buffer, area, y, &line(mark, style, cells, &widths));
        }
    }

    fn heading(&self, at: usize, column: &Column) -> String {
        let arrow = match self.sorted {
            Some((sorted, reversed)) if sorted == at => {
                if reversed {
                    " ▼"
                } else {
                    " ▲"
                }
            }
            _ => "",
        };
        format!("{}{arrow}", column.title)
    }

    fn natural(&self, rows: &[Vec<Value>], columns: u16, state: &TableState) -> Vec<usize> {
        let mut kept = state.widths.borrow_mut();
        if kept.0 != columns || kept.1.len() != self.columns.len() {
            *kept = (columns, vec![0; self.columns.len()]);
        }
        for (at, column) in self.columns.iter().enumerate() {
            let heading = width(&self.heading(at, column));
            let widest = rows.iter().filter_map(|row| Some(width(&row.get(at)?.0))).max().unwrap_or(0);
            kept.1[at] = kept.1[at].max(heading).max(widest);
        }
        kept.1.clone()
    }
}

fn line<'a>(
    mark: &'a str,
    style: Style,
    cells: impl Iterator<Item = Value>,
    widths: &[Option<usize>],
) -> Line<'a> {
    let mut line = Line::from(Span::styled(mark, style));
    let mut gap = false;
    for ((text, style), columns) in cells.zip(widths) {
        let Some(columns) = columns else { continue };
        if gap {
            line.spans.push(Span::styled(" ".repeat(GAP), style));
        }
        gap = true;
        let cut = words(&fit(&crate::output::one_line(&text), *columns), style);
        let pad = columns.saturating_sub(width(&cut.content));
        line.spans.push(cut);
        line.spans.push(Span::styled(" ".repeat(pad), style));
    }
    line
}

/// The first row in view, so that the chosen one is, and as few as possible move.
fn view(offset: usize, selected: usize, height: usize, rows: usize) -> usize {
    let last = rows.saturating_sub(height);
    let offset = offset.min(last);
    if selected < offset {
        selected
    } else if height > 0 && selected >= offset + height {
        selected + 1 - height
    } else {
        offset
    }
}

/// How wide each column is; none: it is not shown.
fn shares(natural: &[usize], columns: &[Column], room: usize) -> Vec<Option<usize>> {
    let least = |at: usize| natural[at].min(columns[at].least);
    let mut shown: Vec<bool> = vec![true; columns.len()];
    let sum = |shown: &[bool], of: &dyn Fn(usize) -> usize| {
        let count = shown.iter().filter(|shown| **shown).count();
        let all: usize = (0..columns.len()).filter(|at| shown[*at]).map(of).sum();
        all + GAP * count.saturating_sub(1)
    };
    while sum(&shown, &least) > room {
        let ranked = (1..columns.len()).filter(|at| shown[*at]);
        let Some(worst) = ranked.max_by_key(|at| columns[*at].rank) else { break };
        shown[worst] = false;
    }
    let mut widths: Vec<usize> = natural.to_vec();
    let mut used = sum(&shown, &|at| widths[at]);
    while used > room {
        let can = (0..columns.len()).filter(|at| shown[*at] && widths[*at] > least(*at));
        match can.max_by_key(|at| widths[*at] - least(*at)) {
            Some(at) => widths[at] -= 1,
            None => {
                widths[0] = room;
                break;
            }
        }
        used -= 1;
    }
    (0..columns.len()).map(|at| shown[at].then_some(widths[at])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::Palette;

    const COLUMNS: &[Column] = &[
        Column { title: "NAME", least: 8, rank: 0 },
        Column { title: "PHASE", least: 5, rank: 1 },
        Column { title: "PROVIDER", least: 8, rank: 9 },
    ];

    fn drawn(width: u16, height: u16, selected: usize) -> String {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        let mut state = TableState::default();
        state.select(selected);
        let row = |at: usize| {
            ["a-rather-long-name", "Ready", "sandbox"]
                .map(|text| (format!("{text}-{at}"), Style::new()))
                .to_vec()
        };
        let table = Table { columns: COLUMNS, sorted: Some((1, false)), rows: 100, row, focused: true };
        table.draw(&mut buffer, area, &state, &Theme::new(Palette::None));
        let rows = (0..height).map(|y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>());
        rows.map(|row| row.trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn the_chosen_row_is_in_view_and_marked() {
        insta::assert_snapshot!(drawn(60, 4, 50), @r"
          NAME                   PHASE ▲   PROVIDER
          a-rather-long-name-48  Ready-48  sandbox-48
          a-rather-long-name-49  Ready-49  sandbox-49
        ▌ a-rather-long-name-50  Ready-50  sandbox-50
        ");
    }

    #[test]
    fn the_least_important_columns_give_way() {
        insta::assert_snapshot!(drawn(30, 2, 0), @r"
          NAME       PHASE…  PROVIDER
        ▌ a-rather…  Ready…  sandbox-0
        ");
        insta::assert_snapshot!(drawn(10, 2, 0), @r"
          NAME
        ▌ a-rathe…
        ");
    }

    #[test]
    fn no_size_is_too_small() {
        for width in 0..40 {
            for height in 0..4 {
                drawn(width, height, 99);
            }
        }
    }
}
