//! Every call to the host: written down in a file of limited size, and answered wrongly where the faults of
//! the host say so.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    extract::{Request, State},
    http::{Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use serde_json::json;

use super::{Refusal, console::Console, store::Store};
use crate::{
    driver::ErrorClass,
    sandbox::faults::{HostCall, HostFaults, Scripted},
};

/// How often a call that gets no answer looks whether that fault is still set.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What stands between callers and the host.
#[derive(Debug)]
pub(super) struct Calls {
    faults: PathBuf,
    log: Mutex<Console>,
}

impl Calls {
    pub(super) fn new(store: &Store) -> Arc<Self> {
        Arc::new(Self { faults: store.host_faults(), log: Mutex::new(Console::new(store.calls())) })
    }

    fn faults(&self) -> HostFaults {
        HostFaults::read(&self.faults).unwrap_or_else(|error| {
            tracing::warn!(%error, "faults are not used");
            HostFaults::default()
        })
    }

    /// The wrong answer to a call, if one is to be given.
    async fn fault(&self, call: HostCall) -> Option<Response> {
        let faults = self.faults();
        if faults.only.is_some_and(|only| only != call) {
            return None;
        }
        let plain = |status: StatusCode, words: &str| (status, words.to_owned()).into_response();
        if faults.throttled_seconds > 0 {
            let seconds = faults.throttled_seconds.to_string();
            let answer = (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, seconds)], "too many calls");
            return Some(answer.into_response());
        }
        if let Some(words) = &faults.fails {
            return Some(plain(StatusCode::INTERNAL_SERVER_ERROR, words));
        }
        if faults.silent {
            while self.faults().silent {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            return Some(plain(StatusCode::GATEWAY_TIMEOUT, "nobody answered in time"));
        }
        if faults.credentials_expired {
            return Some(plain(StatusCode::UNAUTHORIZED, "the credentials have expired"));
        }
        let makes = matches!(call, HostCall::Create | HostCall::LoadBalancer);
        let words = faults.quota_exceeded.filter(|_| makes)?;
        Some(Refusal::new(ErrorClass::Quota, words).into_response())
    }

    fn note(&self, call: HostCall, target: &str, status: StatusCode, took: Duration) {
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let line = json!({
            "time": Timestamp::now(), "call": call, "target": target, "status": status.as_u16(), "millis": took,
        });
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.write(format!("{line}\n").as_bytes());
    }
}

/// Answers a call, or lets the host do it.
pub(super) async fn meet(State(calls): State<Arc<Calls>>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let target = request.uri().path().to_owned();
    // What only a sandbox has is no call of a driver.
    let Some(call) = call(request.method(), &target) else { return next.run(request).await };
    let answer = match calls.fault(call).await {
        Some(wrong) => wrong,
        None => next.run(request).await,
    };
    calls.note(call, &target, answer.status(), begun.elapsed());
    answer
}

fn call(method: &Method, target: &str) -> Option<HostCall> {
    let mut parts = target.trim_start_matches("/v1/").split('/');
    Some(match (parts.next().unwrap_or_default(), parts.nth(1)) {
        ("about" | "nodes", _) => return None,
        ("machines", None) if method == Method::GET => HostCall::List,
        ("machines", None) => HostCall::Create,
        ("machines", Some("get")) => HostCall::Get,
        ("machines", Some("delete")) => HostCall::Delete,
        ("machines", Some("power")) => HostCall::Power,
        ("machines", Some("console")) => HostCall::Console,
        ("load-balancers", _) => HostCall::LoadBalancer,
        _ => HostCall::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_by_their_address() {
        for (method, target, expected) in [
            (Method::GET, "/v1/machines", Some(HostCall::List)),
            (Method::POST, "/v1/machines", Some(HostCall::Create)),
            (Method::POST, "/v1/machines/a/get", Some(HostCall::Get)),
            (Method::POST, "/v1/machines/get/delete", Some(HostCall::Delete)),
            (Method::POST, "/v1/machines/a/power", Some(HostCall::Power)),
            (Method::POST, "/v1/load-balancers/a/get", Some(HostCall::LoadBalancer)),
            (Method::GET, "/v1/changes", Some(HostCall::Other)),
            (Method::GET, "/v1/nodes", None),
        ] {
            assert_eq!(call(&method, target), expected, "{method} {target}");
        }
    }
}
