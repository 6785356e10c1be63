//! Harvester: what its Kubernetes API lists.

use std::time::Duration;

use butler_core::{
    bootstrap::wizard::{Answers, Found, Resource, Survey},
    cluster::{ApiError, ConnectOptions, connect},
};
use k8s_openapi::api::{core::v1::Namespace, storage::v1::StorageClass};
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams},
};
use serde_json::Value;

use super::{SurveyError, Surveyor, finds, found};

/// How long a call may take.
const LIMIT: Duration = Duration::from_secs(30);
/// The most that is asked for; whoever has more types it.
const MOST: u32 = 500;

pub(super) async fn survey(surveyor: &Surveyor, answers: &Answers) -> Result<Survey, SurveyError> {
    let path = surveyor.path(&answers.text("providerConfig.harvester.kubeconfigPath"));
    let options = ConnectOptions { kubeconfig: Some(path), context: None, request_timeout: LIMIT };
    let connection = connect(&options, &surveyor.environment).await?;
    let client = &connection.client;
    let version = client.apiserver_version().await;
    let version = version.map_err(|error| ApiError::new("ask Harvester for its version", error))?;
    let (namespaces, networks, images, classes) =
        tokio::join!(namespaces(client), networks(client), images(client), classes(client));
    Ok(Survey {
        facts: vec![
            ("Harvester".to_owned(), connection.server.clone()),
            ("Kubernetes".to_owned(), version.git_version),
        ],
        capacity: None,
        found: finds([
            (Resource::Zones, namespaces),
            (Resource::Networks, networks),
            (Resource::Images, images),
            (Resource::Storage, classes),
        ]),
    })
}

fn params() -> ListParams {
    ListParams::default().limit(MOST)
}

async fn namespaces(client: &Client) -> Result<Vec<Found>, SurveyError> {
    let list = Api::<Namespace>::all(client.clone()).list(&params()).await;
    let list = list.map_err(|error| ApiError::new("list namespaces", error))?;
    Ok(list.iter().map(|namespace| found(&namespace.name_any(), &namespace.name_any(), "")).collect())
}

async fn classes(client: &Client) -> Result<Vec<Found>, SurveyError> {
    let list = Api::<StorageClass>::all(client.clone()).list(&params()).await;
    let list = list.map_err(|error| ApiError::new("list storage classes", error))?;
    Ok(list.iter().map(|class| found(&class.name_any(), &class.name_any(), &class.provisioner)).collect())
}

async fn networks(client: &Client) -> Result<Vec<Found>, SurveyError> {
    let list = dynamic(client, "k8s.cni.cncf.io", "v1", "NetworkAttachmentDefinition").await?;
    // The configuration of a network is JSON in a text.
    let vlan = |object: &DynamicObject| {
        let config: Value = serde_json::from_str(object.data["spec"]["config"].as_str()?).ok()?;
        config["vlan"].as_i64().map(|vlan| format!("VLAN {vlan}"))
    };
    Ok(list.iter().map(|object| named(object, vlan(object))).collect())
}

async fn images(client: &Client) -> Result<Vec<Found>, SurveyError> {
    let list = dynamic(client, "harvesterhci.io", "v1beta1", "VirtualMachineImage").await?;
    let called = |object: &DynamicObject| object.data["spec"]["displayName"].as_str().map(str::to_owned);
    Ok(list.iter().map(|object| named(object, called(object))).collect())
}

async fn dynamic(
    client: &Client,
    group: &str,
    version: &str,
    kind: &str,
) -> Result<Vec<DynamicObject>, SurveyError> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let list = Api::<DynamicObject>::all_with(client.clone(), &resource).list(&params()).await;
    Ok(list.map_err(|error| ApiError::new(format!("list {}", resource.plural), error))?.items)
}

/// An object as the configuration names it.
fn named(object: &DynamicObject, more: Option<String>) -> Found {
    let name = format!("{}/{}", object.namespace().unwrap_or_default(), object.name_any());
    found(&name, &name, &more.unwrap_or_default())
}
