//! From a queue of objects to reconciliations: retries, pauses, counting, and the rule that only the
//! leader acts.

use std::{collections::HashSet, convert::Infallible, fmt::Debug, sync::Arc, time::Duration};

use async_trait::async_trait;
use butler_core::{
    cluster::ApiError,
    error::{Diagnose, ErrorKind},
};
use futures::{FutureExt, StreamExt, stream, stream::BoxStream};
use kube::{
    Resource, ResourceExt,
    runtime::{
        applier,
        controller::{Action, Config, Error},
        reflector::ObjectRef,
    },
};
use tokio::time::Instant;

use super::{
    Context,
    backoff::{PerObject, spread},
    health::Doing,
    leader::chain,
    notice::Notice,
    source::{Guarded, lock},
    status::Written,
};

/// Reconciliations of one controller that may go on at the same time.
const CONCURRENCY: u16 = 16;
/// The first pause between tries of one object.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// How long a copy from before our own write may take to be replaced.
const CATCH_UP: Duration = Duration::from_secs(1);

/// A controller: brings the world to what objects of one kind ask for.
#[async_trait]
pub trait Reconciler: Send + Sync + 'static {
    /// The kind.
    type Kind: Written;

    /// Its name in flags, logs and metrics.
    const NAME: &'static str;

    /// Makes it for one term of leadership.
    fn new(context: Arc<Context>) -> Self;

    /// Waits until everything beside the objects themselves is known.
    async fn ready(&self) {}

    /// Objects to look at again because something else changed.
    fn triggers(&self) -> Vec<BoxStream<'static, ObjectRef<Guarded<Self::Kind>>>> {
        Vec::new()
    }

    /// Brings the world one step nearer to what the object asks for. Called again whenever the object
    /// changes; two calls for one object never overlap.
    async fn reconcile(&self, object: &Self::Kind) -> Result<Next, ApiError>;

    /// The object is gone; whatever is remembered of it can be forgotten.
    fn forget(&self, _uid: &str) {}
}

