//! From questions to fields of a form.

use butler_core::bootstrap::{
    config::Problem,
    wizard::{Answers, Ask, Question, Survey, question::YES_NO},
};

use crate::tui::widgets::{
    form::{Answer, Choice, Field},
    input::Input,
};

/// The field of a question, with its answer so far.
pub(super) fn field(question: &Question, answers: &Answers, survey: Option<&Survey>) -> Field {
    let answer = answers.of(question);
    let mut field = Field::new(
        question.label,
        question.note_text(),
        match question.ask {
            Ask::Text | Ask::List => Answer::Text(Input::with(&answer)),
            Ask::Found(_) => Answer::Pick(Vec::new(), Input::with(&answer)),
            Ask::Secret if is_typed(question, answers) => Answer::Text(Input::secret()),
            Ask::Secret => Answer::Text(Input::with(&answer)),
            Ask::Choice(options) => choice(options, &answer),
            Ask::Flag => choice(YES_NO, &answer),
        },
    );
    offer(question, survey, &mut field.answer);
    field
}

/// Whether the secret itself is typed in, and not where it is.
fn is_typed(question: &Question, answers: &Answers) -> bool {
    answers.text(&format!("{}.from", question.key)) == "typed"
}

fn choice(options: &[(&str, &str)], answer: &str) -> Answer {
    let chosen = options.iter().position(|(value, _)| *value == answer).unwrap_or(0);
    let option = |(value, meaning): &(&str, &str)| {
        // What a word means is said only when it is not the word itself.
        let plain =
            value.is_empty() || matches!(*value, "true" | "false") || value.eq_ignore_ascii_case(meaning);
        let (label, note) = if plain { (*meaning, "") } else { (*value, *meaning) };
        Choice { value: (*value).to_owned(), label: label.to_owned(), note: note.to_owned() }
    };
    Answer::Choice(options.iter().map(option).collect(), chosen)
}

/// Puts what was found at the provider beside the line.
pub(super) fn offer(question: &Question, survey: Option<&Survey>, answer: &mut Answer) {
    if let (Ask::Found(what), Some(survey), Answer::Pick(options, _)) = (question.ask, survey, answer) {
        let found = survey.of(what).iter();
        *options = found
            .map(|found| Choice { value: found.id.clone(), label: found.label.clone(), note: String::new() })
            .collect();
    }
}

/// Shows another answer, which follows from that to another question.
pub(super) fn put(question: &Question, answers: &Answers, text: &str, answer: &mut Answer) {
    match answer {
        Answer::Text(input) if question.ask == Ask::Secret => {
            if input.is_secret() != is_typed(question, answers) {
                *answer = field(question, answers, None).answer;
            }
        }
        Answer::Text(input) | Answer::Pick(_, input) => {
            if input.text() != text {
                *input = Input::with(text);
            }
        }
        Answer::Choice(options, chosen) => {
            *chosen = options.iter().position(|option| option.value == text).unwrap_or(*chosen);
        }
    }
}

/// A problem in a line, with its way out.
pub(super) fn words(problem: &Problem) -> String {
    match &problem.suggestion {
        Some(suggestion) => format!("{}; {suggestion}", problem.message),
        None => problem.message.clone(),
    }
}
