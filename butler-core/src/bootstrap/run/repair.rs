//! A run whose journal was damaged: what is lost, and what is assumed instead.
//!
//! What may exist outside is never guessed: `resume` and `destroy` look for it at the provider, by the run's
//! mark. Only what the run is and how it ended must be known beforehand.

use serde::Serialize;
use serde_json::json;

use super::{RunFacts, Session, Verb, steps};
use crate::event::{Event, EventKind, Outcome, journal::repair::Salvage};

/// What a repair is to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Repair {
    /// Records that are kept.
    pub kept: usize,
    /// Records that are gone.
    pub lost: u64,
    /// What is lost, in words.
    pub damage: Vec<String>,
    /// What is assumed instead, in words.
    pub assumed: Vec<String>,
    /// Whether the record that says what the run is must be made again.
    pub needs_facts: bool,
    /// Whether the end of the last session is known.
    pub outcome_known: bool,
}

/// Decides what a repair is to do.
pub fn plan(salvage: &Salvage) -> Repair {
    let Salvage { events, bad, missing } = salvage;
    let guess = |step: &Option<String>| match step {
        Some(step) => format!("; it seems to be about `{step}`"),
        None => String::new(),
    };
    let mut damage: Vec<String> =
        bad.iter().map(|bad| format!("line {}: {}{}", bad.line, bad.why, guess(&bad.step))).collect();
    damage.extend(missing.iter().map(|seq| format!("record {seq} is gone")));
    let needs_facts = !events.iter().any(is_facts);
    let outcome_known = outcome_known(events, missing);
    let mut assumed = Vec::new();
    if !missing.is_empty() {
        let words = "what the lost records announced may exist: `resume` and `destroy` look for it at the \
                     provider, by the run's mark";
        assumed.push(words.to_owned());
    }
    if needs_facts {
        assumed.push("what the run is stands in its configuration".to_owned());
    }
    assumed.push(match (outcome_known, last_outcome(events)) {
        (true, Some(outcome)) => format!("the last session ended as is written: {}", word(outcome)),
        _ => "how the last session ended is not known: the run counts as interrupted".to_owned(),
    });
    let lost = missing.len() as u64;
    Repair { kept: events.len(), lost, damage, assumed, needs_facts, outcome_known }
}

/// The records of the repaired journal without their times: facts that had to be made again, what was kept,
/// and the note of the repair.
pub fn compose(repair: &Repair, events: Vec<Event>, facts: Option<&RunFacts>, copy: &str) -> Vec<EventKind> {
    let facts = facts.filter(|_| repair.needs_facts).and_then(|facts| serde_json::to_value(facts).ok());
    let first = facts.map(|data| EventKind::Intent { step: steps::RUN.to_owned(), data });
    let note = json!({
        "lost": repair.lost, "damage": repair.damage, "outcomeKnown": repair.outcome_known, "kept": copy,
    });
    let note = EventKind::Result { step: steps::REPAIRED.to_owned(), data: note };
    first.into_iter().chain(events.into_iter().map(|event| event.kind)).chain([note]).collect()
}

fn is_facts(event: &Event) -> bool {
    matches!(&event.kind, EventKind::Intent { step, data } if step == steps::RUN
        && serde_json::from_value::<RunFacts>(data.clone()).is_ok())
}

/// True when nothing is lost between the beginning of the last session and its end, which is the last
/// record that matters. A session that destroyed must have said that everything is gone.
fn outcome_known(events: &[Event], missing: &[u64]) -> bool {
    let Some(end) = events.last().filter(|event| matches!(event.kind, EventKind::Finished { .. })) else {
        return false;
    };
    let begin = events.iter().rev().find_map(|event| match &event.kind {
        EventKind::Intent { step, data } if step == steps::SESSION => Some((event.seq, data)),
        _ => None,
    });
    let Some((begin, data)) = begin else { return false };
    let whole = !missing.iter().any(|seq| (begin..end.seq).contains(seq));
    let known =
        serde_json::from_value::<Session>(data.clone()).is_ok_and(|session| session.verb != Verb::Abort);
    whole && known
}

