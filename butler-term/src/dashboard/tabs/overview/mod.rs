//! A management cluster at a glance: health, capacity, tenants, what happened, runs on this machine.

mod view;

use ratatui::{buffer::Buffer, layout::Rect};

use super::{Step, Tab};
use crate::{
    dashboard::{keys::Action, world::World},
    tui::{Theme, widgets::text::Scroll},
};

/// The tab.
#[derive(Default)]
pub struct Overview {
    scroll: Scroll,
}

impl Tab for Overview {
    fn number(&self) -> u8 {
        1
    }

    fn title(&self) -> &'static str {
        "Overview"
    }

    fn scopes(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn act(&mut self, action: Action, _world: &World) -> Option<Vec<Step>> {
        match action {
            Action::Up => self.scroll.by(-1),
            Action::Down => self.scroll.by(1),
            Action::PageUp => self.scroll.page(-1),
            Action::PageDown => self.scroll.page(1),
            Action::Top => self.scroll.top(),
            Action::Bottom => self.scroll.bottom(),
            _ => return None,
        }
        Some(Vec::new())
    }

    fn view(&self, world: &World, theme: &Theme, buffer: &mut Buffer, area: Rect) {
        view::draw(world, &self.scroll, theme, buffer, area);
    }
}
