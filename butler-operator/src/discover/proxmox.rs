//! Proxmox VE: its nodes, storage, bridges and templates.

use butler_core::{
    bootstrap::wizard::{Amount, Answers, Found, Resource, Survey},
    redact::Secret,
};
use reqwest::{
    Method, RequestBuilder,
    header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderValue},
};
use serde_json::{Value, json};

use super::{SurveyError, Surveyor, finds, found, http};
use crate::driver::{DriverError, ErrorClass};

/// Who is signed in: a header of every call.
struct Signed {
    name: reqwest::header::HeaderName,
    value: HeaderValue,
}

struct Proxmox {
    api: http::Api,
    signed: Signed,
}

pub(super) async fn survey(surveyor: &Surveyor, answers: &Answers) -> Result<Survey, SurveyError> {
    let of = |key: &str| answers.text(&format!("providerConfig.proxmox.{key}"));
    let api = http::Api::new(&of("endpoint"), Some(8006), of("insecure") == "true")?;
    let signed = if answers.text("signIn") == "token" {
        let secret = surveyor.secret(answers, "providerConfig.proxmox.tokenSecret")?;
        let value = format!("PVEAPIToken={}={}", of("token"), secret.expose());
        Signed { name: AUTHORIZATION, value: hidden(&value)? }
    } else {
        let password = surveyor.secret(answers, "providerConfig.proxmox.password")?;
        sign_in(&api, &of("username"), &password).await?
    };
    let proxmox = Proxmox { api, signed };
    let version = proxmox.get("version").await?;
    let (nodes, storage, machines) = tokio::join!(
        proxmox.list("nodes"),
        proxmox.list("storage"),
        proxmox.list("cluster/resources?type=vm")
    );
    let capacity = nodes.as_ref().ok().map(|nodes| capacity(nodes));
    let networks = match nodes.as_ref().ok().and_then(|nodes| nodes.first()?["node"].as_str()) {
        Some(node) => proxmox.list(&format!("nodes/{node}/network?type=any_bridge")).await,
        None => Ok(Vec::new()),
    };
    let mut facts =
        vec![("Proxmox VE".to_owned(), version["version"].as_str().unwrap_or("unknown").to_owned())];
    if let Ok(networks) = networks {
        let bridges: Vec<&str> = networks.iter().filter_map(|bridge| bridge["iface"].as_str()).collect();
        facts.push(("Bridges".to_owned(), bridges.join(", ")));
    }
    let templates = machines.map(|machines| {
        let templates = machines.iter().filter(|machine| machine["template"] == 1);
        templates.filter_map(|machine| named(&machine["vmid"].to_string(), machine, "name", "node")).collect()
    });
    let each = |values: Vec<Value>, id: &str, more: &str| {
        let one = |value: &Value| named(value[id].as_str()?, value, id, more);
        values.iter().filter_map(one).collect::<Vec<Found>>()
    };
    Ok(Survey {
        facts,
        capacity,
        found: finds([
            (Resource::Zones, nodes.map(|nodes| each(nodes, "node", "status"))),
            (Resource::Storage, storage.map(|storage| each(storage, "storage", "type"))),
            (Resource::Images, templates),
        ]),
    })
}

/// Changes account and password for a ticket.
async fn sign_in(api: &http::Api, account: &str, password: &Secret) -> Result<Signed, SurveyError> {
    let body = json!({"username": account, "password": password.expose()}).to_string();
    let request = api.request(Method::POST, "api2/json/access/ticket");
    let answer = http::send(request.header(CONTENT_TYPE, "application/json").body(body), "a ticket").await?;
    let ticket = answer["data"]["ticket"].as_str().unwrap_or_default();
    Ok(Signed { name: COOKIE, value: hidden(&format!("PVEAuthCookie={ticket}"))? })
}

/// A header that no log shows.
fn hidden(text: &str) -> Result<HeaderValue, SurveyError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        let words = "account, token or secret hold letters that no header may have";
        DriverError::new(ErrorClass::Auth, "sign in to Proxmox VE", words)
    })?;
    value.set_sensitive(true);
    Ok(value)
}

impl Proxmox {
    fn request(&self, path: &str) -> RequestBuilder {
        let request = self.api.request(Method::GET, &format!("api2/json/{path}"));
        request.header(self.signed.name.clone(), self.signed.value.clone())
    }

    async fn get(&self, path: &str) -> Result<Value, SurveyError> {
        let mut answer = http::send(self.request(path), path).await?;
        Ok(answer["data"].take())
    }

    async fn list(&self, path: &str) -> Result<Vec<Value>, SurveyError> {
        Ok(self.get(path).await?.as_array().cloned().unwrap_or_default())
    }
}

/// What all nodes together have; disks are those of the nodes themselves.
fn capacity(nodes: &[Value]) -> Amount {
    let sum = |key: &str| nodes.iter().filter_map(|node| node[key].as_u64()).sum::<u64>();
    let free = sum("maxmem").saturating_sub(sum("mem"));
    Amount {
        cpu: sum("maxcpu"),
        memory_mb: free >> 20,
        disk_gb: sum("maxdisk").saturating_sub(sum("disk")) >> 30,
    }
}

fn named(id: &str, value: &Value, name: &str, more: &str) -> Option<Found> {
    Some(found(id, value[name].as_str()?, value[more].as_str().unwrap_or_default()))
}
