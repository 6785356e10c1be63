use std::error::Error;

use butler_core::{
    error::{Code, Diagnose},
    event::EventKind,
};
use butler_operator::parts::{DownloadError, HELM, KIND, KUBECTL, Origin, PartError};
use butler_tests::http::{HttpServer, Reply};
use flate2::{Compression, write::GzEncoder};
use ring::digest;
use rstest::rstest;

use crate::{
    bench::{Bench, program},
    build::{builds, put_go},
};

fn sha256(bytes: &[u8]) -> String {
    digest::digest(&digest::SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An archive with one file.
fn archive(member: &str, content: &str) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o755);
    tar.append_data(&mut header, member, content.as_bytes()).unwrap();
    tar.into_inner().unwrap().finish().unwrap()
}

/// The last part of a path, as lists of checksums name a file.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap().trim_end_matches(".sha256sum")
}

fn ok(body: impl Into<Vec<u8>>) -> Reply {
    Reply::status(200, body)
}

fn not_found() -> Reply {
    Reply::status(404, "")
}

/// Publishes a file and its checksum.
fn publish(body: Vec<u8>) -> HttpServer {
    HttpServer::start(move |request| match request.path.ends_with(".sha256sum") {
        true => ok(format!("{}  other-file\n{}  {}\n", sha256(b"x"), sha256(&body), name(&request.path))),
        false => ok(body.clone()),
    })
    .unwrap()
}

fn helm_member() -> String {
    let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let os = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    format!("{os}-{arch}/helm")
}

#[tokio::test]
async fn a_plain_program_and_one_in_an_archive_are_downloaded_once() {
    for (part, body) in
        [(&KIND, program("0.33.0").into_bytes()), (&HELM, archive(&helm_member(), &program("3.22.0")))]
    {
        let server = publish(body);
        let bench = Bench::new().mirror(server.url());
        let installed = bench.install(&[part]).await.unwrap();
        assert_eq!(installed[0].origin, Origin::Downloaded);
        assert_eq!(bench.executables(), [installed[0].found.path.clone()]);
        let again = bench.install(&[part]).await.unwrap();
        assert_eq!((again[0].origin, &again[0].found), (Origin::Present, &installed[0].found));
        assert_eq!(server.requests().len(), 2);
    }
}

#[tokio::test]
async fn redirects_are_followed() {
    let body = program("0.33.0").into_bytes();
    let server = HttpServer::start(move |request| match request.path.as_str() {
        path if path.ends_with(".sha256sum") => ok(sha256(&body)),
        "/elsewhere" => ok(body.clone()),
        _ => Reply::redirect("/elsewhere"),
    })
    .unwrap();
    let bench = Bench::new().mirror(server.url());
    assert_eq!(bench.install(&[&KIND]).await.unwrap()[0].origin, Origin::Downloaded);
}

/// What a bad server does with the request for the program; its list of checksums is right.
#[rstest]
#[case::truncated(|body: &[u8]| Reply::Truncated { body: body.to_vec(), sent: 9 }, "was cut off after 9 bytes")]
#[case::absent(|_: &[u8]| not_found(), "answered 404")]
#[case::failing(|_: &[u8]| Reply::status(503, "busy"), "answered 503")]
#[case::circling(|_: &[u8]| Reply::redirect("/around"), "no answer from")]
#[tokio::test]
async fn a_bad_download_leaves_nothing_behind(#[case] reply: fn(&[u8]) -> Reply, #[case] said: &str) {
    let body = program("0.33.0").into_bytes();
    let server = HttpServer::start(move |request| match request.path.ends_with(".sha256sum") {
        true => ok(sha256(&body)),
        false => reply(&body),
    })
    .unwrap();
    let bench = Bench::new().mirror(server.url());
    let error = bench.install(&[&KIND]).await.unwrap_err();
    // Without Go that is the end of it.
    assert_eq!(error.code(), Code::PartNotFound);
    assert!(error.to_string().contains(said), "{error}");
    bench.assert_clean();
}

#[rstest]
#[case::absent(not_found, "answered 404")]
#[case::empty(|| ok(""), "has no checksum for")]
#[case::of_others(|| ok(format!("{}  kind-other\n", sha256(b"x"))), "has no checksum for")]
#[tokio::test]
async fn without_a_published_checksum_nothing_is_fetched(#[case] list: fn() -> Reply, #[case] said: &str) {
    let server = HttpServer::start(move |request| match request.path.ends_with(".sha256sum") {
        true => list(),
        false => ok(program("0.33.0")),
    })
    .unwrap();
    let bench = Bench::new().mirror(server.url());
    let error = bench.install(&[&KIND]).await.unwrap_err();
    assert!(error.to_string().contains(said), "{error}");
    assert_eq!(server.requests().len(), 1);
    bench.assert_clean();
}

#[tokio::test]
async fn a_wrong_checksum_is_an_error_that_a_build_does_not_hide() {
    let server = HttpServer::start(|request| match request.path.ends_with(".sha256sum") {
        true => ok(sha256(b"what was published")),
        false => ok(program("0.33.0")),
    })
    .unwrap();
    let bench = Bench::new().mirror(server.url());
    put_go(&bench);
    let error = bench.install(&[&KIND]).await.unwrap_err();
    assert_eq!(error.code(), Code::ChecksumMismatch);
    assert!(error.source().unwrap().to_string().contains(&sha256(b"what was published")));
    assert_eq!(builds(&bench), 0);
    bench.assert_clean();
}

#[rstest]
#[case::of_others(archive("elsewhere/helm", "x"))]
#[case::not_an_archive(b"plain text".to_vec())]
#[tokio::test]
async fn an_archive_without_the_program_is_refused(#[case] body: Vec<u8>) {
    let server = publish(body);
    let bench = Bench::new().mirror(server.url());
    let error = bench.install(&[&HELM]).await.unwrap_err();
    assert!(matches!(error, PartError::NoGo { download: DownloadError::Archive { .. }, .. }), "{error:?}");
    bench.assert_clean();
}

#[tokio::test]
async fn a_download_of_another_version_is_not_put_in_place() {
    let server = publish(program("0.32.0").into_bytes());
    let bench = Bench::new().mirror(server.url());
    assert_eq!(bench.install(&[&KIND]).await.unwrap_err().code(), Code::PartVersion);
    bench.assert_clean();
}

#[tokio::test]
async fn without_a_network_only_the_first_download_is_tried() {
    let bench = Bench::new();
    put_go(&bench);
    let mut said = Vec::new();
    let hear = |kind: &EventKind| {
        if let EventKind::Log { message, .. } = kind
            && let Some((_, why)) = message.split_once(" is not downloaded: ")
        {
            said.push(why.to_owned());
        }
    };
    bench.install_and_hear(&[&KIND, &KUBECTL], hear).await.unwrap();
    assert!(said[0].starts_with("no answer from `http://127.0.0.1:1/"), "{said:?}");
    assert_eq!(said[1..], ["there is no network"]);
}
