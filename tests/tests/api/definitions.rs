use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result};
use butler_core::{
    api::{KINDS, all_crds, names::annotations},
    cluster::crds::{self, CrdsError},
    error::{Code, Diagnose},
};
use butler_tests::ControlPlane;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client, ResourceExt, api::ListParams};

use crate::{LIMIT, with_definitions};

async fn stored(client: &Client) -> Result<Vec<CustomResourceDefinition>> {
    Ok(Api::all(client.clone()).list(&ListParams::default()).await?.items)
}

fn generations(crds: &[CustomResourceDefinition]) -> BTreeMap<String, Option<i64>> {
    crds.iter().map(|crd| (crd.name_any(), crd.metadata.generation)).collect()
}

#[tokio::test]
async fn every_definition_is_served_and_structural() -> Result<()> {
    let (_, client) = with_definitions().await?;
    let crds = stored(&client).await?;
    for crd in &crds {
        let conditions = crd.status.as_ref().and_then(|status| status.conditions.as_ref());
        let holds: Vec<_> = conditions
            .context("no conditions")?
            .iter()
            .filter(|condition| condition.status == "True")
            .map(|condition| condition.type_.as_str())
            .collect();
        assert_eq!(holds, ["NamesAccepted", "Established"], "{}", crd.name_any());
        assert_eq!(crd.annotations()[annotations::HELM_RESOURCE_POLICY], "keep");
    }
    assert_eq!(crds.len(), KINDS.len());
    Ok(())
}

#[tokio::test]
async fn applying_twice_changes_nothing() -> Result<()> {
    let (_, client) = with_definitions().await?;
    let before = generations(&stored(&client).await?);
    crds::apply(&client, false).await?;
    assert_eq!(generations(&stored(&client).await?), before);
    Ok(())
}

#[tokio::test]
async fn a_dry_run_checks_everything_and_stores_nothing() -> Result<()> {
    let plane = ControlPlane::start().await?;
    let client = plane.client().await?;
    let names = crds::apply(&client, true).await?;
    assert_eq!(names.len(), all_crds().len());
    assert!(stored(&client).await?.is_empty());

    // What is not there is not established either, and the error says so.
    let error = crds::established(&client, &names[..1], Duration::from_millis(100)).await.unwrap_err();
    assert!(matches!(&error, CrdsError::NotEstablished { name, .. } if *name == names[0]), "{error:?}");
    assert_eq!(error.code(), Code::NotEstablished);
    Ok(())
}

#[tokio::test]
async fn an_identity_without_rights_is_told_which_definition_was_refused() -> Result<()> {
    let (plane, _) = with_definitions().await?;
    let client = plane.client_of(&plane.kubeconfig_for("nobody", &[])?).await?;
    let refused = crds::apply(&client, false).await.unwrap_err();
    assert!(refused.to_string().contains("apply the definition `"), "{refused}");
    let names = [all_crds()[0].name_any()];
    let unwatched = crds::established(&client, &names, LIMIT).await.unwrap_err();
    assert!(unwatched.to_string().contains("watch the definition `addondefinitions."), "{unwatched}");
    Ok(())
}
