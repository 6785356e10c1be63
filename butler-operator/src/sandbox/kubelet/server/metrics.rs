//! Figures of a node that does nothing: small, steady and well formed.

use std::fmt::Write;

use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use serde_json::json;

use super::Shared;

/// What each container seems to use: a thousandth of a processor, and some memory.
const NANO_CORES: u64 = 1_000_000;
const MEMORY: u64 = 16 << 20;
/// What the system itself seems to use.
const SYSTEM_NANO_CORES: u64 = 20_000_000;
const SYSTEM_MEMORY: u64 = 256 << 20;

/// A container that runs.
struct Running<'a> {
    pod: &'a Pod,
    name: &'a str,
    started: Timestamp,
}

fn running(pods: &[Pod]) -> impl Iterator<Item = Running<'_>> {
    pods.iter().flat_map(|pod| {
        let status = pod.status.iter();
        let lists = status.flat_map(|status| [&status.init_container_statuses, &status.container_statuses]);
        lists.flatten().flatten().filter_map(move |status: &ContainerStatus| {
            let started = status.state.as_ref()?.running.as_ref()?.started_at.as_ref()?.0;
            Some(Running { pod, name: &status.name, started })
        })
    })
}

/// Processor time since the start, in nanoseconds of one core.
fn core_nanos(started: Timestamp, now: Timestamp, nano_cores: u64) -> u64 {
    u64::try_from(now.duration_since(started).as_secs()).unwrap_or(0).saturating_mul(nano_cores)
}

/// `/metrics/resource`, for Prometheus and the metrics server.
pub(super) async fn resource(State(shared): State<Shared>) -> Response {
    let now = shared.clock.now();
    let pods = shared.pods().await;
    let mut cpu = String::new();
    let mut memory = String::new();
    let mut start = String::new();
    let mut count = 0;
    for Running { pod, name, started } in running(&pods) {
        count += 1;
        let (space, pod) = (text(pod.metadata.namespace.as_ref()), text(pod.metadata.name.as_ref()));
        let labels = format!("{{container=\"{name}\",namespace=\"{space}\",pod=\"{pod}\"}}");
        let seconds = seconds(core_nanos(started, now, NANO_CORES));
        // Writing to a string cannot fail.
        let _ = writeln!(cpu, "container_cpu_usage_seconds_total{labels} {seconds}");
        let _ = writeln!(memory, "container_memory_working_set_bytes{labels} {MEMORY}");
        let _ = writeln!(start, "container_start_time_seconds{labels} {}", started.as_second());
    }
    let node_cpu = seconds(core_nanos(Timestamp::UNIX_EPOCH, now, SYSTEM_NANO_CORES + count * NANO_CORES));
    let node_memory = SYSTEM_MEMORY + count * MEMORY;
    let text = format!(
        "# TYPE container_cpu_usage_seconds_total counter\n{cpu}\
         # TYPE container_memory_working_set_bytes gauge\n{memory}\
         # TYPE container_start_time_seconds gauge\n{start}\
         # TYPE node_cpu_usage_seconds_total counter\nnode_cpu_usage_seconds_total {node_cpu}\n\
         # TYPE node_memory_working_set_bytes gauge\nnode_memory_working_set_bytes {node_memory}\n\
         # TYPE resource_scrape_error gauge\nresource_scrape_error 0\n"
    );
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

/// `/stats/summary`.
pub(super) async fn summary(State(shared): State<Shared>) -> Response {
    let now = shared.clock.now();
    let pods = shared.pods().await;
    let count = running(&pods).count() as u64;
    let usage = |nano_cores: u64, memory: u64, since: Timestamp| {
        json!({
            "cpu": {"time": now, "usageNanoCores": nano_cores,
                "usageCoreNanoSeconds": core_nanos(since, now, nano_cores)},
            "memory": {"time": now, "usageBytes": memory, "workingSetBytes": memory},
        })
    };
    let items: Vec<_> = pods
        .iter()
        .map(|pod| {
            let containers: Vec<_> = running(std::slice::from_ref(pod))
                .map(|container| {
                    let mut stats = usage(NANO_CORES, MEMORY, container.started);
                    stats["name"] = json!(container.name);
                    stats["startTime"] = json!(container.started);
                    stats
                })
                .collect();
            let metadata = &pod.metadata;
            json!({
                "podRef": {"name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid},
                "startTime": pod.status.as_ref().and_then(|status| status.start_time.as_ref()),
                "containers": containers,
            })
        })
        .collect();
    let mut node =
        usage(SYSTEM_NANO_CORES + count * NANO_CORES, SYSTEM_MEMORY + count * MEMORY, Timestamp::UNIX_EPOCH);
    node["nodeName"] = json!(&*shared.node);
    Json(json!({"node": node, "pods": items})).into_response()
}

fn seconds(nanos: u64) -> String {
    format!("{}.{:03}", nanos / 1_000_000_000, nanos / 1_000_000 % 1000)
}

fn text(value: Option<&String>) -> &str {
    value.map_or("", String::as_str)
}
