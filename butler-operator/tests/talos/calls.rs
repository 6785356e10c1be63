//! Every call, and every way it can fail.

use std::{future::Future, pin::Pin, time::Duration};

use butler_core::error::{Code, Diagnose, ErrorKind};
use butler_operator::talos::{
    TalosError,
    client::Client,
    proto::{
        cluster::ClusterInfo,
        machine::{LogsRequest, ResetRequest, apply_configuration_request::Mode},
    },
};
use futures::TryStreamExt;
use jiff::SignedDuration;
use rstest::rstest;
use tonic::{Code as Grpc, Status};

use super::node::{Cluster, Running, Shape, start};

async fn connected() -> (Running, Client) {
    let cluster = Cluster::new();
    let running = start(&cluster.server(SignedDuration::ZERO), Some(&cluster.bundle.certs.os.crt)).await;
    let client = Client::connect(&running.address, &cluster.admin()).await.unwrap();
    (running, client)
}

#[tokio::test]
async fn every_call_reaches_the_method_of_its_name() {
    let (running, client) = connected().await;
    client.version().await.unwrap();
    let applied = client.apply(&"machine: {}".into(), Mode::Auto, true).await.unwrap();
    assert_eq!(applied.mode_details, "Applied");
    client.bootstrap().await.unwrap();
    assert_eq!(client.services().await.unwrap()[0].id, "apid");
    client.service_start("kubelet").await.unwrap();
    client.service_stop("kubelet").await.unwrap();
    client.service_restart("kubelet").await.unwrap();
    let progress = client.health(Duration::from_secs(60), ClusterInfo::default()).await.unwrap();
    assert_eq!(progress.try_collect::<Vec<_>>().await.unwrap(), ["waiting for etcd: OK"]);
    assert_eq!(client.kubeconfig().await.unwrap().expose(), "apiVersion: v1\n");
    let lines = client.logs(LogsRequest { id: "apid".into(), ..LogsRequest::default() }).await.unwrap();
    assert_eq!(lines.try_concat().await.unwrap(), b"one\ntwo\n");
    let lines = client.dmesg(false).await.unwrap();
    assert_eq!(lines.try_concat().await.unwrap(), b"kern: boot\n");
    assert_eq!(client.etcd_members().await.unwrap()[0].id, u64::MAX);
    let snapshot = client.etcd_snapshot().await.unwrap();
    assert_eq!(snapshot.try_concat().await.unwrap().len(), 2000);
    client.reset(ResetRequest::default()).await.unwrap();
    client.reboot().await.unwrap();
    client.shutdown(true).await.unwrap();
    client.upgrade("registry.example/installer:v1.12.1").await.unwrap();
    client.rollback().await.unwrap();
    let called = [
        "version",
        "apply_configuration",
        "bootstrap",
        "service_list",
        "service_start",
        "service_stop",
        "service_restart",
        "health_check",
        "kubeconfig",
        "logs",
        "dmesg",
        "etcd_member_list",
        "etcd_snapshot",
        "reset",
        "reboot",
        "shutdown",
        "upgrade",
        "rollback",
    ];
    assert_eq!(running.node.calls(), called);
}

#[rstest]
#[case(Grpc::Unavailable, Code::NodeUnreachable, ErrorKind::Transient)]
#[case(Grpc::PermissionDenied, Code::NodeDenied, ErrorKind::Forbidden)]
#[case(Grpc::Unauthenticated, Code::NodeDenied, ErrorKind::Forbidden)]
#[case(Grpc::InvalidArgument, Code::NodeConfigRefused, ErrorKind::Invalid)]
#[case(Grpc::FailedPrecondition, Code::NodeNotReady, ErrorKind::Transient)]
#[case(Grpc::Unimplemented, Code::NodeUnsupported, ErrorKind::Failed)]
#[case(Grpc::NotFound, Code::NodeNotFound, ErrorKind::NotFound)]
#[case(Grpc::DeadlineExceeded, Code::NodeTimeout, ErrorKind::Timeout)]
#[case(Grpc::AlreadyExists, Code::NodeRefused, ErrorKind::Conflict)]
#[case(Grpc::Unknown, Code::NodeRefused, ErrorKind::Failed)]
#[tokio::test]
async fn a_refusal_has_its_class_wherever_it_stands(
    #[case] grpc: Grpc,
    #[case] code: Code,
    #[case] kind: ErrorKind,
) {
    let (running, client) = connected().await;
    for (shape, node) in [(Shape::Status, running.address.as_str()), (Shape::Envelope, "10.9.9.9")] {
        running.node.refuse(Status::new(grpc, "no, because"), shape);
        let error = client.reboot().await.unwrap_err();
        assert_eq!((error.code(), error.kind()), (code, kind), "{shape:?}: {error:?}");
        assert!(error.to_string().contains(&format!("`{node}`")), "{error}");
        let cause = std::error::Error::source(&error).unwrap();
        assert_eq!(cause.to_string(), "no, because");
    }
}

#[rstest]
#[case(Shape::Status)]
#[case(Shape::Envelope)]
#[tokio::test]
async fn a_node_that_has_bootstrapped_before_is_a_success(#[case] shape: Shape) {
    let (running, client) = connected().await;
    running.node.refuse(Status::already_exists("etcd data directory is not empty"), shape);
    client.bootstrap().await.unwrap();
    running.node.refuse(Status::failed_precondition("time is not in sync yet"), shape);
    assert!(client.bootstrap().await.unwrap_err().kind().is_retryable());
}

#[tokio::test]
async fn calls_are_forwarded_to_the_node_they_are_for() {
    let (running, client) = connected().await;
    client.via("10.0.0.7").unwrap().version().await.unwrap();
    client.version().await.unwrap();
    assert_eq!(running.node.calls(), ["version@10.0.0.7", "version"]);
    assert!(matches!(client.via("two\nlines"), Err(TalosError::Address { .. })));
}

#[tokio::test]
async fn streams_end_with_the_failure_in_their_items() {
    let (running, client) = connected().await;
    running.node.refuse(
        Status::unimplemented("kubeconfig is only available on control plane nodes"),
        Shape::Envelope,
    );
    type Outcome<'a> = Pin<Box<dyn Future<Output = Result<(), TalosError>> + 'a>>;
    let calls: [Outcome<'_>; 3] = [
        Box::pin(async { client.kubeconfig().await.map(drop) }),
        Box::pin(async { client.etcd_snapshot().await?.try_concat().await.map(drop) }),
        Box::pin(async {
            let progress = client.health(Duration::from_secs(1), ClusterInfo::default()).await?;
            progress.try_collect::<Vec<_>>().await.map(drop)
        }),
    ];
    for call in calls {
        assert_eq!(call.await.unwrap_err().code(), Code::NodeUnsupported);
    }
}

#[tokio::test]
async fn an_answer_without_elements_is_no_answer() {
    let (running, client) = connected().await;
    running.node.refuse(Status::ok(""), Shape::Empty);
    assert_eq!(client.version().await.unwrap_err().code(), Code::NodeAnswerUnreadable);
}

#[tokio::test]
async fn a_refused_configuration_is_not_in_the_error() {
    let (running, client) = connected().await;
    running.node.refuse(Status::invalid_argument("v1alpha1.Config: 1 error"), Shape::Status);
    let error = client.apply(&"token: hunter2".into(), Mode::Auto, false).await.unwrap_err();
    assert_eq!(error.code(), Code::NodeConfigRefused);
    assert!(!format!("{error:?}").contains("hunter2"));
}
