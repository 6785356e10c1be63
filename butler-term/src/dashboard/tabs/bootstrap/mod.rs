//! Bootstrap runs: those on this machine, and one of them as it goes on, or again as it went.
//!
//! A run is another process. What is shown is read from its directory, so it does not matter who started
//! it, and leaving it leaves it going.

mod asking;
mod model;
mod view;
mod wizard;

use butler_core::{
    bootstrap::run::{RunState, Stage},
    event::RunId,
};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{Step, Tab, TabNews, WizardNews};
use crate::{
    dashboard::{
        Do, Origin, Task, WizardDo,
        keys::{Action, scope},
        world::{RunRow, World},
    },
    tui::{
        Fault, KeyCode, KeyEvent, Layer, Theme,
        layers::{Ask, Fill, Need},
        widgets::{
            form::{Answer, Choice, Field, Form},
            input::Input,
            table::TableState,
        },
    },
};
use model::{Part, RunModel};
use wizard::Questions;

/// What the tab begins with.
#[derive(Debug)]
pub enum Beginning {
    /// The list of runs.
    List,
    /// This run.
    Run(RunId),
    /// A run that is shown again; its events come by themselves.
    Replay(RunId),
    /// A run that this program is to begin, with these arguments.
    Launch(Vec<String>),
    /// The questions for a new management cluster.
    Wizard(Origin),
}

/// The tab.
pub struct Bootstrap {
    table: TableState,
    open: Option<RunModel>,
    tickets: u64,
    beginning: Beginning,
    /// There is nothing but one run: leaving it is the end.
    alone: bool,
    /// The process of a run that was begun here and is not on the list yet.
    awaited: Option<u32>,
    /// Why the last program did not do what it was to do.
    trouble: Option<(String, Fault)>,
    typing: bool,
    /// The questions for a new management cluster.
    wizard: Option<Questions>,
    /// A draft is still there, in case the run that was made of it does not begin.
    drafted: bool,
    /// What is to be said when the screen is gone.
    last_word: Option<String>,
}

impl Bootstrap {
    /// `alone`: there is no other tab and no list to go back to.
    pub fn new(beginning: Beginning, alone: bool) -> Self {
        Self {
            table: TableState::default(),
            open: None,
            tickets: 0,
            beginning,
            alone,
            awaited: None,
            trouble: None,
            typing: false,
            wizard: None,
            drafted: false,
            last_word: None,
        }
    }

    fn follow(&mut self, id: RunId, replay: bool) -> Do {
        self.tickets += 1;
        let ticket = self.tickets;
        self.open = Some(RunModel::new(ticket, id.clone(), replay));
        self.trouble = None;
        Do::Follow { ticket, id }
    }

    /// The run that an action is about: the open one, else the chosen one.
    fn meant<'a>(&'a self, world: &'a World) -> Option<&'a RunState> {
        match &self.open {
            Some(run) => Some(&run.state),
            None => self.row(world)?.state.as_ref().ok(),
        }
    }

