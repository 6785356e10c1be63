//! Tenant clusters: a list that is sorted and narrowed down, and one of them in full.

mod detail;
mod rows;
mod view;

pub(in crate::dashboard) use detail::happened;
pub(in crate::dashboard) use view::paragraph;

use std::sync::Arc;

use butler_core::tenant::Summary;
use ratatui::{buffer::Buffer, layout::Rect};

use super::{Step, Tab, TabNews};
use crate::{
    dashboard::{
        Do, Task,
        keys::{Action, scope},
        world::World,
    },
    tui::{
        KeyCode, KeyEvent, Layer, Theme,
        layers::{Ask, Need},
        widgets::{input::Input, table::TableState},
    },
};
use detail::{Detail, Part};

/// The tab.
#[derive(Default)]
pub struct Clusters {
    table: TableState,
    /// The column that rows are sorted by.
    sort: usize,
    reverse: bool,
    /// Every column, not only the usual ones.
    wide: bool,
    filter: Input,
    typing: bool,
    /// The rows to show, worked out before a frame.
    order: Vec<Arc<str>>,
    old: bool,
    /// The row that is chosen; rows come and go above it.
    chosen: Option<Arc<str>>,
    /// The person has chosen it; before that the first row is, whichever comes.
    moved: bool,
    detail: Option<Detail>,
    tickets: u64,
}

impl Clusters {
    /// A list sorted by name.
    pub fn new() -> Self {
        Self { old: true, ..Self::default() }
    }

    fn chosen<'a>(&self, world: &'a World) -> Option<&'a Summary> {
        world.tenants.value()?.get(self.chosen.as_deref()?)
    }

    fn moved(&mut self) {
        self.moved = true;
        self.chosen = self.order.get(self.table.selected()).cloned();
    }

    fn open(&mut self, part: Part, world: &World) -> Vec<Step> {
        let Some(row) = self.chosen(world) else { return Vec::new() };
        self.tickets += 1;
        let (namespace, name) = (row.namespace.clone(), row.name.clone());
        self.detail = Some(Detail::new(self.tickets, namespace.clone(), name.clone(), part));
        vec![Step::Do(Do::Look { ticket: self.tickets, namespace, name })]
    }

    fn ask_delete(&self) -> Vec<Step> {
        let Some(detail) = &self.detail else { return Vec::new() };
        let Some(uid) = detail.uid() else { return vec![Step::Say("it is not loaded yet".to_owned())] };
        let (namespace, name) = (detail.namespace.clone(), detail.name.clone());
        let text = format!(
            "Tenant cluster {name} in namespace {namespace} is deleted with its control plane, its workers and \
             everything on them. This cannot be undone."
        );
        let effect = Do::Delete { namespace, name: name.clone(), uid };
        let ask = Ask::new(format!("Delete {name}"), text, Need::Name(name), Task::Do(effect));
        vec![Step::Ask(Layer::Ask(ask))]
    }

    fn act_in_list(&mut self, action: Action, world: &World) -> Option<Vec<Step>> {
        let rows = self.order.len();
        match action {
            Action::Up => self.table.by(-1, rows),
            Action::Down => self.table.by(1, rows),
            Action::PageUp => self.table.page(-1, rows),
            Action::PageDown => self.table.page(1, rows),
            Action::Top => self.table.select(0),
            Action::Bottom => self.table.select(rows.saturating_sub(1)),
            Action::Open => return Some(self.open(Part::Conditions, world)),
            Action::Yaml => return Some(self.open(Part::Yaml, world)),
            Action::Delete => {
                // What will be gone is shown before the question, and the answer is about that object only.
                let mut steps = self.open(Part::Conditions, world);
                if let Some(detail) = &mut self.detail {
                    detail.delete = true;
                } else {
                    steps.push(Step::Say("no cluster is chosen".to_owned()));
                }
                return Some(steps);
            }
            Action::Filter => self.typing = true,
            Action::Back if !self.filter.is_empty() => {
                self.filter.clear();
                self.old = true;
            }
            Action::Sort => {
                let shown = if self.wide { rows::COLUMNS.len() } else { rows::USUAL };
                self.sort = (self.sort + 1) % shown;
                self.old = true;
            }
            Action::Reverse => {
                self.reverse = !self.reverse;
                self.old = true;
            }
            Action::Columns => {
                self.wide = !self.wide;
                if !self.wide && self.sort >= rows::USUAL {
                    self.sort = 0;
                    self.old = true;
                }
            }
            _ => return None,
        }
        self.moved();
        Some(Vec::new())
    }

    fn act_in_detail(&mut self, action: Action) -> Option<Vec<Step>> {
        let detail = self.detail.as_mut()?;
        match action {
            Action::Back => {
                self.detail = None;
                return Some(vec![Step::Do(Do::LookAway)]);
            }
            Action::NextPart => detail.turn(true),
            Action::PreviousPart => detail.turn(false),
            Action::Yaml => detail.show(Part::Yaml),
            Action::Up => detail.scroll.by(-1),
            Action::Down => detail.scroll.by(1),
            Action::PageUp => detail.scroll.page(-1),
            Action::PageDown => detail.scroll.page(1),
            Action::Top => detail.scroll.top(),
            Action::Bottom => detail.scroll.bottom(),
            Action::Page => {
                let name = format!("{}.yaml", detail.name);
                return Some(detail.yaml().map(|text| Step::Page { name, text }).into_iter().collect());
            }
            Action::Delete => return Some(self.ask_delete()),
            _ => return None,
        }
        Some(Vec::new())
    }
}

