//! A run that does not move on says why.
//!
//! - [`Vigil`]: when it is time to look, and whether what was found is worth telling; pure
//! - [`evidence`]: asks everybody who may know: objects, provider, consoles, nodes, the new cluster
//! - [`diagnose`]: from evidence to a [`Stall`]; pure

pub(super) mod diagnose;
pub(super) mod evidence;

use std::time::Duration;

use butler_core::{
    api::cluster_bootstrap::ClusterBootstrapStatus as Status,
    event::{EventKind, Reporter, Stall},
};
use tokio::time::{Instant, sleep};

use crate::{
    controller::backoff::{Delays, spread},
    driver::{DriverError, DriverResult, ErrorClass},
};

/// After how long without progress a run looks for the reason. What it finds is told within 30 s.
pub const STALL_AFTER: Duration = Duration::from_secs(20);
/// How long before the same is told again; it doubles each time.
const FIRST_REPEAT: Duration = Duration::from_secs(60);
const LONGEST_REPEAT: Duration = Duration::from_secs(15 * 60);
/// How long one question to the provider may take before anything was made.
const CALL: Duration = Duration::from_secs(8);
/// How long a provider that cannot be asked is waited for before anything was made.
const PROVIDER_LIMIT: Duration = Duration::from_secs(3 * 60);
/// Pauses between questions to it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Watches whether a run moves.
#[derive(Debug)]
pub(super) struct Vigil {
    after: Duration,
    moved: Instant,
    looked: Option<Instant>,
    told: Option<Told>,
}

#[derive(Debug)]
struct Told {
    code: String,
    what: String,
    at: Instant,
    repeat: Duration,
}

impl Vigil {
    pub(super) fn new(after: Duration, now: Instant) -> Self {
        Self { after, moved: now, looked: None, told: None }
    }

    /// The run moved; true when it had been said that it does not.
    pub(super) fn moved(&mut self, now: Instant) -> bool {
        self.moved = now;
        self.looked = None;
        self.told.take().is_some()
    }

    /// For how long nothing has moved.
    pub(super) fn seconds(&self, now: Instant) -> u64 {
        now.duration_since(self.moved).as_secs()
    }

    /// When to look for the reason, unless the run moves before.
    pub(super) fn due(&self) -> Instant {
        self.looked.unwrap_or(self.moved) + self.after
    }

    /// True when what was found is news, or so old that it is told again.
    pub(super) fn found(&mut self, stall: &Stall, now: Instant) -> bool {
        self.looked = Some(now);
        let repeat = match &self.told {
            Some(told) if told.code == stall.code && told.what == stall.what => {
                if now.duration_since(told.at) < told.repeat {
                    return false;
                }
                (told.repeat * 2).min(LONGEST_REPEAT)
            }
            _ => FIRST_REPEAT,
        };
        self.told = Some(Told { code: stall.code.clone(), what: stall.what.clone(), at: now, repeat });
        true
    }
}

/// What changes when a bootstrap gets further. The words of a condition are not part of it: two errors in
/// turn are no progress.
pub(super) fn progress(status: &Status) -> impl PartialEq + use<> {
    let conditions = status.conditions.iter().map(|one| (one.type_.clone(), one.status.clone()));
    (
        status.phase.clone(),
        conditions.collect::<Vec<_>>(),
        status.machines.clone(),
        status.addons_installed.clone(),
    )
}

