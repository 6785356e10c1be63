//! The CustomResourceDefinitions of all kinds, as they are installed.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};
use kube::{CustomResourceExt, ResourceExt};

use super::*;

/// The definitions of all 18 kinds, in the order of [`KINDS`].
pub fn all_crds() -> Vec<CustomResourceDefinition> {
    let mut crds = vec![
        AddonDefinition::crd(),
        ButlerConfig::crd(),
        ClusterBootstrap::crd(),
        ClusterCreationPolicy::crd(),
        IPAllocation::crd(),
        IdentityProvider::crd(),
        ImageSync::crd(),
        LoadBalancerRequest::crd(),
        MachineRequest::crd(),
        ManagementAddon::crd(),
        NetworkPool::crd(),
        ProviderConfig::crd(),
        Team::crd(),
        TenantAddon::crd(),
        TenantCluster::crd(),
        User::crd(),
        Workspace::crd(),
        WorkspaceTemplate::crd(),
    ];
    crds.iter_mut().for_each(finish);
    crds
}

/// All definitions as one YAML stream, ready for `kubectl apply -f -`.
pub fn crds_yaml() -> String {
    all_crds()
        .iter()
        .map(|crd| {
            #[expect(clippy::expect_used, reason = "a definition is made of maps with text keys")]
            let yaml = serde_saphyr::to_string(crd).expect("a definition is YAML");
            format!("---\n{yaml}")
        })
        .collect()
}

/// Adds what the derive cannot say.
fn finish(crd: &mut CustomResourceDefinition) {
    // Removing a chart must not remove every object of a kind.
    crd.annotations_mut().insert(names::annotations::HELM_RESOURCE_POLICY.into(), "keep".into());
    let schemas = crd.spec.versions.iter_mut().filter_map(|version| version.schema.as_mut());
    for schema in schemas.filter_map(|schema| schema.open_api_v3_schema.as_mut()) {
        finish_root(schema);
        wire_form(schema);
    }
}

/// The derive leaves out what every object has, and demands a spec where existing definitions do not.
fn finish_root(root: &mut JSONSchemaProps) {
    let properties = root.properties.get_or_insert_default();
    for (name, type_, description) in [
        ("apiVersion", "string", Some("Group and version of the kind.")),
        ("kind", "string", Some("Kind of the object.")),
        // The API server has its own description of this one and refuses others.
        ("metadata", "object", None),
    ] {
        let property = JSONSchemaProps {
            type_: Some(type_.into()),
            description: description.map(str::to_owned),
            ..Default::default()
        };
        properties.insert(name.into(), property);
    }
    root.required = None;
    root.title = None;
}

/// Brings a schema and all below it into the form of existing definitions: an optional field is left
/// out, never null, where the derive allows both; and quantities keep their alternatives, whose types
/// the derive's clean-up takes away.
fn wire_form(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    schema.enum_.iter_mut().for_each(|values| values.retain(|value| !value.0.is_null()));
    if schema.x_kubernetes_int_or_string == Some(true) {
        let of_type = |name: &str| JSONSchemaProps { type_: Some(name.into()), ..Default::default() };
        schema.any_of = Some(vec![of_type("integer"), of_type("string")]);
    }
    schema.properties.iter_mut().flat_map(|properties| properties.values_mut()).for_each(wire_form);
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        wire_form(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        wire_form(values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_those_of_the_definitions() {
        let kinds: Vec<_> = all_crds().into_iter().map(|crd| crd.spec.names.kind).collect();
        assert_eq!(kinds, KINDS);
    }

    #[test]
    fn the_yaml_stream_has_every_definition() {
        let documents: Vec<CustomResourceDefinition> = serde_saphyr::from_multiple(&crds_yaml()).unwrap();
        assert_eq!(documents, all_crds());
    }
}