    fn row<'a>(&self, world: &'a World) -> Option<&'a RunRow> {
        let runs = world.runs.value()?;
        // The newest is on top.
        runs.get(runs.len().checked_sub(self.table.selected() + 1)?)
    }

    fn ask(&self, action: Action, world: &World) -> Vec<Step> {
        let Some(state) = self.meant(world) else { return vec![Step::Say("there is no run".to_owned())] };
        if self.open.as_ref().is_some_and(|run| run.replay) {
            return vec![Step::Say("this is a run of the past; it is only shown".to_owned())];
        }
        question(action, state)
    }

    fn new_run() -> Vec<Step> {
        let fields = vec![
            Field::new(
                "Configuration",
                "a file; examples/ has one for each provider",
                Answer::Text(Input::with("bootstrap.yaml")),
            ),
            Field::new(
                "Temporary cluster",
                "kind needs a container engine; process needs nothing",
                Answer::Choice(["as configured", "kind", "process"].map(Choice::word).into(), 0),
            ),
        ];
        let make = |form: &Form| {
            let answers: Vec<String> = form.fields.iter().map(|field| field.answer.text()).collect();
            let [config, runtime] = answers.as_slice() else {
                return Err("two answers are needed".to_owned());
            };
            if config.trim().is_empty() {
                return Err("a run needs a configuration".to_owned());
            }
            let mut args: Vec<String> = ["bootstrap", "run", "--config", config].map(str::to_owned).to_vec();
            if runtime != "as configured" {
                args.extend(["--runtime".to_owned(), runtime.clone()]);
            }
            Ok(Task::Do(Do::Program { what: format!("beginning a run of {config}"), args }))
        };
        vec![Step::Ask(Layer::Fill(Fill { title: "Begin a run", form: Form::new(fields), make }))]
    }

    fn leave(&mut self) -> Vec<Step> {
        if !self.alone {
            self.open = None;
            return vec![Step::Do(Do::Unfollow)];
        }
        let goes = self.open.as_ref().filter(|run| run.state.stage == Stage::Running && !run.replay);
        // How it ended is told once the screen is gone.
        let Some(run) = goes else { return vec![Step::Quit] };
        let text = format!(
            "The run goes on without this screen, as process {}. `butleradm bootstrap status {} --watch --tui` \
             comes back to it.",
            run.state.holder.as_ref().map_or(0, |holder| holder.pid),
            run.state.run_id,
        );
        vec![Step::Ask(Layer::Ask(Ask::new("Leave the run going?", text, Need::Yes, Task::Quit)))]
    }

    fn act_in_list(&mut self, action: Action, world: &World) -> Option<Vec<Step>> {
        let rows = world.runs.value().map_or(0, Vec::len);
        match action {
            Action::Up => self.table.by(-1, rows),
            Action::Down => self.table.by(1, rows),
            Action::PageUp => self.table.page(-1, rows),
            Action::PageDown => self.table.page(1, rows),
            Action::Top => self.table.select(0),
            Action::Bottom => self.table.select(rows.saturating_sub(1)),
            Action::Open => {
                let id = self.row(world)?.id.clone();
                return Some(vec![Step::Do(self.follow(id, false))]);
            }
            Action::Back if self.trouble.is_some() && !self.alone => self.trouble = None,
            Action::NewCluster => return Some(Self::new_cluster()),
            Action::NewRun => return Some(Self::new_run()),
            Action::Resume | Action::Abort | Action::Destroy => return Some(self.ask(action, world)),
            _ => return None,
        }
        Some(Vec::new())
    }

    fn act_in_run(&mut self, action: Action, world: &World) -> Option<Vec<Step>> {
        match action {
            Action::Resume | Action::Abort | Action::Destroy => return Some(self.ask(action, world)),
            Action::Back if self.alone => return Some(Vec::new()),
            Action::Back => {
                self.open = None;
                return Some(vec![Step::Do(Do::Unfollow)]);
            }
            Action::Detach => return Some(self.leave()),
            Action::Quit if self.alone => return Some(self.leave()),
            _ => {}
        }
        let run = self.open.as_mut()?;
        match action {
            Action::NextPart => run.turn(true),
            Action::PreviousPart => run.turn(false),
            Action::Zoom => run.zoom = !run.zoom,
            Action::Filter => {
                run.part = Part::Log;
                self.typing = true;
            }
            Action::Follow => {
                let follow = !run.log.follows();
                run.log.follow(follow);
            }
            Action::Level => run.log.next_level(),
            Action::Page => {
                let name = format!("{}.log", run.state.run_id);
                return Some(vec![Step::Page { name, text: run.log.text() }]);
            }
            Action::Up => run.scroll(-1),
            Action::Down => run.scroll(1),
            Action::PageUp => run.page(-1),
            Action::PageDown => run.page(1),
            Action::Top => run.top(),
            Action::Bottom => run.bottom(),
            _ => return None,
        }
        Some(Vec::new())
    }
}

