//! The management cluster: found, watched, changed.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use butler_core::{
    cluster::{self, ApiError, Client},
    error::Code,
    live::{self, Seen},
    platform::Basics,
};
use futures::{Stream, StreamExt};

use super::Means;
use crate::{
    dashboard::{News, tabs::TabNews, world::Link},
    tui::{Fault, Mail},
};

/// News that are brought together.
const TOGETHER: usize = 512;
/// Pause before a cluster is looked for again.
const AGAIN: Duration = Duration::from_secs(5);
/// Pause between two looks at what hardly changes.
const BASICS: Duration = Duration::from_secs(60);

/// Finds the cluster, however long that takes, and then tells what changes in it.
pub(super) async fn connect(means: Arc<Means>, shared: Arc<Mutex<Option<Client>>>, mail: Mail<News>) {
    let connection = loop {
        match cluster::connect(&means.connect, &means.environment).await {
            Ok(connection) => break connection,
            Err(error) => {
                if !mail.send(News::Link(Err(Fault::from(&error)))).await {
                    return;
                }
                tokio::time::sleep(AGAIN).await;
            }
        }
    };
    let client = &connection.client;
    *shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(client.clone());
    let server = connection.server.clone();
    let identity = connection.source.to_string();
    tokio::join!(
        basics(client, server, identity, &mail),
        pump(live::tenants(client, &means.scope), News::Tenants, &mail),
        pump(live::nodes(client), News::Nodes, &mail),
        pump(live::pools(client), News::Pools, &mail),
        pump(live::deployments(client), News::Deployments, &mail),
        pump(live::daemons(client), News::Daemons, &mail),
        pump(live::events(client), News::Events, &mail),
    );
}

/// Asks now and then what hardly changes; that is also how a person sees whether the server answers.
async fn basics(client: &Client, server: String, identity: String, mail: &Mail<News>) {
    loop {
        let taken = Basics::take(client).await;
        let pause = if taken.is_ok() { BASICS } else { AGAIN };
        let link = match taken {
            Ok(basics) => Ok(Link { server: server.clone(), identity: identity.clone(), basics }),
            Err(error) => Err(Fault::from(&error)),
        };
        if !mail.send(News::Link(link)).await {
            return;
        }
        tokio::time::sleep(pause).await;
    }
}

/// Brings news as they come, many at once when many come.
async fn pump<T>(news: impl Stream<Item = Seen<T>>, wrap: fn(Vec<Seen<T>>) -> News, mail: &Mail<News>) {
    let mut chunks = std::pin::pin!(news.ready_chunks(TOGETHER));
    while let Some(chunk) = chunks.next().await {
        if !mail.send(wrap(chunk)).await {
            return;
        }
    }
}

/// Tells what changes of one tenant cluster.
pub(super) async fn look(client: Client, ticket: u64, namespace: String, name: String, mail: Mail<News>) {
    let object = async {
        let mut news = live::object(&client, &namespace, &name).ready_chunks(TOGETHER);
        while let Some(chunk) = news.next().await {
            if !mail.send(News::Tab(TabNews::Object(ticket, chunk))).await {
                return;
            }
        }
    };
    let events = async {
        let mut news = live::object_events(&client, &namespace, &name).ready_chunks(TOGETHER);
        while let Some(chunk) = news.next().await {
            if !mail.send(News::Tab(TabNews::ObjectEvents(ticket, chunk))).await {
                return;
            }
        }
    };
    tokio::join!(object, events);
}

/// Deletes a tenant cluster.
pub(super) async fn delete(
    client: Option<Client>,
    namespace: String,
    name: String,
    uid: String,
    mail: Mail<News>,
) {
    let result: Result<(), Fault> = match client {
        Some(client) => {
            let deleted: Result<(), ApiError> = live::delete(&client, &namespace, &name, &uid).await;
            deleted.map_err(|error| Fault::from(&error))
        }
        None => Err(Fault {
            code: Code::NoIdentity.to_string(),
            message: "there is no connection".to_owned(),
            hints: Vec::new(),
        }),
    };
    mail.send(News::Ended { what: format!("deletion of {namespace}/{name} was asked for"), result }).await;
}
