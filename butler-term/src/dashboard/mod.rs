//! Full-screen views of a management cluster and of bootstrap runs.
//!
//! - [`world`]: what is known, from watches and from the runs on this machine
//! - [`tabs`]: one folder per tab; each has a state, takes actions and draws itself
//! - [`keys`]: every action and its keys
//! - [`feeds`]: the effects: connecting, watching, following runs, starting programs
//! - `update`, `view`: the frame around the tabs
//!
//! A program chooses its tabs and calls [`open()`]. Nothing here needs more than `butler-core`: a run is
//! another process, and its journal is all that is read of it.

pub mod feeds;
pub mod keys;
mod open;
pub mod tabs;
#[cfg(test)]
mod tests;
mod update;
mod view;
pub mod world;

use std::{cell::RefCell, path::PathBuf};

use butler_core::{
    bootstrap::wizard::{Answers, keep::Draft},
    event::RunId,
    live::{EventRow, NodeRow, PoolRow, Seen},
    platform::Workload,
    redact::Secret,
    tenant::Summary,
};
use jiff::Timestamp;
use ratatui::layout::Rect;

pub use open::{Closed, Opening, Start, open};

use crate::tui::{Fault, Keymap, Layer, Theme};
use keys::Action;
use tabs::{Tab, TabNews};
use world::{Link, RunRow, World};

/// What effects tell.
#[derive(Debug)]
pub enum News {
    /// There is a way to the cluster, or there is none.
    Link(Result<Link, Fault>),
    /// Of tenant clusters.
    Tenants(Vec<Seen<Summary>>),
    /// Of nodes.
    Nodes(Vec<Seen<NodeRow>>),
    /// Of pools.
    Pools(Vec<Seen<PoolRow>>),
    /// Of deployments.
    Deployments(Vec<Seen<Workload>>),
    /// Of daemon sets.
    Daemons(Vec<Seen<Workload>>),
    /// Of events.
    Events(Vec<Seen<EventRow>>),
    /// The runs on this machine.
    Runs(Result<Vec<RunRow>, Fault>),
    /// A program ended.
    Said {
        /// What it was to do.
        what: String,
        /// How it ended.
        result: Result<(), Fault>,
    },
    /// Something was written.
    Ended {
        /// What was done.
        what: String,
        /// How it ended.
        result: Result<(), Fault>,
    },
    /// For the tab that asked for it.
    Tab(TabNews),
}

/// What is done outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Do {
    /// Find the cluster, and watch it.
    Connect,
    /// Watch one tenant cluster in full.
    Look {
        /// What news of it carry.
        ticket: u64,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Watch it no more.
    LookAway,
    /// Delete a tenant cluster.
    Delete {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// That one, and no other of its name.
        uid: String,
    },
    /// Follow a run.
    Follow {
        /// What news of it carry.
        ticket: u64,
        /// The run.
        id: RunId,
    },
    /// Follow it no more.
    Unfollow,
    /// Start this program again with these arguments, apart from this terminal.
    Program {
        /// What it does, for messages.
        what: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// For the wizard.
    Wizard(WizardDo),
}

/// What the wizard wants done outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WizardDo {
    /// Begin, or ask first whether a draft is to be gone on with.
    Begin(Origin),
    /// Ask the provider what it has.
    Survey {
        /// What news of it carry.
        ticket: u64,
        /// What was answered so far.
        answers: Answers,
    },
    /// Keep a secret that was typed in.
    Keep {
        /// The key of its question.
        key: &'static str,
        /// What was answered so far.
        answers: Answers,
        /// The secret.
        secret: Secret,
    },
    /// Keep a draft.
    Save(Draft),
    /// Remove the draft: it became a run.
    Forget,
    /// Save the configuration and tell what would be done.
    Plan {
        /// What news of it carry.
        ticket: u64,
        /// Where it goes.
        path: PathBuf,
        /// The configuration.
        text: String,
        /// Another file of that name may be replaced.
        replace: bool,
    },
    /// End, with the draft or without one.
    Leave(Option<Draft>),
}

/// What a wizard begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nothing.
    Fresh,
    /// The draft.
    Resume,
    /// The draft, if there is one and the person wants it.
    Ask,
}

/// What is done after a yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// This effect.
    Do(Do),
    /// End the program.
    Quit,
}

/// A dialog of a dashboard.
pub type Dialog = Layer<Action, Task>;

/// A word at the foot of the screen.
#[derive(Clone, Debug)]
struct Notice {
    text: String,
    bad: bool,
    until: Timestamp,
}

/// The model.
pub struct Dashboard {
    world: World,
    tabs: Vec<Box<dyn Tab>>,
    at: usize,
    layers: Vec<Dialog>,
    keymap: Keymap<Action>,
    theme: Theme,
    notice: Option<Notice>,
    /// Writes that have not ended.
    writes: usize,
    /// The person wants to go, once they have.
    leaving: bool,
    /// True when there is a cluster to connect to.
    connects: bool,
    /// Where things were drawn, for the mouse.
    drawn: RefCell<Drawn>,
}

/// Where things were drawn.
#[derive(Debug, Default)]
struct Drawn {
    tabs: Vec<(Rect, usize)>,
}

impl Dashboard {
    /// Begins at a tab. `connects` is false when only runs are shown.
    pub fn new(
        tabs: Vec<Box<dyn Tab>>,
        first: u8,
        keymap: Keymap<Action>,
        theme: Theme,
        connects: bool,
    ) -> Self {
        let at = tabs.iter().position(|tab| tab.number() == first).unwrap_or(0);
        Self {
            world: World::default(),
            tabs,
            at,
            layers: Vec::new(),
            keymap,
            theme,
            notice: None,
            writes: 0,
            leaving: false,
            connects,
            drawn: RefCell::default(),
        }
    }

    /// What must be done at the beginning.
    pub fn begin(&mut self) -> Vec<Do> {
        let mut first: Vec<Do> = self.connects.then_some(Do::Connect).into_iter().collect();
        first.extend(self.tabs.iter_mut().flat_map(|tab| tab.begin()));
        first
    }
}
