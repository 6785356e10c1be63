//! What the management cluster says of itself.

use butler_core::{
    api,
    cluster::pages::Pages,
    platform::{Survey, doctor},
};
use kube::Client;
use serde_json::{Value, json};

use super::{Scene, pack::Pack, within};

/// What is taken besides Butler's objects: name of the file, address. Of Secrets nothing but their keys is kept.
const OTHERS: [(&str, &str); 9] = [
    ("events", "/api/v1/events"),
    ("nodes", "/api/v1/nodes"),
    ("namespaces", "/api/v1/namespaces"),
    ("pods", "/api/v1/pods"),
    ("secrets", "/api/v1/secrets"),
    ("deployments", "/apis/apps/v1/deployments"),
    ("daemonsets", "/apis/apps/v1/daemonsets"),
    ("leases", "/apis/coordination.k8s.io/v1/leases"),
    ("customresourcedefinitions", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
];
/// More objects of one kind help nobody.
const MOST: usize = 2000;

pub(super) async fn collect(scene: &Scene<'_>, pack: &mut Pack) {
    let client = match &scene.client {
        Ok(client) => client,
        Err(reason) => return pack.miss("cluster/", reason),
    };
    let survey = within(async { Ok(Survey::take(client).await) }).await;
    let checks = survey.map(|survey| json!(doctor::checks(&survey, api::KINDS)));
    pack.json("cluster/doctor.json", checks);
    let mut silent = 0;
    let kinds = api::all_crds().into_iter().map(|crd| {
        let plural = crd.spec.names.plural;
        let url = format!("/apis/{}/{}/{plural}", api::GROUP, api::VERSION);
        (plural, url)
    });
    let others = OTHERS.iter().map(|(name, url)| ((*name).to_owned(), (*url).to_owned()));
    for (name, url) in kinds.chain(others) {
        let file = format!("cluster/{name}.json");
        if silent >= 2 {
            pack.miss(&file, "not asked: the API server did not answer twice before");
            continue;
        }
        let found = within(list(client, &name, url)).await;
        silent =
            if found.as_ref().is_err_and(|reason| reason.contains("no answer")) { silent + 1 } else { 0 };
        // Definitions are long, and the same everywhere.
        let found = found.map(|list| if name == "customresourcedefinitions" { names(&list) } else { list });
        pack.json(&file, found);
    }
}

async fn list(client: &Client, name: &str, url: String) -> Result<Value, String> {
    let mut pages = Pages::new(client, url, format!("list {name}"), None);
    let mut all: Vec<Value> = Vec::new();
    while let Some(items) = pages.next().await.map_err(|error| super::words(&error))? {
        all.extend(items.iter().filter_map(|item| serde_json::from_str(item.get()).ok()));
        if all.len() >= MOST {
            break;
        }
    }
    if name == "secrets" {
        // Items of a list do not say what they are.
        all.iter_mut().for_each(|item| item["kind"] = "Secret".into());
    }
    Ok(json!({ "items": all, "isCut": all.len() >= MOST }))
}

fn names(list: &Value) -> Value {
    let items = list["items"].as_array().into_iter().flatten();
    items
        .map(|item| json!({ "name": item["metadata"]["name"], "status": item["status"]["conditions"] }))
        .collect()
}