/// Asks the provider until it answers, refuses for good, or the time is over; tells when it takes long.
pub(super) async fn patiently<T>(
    reporter: &Reporter,
    after: Duration,
    action: &str,
    mut ask: impl AsyncFnMut() -> DriverResult<T>,
) -> DriverResult<T> {
    let begun = Instant::now();
    let mut delays = Delays::new(FIRST_PAUSE, LONGEST_PAUSE);
    let mut told = false;
    loop {
        let late = |_| DriverError::late(action, format!("no answer within {} s", CALL.as_secs()));
        let error = match tokio::time::timeout(CALL, ask()).await.map_err(late) {
            Ok(Ok(value)) => {
                if told {
                    reporter.emit(EventKind::Moving {}).await;
                }
                return Ok(value);
            }
            Ok(Err(error)) | Err(error) => error,
        };
        let pause = delays.next().max(error.pause().map(spread).unwrap_or_default());
        if error.class() != ErrorClass::Transient || begun.elapsed() + pause > PROVIDER_LIMIT {
            return Err(error);
        }
        if !told && begun.elapsed() + pause >= after {
            let stall = diagnose::provider(&error, begun.elapsed().as_secs());
            reporter.emit(EventKind::Stalled(stall)).await;
            told = true;
        }
        sleep(pause).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    const AFTER: Duration = Duration::from_secs(20);

    fn stall(code: &str) -> Stall {
        Stall { code: code.into(), what: "w".into(), evidence: Vec::new(), next: Vec::new(), seconds: 20 }
    }

    #[test]
    fn the_same_is_told_ever_more_rarely_and_something_else_at_once() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut vigil = Vigil::new(AFTER, start);
        assert_eq!(vigil.due(), at(20));
        let told: Vec<u64> = (1..=60)
            .map(|turn| turn * 20)
            .filter(|second| vigil.found(&stall("BTL-2031"), at(*second)))
            .collect();
        assert_eq!(told, [20, 80, 200, 440, 920]);
        assert_eq!(vigil.due(), at(1220), "it is looked at all the while");
        assert!(vigil.found(&stall("BTL-2033"), at(1220)), "that is another reason");
        assert_eq!(vigil.seconds(at(1220)), 1220);
        assert!(vigil.moved(at(1230)), "it had been told");
        assert_eq!(vigil.due(), at(1250));
        assert!(!vigil.moved(at(1240)));
    }

    #[test]
    fn other_words_of_the_same_condition_are_no_progress() {
        let status = |message: &str, ready: &str| -> Status {
            let condition = serde_json::json!({"type": "TalosConfigured", "status": ready, "reason": "X",
                "message": message, "lastTransitionTime": "2026-11-14T10:11:12Z"});
            serde_json::from_value(
                serde_json::json!({"phase": "ConfiguringTalos", "conditions": [condition]}),
            )
            .unwrap()
        };
        assert!(progress(&status("a", "False")) == progress(&status("b", "False")));
        assert!(progress(&status("a", "False")) != progress(&status("a", "True")));
    }

    #[tokio::test(start_paused = true)]
    async fn a_provider_that_cannot_be_asked_is_asked_a_few_times_and_not_for_ever() {
        let asked = AtomicU32::new(0);
        let begun = Instant::now();
        let ask = async || {
            asked.fetch_add(1, Ordering::Relaxed);
            Err::<(), _>(DriverError::new(ErrorClass::Transient, "list machines", "500"))
        };
        let error = patiently(&Reporter::null(), AFTER, "list machines", ask).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Transient);
        assert!((6..=10).contains(&asked.load(Ordering::Relaxed)), "{asked:?}");
        assert!(begun.elapsed() <= PROVIDER_LIMIT, "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_provider_that_wants_peace_gets_it_and_one_that_refuses_is_asked_once() {
        let asked = AtomicU32::new(0);
        let begun = Instant::now();
        let ask = async || match asked.fetch_add(1, Ordering::Relaxed) {
            0 => Err(DriverError::throttled("list machines", "429", Some(Duration::from_secs(60)))),
            _ => Ok(7),
        };
        assert_eq!(patiently(&Reporter::null(), AFTER, "list machines", ask).await.unwrap(), 7);
        let waited = begun.elapsed().as_secs();
        assert!((60..=75).contains(&waited), "{waited}");
        let once = AtomicU32::new(0);
        let refuse = async || {
            once.fetch_add(1, Ordering::Relaxed);
            Err::<(), _>(DriverError::new(ErrorClass::Auth, "list machines", "expired"))
        };
        patiently(&Reporter::null(), AFTER, "list machines", refuse).await.unwrap_err();
        assert_eq!(once.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_provider_that_says_nothing_is_not_waited_for_without_end() {
        let ask = async || std::future::pending::<DriverResult<()>>().await;
        let error = patiently(&Reporter::null(), AFTER, "list machines", ask).await.unwrap_err();
        assert_eq!(butler_core::error::Diagnose::code(&error), butler_core::error::Code::ProviderTimeout);
    }
}
