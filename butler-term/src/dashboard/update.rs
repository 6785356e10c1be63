//! What messages do to the model.

use jiff::SignedDuration;

use super::{
    Closed, Dashboard, Do, News, Notice, Task,
    keys::{Action, scope},
    tabs::Step,
    world::learn,
};
use crate::tui::{
    App, Effect, Event, Fault, Key, KeyCode, KeyEvent, KeyModifiers, Layer, MouseEvent, MouseEventKind, Msg,
    Remote, Reply,
    layers::{Help, Palette},
};

/// How long a word at the foot stays.
const WORD: SignedDuration = SignedDuration::from_secs(8);

impl App for Dashboard {
    type Msg = News;
    type Effect = Do;

    fn update(&mut self, msg: Msg<News>) -> Vec<Effect<Do>> {
        match msg {
            Msg::Tick(now) => {
                self.world.now = now;
                self.world.tick = self.world.tick.wrapping_add(1);
                if self.notice.as_ref().is_some_and(|notice| now > notice.until) {
                    self.notice = None;
                }
                Vec::new()
            }
            Msg::Trouble(text) => {
                self.say(text, true);
                Vec::new()
            }
            Msg::Input(event) => self.input(event),
            Msg::App(news) => self.learn(news),
        }
    }

    fn settle(&mut self) {
        self.world.trim();
        let world = &self.world;
        if let Some(tab) = self.tabs.get_mut(self.at) {
            tab.settle(world);
        }
    }

    fn view(&self, frame: &mut ratatui::Frame<'_>) {
        self.draw(frame);
    }

    fn animates(&self) -> bool {
        let loading = self.connects && matches!(self.world.link, Remote::Loading);
        loading || self.writes > 0 || self.tabs.get(self.at).is_some_and(|tab| tab.animates())
    }
}

/// Keys that write, move or end a line.
fn is_text(key: KeyEvent) -> bool {
    let held = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    !held && !matches!(key.code, KeyCode::Esc | KeyCode::F(_))
}

