//! Writes down every effect outside this process: before it, so that it can be looked for; after it, so
//! that it need not be.

use std::sync::{Arc, Mutex, PoisonError};

use butler_core::event::{EventKind, Journal, JournalError};
use serde_json::Value;

/// Where effects are written down. Clones write to the same journal; [`Ledger::none`] writes nothing,
/// for controllers that serve a cluster: what they do is in its objects.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    journal: Option<Arc<Mutex<Journal>>>,
}

impl Ledger {
    /// Writes nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Writes to a journal.
    pub fn new(journal: Journal) -> Self {
        Self { journal: Some(Arc::new(Mutex::new(journal))) }
    }

    /// Adds a record. When this returns, it is on disk.
    pub fn append(&self, kind: EventKind) -> Result<(), JournalError> {
        let Some(journal) = &self.journal else { return Ok(()) };
        journal.lock().unwrap_or_else(PoisonError::into_inner).append(kind).map(|_| ())
    }

    /// Carries out an effect between its two records. An effect that cannot be announced is not tried.
    /// One that fails leaves its announcement open: whoever resumes looks for what may exist of it.
    ///
    /// `step` names the effect the same way in every run of the same plan, such as `machine/mgmt-cp-0`.
    /// Neither `intent` nor what `result` returns may hold a secret.
    pub async fn effect<T, E: From<JournalError>>(
        &self,
        step: &str,
        intent: Value,
        work: impl Future<Output = Result<T, E>>,
        result: impl FnOnce(&T) -> Value,
    ) -> Result<T, E> {
        self.append(EventKind::Intent { step: step.to_owned(), data: intent })?;
        let value = work.await?;
        self.append(EventKind::Result { step: step.to_owned(), data: result(&value) })?;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use butler_core::event::{RunId, journal};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn an_effect_is_announced_before_and_recorded_after_and_a_failed_one_stays_open() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.ndjson");
        let (journal, _) = Journal::open(&path, RunId::new(jiff::Timestamp::now())).unwrap();
        let ledger = Ledger::new(journal);
        let seen = || journal::read(&path).unwrap().len();
        let made = ledger
            .effect(
                "machine/a",
                json!({ "cpu": 2 }),
                async {
                    assert_eq!(seen(), 1);
                    Ok::<_, JournalError>("id-1")
                },
                |id| json!(id),
            )
            .await;
        assert_eq!(made.unwrap(), "id-1");
        let damaged = JournalError::Damaged { path: path.clone(), line: 1, why: "a test".into() };
        let failed = ledger.effect("machine/b", json!({}), async { Err::<(), _>(damaged) }, |()| json!(null));
        assert!(failed.await.is_err());
        let kinds: Vec<_> = journal::read(&path)
            .unwrap()
            .into_iter()
            .map(|event| match event.kind {
                EventKind::Intent { step, .. } => format!("?{step}"),
                EventKind::Result { step, data } => format!("!{step}={data}"),
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(kinds, ["?machine/a", r#"!machine/a="id-1""#, "?machine/b"]);
    }
}
