//! What Cluster API knows better than the TenantCluster's own status, which lags behind or is empty.

use kube::{
    Client,
    api::{Api, ApiResource, DynamicObject, ListParams},
};
use serde_json::Value;

use super::summary::{Summary, Workers};
use crate::cluster::ApiError;

/// Port of an endpoint that names none.
const API_PORT: i64 = 6443;

/// Takes workers and endpoint from the objects in the cluster's tenant namespace: at most two
/// requests. Leaves what it cannot improve; a platform without Cluster API is not an error.
pub async fn refine(client: &Client, cluster: &mut Summary) -> Result<(), ApiError> {
    let Some(namespace) = cluster.tenant_namespace.clone() else { return Ok(()) };
    let deployments: Api<DynamicObject> = api(client, &namespace, "MachineDeployment", "machinedeployments");
    match deployments.list(&ListParams::default()).await {
        Ok(found) => {
            let own = [format!("{}-workers", cluster.name), format!("{}-md-0", cluster.name)];
            let named =
                |name: &String| found.items.iter().find(|item| item.metadata.name.as_ref() == Some(name));
            if let Some(workers) = own.iter().find_map(named).and_then(|item| counted(&item.data)) {
                cluster.workers = workers;
            }
        }
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
        Err(error) => {
            return Err(ApiError::new(format!("list machine deployments in namespace `{namespace}`"), error));
        }
    }
    if cluster.endpoint.is_none() {
        let clusters: Api<DynamicObject> = api(client, &namespace, "Cluster", "clusters");
        let found = clusters.get_opt(&cluster.name).await.map_err(|error| {
            ApiError::new(format!("get cluster `{}` in namespace `{namespace}`", cluster.name), error)
        })?;
        cluster.endpoint = found.and_then(|found| endpoint(&found.data));
    }
    Ok(())
}

fn api(client: &Client, namespace: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: "cluster.x-k8s.io".to_owned(),
        version: "v1beta1".to_owned(),
        api_version: "cluster.x-k8s.io/v1beta1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    };
    Api::namespaced_with(client.clone(), namespace, &resource)
}

/// Providers fill different counters; the first that is not zero counts.
fn counted(deployment: &Value) -> Option<Workers> {
    let status = |field: &str| deployment.pointer(&format!("/status/{field}")).and_then(Value::as_i64);
    let desired = deployment.pointer("/spec/replicas").and_then(Value::as_i64)?;
    let running = matches!(
        deployment.pointer("/status/phase").and_then(Value::as_str),
        Some("Running" | "Available" | "ScaledUp")
    );
    let ready = ["readyReplicas", "availableReplicas", "updatedReplicas"]
        .into_iter()
        .filter_map(status)
        .find(|count| *count > 0)
        .or_else(|| status("replicas").filter(|_| running))
        .unwrap_or(0);
    Some(Workers { desired, ready })
}

fn endpoint(cluster: &Value) -> Option<String> {
    ["/spec/controlPlaneEndpoint", "/status/controlPlaneEndpoint"].into_iter().find_map(|path| {
        let endpoint = cluster.pointer(path)?;
        let host = endpoint.get("host")?.as_str().filter(|host| !host.is_empty())?;
        let port = endpoint.get("port").and_then(Value::as_i64).filter(|port| *port > 0).unwrap_or(API_PORT);
        Some(format!("{host}:{port}"))
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({"spec": {"replicas": 3}, "status": {"readyReplicas": 2, "availableReplicas": 1}}), Some((2, 3)))]
    #[case(json!({"spec": {"replicas": 3}, "status": {"readyReplicas": 0, "updatedReplicas": 1}}), Some((1, 3)))]
    #[case(json!({"spec": {"replicas": 3}, "status": {"replicas": 3, "phase": "Running"}}), Some((3, 3)))]
    #[case(json!({"spec": {"replicas": 3}, "status": {"replicas": 3, "phase": "ScalingUp"}}), Some((0, 3)))]
    #[case(json!({"spec": {}}), None)]
    fn the_first_counter_that_is_not_zero_counts(
        #[case] object: Value,
        #[case] expected: Option<(i64, i64)>,
    ) {
        assert_eq!(counted(&object).map(|workers| (workers.ready, workers.desired)), expected);
    }

    #[rstest]
    #[case(json!({"spec": {"controlPlaneEndpoint": {"host": "10.0.0.5", "port": 443}}}), Some("10.0.0.5:443"))]
    #[case(json!({"spec": {"controlPlaneEndpoint": {"host": "", "port": 0}}, "status": {"controlPlaneEndpoint": {"host": "a"}}}), Some("a:6443"))]
    #[case(json!({}), None)]
    fn the_endpoint_is_in_the_spec_or_the_status(#[case] object: Value, #[case] expected: Option<&str>) {
        assert_eq!(endpoint(&object).as_deref(), expected);
    }
}
