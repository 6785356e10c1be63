//! Requests to the API server: no more than a real kubelet makes or may make.

use std::time::Duration;

use butler_core::cluster::ApiError;
use jiff::Timestamp;
use k8s_openapi::{
    api::{
        authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
        coordination::v1::Lease,
        core::v1::{Event, Node, NodeStatus, Pod, PodStatus},
    },
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use kube::{
    Api, Client, Resource,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
    core::Request,
};
use serde_json::{Value, json};

use super::{node, pods::PodKey};

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(30);
/// A lease that takes longer is better renewed anew.
const LEASE_LIMIT: Duration = Duration::from_secs(8);

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error("cannot {action} within {} s", limit.as_secs())]
    Late { action: String, limit: Duration },
}

impl CallError {
    /// The API's own class; nothing for an answer that did not come.
    pub(super) fn api(&self) -> Option<&ApiError> {
        match self {
            Self::Api(error) => Some(error),
            Self::Late { .. } => None,
        }
    }
}

/// Makes requests with the identity of a node.
#[derive(Clone)]
pub(super) struct Caller {
    client: Client,
    node: String,
}

impl Caller {
    pub(super) fn new(client: Client, node: &str) -> Self {
        Self { client, node: node.to_owned() }
    }

    /// Tells the status of a Pod; only if it is still the same Pod.
    pub(super) async fn tell_status(
        &self,
        key: &PodKey,
        uid: &str,
        status: &PodStatus,
    ) -> Result<(), CallError> {
        let action = format!("tell the status of pod `{key}`");
        let body = json!({"metadata": {"uid": uid}, "status": status});
        let url = Pod::url_path(&(), Some(&key.namespace));
        let patch = Patch::Strategic(body);
        let request =
            Request::new(url).patch_subresource("status", &key.name, &PatchParams::default(), &patch);
        self.send(action, request).await
    }

    /// Removes the object of a Pod that is over; only if it is still the same Pod.
    pub(super) async fn remove(&self, key: &PodKey, uid: &str) -> Result<(), CallError> {
        let action = format!("remove pod `{key}`");
        let params = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(Preconditions { uid: Some(uid.to_owned()), resource_version: None }),
            ..DeleteParams::default()
        };
        let request = Request::new(Pod::url_path(&(), Some(&key.namespace))).delete(&key.name, &params);
        self.send(action, request).await
    }

    /// Sends a request whose answer nobody reads, so that it cannot be unreadable.
    async fn send(
        &self,
        action: String,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<(), CallError> {
        let request = match request {
            Ok(request) => request,
            Err(source) => return Err(ApiError::new(action, kube::Error::BuildRequest(source)).into()),
        };
        self.within(LIMIT, action, self.client.request_text(request)).await.map(drop)
    }

    /// Shows a static Pod.
    pub(super) async fn mirror(&self, pod: Pod) -> Result<Pod, CallError> {
        let name = pod.metadata.name.clone().unwrap_or_default();
        let namespace = pod.metadata.namespace.clone().unwrap_or_default();
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
        let action = format!("create mirror pod `{namespace}/{name}`");
        self.within(LIMIT, action, api.create(&PostParams::default(), &pod)).await
    }

    /// Registers the node.
    pub(super) async fn register(&self, node: Node) -> Result<Node, CallError> {
        let api: Api<Node> = Api::all(self.client.clone());
        let action = format!("register node `{}`", self.node);
        self.within(LIMIT, action, api.create(&PostParams::default(), &node)).await
    }

    /// Completes a Node that exists.
    pub(super) async fn adopt(&self, patch: Value) -> Result<Node, CallError> {
        let api: Api<Node> = Api::all(self.client.clone());
        let action = format!("complete node `{}`", self.node);
        self.within(LIMIT, action, api.patch(&self.node, &PatchParams::default(), &Patch::Merge(patch))).await
    }

    /// Tells the status of the node.
    pub(super) async fn heartbeat(&self, status: NodeStatus) -> Result<Node, CallError> {
        let api: Api<Node> = Api::all(self.client.clone());
        let action = format!("tell the status of node `{}`", self.node);
        let patch = Patch::Strategic(json!({"status": status}));
        self.within(LIMIT, action, api.patch_status(&self.node, &PatchParams::default(), &patch)).await
    }

    /// Renews the lease, which may have to be made first.
    pub(super) async fn renew(&self, uid: &str, now: Timestamp) -> Result<(), CallError> {
        let api: Api<Lease> = Api::namespaced(self.client.clone(), node::LEASE_NAMESPACE);
        let action = format!("renew the lease of node `{}`", self.node);
        let patch = Patch::Merge(json!({"spec": {"holderIdentity": self.node, "renewTime": MicroTime(now)}}));
        let params = PatchParams::default();
        let renewed = api.patch(&self.node, &params, &patch);
        match self.within(LEASE_LIMIT, action.clone(), renewed).await {
            Err(CallError::Api(error)) if error.is_not_found() => {
                let lease = node::lease(&self.node, uid, now);
                let params = PostParams::default();
                let created = api.create(&params, &lease);
                self.within(LEASE_LIMIT, action, created).await.map(drop)
            }
            other => other.map(drop),
        }
    }

    /// Publishes an event.
    pub(super) async fn publish(&self, event: Event) -> Result<(), CallError> {
        let namespace = event.metadata.namespace.clone().unwrap_or_default();
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        let action = "publish an event".to_owned();
        self.within(LIMIT, action, api.create(&PostParams::default(), &event)).await.map(drop)
    }

    /// Asks whether somebody may use a part of this node.
    pub(super) async fn may(
        &self,
        user: &str,
        groups: &[String],
        verb: &str,
        part: &str,
    ) -> Result<bool, CallError> {
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(user.to_owned()),
                groups: Some(groups.to_vec()),
                resource_attributes: Some(ResourceAttributes {
                    verb: Some(verb.to_owned()),
                    version: Some("v1".to_owned()),
                    resource: Some("nodes".to_owned()),
                    subresource: Some(part.to_owned()),
                    name: Some(self.node.clone()),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let api: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let action = format!("ask what `{user}` may do");
        let answer = self.within(LIMIT, action, api.create(&PostParams::default(), &review)).await?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }

    async fn within<T>(
        &self,
        limit: Duration,
        action: String,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, CallError> {
        match tokio::time::timeout(limit, call).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(source)) => Err(ApiError::new(action, source).into()),
            Err(_) => Err(CallError::Late { action, limit }),
        }
    }
}
