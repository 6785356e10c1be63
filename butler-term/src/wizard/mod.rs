//! The questions for a new management cluster, line by line: for screen readers, and for terminals that
//! cannot do more. The same questions as on the full screen, with the same result; what is asked is in
//! [`butler_core::bootstrap::wizard`].

use std::path::PathBuf;

use butler_core::{
    bootstrap::{
        config::Problem,
        wizard::{
            Answers, Ask, PageId, Question, Survey, Wizard,
            keep::{Drafts, keep_secret},
            map::map,
            question::YES_NO,
            sizes,
        },
    },
    error::Code,
    redact::Secret,
    settings::Home,
};
use futures::future::BoxFuture;

use crate::{CommandError, CommandResult, tui::Fault, ui::Ui};

/// Goes to the page before.
const BACK: &str = "<";
/// Ends the questions and keeps the answers.
const LEAVE: &str = "!";

/// What questions are put with.
pub struct Plain<'a> {
    /// Where they are put.
    pub ui: &'a Ui,
    /// Where secrets are kept.
    pub home: &'a Home,
    /// Where the answers are kept.
    pub drafts: &'a Drafts,
    /// Asks the provider what it has.
    pub scout: &'a (dyn Fn(Answers) -> BoxFuture<'static, Result<Survey, Fault>> + Send + Sync),
}

/// What a line means.
enum Said {
    Answer(String),
    /// It was a secret, and is kept in this file.
    Kept(PathBuf),
    Back,
}

