use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

use anyhow::Result;
use butler_tests::{
    http::{HttpServer, Reply},
    pki::Authority,
};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};

const GET: &[u8] = b"GET /thing?a=b HTTP/1.1\r\nHost: x\r\n\r\n";

fn get(server: &HttpServer) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(server.address())?;
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    stream.write_all(GET)?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[test]
fn a_server_answers_as_told_and_counts() -> Result<()> {
    let server = HttpServer::start(|request| Reply::status(404, format!("no {}", request.path)))?;
    let answer = get(&server)?;
    assert!(answer.starts_with("HTTP/1.1 404 ") && answer.ends_with("\r\n\r\nno /thing?a=b"), "{answer}");
    get(&server)?;
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!((requests[1].method.as_str(), requests[1].header("host")), ("GET", Some("x")));
    Ok(())
}

#[test]
fn a_server_misbehaves_as_told() -> Result<()> {
    let server = HttpServer::start(|_| Reply::Truncated { body: b"0123456789".to_vec(), sent: 4 })?;
    let answer = get(&server)?;
    assert!(answer.contains("content-length: 10") && answer.ends_with("0123"), "{answer}");

    let server = HttpServer::start(|_| Reply::Reset)?;
    assert_eq!(get(&server).map_err(|e| e.kind()), Err(ErrorKind::ConnectionReset));

    let server = HttpServer::start(|_| Reply::Hang)?;
    assert_eq!(get(&server).map_err(|e| e.kind()), Err(ErrorKind::WouldBlock));

    let server = HttpServer::start(|_| Reply::Bytes(b"garbage".to_vec()))?;
    assert_eq!(get(&server)?, "garbage");

    let server = HttpServer::start(|_| Reply::redirect("http://127.0.0.1:1/"))?;
    assert!(get(&server)?.contains("302 -\r\nlocation: http://127.0.0.1:1/\r\n"));
    Ok(())
}

fn get_tls(server: &HttpServer, trusted: &Authority) -> Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusted.identity().certificate.as_bytes())?)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let session = ClientConnection::new(Arc::new(config), ServerName::try_from("127.0.0.1")?)?;
    let mut stream = StreamOwned::new(session, TcpStream::connect(server.address())?);
    stream.write_all(GET)?;
    let mut bytes = Vec::new();
    // The server says no farewell on the TLS level.
    let _ = stream.read_to_end(&mut bytes);
    Ok(String::from_utf8(bytes)?)
}

#[test]
fn certificates_are_good_expired_or_of_another_authority() -> Result<()> {
    let (ours, other) = (Authority::new("ours")?, Authority::new("other")?);
    let good = HttpServer::start_tls(&ours.server()?, |_| Reply::html())?;
    assert!(good.url().starts_with("https://127.0.0.1:"));
    assert!(get_tls(&good, &ours)?.contains("Please sign in"));
    assert!(format!("{:#}", get_tls(&good, &other).expect_err("unknown")).contains("UnknownIssuer"));

    let expired = HttpServer::start_tls(&ours.expired_server()?, |_| Reply::html())?;
    let error = format!("{:#}", get_tls(&expired, &ours).expect_err("expired"));
    assert!(error.contains("xpired"), "{error}");
    Ok(())
}
