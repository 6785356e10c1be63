//! The State service: Get, List and Watch over the store.

use std::{pin::Pin, sync::Arc};

use futures::{Stream, StreamExt, stream};
use tokio::sync::broadcast;
use tonic::{Request, Response, Status};

use super::{
    Change,
    definitions::{self, NAMESPACES},
};
use crate::{
    sandbox::node::{
        context::Node,
        roles::{ADMIN, Roles},
    },
    talos::proto::cosi::resource::{
        Event, EventType, GetRequest, GetResponse, IdQuery, LabelQuery, ListRequest, ListResponse, Metadata,
        Resource, Spec, WatchRequest, WatchResponse, state_server::State,
    },
};

/// The store as a service.
pub(crate) struct StateService(pub(crate) Arc<Node>);

type Items<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Callers without a role are those of maintenance mode: readers.
fn check<T>(request: &Request<T>, namespace: &str, kind: &str) -> Result<(), Status> {
    let Some(definition) = definitions::find(kind) else {
        return Err(Status::permission_denied(format!("resource type {kind:?} is not supported")));
    };
    if !NAMESPACES.contains(&namespace) {
        return Err(Status::permission_denied(format!("namespace {namespace:?} is not supported")));
    }
    let is_admin = request.extensions().get::<Roles>().is_some_and(|roles| roles.contains(ADMIN));
    if definition.sensitive && !is_admin {
        return Err(Status::permission_denied("not authorized"));
    }
    Ok(())
}

/// True when the resource is one of those asked for. No resource has labels.
fn wanted(resource: &Resource, ids: Option<&IdQuery>, labels: &[LabelQuery]) -> bool {
    use crate::talos::proto::cosi::resource::label_term::Operation;
    let id = resource.metadata.as_ref().map(|metadata| metadata.id.as_str()).unwrap_or_default();
    let by_id =
        ids.is_none_or(|query| query.regexp.is_empty() || id.contains(query.regexp.trim_matches(['^', '$'])));
    let by_label = labels.is_empty()
        || labels
            .iter()
            .any(|query| query.terms.iter().all(|term| (term.op() == Operation::NotExists) != term.invert));
    by_id && by_label
}

#[tonic::async_trait]
impl State for StateService {
    async fn get(&self, request: Request<GetRequest>) -> Result<Response<GetResponse>, Status> {
        check(&request, &request.get_ref().namespace, &request.get_ref().r#type)?;
        self.0.refresh();
        let GetRequest { namespace, r#type, id, .. } = request.into_inner();
        match self.0.store.get(&namespace, &r#type, &id) {
            Some(resource) => Ok(Response::new(GetResponse { resource: Some(resource) })),
            None => Err(Status::not_found(format!("resource {}({namespace}/{id}) doesn't exist", r#type))),
        }
    }

    async fn list(&self, request: Request<ListRequest>) -> Result<Response<Items<ListResponse>>, Status> {
        check(&request, &request.get_ref().namespace, &request.get_ref().r#type)?;
        self.0.refresh();
        let ListRequest { namespace, r#type, options } = request.into_inner();
        let options = options.unwrap_or_default();
        let mut resources = self.0.store.list(&namespace, &r#type);
        resources.retain(|resource| wanted(resource, options.id_query.as_ref(), &options.label_query));
        let items = resources.into_iter().map(|resource| Ok(ListResponse { resource: Some(resource) }));
        Ok(Response::new(Box::pin(stream::iter(items.collect::<Vec<_>>()))))
    }

    async fn watch(&self, request: Request<WatchRequest>) -> Result<Response<Items<WatchResponse>>, Status> {
        check(&request, &request.get_ref().namespace, &request.get_ref().r#type)?;
        self.0.refresh();
        let request = request.into_inner();
        let (there, changes) = self.0.store.watch(&request.namespace, &request.r#type);
        let first = first(&request, there);
        let live = stream::unfold((changes, request), |(mut changes, request)| async move {
            loop {
                match changes.recv().await {
                    Ok(change) => {
                        if let Some(event) = event(&request, &change) {
                            return Some((Ok(response(event)), (changes, request)));
                        }
                    }
                    Err(broadcast::error::RecvError::Closed) => return None,
                    Err(broadcast::error::RecvError::Lagged(_)) => {
                        let error = Status::resource_exhausted("the watch is too far behind");
                        return Some((Err(error), (changes, request)));
                    }
                }
            }
        });
        let start = std::iter::once(WatchResponse::default()).chain(first.into_iter().map(response));
        let items = stream::iter(start.map(Ok).collect::<Vec<_>>()).chain(live);
        Ok(Response::new(Box::pin(items)))
    }
}

fn response(event: Event) -> WatchResponse {
    WatchResponse { event: vec![event] }
}

/// What a watch begins with.
fn first(request: &WatchRequest, there: Vec<Resource>) -> Vec<Event> {
    let options = request.options.clone().unwrap_or_default();
    let created = |resource: Resource| Event {
        resource: Some(resource),
        event_type: EventType::Created.into(),
        ..Event::default()
    };
    if let Some(id) = &request.id {
        let is_it =
            |resource: &Resource| resource.metadata.as_ref().is_some_and(|metadata| metadata.id == *id);
        return match there.into_iter().find(is_it) {
            Some(resource) => vec![created(resource)],
            None => vec![Event {
                resource: Some(tombstone(request, id)),
                event_type: EventType::Destroyed.into(),
                ..Event::default()
            }],
        };
    }
    if !options.bootstrap_contents {
        return Vec::new();
    }
    let mut events: Vec<Event> = there
        .into_iter()
        .filter(|resource| wanted(resource, options.id_query.as_ref(), &options.label_query))
        .map(created)
        .collect();
    if request.api_version >= 1 {
        events.push(Event {
            resource: Some(tombstone(request, "")),
            event_type: EventType::Bootstrapped.into(),
            ..Event::default()
        });
    }
    events
}

fn tombstone(request: &WatchRequest, id: &str) -> Resource {
    Resource {
        metadata: Some(Metadata {
            namespace: request.namespace.clone(),
            r#type: request.r#type.clone(),
            id: id.to_owned(),
            version: "undefined".to_owned(),
            phase: "running".to_owned(),
            ..Metadata::default()
        }),
        spec: Some(Spec::default()),
    }
}

/// The event of a change, if the watch is about it.
fn event(request: &WatchRequest, change: &Change) -> Option<Event> {
    let metadata = change.new.metadata.as_ref()?;
    let options = request.options.clone().unwrap_or_default();
    let about = metadata.namespace == request.namespace
        && metadata.r#type == request.r#type
        && request.id.as_ref().is_none_or(|id| *id == metadata.id)
        && wanted(&change.new, options.id_query.as_ref(), &options.label_query);
    about.then(|| Event {
        resource: Some(change.new.clone()),
        event_type: change.kind.into(),
        old: change.old.clone(),
        ..Event::default()
    })
}
