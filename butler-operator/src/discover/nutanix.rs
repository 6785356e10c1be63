//! Nutanix: the lists of Prism Central's v3 API.

use butler_core::bootstrap::wizard::{Answers, Found, Resource, Survey};
use reqwest::{Method, header::CONTENT_TYPE};
use serde_json::{Value, json};

use super::{SurveyError, Surveyor, finds, found, http};

/// The most that is asked for; whoever has more types it.
const MOST: u32 = 500;

struct Prism {
    api: http::Api,
    account: String,
    password: butler_core::redact::Secret,
}

pub(super) async fn survey(surveyor: &Surveyor, answers: &Answers) -> Result<Survey, SurveyError> {
    let of = |key: &str| answers.text(&format!("providerConfig.nutanix.{key}"));
    let prism = Prism {
        api: http::Api::new(&of("endpoint"), of("port").parse().ok(), of("insecure") == "true")?,
        account: of("username"),
        password: surveyor.secret(answers, "providerConfig.nutanix.password")?,
    };
    // Wrong credentials are told before anything else.
    let clusters = prism.list("clusters", "cluster").await?;
    let clusters: Vec<&Value> = clusters.iter().filter(|cluster| !is_central(cluster)).collect();
    let (subnets, images) = tokio::join!(prism.list("subnets", "subnet"), prism.list("images", "image"));
    let vlan = |subnet: &Value| match subnet["status"]["resources"]["vlan_id"].as_i64() {
        Some(vlan) => format!("VLAN {vlan}"),
        None => String::new(),
    };
    let none = |_: &Value| String::new();
    Ok(Survey {
        facts: vec![("Prism Central".to_owned(), format!("{} clusters", clusters.len()))],
        capacity: None,
        found: finds([
            (Resource::Zones, Ok(entities(clusters, none))),
            (Resource::Networks, subnets.map(|subnets| entities(&subnets, vlan))),
            (Resource::Images, images.map(|images| entities(&images, none))),
        ]),
    })
}

impl Prism {
    async fn list(&self, what: &str, kind: &str) -> Result<Vec<Value>, SurveyError> {
        let request = self.api.request(Method::POST, &format!("api/nutanix/v3/{what}/list"));
        let body = json!({"kind": kind, "length": MOST}).to_string();
        let request = request.basic_auth(&self.account, Some(self.password.expose()));
        let answer = http::send(request.header(CONTENT_TYPE, "application/json").body(body), what).await?;
        Ok(answer["entities"].as_array().cloned().unwrap_or_default())
    }
}

/// Prism Central lists itself among the clusters, and runs no machines.
fn is_central(cluster: &Value) -> bool {
    let services = cluster["status"]["resources"]["config"]["service_list"].as_array();
    services.is_some_and(|services| services.iter().any(|service| service == "PRISM_CENTRAL"))
}

fn entities<'v>(
    entities: impl IntoIterator<Item = &'v Value>,
    more: impl Fn(&Value) -> String,
) -> Vec<Found> {
    let entity = |entity: &Value| {
        let id = entity["metadata"]["uuid"].as_str()?;
        let name = entity["status"]["name"].as_str().or(entity["spec"]["name"].as_str()).unwrap_or(id);
        Some(found(id, name, &more(entity)))
    };
    entities.into_iter().filter_map(entity).collect()
}