impl Dashboard {
    /// The places keys are looked up in, the innermost first.
    pub(super) fn scopes(&self) -> Vec<&'static str> {
        let Some(tab) = self.tabs.get(self.at) else { return Vec::new() };
        let mut scopes = tab.scopes();
        if !tab.modal() {
            scopes.extend([scope::MOVING, scope::EVERYWHERE]);
        }
        scopes
    }

    fn say(&mut self, text: impl Into<String>, bad: bool) {
        self.notice = Some(Notice { text: text.into(), bad, until: self.world.now + WORD });
    }

    fn input(&mut self, event: Event) -> Vec<Effect<Do>> {
        match event {
            Event::Key(key) if key.is_press() || key.is_repeat() => self.key(key),
            Event::Paste(text) => {
                match self.layers.last_mut() {
                    Some(layer) => layer.paste(&text),
                    None => {
                        if let Some(tab) = self.tabs.get_mut(self.at) {
                            tab.paste(&text);
                        }
                    }
                }
                Vec::new()
            }
            Event::Mouse(mouse) => self.mouse(mouse),
            _ => Vec::new(),
        }
    }

    fn key(&mut self, key: KeyEvent) -> Vec<Effect<Do>> {
        if let Some(layer) = self.layers.last_mut() {
            let reply = layer.key(key);
            if reply != Reply::Stay {
                self.layers.pop();
            }
            return match reply {
                Reply::Act(action) => self.choose(action),
                Reply::Do(task) => self.task(task),
                Reply::Stay | Reply::Close => Vec::new(),
            };
        }
        let action = self.keymap.action(&self.scopes(), Key::from(key));
        let Some(tab) = self.tabs.get_mut(self.at) else { return Vec::new() };
        // Where one types, only keys that are no part of a text mean something else.
        if let Some(action) = action.filter(|_| tab.modal() && !is_text(key)) {
            return self.act(action);
        }
        match (tab.typing(key), action) {
            (Some(steps), _) => steps.into_iter().flat_map(|step| self.step(step)).collect(),
            (None, Some(action)) => self.act(action),
            (None, None) => Vec::new(),
        }
    }

    fn mouse(&mut self, mouse: MouseEvent) -> Vec<Effect<Do>> {
        if !self.layers.is_empty() {
            return Vec::new();
        }
        match mouse.kind {
            MouseEventKind::ScrollDown => self.act(Action::Down),
            MouseEventKind::ScrollUp => self.act(Action::Up),
            MouseEventKind::Down(_) => {
                let place = ratatui::layout::Position::new(mouse.column, mouse.row);
                let hit =
                    self.drawn.borrow().tabs.iter().find(|(area, _)| area.contains(place)).map(|hit| hit.1);
                match (hit, self.tabs.get_mut(self.at)) {
                    (Some(tab), _) => self.at = tab,
                    (None, Some(tab)) => tab.click(mouse.row),
                    (None, None) => {}
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// An action that was chosen by name may belong to another tab: it is shown first.
    fn choose(&mut self, action: Action) -> Vec<Effect<Do>> {
        let here = self.scopes();
        let known = |scopes: &[&'static str]| self.keymap.of(scopes).any(|row| row.action == action);
        if !known(&here) {
            let place = self.tabs.iter().position(|tab| known(&tab.scopes()));
            match place {
                Some(at) => self.at = at,
                None => {
                    self.say("open a cluster or a run for that", true);
                    return Vec::new();
                }
            }
        }
        self.act(action)
    }

    fn act(&mut self, action: Action) -> Vec<Effect<Do>> {
        let world = &self.world;
        if let Some(steps) = self.tabs.get_mut(self.at).and_then(|tab| tab.act(action, world)) {
            return steps.into_iter().flat_map(|step| self.step(step)).collect();
        }
        let count = self.tabs.len().max(1);
        match action {
            Action::Quit => return self.quit(),
            Action::Help => self.layers.push(Layer::Help(Help::new(self.scopes()))),
            Action::Palette => self.layers.push(Layer::Palette(Palette::new(&self.keymap))),
            Action::Suspend => return vec![Effect::Suspend],
            Action::Redraw => return vec![Effect::Redraw],
            Action::Refresh if self.connects => {
                self.say("asking again", false);
                return vec![Effect::App(Do::Connect)];
            }
            Action::Tab(number) => {
                self.at = self.tabs.iter().position(|tab| tab.number() == number).unwrap_or(self.at);
            }
            Action::NextTab => self.at = (self.at + 1) % count,
            Action::PreviousTab => self.at = (self.at + count - 1) % count,
            _ => {}
        }
        Vec::new()
    }

    fn step(&mut self, step: Step) -> Vec<Effect<Do>> {
        match step {
            Step::Do(effect) => return self.task(Task::Do(effect)),
            Step::Ask(layer) => self.layers.push(layer),
            Step::Say(text) => self.say(text, false),
            Step::Page { name, text } => return vec![Effect::Page { name, text }],
            Step::Quit => return self.quit(),
        }
        Vec::new()
    }

    fn task(&mut self, task: Task) -> Vec<Effect<Do>> {
        match task {
            Task::Quit => self.quit(),
            Task::Do(effect) => {
                match &effect {
                    Do::Delete { namespace, name, .. } => {
                        self.writes += 1;
                        self.say(format!("deleting {namespace}/{name} …"), false);
                    }
                    // It is a process of its own and does not end with us.
                    Do::Program { what, .. } => self.say(format!("{what} …"), false),
                    _ => {}
                }
                vec![Effect::App(effect)]
            }
        }
    }

    /// Goes once everything that was asked for was sent; whoever asks twice goes at once.
    fn quit(&mut self) -> Vec<Effect<Do>> {
        if self.writes == 0 || self.leaving {
            return vec![Effect::Quit];
        }
        self.leaving = true;
        self.say("ending when the last change was sent; once more ends now", false);
        Vec::new()
    }

    fn learn(&mut self, news: News) -> Vec<Effect<Do>> {
        let world = &mut self.world;
        let now = world.now;
        match news {
            News::Link(Ok(link)) => world.link = Remote::Ready(link),
            News::Link(Err(fault)) => world.link.lose(fault, now),
            News::Tenants(news) => {
                learn(&mut world.tenants, news, now);
                self.tabs.iter_mut().for_each(|tab| tab.stir());
            }
            News::Nodes(news) => learn(&mut world.nodes, news, now),
            News::Pools(news) => learn(&mut world.pools, news, now),
            News::Deployments(news) => learn(&mut world.deployments, news, now),
            News::Daemons(news) => learn(&mut world.daemons, news, now),
            News::Events(news) => learn(&mut world.events, news, now),
            News::Runs(Ok(runs)) => {
                world.runs = Remote::Ready(runs);
                return self.tell_tabs();
            }
            News::Runs(Err(fault)) => world.runs.lose(fault, now),
            News::Said { what, result } => self.told(&what, result),
            News::Ended { what, result } => {
                self.writes = self.writes.saturating_sub(1);
                self.told(&what, result);
                if self.leaving && self.writes == 0 {
                    return vec![Effect::Quit];
                }
            }
            News::Tab(mut news) => {
                let world = &self.world;
                let steps: Vec<Step> =
                    self.tabs.iter_mut().flat_map(|tab| tab.learn(&mut news, world)).collect();
                return steps.into_iter().flat_map(|step| self.step(step)).collect();
            }
        }
        Vec::new()
    }

    fn told(&mut self, what: &str, result: Result<(), Fault>) {
        match result {
            Ok(()) => self.say(format!("✓ {what}: done"), false),
            Err(fault) => self.say(format!("✗ {what}: {} ({})", fault.message, fault.code), true),
        }
    }

    fn tell_tabs(&mut self) -> Vec<Effect<Do>> {
        let world = &self.world;
        let steps: Vec<Step> = self.tabs.iter_mut().flat_map(|tab| tab.runs(world)).collect();
        steps.into_iter().flat_map(|step| self.step(step)).collect()
    }

    /// What is on the screen, for a last word.
    pub(super) fn closed(&self) -> Closed {
        Closed {
            run: self.tabs.iter().find_map(|tab| tab.run()),
            trouble: self.tabs.iter().find_map(|tab| tab.trouble()),
            word: self.tabs.iter().find_map(|tab| tab.last_word()),
        }
    }
}
