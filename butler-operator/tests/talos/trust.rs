//! Whom the client trusts, and who trusts the client.

use butler_core::{
    error::{Code, Diagnose, ErrorKind},
    pki::{CertificateInfo, fingerprint},
};
use butler_operator::talos::{
    TalosError,
    client::{Client, observe},
    proto::machine::apply_configuration_request::Mode,
    tls::Fingerprint,
};
use jiff::SignedDuration;
use rstest::rstest;

use super::node::{Cluster, HOUR, start};

const NOW: SignedDuration = SignedDuration::ZERO;

fn pin_of(certificate: &str) -> Fingerprint {
    fingerprint(CertificateInfo::from_pem(certificate).unwrap().der()).unwrap().parse().unwrap()
}

#[rstest]
#[case::valid(NOW)]
#[case::expired(HOUR * -5)]
#[case::not_yet_valid(HOUR * 5)]
#[tokio::test]
async fn a_pinned_key_is_taken_whatever_its_dates(#[case] begins: SignedDuration) {
    let certificate = Cluster::new().server(begins);
    let running = start(&certificate, None).await;
    let seen = observe(&running.address).await.unwrap();
    assert_eq!(seen, pin_of(&certificate.certificate));

    let client = Client::maintenance(&running.address, &seen).await.unwrap();
    client.apply(&"machine: {}".into(), Mode::Auto, false).await.unwrap();
    assert_eq!(running.node.configs(), [b"machine: {}"]);
}

#[tokio::test]
async fn another_key_gets_nothing() {
    let cluster = Cluster::new();
    let running = start(&cluster.server(NOW), None).await;
    let other = pin_of(&cluster.server(NOW).certificate);
    let error = Client::maintenance(&running.address, &other).await.unwrap_err();
    let TalosError::OtherKey { expected, seen, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*expected, other);
    assert_ne!(seen, expected);
    assert_eq!(error.code(), Code::NodeCertificate);
    assert!(!error.kind().is_retryable());
    assert!(running.node.calls().is_empty());
}

#[tokio::test]
async fn a_configured_node_and_its_administrator_know_each_other() {
    let cluster = Cluster::new();
    let running = start(&cluster.server(NOW), Some(&cluster.bundle.certs.os.crt)).await;
    let client = Client::connect(&running.address, &cluster.admin()).await.unwrap();
    let version = client.version().await.unwrap();
    assert_eq!(version.version.unwrap().tag, "v1.11.5");
}

#[rstest]
#[case::expired(HOUR * -5, ErrorKind::Failed)]
// Clocks that disagree after a restart come together again.
#[case::not_yet_valid(HOUR * 5, ErrorKind::Transient)]
#[tokio::test]
async fn a_certificate_out_of_its_time_is_refused(#[case] begins: SignedDuration, #[case] kind: ErrorKind) {
    let cluster = Cluster::new();
    let running = start(&cluster.server(begins), None).await;
    let error = Client::connect(&running.address, &cluster.admin()).await.unwrap_err();
    assert_eq!((error.code(), error.kind()), (Code::NodeCertificate, kind), "{error:?}");
}

#[tokio::test]
async fn a_node_of_another_cluster_is_refused() {
    let running = start(&Cluster::new().server(NOW), None).await;
    let error = Client::connect(&running.address, &Cluster::new().admin()).await.unwrap_err();
    assert_eq!((error.code(), error.kind()), (Code::NodeCertificate, ErrorKind::Failed), "{error:?}");
}

#[tokio::test]
async fn a_node_refuses_who_has_no_certificate_or_one_of_another_cluster() {
    let cluster = Cluster::new();
    let certificate = cluster.server(NOW);
    let running = start(&certificate, Some(&cluster.bundle.certs.os.crt)).await;

    let nameless = Client::maintenance(&running.address, &pin_of(&certificate.certificate)).await;
    let mut stranger = Cluster::new().admin();
    stranger.ca = cluster.bundle.certs.os.crt.clone();
    let stranger = Client::connect(&running.address, &stranger).await;
    for error in [nameless.unwrap_err(), stranger.unwrap_err()] {
        assert!(matches!(error, TalosError::IdentityRefused { .. }), "{error:?}");
        assert_eq!((error.code(), error.kind()), (Code::NodeDenied, ErrorKind::Forbidden));
    }
    assert!(running.node.calls().is_empty());
}

#[tokio::test]
async fn nobody_at_the_address_is_worth_another_try() {
    let cluster = Cluster::new();
    let address = start(&cluster.server(NOW), None).await.address.clone();
    let gone = async {
        loop {
            // The port closes a moment after the node was dropped.
            match Client::connect(&address, &cluster.admin()).await {
                Err(error @ TalosError::Unreachable { .. }) => return error,
                _ => tokio::task::yield_now().await,
            }
        }
    };
    let error = tokio::time::timeout(std::time::Duration::from_secs(20), gone).await.unwrap();
    assert_eq!((error.code(), error.kind()), (Code::NodeUnreachable, ErrorKind::Transient));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_never_speaks_does_not_hold_us() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let error = Client::connect(&address, &Cluster::new().admin()).await.unwrap_err();
    assert!(error.kind().is_retryable(), "{error:?}");
}

#[rstest]
#[case("")]
#[case("AAAA")]
#[case("not base64 at all, and just as long as one!!")]
fn what_is_no_fingerprint_is_refused(#[case] text: &str) {
    assert!(text.parse::<Fingerprint>().is_err());
}
