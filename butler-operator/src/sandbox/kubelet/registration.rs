//! The node's own standing: its Node is registered, complete and up to date, its lease renewed.
//!
//! Says which request is next; who makes it tells how it went.

use std::time::Duration;

use butler_core::error::{Diagnose, ErrorKind};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeStatus};
use kube::runtime::utils::Backoff;
use serde_json::Value;

use super::{
    KubeletOptions,
    calls::CallError,
    clock::{Pauses, jittered},
    decide::after,
    mirror::Owner,
    node,
};

/// A request about the Node.
#[derive(Debug)]
pub(super) enum NodeRequest {
    Register(Box<Node>),
    Adopt(Value),
    Tell(Box<NodeStatus>),
}

/// Where the node stands.
#[derive(Debug, Default)]
pub(super) struct Registration {
    node: Option<Node>,
    listed: bool,
    synced: bool,
    adopted: bool,
    /// True when the API server refuses labels that only others may set.
    open_labels_only: bool,
    busy: bool,
    not_before: Option<Timestamp>,
    heartbeat: Option<Timestamp>,
    pauses: Pauses,
    lease_busy: bool,
    lease_due: Option<Timestamp>,
    lease_pauses: Pauses,
}

impl Registration {
    /// The Node, once it exists.
    pub(super) fn owner(&self) -> Option<Owner<'_>> {
        let metadata = &self.node.as_ref()?.metadata;
        Some(Owner { name: metadata.name.as_deref()?, uid: metadata.uid.as_deref()? })
    }

    /// The range of addresses for Pods that the cluster gave to this node.
    pub(super) fn range(&self) -> Option<&str> {
        self.node.as_ref()?.spec.as_ref()?.pod_cidr.as_deref()
    }

    pub(super) fn begin_list(&mut self) {
        self.listed = false;
    }

    pub(super) fn end_list(&mut self) {
        self.synced = true;
        if !self.listed {
            self.gone();
        }
    }

    /// The Node is not there, or no longer.
    pub(super) fn gone(&mut self) {
        self.node = None;
        self.adopted = false;
        self.lease_due = None;
    }

    /// The Node as the API server has it.
    pub(super) fn apply(&mut self, mut node: Node) {
        self.listed = true;
        node.metadata.managed_fields = None;
        let age = |node: &Node| node.metadata.resource_version.as_ref()?.parse::<u64>().ok();
        let is_old = self.node.as_ref().is_some_and(|held| {
            held.metadata.uid == node.metadata.uid
                && age(held).zip(age(&node)).is_some_and(|(held, new)| new < held)
        });
        if !is_old {
            self.node = Some(node);
        }
    }

    /// The request to make now, if any.
    pub(super) fn next_request(
        &mut self,
        options: &KubeletOptions,
        network: bool,
        now: Timestamp,
    ) -> Option<NodeRequest> {
        if self.busy || !self.synced || self.not_before.is_some_and(|time| now < time) {
            return None;
        }
        self.not_before = None;
        let request = self.wanted(options, network, now)?;
        self.busy = true;
        Some(request)
    }

    fn wanted(&mut self, options: &KubeletOptions, network: bool, now: Timestamp) -> Option<NodeRequest> {
        let Some(held) = &self.node else {
            let mut new = node::object(options, network, now);
            if self.open_labels_only {
                node::keep_open_labels(&mut new);
            }
            return Some(NodeRequest::Register(Box::new(new)));
        };
        if !self.adopted {
            match node::adoption(options, held, !self.open_labels_only) {
                Some(patch) => return Some(NodeRequest::Adopt(patch)),
                None => self.adopted = true,
            }
        }
        let status = node::status(options, network, Some(held), now);
        let beats = self.heartbeat.is_none_or(|time| time <= now);
        (beats || node::differs(held, &status)).then(|| NodeRequest::Tell(Box::new(status)))
    }

    /// A request came to its end.
    pub(super) fn answered(
        &mut self,
        request: &NodeRequest,
        result: Result<Node, CallError>,
        now: Timestamp,
    ) {
        self.busy = false;
        match result {
            Ok(node) => {
                self.pauses.reset();
                self.apply(node);
                match request {
                    NodeRequest::Adopt(_) => self.adopted = true,
                    NodeRequest::Register(_) => {
                        self.adopted = true;
                        self.heartbeat = Some(after(now, jittered(node::HEARTBEAT, 0.1)));
                    }
                    NodeRequest::Tell(_) => {
                        self.heartbeat = Some(after(now, jittered(node::HEARTBEAT, 0.1)));
                        // Should somebody disagree for ever, we do not argue all the time.
                        self.not_before = Some(after(now, Duration::from_secs(1)));
                    }
                }
            }
            Err(error) => {
                let kind = error.api().map(Diagnose::kind);
                let about_labels = matches!(request, NodeRequest::Register(_) | NodeRequest::Adopt(_));
                if kind == Some(ErrorKind::Forbidden) && about_labels && !self.open_labels_only {
                    self.open_labels_only = true;
                    return;
                }
                if kind == Some(ErrorKind::NotFound) && !matches!(request, NodeRequest::Register(_)) {
                    self.gone();
                }
                if kind == Some(ErrorKind::Forbidden) && matches!(request, NodeRequest::Adopt(_)) {
                    // The Node is fine without.
                    self.adopted = true;
                }
                tracing::debug!(error = &error as &dyn std::error::Error, "the node is not up to date");
                self.not_before = Some(after(now, self.pauses.longer()));
            }
        }
    }

    /// Whose lease is to be renewed now.
    pub(super) fn lease_request(&mut self, now: Timestamp) -> Option<String> {
        if self.lease_busy || self.lease_due.is_some_and(|due| now < due) {
            return None;
        }
        let uid = self.owner()?.uid.to_owned();
        self.lease_busy = true;
        Some(uid)
    }

    /// A renewal came to its end.
    pub(super) fn lease_answered(&mut self, result: Result<(), CallError>, now: Timestamp) {
        self.lease_busy = false;
        let pause = match result {
            Ok(()) => {
                self.lease_pauses.reset();
                jittered(node::LEASE_INTERVAL, 0.04)
            }
            Err(error) => {
                tracing::debug!(error = &error as &dyn std::error::Error, "the lease is not renewed");
                self.lease_pauses.longer()
            }
        };
        self.lease_due = Some(after(now, pause));
    }

    /// When there is something to do without anything happening.
    pub(super) fn next_due(&self) -> Option<Timestamp> {
        if !self.synced {
            return None;
        }
        let request =
            if self.busy { None } else { self.not_before.or(self.heartbeat.filter(|_| self.node.is_some())) };
        let lease = self.lease_due.filter(|_| !self.lease_busy && self.node.is_some());
        [request, lease].into_iter().flatten().min()
    }
}
