//! The wizard among the runs: how it begins, and what becomes of it.

use butler_core::bootstrap::wizard::Wizard;

use super::{
    Bootstrap,
    wizard::{Outcome, Questions},
};
use crate::{
    dashboard::{
        Do, Origin, Task, WizardDo,
        tabs::{Step, WizardNews},
    },
    tui::{
        Layer,
        layers::{Ask, Need},
    },
};

impl Bootstrap {
    /// Asks for a new management cluster.
    pub(super) fn new_cluster() -> Vec<Step> {
        vec![Step::Do(Do::Wizard(WizardDo::Begin(Origin::Ask)))]
    }

    /// Takes news that the wizard asked for, also before there is one.
    pub(super) fn wizard_news(&mut self, news: WizardNews) -> Vec<Step> {
        match (news, &mut self.wizard) {
            (WizardNews::Begin { draft: Some(draft), ask: true, .. }, None) => {
                let name = draft.answers.text("cluster.name");
                let text = format!(
                    "Answers for the management cluster {name} were kept. With no, they are dropped."
                );
                let begin = |origin| Task::Do(Do::Wizard(WizardDo::Begin(origin)));
                let ask = Ask::new("Go on with the draft?", text, Need::Yes, begin(Origin::Resume));
                vec![Step::Ask(Layer::Ask(ask.otherwise(begin(Origin::Fresh))))]
            }
            (WizardNews::Begin { directory, home, draft, .. }, None) => {
                let (wizard, steps) = Questions::new(Wizard::new(draft, directory, home));
                self.wizard = Some(wizard);
                self.open = None;
                self.trouble = None;
                steps
            }
            (WizardNews::Failed(fault), None) => {
                self.trouble = Some(("beginning the questions".to_owned(), fault));
                Vec::new()
            }
            (news, Some(wizard)) => {
                let outcome = wizard.learn(news);
                self.questioned(outcome)
            }
            (_, None) => Vec::new(),
        }
    }

    /// Carries out what the wizard came to.
    pub(super) fn questioned(&mut self, outcome: Outcome) -> Vec<Step> {
        match outcome {
            Outcome::Going(steps) => steps,
            Outcome::Run(program) => {
                self.wizard = None;
                // The draft goes when there is a run in its place.
                self.drafted = true;
                vec![Step::Do(program)]
            }
            Outcome::Left(word) => {
                self.wizard = None;
                self.last_word = word.clone();
                let mut steps: Vec<Step> = word.map(Step::Say).into_iter().collect();
                if self.alone {
                    steps.push(Step::Quit);
                }
                steps
            }
        }
    }
}
