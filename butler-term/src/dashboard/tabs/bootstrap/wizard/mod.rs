//! The questions for a new management cluster, on a full screen. What is asked, and what comes of it, is in
//! [`butler_core::bootstrap::wizard`]; here it becomes forms, keys and effects.

mod editor;
mod fields;
mod picture;
mod view;

use std::path::PathBuf;

use butler_core::{
    bootstrap::{
        config::Problem,
        wizard::{Answers, Ask, PageId, Question, Survey, Wizard, answers},
    },
    error::Code,
    redact::Secret,
};

use crate::{
    dashboard::{
        Do, Task, WizardDo,
        keys::Action,
        tabs::{Step, WizardNews},
    },
    tui::{
        Fault, KeyEvent, Layer, Remote,
        layers::{Ask as Dialog, Need},
        widgets::{
            form::{Field, Filled, Form},
            text::Scroll,
        },
    },
};
use editor::Editor;

/// The wizard on the screen.
pub(super) struct Questions {
    wizard: Wizard,
    /// The questions of the page, as they stand in the form.
    asked: Vec<&'static Question>,
    form: Form,
    /// What is wrong with the configuration so far.
    problems: Vec<Problem>,
    /// The person wanted to go on, so what is missing is said too.
    tried: bool,
    /// What the provider told, and which answers it was asked with.
    survey: Remote<Survey>,
    surveyed: Option<Answers>,
    editor: Option<Editor>,
    /// The text was changed, and nobody has looked at it yet.
    dirty: bool,
    /// What would be done.
    plan: Remote<String>,
    scroll: Scroll,
    /// Tells old news from new ones.
    ticket: u64,
    /// Secrets that are being written down; the page is left when they are.
    keeping: usize,
    /// The file that the configuration was saved in.
    saved: Option<PathBuf>,
}

/// What became of the wizard.
pub(super) enum Outcome {
    /// It goes on, with these effects.
    Going(Vec<Step>),
    /// It is over: this begins the run.
    Run(Do),
    /// It is over, with a word to the person.
    Left(Option<String>),
}

impl Questions {
    pub(super) fn new(wizard: Wizard) -> (Self, Vec<Step>) {
        let mut questions = Self {
            wizard,
            asked: Vec::new(),
            form: Form::default(),
            problems: Vec::new(),
            tried: false,
            survey: Remote::Loading,
            surveyed: None,
            editor: None,
            dirty: false,
            plan: Remote::Loading,
            scroll: Scroll::default(),
            ticket: 0,
            keeping: 0,
            saved: None,
        };
        let steps = questions.enter();
        (questions, steps)
    }

    /// Where one is, for the line above.
    pub(super) fn place(&self) -> String {
        format!("new cluster › {}", self.wizard.page().title)
    }

    /// True while something is waited for.
    pub(super) fn animates(&self) -> bool {
        match self.wizard.page().id {
            PageId::Plan => matches!(self.plan, Remote::Loading),
            _ => self.keeping > 0 || self.surveyed.is_some() && matches!(self.survey, Remote::Loading),
        }
    }

    /// Begins a page: its form, and what it needs from outside.
    fn enter(&mut self) -> Vec<Step> {
        self.tried = false;
        self.editor = None;
        self.keeping = 0;
        self.scroll = Scroll::default();
        self.asked.clear();
        self.form = Form::default();
        self.rebuild();
        let mut steps = vec![Step::Do(Do::Wizard(WizardDo::Save(self.wizard.draft())))];
        match self.wizard.page().id {
            PageId::Review => self.editor = Some(Editor::new(&self.wizard.document())),
            PageId::Plan => steps.push(Step::Do(self.plan(false))),
            PageId::Discovery => steps.extend(self.survey(false)),
            _ => {}
        }
        steps
    }