impl Tab for Clusters {
    fn number(&self) -> u8 {
        2
    }

    fn title(&self) -> &'static str {
        "Clusters"
    }

    fn place(&self) -> Option<String> {
        self.detail.as_ref().map(|detail| format!("{}/{}", detail.namespace, detail.name))
    }

    fn scopes(&self) -> Vec<&'static str> {
        vec![if self.detail.is_some() { scope::CLUSTER } else { scope::CLUSTERS }]
    }

    fn typing(&mut self, key: KeyEvent) -> Option<Vec<Step>> {
        if !self.typing {
            return None;
        }
        match key.code {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                self.filter.clear();
            }
            // One moves through what was found without leaving the line.
            KeyCode::Up => self.table.by(-1, self.order.len()),
            KeyCode::Down => self.table.by(1, self.order.len()),
            _ => {
                self.filter.key(key);
            }
        }
        self.old = true;
        self.moved();
        Some(Vec::new())
    }

    fn paste(&mut self, text: &str) {
        if self.typing {
            self.filter.paste(text);
            self.old = true;
        }
    }

    fn act(&mut self, action: Action, world: &World) -> Option<Vec<Step>> {
        if self.detail.is_some() { self.act_in_detail(action) } else { self.act_in_list(action, world) }
    }

    fn click(&mut self, row: u16) {
        if let (None, Some(row)) = (&self.detail, self.table.row_at(row, self.order.len())) {
            self.table.select(row);
            self.moved();
        }
    }

    fn learn(&mut self, news: &mut TabNews, world: &World) -> Vec<Step> {
        let Some(detail) = &mut self.detail else { return Vec::new() };
        detail.learn(news, world.now);
        if detail.delete && detail.uid().is_some() {
            detail.delete = false;
            return self.ask_delete();
        }
        Vec::new()
    }

    fn stir(&mut self) {
        self.old = true;
    }

    fn settle(&mut self, world: &World) {
        if !std::mem::take(&mut self.old) {
            return;
        }
        let Some(store) = world.tenants.value() else {
            self.order.clear();
            return;
        };
        self.order = rows::order(store, &self.filter.text(), self.sort, self.reverse);
        // The chosen row stays chosen wherever it went; when it is gone, the one in its place is.
        let chosen = self.chosen.as_ref().filter(|_| self.moved);
        let place = chosen.and_then(|chosen| self.order.iter().position(|name| name == chosen));
        if let Some(place) = place {
            self.table.select(place);
        }
        self.table.clamp(self.order.len());
        self.chosen = self.order.get(self.table.selected()).cloned();
    }

    fn view(&self, world: &World, theme: &Theme, buffer: &mut Buffer, area: Rect) {
        match &self.detail {
            Some(detail) => detail.view(world, theme, buffer, area),
            None => self.list(world, theme, buffer, area),
        }
    }

    fn animates(&self) -> bool {
        self.detail.as_ref().is_some_and(Detail::loads)
    }
}
