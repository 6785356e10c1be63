//! What screens are made of. Each draws into a part of a buffer from a state that somebody else keeps, and
//! survives any size, down to nothing.

pub mod form;
pub mod gauge;
pub mod input;
pub mod log;
pub mod table;
pub mod text;
pub mod tree;

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::Style,
    text::{Line, Span},
    widgets::{Block, BorderType, Widget},
};

use super::{Fault, Remote, Theme};
use crate::output::{age, one_line};

/// Below this width a panel has a heading and no lines around it.
const BORDERS: u16 = 40;
/// Pictures of something that goes on.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Draws a line at a row of an area; what does not fit is cut.
pub fn put(buffer: &mut Buffer, area: Rect, row: u16, line: &Line<'_>) {
    if row < area.height {
        buffer.set_line(area.x, area.y + row, line, area.width);
    }
}

/// Words from elsewhere, made harmless.
pub fn words<'a>(text: &str, style: Style) -> Span<'a> {
    Span::styled(one_line(text).into_owned(), style)
}

/// Frames a part of the screen and returns what is inside.
pub fn panel(buffer: &mut Buffer, area: Rect, title: Line<'_>, focused: bool, theme: &Theme) -> Rect {
    if area.is_empty() {
        return area;
    }
    let (border, kind) =
        if focused { (theme.focus, BorderType::Thick) } else { (theme.border, BorderType::Plain) };
    if area.width >= BORDERS && area.height >= 4 {
        let block = Block::bordered().border_type(kind).border_style(border).title(title);
        let inside = block.inner(area);
        block.render(area, buffer);
        return inside;
    }
    let mark = if focused { "▸ " } else { "" };
    let mut heading = Line::from(Span::styled(mark, border));
    heading.spans.extend(title.spans);
    put(buffer, area, 0, &heading);
    Rect { y: area.y + 1, height: area.height - 1, ..area }
}

/// The picture of a spinner at a tick.
pub fn spinner(tick: usize) -> &'static str {
    SPINNER[tick % SPINNER.len()]
}

/// What stands in place of a value that is not there: that it is on its way, or why it is not and what to
/// do. None when there is a value.
pub fn instead<'a, T>(remote: &Remote<T>, what: &str, tick: usize, theme: &Theme) -> Option<Vec<Line<'a>>> {
    match remote {
        Remote::Ready(_) | Remote::Stale(..) => None,
        Remote::Loading => {
            Some(vec![Line::styled(format!("{} loading {what} …", spinner(tick)), theme.busy)])
        }
        Remote::Failed(fault) => Some(explain(fault, theme)),
    }
}

/// A failure with its way out.
pub fn explain<'a>(fault: &Fault, theme: &Theme) -> Vec<Line<'a>> {
    let mut lines = vec![
        Line::from(vec![
            Span::styled(format!("✗ error[{}] ", fault.code), theme.bad),
            words(&fault.message, theme.text),
        ]),
        Line::default(),
    ];
    lines.extend(
        fault
            .hints
            .iter()
            .map(|hint| Line::from(vec![Span::styled("hint: ", theme.key), words(hint, theme.text)])),
    );
    lines
}

/// A word for the title of a panel whose value is old.
pub fn stale<'a, T>(remote: &Remote<T>, now: jiff::Timestamp, theme: &Theme) -> Option<Span<'a>> {
    match remote {
        Remote::Stale(_, since, fault) => {
            let text = format!("! stale for {} ({}) ", age(Some(*since), now), fault.code);
            Some(Span::styled(text, theme.warn))
        }
        _ => None,
    }
}