/// The question before something is done to a run, or why it is not.
fn question(action: Action, state: &RunState) -> Vec<Step> {
    let id = state.run_id.to_string();
    let cluster = state.cluster.clone().unwrap_or_else(|| "-".to_owned());
    let program = |what: &str, args: &[&str]| {
        let args = ["bootstrap"].iter().chain(args).map(|arg| (*arg).to_owned()).collect();
        Task::Do(Do::Program { what: format!("{what} {id}"), args })
    };
    let ask = |title: String, text: String, need, task| {
        vec![Step::Ask(Layer::Ask(Ask::new(title, text, need, task)))]
    };
    let say = |text: &str| vec![Step::Say(text.to_owned())];
    match (action, state.stage) {
        (Action::Resume, Stage::Running) => say("somebody works on it already"),
        (Action::Resume, Stage::Succeeded) => say("it has succeeded; there is nothing to go on with"),
        (Action::Resume, Stage::Destroyed) => say("everything it made is gone"),
        (Action::Resume, _) if state.half_destroyed => say("its removal was begun; X goes on with that"),
        (Action::Resume, stage) => {
            let word = if stage == Stage::Failed { "Retry" } else { "Resume" };
            let text = "What exists is found and taken over; what is missing is made. It goes on as a process of its own.";
            ask(
                format!("{word} {cluster}?"),
                text.to_owned(),
                Need::Yes,
                program("resuming", &["resume", &id]),
            )
        }
        (Action::Abort, Stage::Running | Stage::Interrupted) => {
            let text = "The process that works on it is told to stop. What it made stays: it can be resumed, or removed.";
            ask(format!("Stop {cluster}?"), text.to_owned(), Need::Yes, program("stopping", &["abort", &id]))
        }
        (Action::Abort, _) => say("nobody works on it; there is nothing to stop"),
        (Action::Destroy, Stage::Running) => say("somebody works on it; stop it first"),
        (Action::Destroy, Stage::Destroyed) => say("everything it made is gone already"),
        (Action::Destroy, _) => {
            let machines = state.machines.values().filter(|machine| !machine.removed).count();
            let text = format!(
                "Everything that run {id} made is removed: {machines} machines, load balancers, the temporary \
                 cluster, saved credentials. This cannot be undone."
            );
            let task = program("removing", &["destroy", &id, "--yes", &cluster]);
            ask(format!("Destroy {cluster}"), text, Need::Name(cluster), task)
        }
        _ => Vec::new(),
    }
}

impl Tab for Bootstrap {
    fn number(&self) -> u8 {
        0
    }

