//! How the list looks.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    text::{Line, Span},
};

use super::{
    Clusters,
    rows::{COLUMNS, USUAL, cells},
};
use crate::{
    dashboard::world::World,
    tui::{
        Theme,
        widgets::{instead, panel, put, stale, table::Table},
    },
};

impl Clusters {
    pub(super) fn list(&self, world: &World, theme: &Theme, buffer: &mut Buffer, area: Rect) {
        let mut inside = panel(buffer, area, self.heading(world, theme), true, theme);
        if self.typing || !self.filter.is_empty() {
            let mut line = Line::from(Span::styled("/", theme.key));
            match self.typing {
                true => line.spans.extend(self.filter.line(inside.width.saturating_sub(1), theme).spans),
                false => line.push_span(Span::styled(self.filter.text(), theme.busy)),
            }
            put(buffer, inside, 0, &line);
            inside = Rect { y: inside.y + 1, height: inside.height.saturating_sub(1), ..inside };
        }
        // Why there is no connection says more than why there is no list.
        let absent = match (&world.tenants, world.link.fault()) {
            (crate::tui::Remote::Loading, Some(fault)) => Some(crate::tui::widgets::explain(fault, theme)),
            (tenants, _) => instead(tenants, "tenant clusters", world.tick, theme),
        };
        if let Some(lines) = absent {
            return paragraph(buffer, inside, lines);
        }
        let Some(store) = world.tenants.value() else { return };
        if self.order.is_empty() {
            let text =
                if store.is_empty() { "There is no tenant cluster yet." } else { "No cluster matches." };
            let next = if store.is_empty() {
                "hint: kubectl apply -f examples/manifests/minimal.yaml"
            } else {
                "hint: esc clears the filter"
            };
            return paragraph(
                buffer,
                inside,
                vec![Line::styled(text, theme.text), Line::styled(next, theme.dim)],
            );
        }
        let columns = if self.wide { COLUMNS } else { &COLUMNS[..USUAL] };
        let row = |at: usize| {
            let row = self.order.get(at).and_then(|name| store.get(name));
            row.map(|row| cells(row, world.now, theme)).unwrap_or_default()
        };
        let sorted = Some((self.sort, self.reverse));
        let table = Table { columns, sorted, rows: self.order.len(), row, focused: true };
        table.draw(buffer, inside, &self.table, theme);
    }

    fn heading<'a>(&self, world: &World, theme: &Theme) -> Line<'a> {
        let all = world.tenants.value().map_or(0, |store| store.len());
        let count = match self.order.len() {
            shown if shown == all => format!(" {all} "),
            shown => format!(" {shown} of {all} "),
        };
        let mut line = Line::styled(" Tenant clusters", theme.title);
        line.push_span(Span::styled(count, theme.text));
        line.spans.extend(stale(&world.tenants, world.now, theme));
        line
    }
}

/// Lines that are broken where they do not fit.
pub(in crate::dashboard) fn paragraph(buffer: &mut Buffer, area: Rect, lines: Vec<Line<'_>>) {
    use ratatui::widgets::{Paragraph, Widget, Wrap};

    let inside = Rect { x: area.x + 1.min(area.width), width: area.width.saturating_sub(2), ..area };
    Paragraph::new(lines).wrap(Wrap { trim: false }).render(inside, buffer);
}