fn last_outcome(events: &[Event]) -> Option<&Outcome> {
    events.iter().rev().find_map(|event| match &event.kind {
        EventKind::Finished { outcome } => Some(outcome),
        _ => None,
    })
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded => "it succeeded",
        Outcome::Failed { .. } => "it failed",
        Outcome::Cancelled => "it was stopped",
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        bootstrap::run::{RunState, Stage},
        event::RunId,
    };

    fn intent(step: &str, data: Value) -> EventKind {
        EventKind::Intent { step: step.into(), data }
    }

    /// A run that succeeded and was then destroyed, as numbered records.
    fn records() -> Vec<EventKind> {
        let facts = json!({"cluster": "m", "provider": "sandbox", "runtime": "process", "configSha256": "", "version": "0"});
        vec![
            intent("run", facts),
            intent("session", json!({"verb": "run", "pid": 1, "host": "h"})),
            intent("machine/m-cp-0", json!({})),
            EventKind::Result { step: "machine/m-cp-0".into(), data: json!({"id": "vm-1"}) },
            EventKind::finished(Outcome::Succeeded),
            intent("session", json!({"verb": "destroy", "pid": 2, "host": "h"})),
            EventKind::Result { step: "delete-machine/m-cp-0".into(), data: json!({"gone": true}) },
            EventKind::Result { step: "destroyed".into(), data: json!({}) },
            EventKind::finished(Outcome::Succeeded),
        ]
    }

    fn event(seq: u64, kind: EventKind) -> Event {
        Event {
            version: 1,
            seq,
            time: Timestamp::UNIX_EPOCH,
            run_id: RunId::new(Timestamp::UNIX_EPOCH),
            kind,
        }
    }

    /// The state after a repair, when of the first `length` records some are lost.
    fn repaired(length: usize, lost: &[u64]) -> (Repair, RunState) {
        let all = records().into_iter().take(length).enumerate();
        let all = all.map(|(index, kind)| event(index as u64 + 1, kind));
        let events: Vec<Event> = all.filter(|event| !lost.contains(&event.seq)).collect();
        let salvage = Salvage { events, bad: Vec::new(), missing: lost.to_vec() };
        let repair = plan(&salvage);
        let id = RunId::new(Timestamp::UNIX_EPOCH);
        let facts = serde_json::from_value(json!({
            "cluster": "m", "provider": "sandbox", "runtime": "process", "configSha256": "", "version": "0",
        }))
        .unwrap();
        let kinds = compose(&repair, salvage.events, Some(&facts), "journal.damaged.ndjson");
        let events: Vec<Event> =
            kinds.into_iter().enumerate().map(|(index, kind)| event(index as u64 + 1, kind)).collect();
        (repair, RunState::of(&id, &events, None))
    }

    #[rstest]
    #[case::an_effect_before_the_end(5, &[3], Stage::Interrupted)]
    #[case::the_facts_are_made_again(5, &[1], Stage::Succeeded)]
    #[case::who_worked_on_it(5, &[2], Stage::Interrupted)]
    #[case::the_end_itself(5, &[], Stage::Succeeded)]
    #[case::an_effect_of_an_earlier_session(9, &[3], Stage::Destroyed)]
    #[case::the_beginning_of_the_removal(9, &[6], Stage::Interrupted)]
    #[case::an_effect_of_the_removal(9, &[7], Stage::Interrupted)]
    fn what_is_not_known_counts_as_interrupted(
        #[case] length: usize,
        #[case] lost: &[u64],
        #[case] stage: Stage,
    ) {
        let (repair, state) = repaired(length, lost);
        assert_eq!(state.stage, stage, "{repair:?}");
        assert_eq!(state.lost, lost.len() as u64);
        assert_eq!(state.cluster.as_deref(), Some("m"));
        assert_eq!(repair.needs_facts, lost.contains(&1));
        assert!(state.stage != Stage::Interrupted || state.seen_gone || state.has_effects());
    }
}
