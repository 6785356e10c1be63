//! The tabs, one folder each. A new one is a folder, its rows in [`keys`](super::keys), and a place in the
//! list of a program.

pub mod bootstrap;
pub mod clusters;
pub mod overview;

use std::path::PathBuf;

use butler_core::{
    bootstrap::{
        run::{Live, Said},
        wizard::{Survey, keep::Draft},
    },
    event::{Event, RunId, journal::Holder},
    live::{EventRow, Seen},
};
use jiff::Timestamp;
use ratatui::{buffer::Buffer, layout::Rect};
use serde_json::Value;

use super::{Dialog, Do, keys::Action, world::World};
use crate::tui::{Fault, KeyEvent, Theme};

/// What a tab wants.
#[derive(Debug)]
pub enum Step {
    /// An effect.
    Do(Do),
    /// A dialog.
    Ask(Dialog),
    /// A word at the foot of the screen.
    Say(String),
    /// A text in the pager.
    Page {
        /// What the file is called.
        name: String,
        /// What is in it.
        text: String,
    },
    /// The end of the program.
    Quit,
}

/// News that one tab asked for. Whoever asked takes them out; the ticket tells old answers from new ones.
#[derive(Debug)]
pub enum TabNews {
    /// Of the object that is looked at.
    Object(u64, Vec<Seen<Value>>),
    /// Of its events.
    ObjectEvents(u64, Vec<Seen<EventRow>>),
    /// Of the run that is followed.
    Run(u64, Box<RunNews>),
    /// Of the wizard.
    Wizard(WizardNews),
    /// A program was started, as this process.
    Started {
        /// Its process id.
        pid: u32,
    },
    /// A program ended.
    Stopped {
        /// Its process id; none when it could not be started.
        pid: Option<u32>,
        /// What it was to do.
        what: String,
        /// How it ended.
        result: Result<(), Fault>,
    },
}

/// What the wizard asked for.
#[derive(Debug)]
pub enum WizardNews {
    /// It is to begin: where one is, and the draft there is, unless it was said that it does not matter.
    Begin {
        /// What relative paths start from.
        directory: PathBuf,
        /// What `~` stands for.
        home: Option<PathBuf>,
        /// The draft.
        draft: Option<Draft>,
        /// Nobody was asked yet whether it is to be gone on with.
        ask: bool,
    },
    /// What the provider told.
    Surveyed(u64, Result<Survey, Fault>),
    /// A secret was kept in a file.
    Kept(&'static str, Result<PathBuf, Fault>),
    /// The configuration was saved, and this would be done.
    Planned(u64, Result<String, Fault>),
    /// Another file has the name of the configuration.
    Taken(PathBuf),
    /// The draft was kept here, or removed; the wizard is over.
    Left(Result<Option<PathBuf>, Fault>),
    /// It did not work.
    Failed(Fault),
    /// It was taken out already.
    Nothing,
}

/// What was added to a run.
#[derive(Debug, Default)]
pub struct RunNews {
    /// Records of its journal.
    pub events: Vec<Event>,
    /// Lines of its log.
    pub said: Vec<Said>,
    /// Who works on it.
    pub holder: Option<Holder>,
    /// How machines and tasks are.
    pub live: Option<Live>,
    /// How long its phases should take; told once.
    pub expected: Option<Vec<(&'static str, Option<u64>)>>,
    /// The time in a run that is shown again.
    pub now: Option<Timestamp>,
    /// Why it cannot be read.
    pub fault: Option<Fault>,
}

/// A tab: its state, what actions do to it, and how it looks.
pub trait Tab {
    /// The key that leads to it.
    fn number(&self) -> u8;

    /// Its name.
    fn title(&self) -> &'static str;

    /// Where one is in it.
    fn place(&self) -> Option<String> {
        None
    }

    /// The places keys are looked up in, the innermost first.
    fn scopes(&self) -> Vec<&'static str>;

    /// What must be done at the beginning.
    fn begin(&mut self) -> Vec<Do> {
        Vec::new()
    }

    /// True while it has only its own keys: one types in it, and letters are letters.
    fn modal(&self) -> bool {
        false
    }

    /// Takes a key while something is typed; none when nothing is.
    fn typing(&mut self, _key: KeyEvent) -> Option<Vec<Step>> {
        None
    }

    /// Takes a text while something is typed.
    fn paste(&mut self, _text: &str) {}

    /// Takes an action; none when it means nothing here.
    fn act(&mut self, action: Action, world: &World) -> Option<Vec<Step>>;

    /// Takes a click at a row of the screen.
    fn click(&mut self, _row: u16) {}

    /// Takes news it asked for.
    fn learn(&mut self, _news: &mut TabNews, _world: &World) -> Vec<Step> {
        Vec::new()
    }

    /// The runs on this machine are known anew.
    fn runs(&mut self, _world: &World) -> Vec<Step> {
        Vec::new()
    }

    /// The world changed: what was worked out from it is old.
    fn stir(&mut self) {}

    /// Works out what the next frame needs.
    fn settle(&mut self, _world: &World) {}

    /// Draws itself.
    fn view(&self, world: &World, theme: &Theme, buffer: &mut Buffer, area: Rect);

    /// True while something spins.
    fn animates(&self) -> bool {
        false
    }

    /// Why a program that it started did not do what it was to do.
    fn trouble(&self) -> Option<Fault> {
        None
    }

    /// What is to be said when the screen is gone.
    fn last_word(&self) -> Option<String> {
        None
    }

    /// The run on the screen, and whether somebody works on it.
    fn run(&self) -> Option<(RunId, bool)> {
        None
    }
}
