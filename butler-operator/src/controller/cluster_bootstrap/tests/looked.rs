//! The last look at a new cluster, and what it takes over; its API server is a few answers.

use std::sync::{Arc, Mutex};

use butler_core::api::names::labels;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use jiff::Timestamp;
use kube::{Client, client::Body};
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    super::{pivot, verify},
    Case,
};

type Asked = Arc<Mutex<Vec<(Method, String, Value)>>>;

/// A client of a server that gives this answer, or the object back that it was sent; and what was asked.
fn server(answer: Option<(StatusCode, Value)>) -> (Client, Asked) {
    let asked = Asked::default();
    let notes = Arc::clone(&asked);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (notes, answer) = (Arc::clone(&notes), answer.clone());
        async move {
            let (head, body) = request.into_parts();
            let bytes = body.collect().await?.to_bytes();
            let sent: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            let path = head.uri.path().rsplit("/namespaces/n/").next().unwrap_or_default().to_owned();
            // A patch of a status is answered with a whole object.
            let whole = json!(Case::cloud().bootstrap());
            let echo = if path.ends_with("/status") { whole } else { sent.clone() };
            notes.lock().unwrap().push((head.method, path, sent));
            let (status, body) = answer.unwrap_or((StatusCode::OK, echo));
            let response = Response::builder().status(status);
            Ok::<_, tower::BoxError>(response.body(Body::from(body.to_string().into_bytes()))?)
        }
    });
    (Client::new(service, "n"), asked)
}

fn handed_over() -> Case {
    Case::cloud().phase("Pivoting").all_run().balancer("Ready")
}

#[tokio::test]
async fn the_new_cluster_gets_its_machines_its_load_balancer_and_the_record() {
    let case = handed_over();
    let (client, asked) = server(None);
    let nodes = ["m-cp-0".to_owned(), "m-worker-0".to_owned()];
    let record = pivot::at_its_end(&case.bootstrap(), &nodes, Timestamp::UNIX_EPOCH);
    let names = pivot::hand_over(&client, &record, &case.requests()).await.unwrap();
    let expected = [
        "MachineRequest/m-cp-0",
        "MachineRequest/m-cp-1",
        "MachineRequest/m-worker-0",
        "LoadBalancerRequest/m-cp-lb",
        "ClusterBootstrap/m",
    ];
    assert_eq!(names, expected);
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 6, "{asked:?}");
    for (method, path, object) in &asked[..5] {
        assert_eq!(method, Method::PATCH);
        assert!(object.get("status").is_none(), "{path} finds out for itself how it is");
        let metadata = &object["metadata"];
        assert!(metadata.get("ownerReferences").is_none() && metadata.get("finalizers").is_none(), "{path}");
        assert!(metadata.get("uid").is_none(), "{path}");
    }
    assert_eq!(asked[0].2["metadata"]["labels"][labels::CLUSTER_BOOTSTRAP], "m");
    assert_eq!(asked[0].2["spec"]["providerRef"]["name"], "aws", "as the new cluster names it");
    assert_eq!(asked[3].2["spec"]["providerConfigRef"]["name"], "aws");
    assert_eq!(asked[3].2["spec"]["targets"].as_array().map(Vec::len), Some(2));
    assert_eq!(asked[4].2["spec"]["paused"], true, "nobody makes the cluster again");
    let (_, path, status) = &asked[5];
    assert_eq!(path, "clusterbootstraps/m/status");
    assert_eq!(status["status"]["phase"], "Ready");
    let ready: Vec<_> =
        status["status"]["machines"].as_array().unwrap().iter().map(|m| &m["ready"]).collect();
    assert_eq!(ready, [true, false, true]);
    let conditions = status["status"]["conditions"].as_array().unwrap();
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready").unwrap();
    assert_eq!((&ready["status"], &ready["reason"]), (&json!("True"), &json!("Ready")));
}

#[tokio::test]
async fn a_cluster_without_our_definitions_takes_nothing_over() {
    let case = handed_over();
    let gone =
        json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "message": "none", "code": 404});
    let (client, asked) = server(Some((StatusCode::NOT_FOUND, gone)));
    let names = pivot::hand_over(&client, &case.bootstrap(), &case.requests()).await.unwrap();
    assert!(names.is_empty(), "{names:?}");
    assert_eq!(asked.lock().unwrap().len(), 1);
}

fn nodes(nodes: &[(&str, &str)]) -> Value {
    let node = |(name, ready): &(&str, &str)| {
        json!({
            "metadata": {"name": name},
            "status": {"conditions": [{"type": "MemoryPressure", "status": "True"}, {"type": "Ready", "status": ready}]},
        })
    };
    json!({"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": nodes.iter().map(node).collect::<Vec<_>>()})
}

const ALL: [(&str, &str); 4] =
    [("m-cp-0", "True"), ("m-cp-1", "True"), ("m-worker-0", "True"), ("other", "False")];

#[rstest]
#[case::all(&ALL, true, Ok(3))]
#[case::one_is_not_ready(&[ALL[0], ("m-cp-1", "False"), ALL[2]], true, Err("nodes that are not Ready: m-cp-1"))]
#[case::one_is_not_known(&[ALL[0], ("m-cp-1", "Unknown"), ALL[2]], true, Err("nodes that are not Ready: m-cp-1"))]
#[case::some_are_missing(&[ALL[0]], true, Err("nodes that are not Ready: m-cp-1, m-worker-0"))]
#[case::there_is_enough_without_a_network(&[ALL[0], ("m-cp-1", "False"), ALL[2]], false, Ok(2))]
#[case::missing_without_a_network(&[ALL[0], ALL[2]], false, Err("nodes that are not Ready: m-cp-1"))]
#[tokio::test(start_paused = true)]
async fn every_machine_must_be_a_node(
    #[case] there: &[(&str, &str)],
    #[case] must_be_ready: bool,
    #[case] expected: Result<usize, &str>,
) {
    let (client, _) = server(Some((StatusCode::OK, nodes(there))));
    let found = verify::nodes(&client, &handed_over().requests(), must_be_ready).await;
    match (found, expected) {
        (Ok(ready), Ok(count)) => assert_eq!(ready.len(), count),
        (Err(trouble), Err(text)) => assert_eq!((trouble.passes, trouble.text.as_str()), (true, text)),
        (found, expected) => panic!("{found:?} instead of {expected:?}"),
    }
}

#[rstest]
#[case::every_node_is_ready(&[("kind", "True")], true)]
#[case::one_is_not(&[("kind", "True"), ("other", "False")], false)]
#[case::none(&[], false)]
#[tokio::test(start_paused = true)]
async fn a_cluster_without_machines_of_ours_is_looked_at_as_it_is(
    #[case] there: &[(&str, &str)],
    #[case] healthy: bool,
) {
    let (client, _) = server(Some((StatusCode::OK, nodes(there))));
    assert_eq!(verify::nodes(&client, &[], true).await.is_ok(), healthy);
}