    /// Asks the provider, unless that was done with these answers.
    fn survey(&mut self, again: bool) -> Option<Step> {
        let mut signed_in = Answers::default();
        for question in answers::signing_in(self.wizard.answers()) {
            signed_in.give(question, &self.wizard.answers().of(question));
        }
        if !again && self.surveyed.as_ref() == Some(&signed_in) {
            return None;
        }
        self.surveyed = Some(signed_in);
        self.survey = Remote::Loading;
        self.ticket += 1;
        let answers = self.wizard.answers().clone();
        Some(Step::Do(Do::Wizard(WizardDo::Survey { ticket: self.ticket, answers })))
    }

    /// Saves the configuration and asks what would be done.
    fn plan(&mut self, replace: bool) -> Do {
        self.plan = Remote::Loading;
        self.ticket += 1;
        let path = self.wizard.file();
        // What this wizard wrote it may write again.
        let replace = replace || self.saved.as_ref() == Some(&path);
        Do::Wizard(WizardDo::Plan { ticket: self.ticket, path, text: self.wizard.document(), replace })
    }

    /// Makes the form anew when the questions are others, and keeps the keyboard where it is.
    fn rebuild(&mut self) {
        let here = self.asked.get(self.form.at()).map(|question| question.key);
        let asked = self.wizard.questions();
        let same =
            asked.iter().map(|question| question.key).eq(self.asked.iter().map(|question| question.key));
        if !same {
            self.asked = asked;
            self.form = Form::new(self.asked.iter().map(|question| self.field(question)).collect());
            let at = self.asked.iter().position(|question| Some(question.key) == here);
            self.form.focus(at.unwrap_or(0));
        }
        self.check();
    }

    fn field(&self, question: &Question) -> Field {
        fields::field(question, self.wizard.answers(), self.survey.value())
    }

    /// Says what is wrong where it is wrong. What is only missing is no reproach until one wants to go on.
    fn check(&mut self) {
        self.problems = self.wizard.problems();
        for (question, field) in self.asked.iter().zip(&mut self.form.fields) {
            let mine = |problem: &&Problem| {
                self.wizard.about(problem).is_some_and(|(_, about)| about.key == question.key)
            };
            let typed = !field.answer.text().is_empty();
            // A secret that is typed is no answer yet.
            let said = if question.ask == Ask::Secret { self.tried && !typed } else { self.tried || typed };
            let wrong = self.problems.iter().find(mine).filter(|_| said);
            field.wrong = wrong.map(fields::words);
        }
    }