    fn title(&self) -> &'static str {
        "Bootstrap"
    }

    fn place(&self) -> Option<String> {
        if let Some(wizard) = &self.wizard {
            return Some(wizard.place());
        }
        let run = self.open.as_ref()?;
        Some(run.state.cluster.clone().unwrap_or_else(|| run.state.run_id.to_string()))
    }

    fn scopes(&self) -> Vec<&'static str> {
        vec![match (&self.wizard, &self.open) {
            (Some(_), _) => scope::WIZARD,
            (None, Some(_)) => scope::RUN,
            (None, None) => scope::RUNS,
        }]
    }

    fn modal(&self) -> bool {
        self.wizard.is_some()
    }

    fn begin(&mut self) -> Vec<Do> {
        match std::mem::replace(&mut self.beginning, Beginning::List) {
            Beginning::List => Vec::new(),
            Beginning::Run(id) => vec![self.follow(id, false)],
            Beginning::Replay(id) => vec![self.follow(id, true)],
            Beginning::Wizard(origin) => vec![Do::Wizard(WizardDo::Begin(origin))],
            Beginning::Launch(args) => vec![Do::Program { what: "beginning the run".to_owned(), args }],
        }
    }

    fn typing(&mut self, key: KeyEvent) -> Option<Vec<Step>> {
        if let Some(wizard) = &mut self.wizard {
            let outcome = wizard.key(key)?;
            return Some(self.questioned(outcome));
        }
        let (true, Some(run)) = (self.typing, &mut self.open) else { return None };
        match key.code {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => {
                self.typing = false;
                run.log.filter.clear();
            }
            _ => {
                run.log.filter.key(key);
                run.log.follow(true);
            }
        }
        Some(Vec::new())
    }

    fn paste(&mut self, text: &str) {
        if let Some(wizard) = &mut self.wizard {
            return wizard.paste(text);
        }
        if let (true, Some(run)) = (self.typing, &mut self.open) {
            run.log.filter.paste(text);
        }
    }

    fn act(&mut self, action: Action, world: &World) -> Option<Vec<Step>> {
        if let Some(wizard) = &mut self.wizard {
            let outcome = wizard.act(action)?;
            return Some(self.questioned(outcome));
        }
        if self.open.is_some() {
            return self.act_in_run(action, world);
        }
        self.act_in_list(action, world)
    }

    fn click(&mut self, row: u16) {
        if self.open.is_none()
            && self.wizard.is_none()
            && let Some(row) = self.table.row_at(row, usize::MAX)
        {
            self.table.select(row);
        }
    }

    fn learn(&mut self, news: &mut TabNews, world: &World) -> Vec<Step> {
        match news {
            TabNews::Run(ticket, news) => {
                if let Some(run) = self.open.as_mut().filter(|run| run.ticket == *ticket) {
                    run.learn(std::mem::take(&mut **news), world.now);
                }
            }
            TabNews::Wizard(news) => {
                let news = std::mem::replace(news, WizardNews::Nothing);
                return self.wizard_news(news);
            }
            TabNews::Started { pid } => self.awaited = Some(*pid),
            TabNews::Stopped { pid, what, result } => {
                // A run that is on the screen tells its end itself.
                let unseen = self.open.is_none() || pid.is_none();
                if let (Err(fault), true) = (&*result, unseen) {
                    self.trouble = Some((what.clone(), fault.clone()));
                }
                if *pid == self.awaited {
                    self.awaited = None;
                }
            }
            _ => {}
        }
        Vec::new()
    }

    fn runs(&mut self, world: &World) -> Vec<Step> {
        let runs = world.runs.value().map(Vec::as_slice).unwrap_or_default();
        self.table.clamp(runs.len());
        let Some(pid) = self.awaited else { return Vec::new() };
        let begun = runs.iter().find(|row| {
            row.state
                .as_ref()
                .is_ok_and(|state| state.holder.as_ref().is_some_and(|holder| holder.pid == pid))
        });
        match begun {
            Some(row) => {
                self.awaited = None;
                let forget = std::mem::take(&mut self.drafted).then_some(Do::Wizard(WizardDo::Forget));
                let same = self.open.as_ref().is_some_and(|run| run.state.run_id == row.id);
                let follow = (!same).then(|| self.follow(row.id.clone(), false));
                forget.into_iter().chain(follow).map(Step::Do).collect()
            }
            None => Vec::new(),
        }
    }

    fn settle(&mut self, _world: &World) {
        if let Some(wizard) = &mut self.wizard {
            wizard.settle();
        }
    }

    fn view(&self, world: &World, theme: &Theme, buffer: &mut Buffer, area: Rect) {
        match (&self.wizard, &self.open) {
            (Some(wizard), _) => wizard.view(world, theme, buffer, area),
            (None, Some(run)) => view::run(run, self.typing, world, theme, buffer, area),
            (None, None) => self.list(world, theme, buffer, area),
        }
    }

    fn animates(&self) -> bool {
        let runs = self.open.as_ref().is_some_and(|run| run.replay || run.state.stage == Stage::Running);
        let asks = self.wizard.as_ref().is_some_and(Questions::animates);
        runs || asks || self.awaited.is_some()
    }

    fn trouble(&self) -> Option<Fault> {
        self.trouble.as_ref().map(|(_, fault)| fault.clone())
    }

    fn last_word(&self) -> Option<String> {
        self.last_word.clone()
    }

    fn run(&self) -> Option<(RunId, bool)> {
        let run = self.open.as_ref()?;
        Some((run.state.run_id.clone(), run.state.stage == Stage::Running && !run.replay))
    }
}
