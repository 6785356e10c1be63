//! What is counted, and how it reads for Prometheus (text format 0.0.4).

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// Upper bounds of the duration histogram, in seconds.
const BUCKETS: [f64; 10] = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];

/// The counters of a process; they go on across terms of leadership.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    leader: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    reconciles: BTreeMap<(&'static str, &'static str), u64>,
    durations: BTreeMap<&'static str, Histogram>,
    queues: BTreeMap<&'static str, usize>,
    objects: BTreeMap<String, usize>,
    malformed: BTreeMap<String, usize>,
    restarts: BTreeMap<String, u64>,
}

#[derive(Debug, Default)]
struct Histogram {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

impl Metrics {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says whether this process acts.
    pub(super) fn set_leader(&self, leads: bool) {
        self.leader.store(leads, Ordering::Relaxed);
        if !leads {
            // What a former term knew is nobody's now.
            let mut inner = self.inner();
            inner.queues.clear();
            inner.objects.clear();
            inner.malformed.clear();
        }
    }

    /// True while this process acts.
    pub(super) fn is_leader(&self) -> bool {
        self.leader.load(Ordering::Relaxed)
    }

    /// Counts a reconciliation.
    pub(super) fn reconciled(&self, controller: &'static str, result: &'static str, took: Duration) {
        let mut inner = self.inner();
        *inner.reconciles.entry((controller, result)).or_default() += 1;
        let seconds = took.as_secs_f64();
        let histogram = inner.durations.entry(controller).or_default();
        histogram.count += 1;
        histogram.sum += seconds;
        for (bucket, bound) in histogram.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(seconds <= bound);
        }
    }

    /// Says how many objects wait for a controller.
    pub(super) fn set_queue(&self, controller: &'static str, depth: usize) {
        self.inner().queues.insert(controller, depth);
    }

    /// Says how many objects of a kind are known, and how many of them cannot be read.
    pub(super) fn set_objects(&self, kind: &str, all: usize, malformed: usize) {
        let mut inner = self.inner();
        inner.objects.insert(kind.to_owned(), all);
        inner.malformed.insert(kind.to_owned(), malformed);
    }

    /// Counts a watch that broke and was begun again.
    pub(super) fn watch_restarted(&self, kind: &str) {
        *self.inner().restarts.entry(kind.to_owned()).or_default() += 1;
    }

    /// Everything in Prometheus' text format.
    pub(super) fn text(&self) -> String {
        let inner = self.inner();
        let mut page = Page(String::new());
        page.family("butler_controller_leader", "gauge", "1 while this process acts");
        page.sample("butler_controller_leader", &[], u64::from(self.is_leader()));
        page.family("butler_controller_reconcile_total", "counter", "Reconciliations by result");
        for ((controller, result), count) in &inner.reconciles {
            let labels = [("controller", *controller), ("result", *result)];
            page.sample("butler_controller_reconcile_total", &labels, count);
        }
        let name = "butler_controller_reconcile_duration_seconds";
        page.family(name, "histogram", "How long reconciliations take");
        for (controller, histogram) in &inner.durations {
            let bucket = format!("{name}_bucket");
            for (bound, count) in BUCKETS.iter().zip(histogram.buckets) {
                page.sample(&bucket, &[("controller", *controller), ("le", &bound.to_string())], count);
            }
            page.sample(&bucket, &[("controller", *controller), ("le", "+Inf")], histogram.count);
            page.sample(&format!("{name}_sum"), &[("controller", *controller)], histogram.sum);
            page.sample(&format!("{name}_count"), &[("controller", *controller)], histogram.count);
        }
        page.family("butler_controller_queue_depth", "gauge", "Objects that wait for a reconciliation");
        for (controller, depth) in &inner.queues {
            page.sample("butler_controller_queue_depth", &[("controller", controller)], depth);
        }
        let by_kind =
            |page: &mut Page, name: &str, type_: &str, help: &str, values: &BTreeMap<String, usize>| {
                page.family(name, type_, help);
                for (kind, count) in values {
                    page.sample(name, &[("kind", kind)], count);
                }
            };
        by_kind(&mut page, "butler_controller_objects", "gauge", "Objects that are watched", &inner.objects);
        by_kind(
            &mut page,
            "butler_controller_malformed_objects",
            "gauge",
            "Objects that do not fit their kind and are left alone",
            &inner.malformed,
        );
        page.family("butler_controller_watch_restarts_total", "counter", "Watches that broke, by kind");
        for (kind, count) in &inner.restarts {
            page.sample("butler_controller_watch_restarts_total", &[("kind", kind)], count);
        }
        page.0
    }
}

/// The text as it grows.
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, type_: &str, help: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "# HELP {name} {help}.\n# TYPE {name} {type_}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0 += name;
        for (index, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n");
            let _ = write!(self.0, "{}{label}=\"{text}\"", if index == 0 { '{' } else { ',' });
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_family_and_cumulative_buckets() {
        let metrics = Metrics::default();
        metrics.set_leader(true);
        metrics.reconciled("machine-request", "success", Duration::from_millis(30));
        metrics.reconciled("machine-request", "transient", Duration::from_secs(3));
        metrics.set_queue("machine-request", 2);
        metrics.set_objects("MachineRequest", 5, 1);
        metrics.watch_restarted("Odd\"Kind\n");
        let text = metrics.text();
        for line in [
            "# TYPE butler_controller_reconcile_duration_seconds histogram",
            "butler_controller_leader 1",
            r#"butler_controller_reconcile_total{controller="machine-request",result="success"} 1"#,
            r#"butler_controller_reconcile_duration_seconds_bucket{controller="machine-request",le="0.025"} 0"#,
            r#"butler_controller_reconcile_duration_seconds_bucket{controller="machine-request",le="0.1"} 1"#,
            r#"butler_controller_reconcile_duration_seconds_bucket{controller="machine-request",le="+Inf"} 2"#,
            r#"butler_controller_reconcile_duration_seconds_count{controller="machine-request"} 2"#,
            r#"butler_controller_queue_depth{controller="machine-request"} 2"#,
            r#"butler_controller_malformed_objects{kind="MachineRequest"} 1"#,
            r#"butler_controller_watch_restarts_total{kind="Odd\"Kind\n"} 1"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        metrics.set_leader(false);
        assert!(!metrics.text().contains("queue_depth{"), "{}", metrics.text());
    }
}
