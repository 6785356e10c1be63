//! Writes down every effect outside this process: before it, so that it can be looked for; after it, so
//! that it need not be.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use butler_core::event::{EventKind, Journal, JournalError};
use serde_json::Value;
use tokio::sync::watch;

/// Where effects are written down. Clones write to the same journal; [`Ledger::none`] writes nothing,
/// for controllers that serve a cluster: what they do is in its objects.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    kept: Option<Arc<Kept>>,
}

#[derive(Debug)]
struct Kept {
    journal: Mutex<Journal>,
    failed: watch::Sender<Option<Failure>>,
}

/// Why a record could not be written, the first time.
#[derive(Clone, Debug)]
struct Failure {
    path: PathBuf,
    code: Option<i32>,
    text: String,
}

impl Ledger {
    /// Writes nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Writes to a journal.
    pub fn new(journal: Journal) -> Self {
        let (failed, _) = watch::channel(None);
        Self { kept: Some(Arc::new(Kept { journal: Mutex::new(journal), failed })) }
    }

    /// Adds a record. When this returns, it is on disk.
    pub fn append(&self, kind: EventKind) -> Result<(), JournalError> {
        let Some(kept) = &self.kept else { return Ok(()) };
        let result = kept.journal.lock().unwrap_or_else(PoisonError::into_inner).append(kind);
        if let Err(error) = &result {
            kept.failed.send_if_modified(|failed| {
                let first = failed.is_none();
                failed.get_or_insert_with(|| Failure::of(error));
                first
            });
        }
        result.map(|_| ())
    }

    /// Demands that every record was written, also those whose writers went on without.
    pub fn check(&self) -> Result<(), JournalError> {
        let failed = self.kept.as_ref().and_then(|kept| kept.failed.borrow().clone());
        failed.map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// Returns when a record could not be written: a job that is not written down must not go on.
    pub async fn failure(&self) -> JournalError {
        let Some(kept) = &self.kept else { return std::future::pending().await };
        let mut failed = kept.failed.subscribe();
        match failed.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(failure)) => failure.clone().into(),
            // The sender is ours, so it does not go.
            _ => std::future::pending().await,
        }
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

impl Failure {
    fn of(error: &JournalError) -> Self {
        match error {
            JournalError::Write { path, source } => {
                Self { path: path.clone(), code: source.raw_os_error(), text: source.to_string() }
            }
            other => Self { path: PathBuf::new(), code: None, text: other.to_string() },
        }
    }
}

impl From<Failure> for JournalError {
    fn from(Failure { path, code, text }: Failure) -> Self {
        let source = code.map_or_else(|| io::Error::other(text), io::Error::from_raw_os_error);
        Self::Write { path, source }
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