impl Plain<'_> {
    /// Asks from where the wizard is until its configuration can be used.
    pub async fn ask(&self, wizard: &mut Wizard) -> CommandResult {
        self.ui.status(format_args!(
            "Each question shows its answer in brackets; Enter takes it. `{BACK}` goes a page back, `{LEAVE}` \
             ends and keeps the answers."
        ));
        let mut survey = Survey::default();
        while wizard.page().id != PageId::Plan {
            let page = wizard.page();
            self.ui.status(format_args!("\n{}. {}", page.title, page.about));
            self.drafts.save(&wizard.draft())?;
            if page.id == PageId::Discovery {
                survey = self.look(wizard).await;
            }
            if page.id == PageId::Review {
                self.ui.status(format_args!("{}", wizard.document()));
            }
            if !self.page(wizard, &survey).await? {
                // A page that only tells something would lead here again.
                while wizard.back() && wizard.questions().is_empty() {}
                continue;
            }
            self.sum(wizard);
            if let Err(wrong) = wizard.forward() {
                wrong.iter().for_each(|problem| self.tell(problem));
                // What is wrong on an earlier page is put right there.
                let earlier = wrong.iter().find_map(|problem| wizard.about(problem));
                if let Some((page, _)) = earlier {
                    wizard.go(page);
                }
            }
        }
        Ok(())
    }

    /// Puts the questions of a page; false when the person wants to go back.
    async fn page(&self, wizard: &mut Wizard, survey: &Survey) -> CommandResult<bool> {
        if wizard.page().id == PageId::Review {
            for problem in wizard.problems() {
                self.tell(&problem);
            }
            return match self.line("Enter goes on", "", wizard).await? {
                Said::Back => Ok(false),
                Said::Answer(_) | Said::Kept(_) => Ok(true),
            };
        }
        // Each answer may lead to other questions, so they are looked up anew.
        let mut at = 0;
        while let Some(question) = wizard.questions().get(at).copied() {
            match self.question(question, wizard, survey).await? {
                Said::Back => return Ok(false),
                Said::Answer(answer) => wizard.answer(question, &answer),
                Said::Kept(path) => wizard.kept(question, &path),
            }
            let mine =
                |problem: &Problem| wizard.about(problem).is_some_and(|(_, about)| about.key == question.key);
            let wrong = wizard.problems().into_iter().find(mine);
            if let Some(problem) = &wrong {
                self.tell(problem);
            }
            if !wrong.is_some_and(|problem| problem.is_error() && problem.path == question.key) {
                at += 1;
            }
        }
        Ok(true)
    }

    async fn question(&self, question: &Question, wizard: &Wizard, survey: &Survey) -> CommandResult<Said> {
        let default = wizard.answers().of(question);
        let label = question.label.trim();
        let note = question.note_text();
        if !note.is_empty() {
            self.ui.status(format_args!("  {note}"));
        }
        match question.ask {
            Ask::Choice(options) => self.choose(label, options, &default, wizard).await,
            Ask::Flag => self.choose(label, YES_NO, &default, wizard).await,
            Ask::Found(what) => {
                for (number, found) in (1..).zip(survey.of(what)) {
                    self.ui.status(format_args!("  {number}  {}", found.label));
                }
                let said = self.line(label, &default, wizard).await?;
                let Said::Answer(text) = said else { return Ok(said) };
                let number = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                let found = number.and_then(|at| survey.of(what).get(at));
                Ok(Said::Answer(found.map_or(text, |found| found.id.clone())))
            }
            Ask::Secret if wizard.answers().text(&format!("{}.from", question.key)) == "typed" => {
                let typed = self.ui.secret(label).await?;
                self.keep(question, typed, wizard)
            }
            Ask::Text | Ask::List | Ask::Secret => self.line(label, &default, wizard).await,
        }
    }

    /// Writes a secret to a file of its own.
    fn keep(&self, question: &Question, typed: Secret, wizard: &Wizard) -> CommandResult<Said> {
        if typed.expose() == BACK {
            return Ok(Said::Back);
        }
        let path = keep_secret(self.home, wizard.answers(), question.key, &typed)?;
        Ok(Said::Kept(path))
    }

    /// One of some words, by the word or by its number.
    async fn choose(
        &self,
        label: &str,
        options: &[(&str, &str)],
        default: &str,
        wizard: &Wizard,
    ) -> CommandResult<Said> {
        let word = |(value, meaning): &(&str, &str)| match *value {
            "" | "true" | "false" => (*meaning).to_owned(),
            value => value.to_owned(),
        };
        for (number, option) in (1..).zip(options) {
            let meaning = if word(option) == option.1 { String::new() } else { format!(": {}", option.1) };
            self.ui.status(format_args!("  {number}  {}{meaning}", word(option)));
        }
        let shown = options.iter().find(|(value, _)| *value == default).map(word).unwrap_or_default();
        loop {
            let Said::Answer(text) = self.line(label, &shown, wizard).await? else { return Ok(Said::Back) };
            let number = text.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
            let named =
                || options.iter().find(|option| word(option).eq_ignore_ascii_case(&text) || option.0 == text);
            match number.or_else(named) {
                Some((value, _)) => return Ok(Said::Answer((*value).to_owned())),
                None => self.ui.status(format_args!("✗ `{text}` is none of them")),
            }
        }
    }

    /// A line, and what it means. Whoever leaves finds the answers again.
    async fn line(&self, label: &str, default: &str, wizard: &Wizard) -> CommandResult<Said> {
        let text = self.ui.line(label, default).await?;
        match text.as_str() {
            BACK => Ok(Said::Back),
            LEAVE => {
                let path = self.drafts.save(&wizard.draft())?;
                let message = format!("the questions were left; the draft is kept as `{}`", path.display());
                Err(CommandError::new(Code::Declined, message).hint("butleradm bootstrap --plain --resume"))
            }
            _ => Ok(Said::Answer(text)),
        }
    }

    /// Asks the provider, and says what it told.
    async fn look(&self, wizard: &Wizard) -> Survey {
        match (self.scout)(wizard.answers().clone()).await {
            Ok(survey) => {
                for (name, value) in &survey.facts {
                    self.ui.status(format_args!("  {name}: {value}"));
                }
                for (what, found) in &survey.found {
                    match found {
                        Ok(found) => self.ui.status(format_args!("  {what}: {} found", found.len())),
                        Err(why) => self.ui.status(format_args!("  {what}: {why}")),
                    }
                }
                survey
            }
            Err(fault) => {
                self.ui.status(format_args!(
                    "✗ {} ({}); what was not found can be typed",
                    fault.message, fault.code
                ));
                Survey::default()
            }
        }
    }

    /// What the answers of a page come to.
    fn sum(&self, wizard: &Wizard) {
        match wizard.page().id {
            PageId::Cluster => {
                let (machines, total) = sizes::totals(wizard.answers());
                self.ui.status(format_args!("  together: {machines} machines, {total}"));
            }
            PageId::Network | PageId::Tenants => {
                for row in map(wizard.answers()).rows {
                    let clash = match row.clashes.as_slice() {
                        [] => String::new(),
                        others => format!("; overlaps {}", others.join(", ")),
                    };
                    self.ui.status(format_args!("  {}: {}{clash}", row.name, row.range));
                }
            }
            _ => {}
        }
    }

    fn tell(&self, problem: &Problem) {
        let word = if problem.is_error() { "✗" } else { "!" };
        let way_out = problem.suggestion.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        self.ui.status(format_args!("{word} {}{way_out}", problem.message));
    }
}