/// When to look at an object again, if nothing changes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Not at all.
    Await,
    /// After this time.
    After(Duration),
    /// After a pause that grows with each failure in a row. The word is for metrics.
    Retry(&'static str),
    /// The same, but not before this time has passed: somebody asked for it.
    RetryAfter(&'static str, Duration),
}

/// Runs a controller until its context stops it.
pub(super) async fn run<R: Reconciler>(context: Arc<Context>) {
    let reconciler = Arc::new(R::new(context.clone()));
    context.health.set(R::NAME, Doing::Starting);
    let source = context.sources.of::<Guarded<R::Kind>>();
    tokio::select! {
        () = context.stop.cancelled() => return,
        () = async { tokio::join!(source.ready(), reconciler.ready()); } => {}
    }
    context.health.set(R::NAME, Doing::Running);
    tracing::info!(controller = R::NAME, objects = source.store().len(), "running");

    let runner = Arc::new(Runner {
        context: context.clone(),
        reconciler: reconciler.clone(),
        backoff: PerObject::new(FIRST_RETRY, context.timing.retry),
        queued: std::sync::Mutex::default(),
    });
    let own = source.changes().map(|object| ObjectRef::from_obj(&*object)).boxed();
    let queue = {
        let runner = runner.clone();
        stream::select_all(std::iter::once(own).chain(reconciler.triggers()))
            .inspect(move |object| runner.queued(object))
            .take_until(context.stop.clone().cancelled_owned())
            .map(Ok::<_, Infallible>)
    };
    let reconcile = {
        let runner = runner.clone();
        move |object: Arc<Guarded<R::Kind>>, _: Arc<()>| {
            let runner = runner.clone();
            async move { Ok::<_, Infallible>(runner.reconcile(&object).await) }.boxed()
        }
    };
    let config = Config::default().concurrency(CONCURRENCY);
    let never = |_: Arc<Guarded<R::Kind>>, error: &Infallible, _: Arc<()>| match *error {};
    let results = applier(reconcile, never, Arc::new(()), source.store().clone(), queue, config);
    results
        .for_each(|result| {
            // Whoever is gone by the time its turn comes needs nothing.
            if let Err(Error::ObjectNotFound(object)) = result {
                let namespace = object.namespace.as_deref().unwrap_or_default();
                runner.taken(&ObjectRef::new(&object.name).within(namespace));
                if let Some(uid) = &object.extra.uid {
                    runner.forget(uid);
                }
            }
            std::future::ready(())
        })
        .await;
}

struct Runner<R: Reconciler> {
    context: Arc<Context>,
    reconciler: Arc<R>,
    backoff: PerObject,
    queued: std::sync::Mutex<HashSet<ObjectRef<Guarded<R::Kind>>>>,
}

impl<R: Reconciler> Runner<R> {
    fn queued(&self, object: &ObjectRef<Guarded<R::Kind>>) {
        let mut queued = lock(&self.queued);
        queued.insert(object.clone());
        self.context.metrics.set_queue(R::NAME, queued.len());
    }

    fn taken(&self, object: &ObjectRef<Guarded<R::Kind>>) {
        let mut queued = lock(&self.queued);
        queued.remove(object);
        self.context.metrics.set_queue(R::NAME, queued.len());
    }

    fn forget(&self, uid: &str) {
        self.backoff.forget(uid);
        self.context.writes.forget(uid);
        self.reconciler.forget(uid);
    }

    async fn reconcile(&self, object: &Guarded<R::Kind>) -> Action {
        self.taken(&ObjectRef::from_obj(object));
        if !self.context.leadership.holds() {
            return Action::requeue(CATCH_UP);
        }
        let object = match &object.0 {
            Ok(object) => object,
            Err(malformed) => {
                let name = malformed.metadata.name.as_deref().unwrap_or_default();
                tracing::warn!(controller = R::NAME, object = name, "left alone: {malformed}");
                let text = format!("This object does not fit its kind and is left alone: {malformed}");
                self.context.board.publish(object, &Notice::warning("Malformed", "Read", text)).await;
                return Action::await_change();
            }
        };
        if self.context.writes.outdates(object.meta()) {
            // The watch brings the new copy, and with it the next turn.
            return Action::requeue(CATCH_UP);
        }
        let began = Instant::now();
        let result = self.reconciler.reconcile(object).await;
        let (word, action) = self.judge(object, result);
        self.context.metrics.reconciled(R::NAME, word, began.elapsed());
        action
    }

    fn judge(&self, object: &R::Kind, result: Result<Next, ApiError>) -> (&'static str, Action) {
        let uid = object.meta().uid.as_deref().unwrap_or_default();
        let place = (object.namespace().unwrap_or_default(), object.name_any());
        match result {
            Ok(Next::Await) => {
                self.backoff.forget(uid);
                ("success", Action::await_change())
            }
            Ok(Next::After(pause)) => {
                self.backoff.forget(uid);
                ("success", Action::requeue(pause))
            }
            Ok(Next::Retry(word)) => (word, Action::requeue(self.backoff.failed(uid))),
            Ok(Next::RetryAfter(word, pause)) => {
                (word, Action::requeue(self.backoff.failed(uid).max(spread(pause))))
            }
            // Gone, or changed under our hands: what is true now comes with the next event.
            Err(error) if error.is_not_found() => ("gone", Action::await_change()),
            Err(error) if error.kind() == ErrorKind::Conflict => {
                ("conflict", Action::requeue(self.backoff.failed(uid)))
            }
            Err(error) => {
                let pause = self.backoff.failed(uid);
                tracing::warn!(
                    controller = R::NAME, namespace = place.0, object = place.1, code = %error.code(),
                    retry_seconds = pause.as_secs(), "{}", chain(&error)
                );
                (if error.kind().is_retryable() { "transient" } else { "error" }, Action::requeue(pause))
            }
        }
    }
}

impl<R: Reconciler> Debug for Runner<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("controller", &R::NAME).finish_non_exhaustive()
    }
}