    /// Takes over what stands in the form.
    fn take(&mut self) -> Vec<Step> {
        let given: Vec<(&'static Question, String)> = self
            .asked
            .iter()
            .zip(&self.form.fields)
            .map(|(asked, field)| (*asked, field.answer.text()))
            .collect();
        let Some((question, text)) = given.get(self.form.at()) else { return Vec::new() };
        let same = question.ask != Ask::Secret && self.wizard.answers().of(question) == text.trim();
        if same {
            return Vec::new();
        }
        let edited = self.wizard.is_edited();
        self.wizard.answer(question, text);
        self.refresh();
        match edited && !self.wizard.is_edited() {
            true => vec![Step::Say("the configuration follows the answers again".to_owned())],
            false => Vec::new(),
        }
    }

    /// Shows what follows from an answer: other questions, and other defaults.
    fn refresh(&mut self) {
        self.rebuild();
        let at = self.form.at();
        for (index, (question, field)) in self.asked.iter().zip(&mut self.form.fields).enumerate() {
            let answer = self.wizard.answers().of(question);
            if index != at {
                fields::put(question, self.wizard.answers(), &answer, &mut field.answer);
            }
        }
        self.check();
    }

    /// Takes a key of somebody who types.
    pub(super) fn key(&mut self, key: KeyEvent) -> Option<Outcome> {
        if let Some(editor) = &mut self.editor {
            self.dirty |= editor.key(key);
            return Some(Outcome::Going(Vec::new()));
        }
        if self.asked.is_empty() {
            return None;
        }
        let filled = self.form.key(key);
        let mut steps = self.take();
        if filled == Filled::Done {
            steps.extend(self.next());
        }
        Some(Outcome::Going(steps))
    }

    /// Takes a text at once.
    pub(super) fn paste(&mut self, text: &str) {
        match &mut self.editor {
            Some(editor) => self.dirty |= editor.paste(text),
            None => {
                self.form.paste(text);
                self.take();
            }
        }
    }

    /// Looks at what was changed by hand: once for a frame, however many keys came before it.
    pub(super) fn settle(&mut self) {
        if let Some(editor) = self.editor.as_ref().filter(|_| self.dirty) {
            self.wizard.edit(editor.text());
            self.problems = self.wizard.problems();
        }
        self.dirty = false;
    }

    /// Takes an action.
    pub(super) fn act(&mut self, action: Action) -> Option<Outcome> {
        self.settle();
        let steps = match action {
            Action::NextPage if self.wizard.page().id == PageId::Plan => return self.run(),
            Action::NextPage => self.next(),
            Action::Back => self.back(),
            Action::Again => match self.wizard.page().id {
                PageId::Discovery => self.survey(true).into_iter().collect(),
                PageId::Plan => vec![Step::Do(self.plan(false))],
                _ => Vec::new(),
            },
            Action::NextProblem => {
                if let Some(editor) = &mut self.editor {
                    editor.next(&self.problems);
                }
                Vec::new()
            }
            Action::Page => {
                let plan = || self.plan.value().cloned().unwrap_or_default();
                let text =
                    if self.wizard.page().id == PageId::Plan { plan() } else { self.wizard.document() };
                vec![Step::Page { name: "bootstrap.yaml".to_owned(), text }]
            }
            Action::Leave | Action::Quit => self.leave(),
            Action::Up => self.scrolled(|scroll| scroll.by(-1)),
            Action::Down => self.scrolled(|scroll| scroll.by(1)),
            Action::PageUp => self.scrolled(|scroll| scroll.page(-1)),
            Action::PageDown => self.scrolled(|scroll| scroll.page(1)),
            _ => return None,
        };
        Some(Outcome::Going(steps))
    }

    fn scrolled(&mut self, scroll: impl FnOnce(&mut Scroll)) -> Vec<Step> {
        scroll(&mut self.scroll);
        Vec::new()
    }

    /// To the next page, once secrets of this one are in their files.
    fn next(&mut self) -> Vec<Step> {
        if self.keeping > 0 {
            return Vec::new();
        }
        let typed = self.typed();
        if !typed.is_empty() {
            self.keeping = typed.len();
            return typed;
        }
        match self.wizard.forward() {
            Ok(()) => self.enter(),
            Err(wrong) => {
                self.tried = true;
                self.check();
                let first = self.form.fields.iter().position(|field| field.wrong.is_some());
                self.form.focus(first.unwrap_or(self.form.at()));
                if let Some(editor) = &mut self.editor {
                    editor.next(&wrong);
                }
                let words = wrong.first().map(fields::words).unwrap_or_default();
                vec![Step::Say(format!("✗ {words}"))]
            }
        }
    }

    /// Secrets that were typed in, on their way to files of their own.
    fn typed(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (question, field) in self.asked.iter().zip(&mut self.form.fields) {
            let text = field.answer.text();
            let place = self.wizard.answers().text(&format!("{}.from", question.key));
            if question.ask != Ask::Secret || place != "typed" || text.is_empty() {
                continue;
            }
            let (answers, secret) = (self.wizard.answers().clone(), Secret::from(text));
            steps.push(Step::Do(Do::Wizard(WizardDo::Keep { key: question.key, answers, secret })));
        }
        steps
    }

    /// To the page before.
    fn back(&mut self) -> Vec<Step> {
        if !self.wizard.back() {
            return self.leave();
        }
        let mut steps = self.enter();
        if self.wizard.is_edited() {
            steps.push(Step::Say("what was changed by hand stays until an answer changes".to_owned()));
        }
        steps
    }

    /// Ends it, after the question what becomes of the answers.
    fn leave(&mut self) -> Vec<Step> {
        if *self.wizard.answers() == Answers::default() {
            return vec![Step::Do(Do::Wizard(WizardDo::Leave(None)))];
        }
        let text = "The answers can be kept as a draft, without any secret: `butleradm bootstrap --resume` goes on with it.";
        let task = |draft| Task::Do(Do::Wizard(WizardDo::Leave(draft)));
        let ask = Dialog::new("Keep the answers?", text, Need::Yes, task(Some(self.wizard.draft())));
        vec![Step::Ask(Layer::Ask(ask.otherwise(task(None))))]
    }

    /// Begins the run, once it is known what it would do.
    fn run(&mut self) -> Option<Outcome> {
        if self.plan.value().is_none() {
            return Some(Outcome::Going(vec![Step::Say("there is no plan yet".to_owned())]));
        }
        let config = self.wizard.file().display().to_string();
        let args = ["bootstrap", "run", "--config", &config].map(str::to_owned).to_vec();
        let what = format!("beginning a run of {config}");
        Some(Outcome::Run(Do::Program { what, args }))
    }

    /// Takes news from outside.
    pub(super) fn learn(&mut self, news: WizardNews) -> Outcome {
        let mut steps = Vec::new();
        match news {
            WizardNews::Surveyed(ticket, survey) if ticket == self.ticket => {
                self.survey = match survey {
                    Ok(survey) => Remote::Ready(survey),
                    Err(fault) => Remote::Failed(fault),
                };
                self.offer();
            }
            WizardNews::Planned(ticket, plan) if ticket == self.ticket => {
                self.saved = Some(self.wizard.file());
                self.plan = match plan {
                    Ok(plan) => Remote::Ready(plan),
                    Err(fault) => Remote::Failed(fault),
                };
            }
            WizardNews::Kept(key, kept) => {
                match (kept, answers::find(key)) {
                    (Ok(path), Some(question)) => self.wizard.kept(question, &path),
                    (Err(fault), _) => steps.push(trouble(&fault)),
                    _ => {}
                }
                // Whoever went elsewhere meanwhile stays there.
                let waited = self.keeping > 0;
                self.keeping = self.keeping.saturating_sub(1);
                if waited && self.keeping == 0 && steps.is_empty() {
                    self.asked.clear();
                    self.rebuild();
                    steps = self.next();
                }
            }
            WizardNews::Taken(path) => {
                let text = format!("`{}` exists and is another configuration.", path.display());
                let replace = Task::Do(self.plan(true));
                let ask = Dialog::new("Replace the file?", text.clone(), Need::Yes, replace);
                // As long as nobody says yes.
                self.plan = Remote::Failed(Fault {
                    code: Code::Declined.to_string(),
                    message: text,
                    hints: vec!["go back and give the cluster another name, or ask again".to_owned()],
                });
                steps.push(Step::Ask(Layer::Ask(ask)));
            }
            WizardNews::Left(Ok(draft)) => {
                let word = |path: PathBuf| {
                    format!(
                        "the draft is kept as {}; `butleradm bootstrap --resume` goes on with it",
                        path.display()
                    )
                };
                return Outcome::Left(draft.map(word));
            }
            WizardNews::Failed(fault) | WizardNews::Left(Err(fault)) => steps.push(trouble(&fault)),
            _ => {}
        }
        Outcome::Going(steps)
    }

    /// Puts what was found into the form.
    fn offer(&mut self) {
        for (question, field) in self.asked.iter().zip(&mut self.form.fields) {
            fields::offer(question, self.survey.value(), &mut field.answer);
        }
    }
}

fn trouble(fault: &Fault) -> Step {
    Step::Say(format!("✗ {} ({})", fault.message, fault.code))
}
