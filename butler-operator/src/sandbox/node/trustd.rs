//! trustd: how a worker, which has no key of the authority, gets the certificate of its Talos API.

use std::{sync::Arc, time::Duration};

use butler_core::{
    pki::{Issued, KeyKind, PrivateKey, Request as CertificateRequest},
    redact::Secret,
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use tokio::sync::watch;
use tonic::{Request, Response, Status, body::Body, service::Routes, transport::Endpoint};
use tower::ServiceExt;

use super::{
    config::{Config, full},
    context::Node,
    listen,
    services::State,
    tls as node_tls,
};
use crate::talos::{
    proto::securityapi::{
        CertificateRequest as Asked, CertificateResponse,
        security_service_client::SecurityServiceClient,
        security_service_server::{SecurityService, SecurityServiceServer},
    },
    tls,
};

const ATTEMPT: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_millis(500);

struct Trustd(Arc<Node>);

#[tonic::async_trait]
impl SecurityService for Trustd {
    async fn certificate(&self, request: Request<Asked>) -> Result<Response<CertificateResponse>, Status> {
        let config = self.0.current().ok_or_else(|| Status::unavailable("there is no configuration"))?;
        let machine = &config.machine.main.machine;
        let token =
            request.metadata().get("token").map(|token| token.as_bytes().to_vec()).unwrap_or_default();
        let known = machine.token.expose().as_bytes();
        // The same time for every wrong token, whatever it begins with.
        let equal = token.len() == known.len()
            && token.iter().zip(known).fold(0, |seen, (one, two)| seen | (one ^ two)) == 0;
        if !equal || known.is_empty() {
            return Err(Status::unknown("Unauthenticated"));
        }
        let csr = String::from_utf8(request.into_inner().csr)
            .map_err(|_| Status::invalid_argument("the request is not text"))?;
        let broken = |error: butler_core::pki::PkiError| Status::invalid_argument(full(&error));
        let authority = machine.ca.authority().map_err(broken)?;
        let signed = node_tls::sign_server(&self.0, &authority, &csr).map_err(broken)?;
        self.0.machine.logs.service("trustd", "signed a certificate");
        Ok(Response::new(CertificateResponse {
            ca: authority.certificate().as_bytes().to_vec(),
            crt: signed.into_bytes(),
        }))
    }
}

/// Serves workers until the boot ends.
pub(super) async fn run(node: Arc<Node>) {
    let services = &node.services;
    services.set("trustd", State::Starting, "Starting service");
    let served = async {
        let config = node.current().ok_or("there is no configuration")?;
        let machine = &config.machine.main.machine;
        let authority = machine.ca.authority().map_err(|error| full(&error))?;
        let own =
            node_tls::own_server(&node, &authority, &machine.cert_sans).map_err(|error| full(&error))?;
        let tls = node_tls::server(&own.certificate, &own.key, None, node.machine.clock.clone())
            .map_err(|error| full(&error))?;
        let address = (node.machine.file.address, node.machine.file.ports.trustd).into();
        let listener = listen::bind(address).await.map_err(|error| full(&error))?;
        Ok::<_, String>((tls, listener))
    };
    let (tls, listener) = match served.await {
        Ok(served) => served,
        Err(error) => return services.set("trustd", State::Failed, &error),
    };
    services.simulate("trustd", "Started task trustd (PID 1100) for container trustd");
    let routes = Routes::new(SecurityServiceServer::new(Trustd(node.clone())));
    let (_keep, tls) = watch::channel(tls);
    let answer = move |_peer, request: http::Request<hyper::body::Incoming>| {
        let routes = routes.clone();
        async move {
            match routes.oneshot(request.map(Body::new)).await {
                Ok(answer) => answer,
                Err(never) => match never {},
            }
        }
    };
    tokio::select! {
        () = node.stop.cancelled() => {}
        () = listen::serve(listener, tls, answer) => {}
    }
}

/// A worker's certificate: asked of every control plane in turn, until one gives it.
pub(super) async fn obtain(node: &Arc<Node>, config: &Config) -> Issued {
    let mut last = String::new();
    loop {
        match ask_all(node, config).await {
            Ok(issued) => return issued,
            Err(error) if error != last => {
                node.machine.logs.talos(format_args!("no certificate from trustd yet: {error}"));
                node.machine.logs.service("apid", &error);
                last = error;
            }
            Err(_) => {}
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn ask_all(node: &Node, config: &Config) -> Result<Issued, String> {
    let mut places: Vec<String> = {
        let members = node.members.borrow();
        let planes = members.iter().filter(|member| member.is_control_plane());
        planes.filter_map(|member| member.trustd()).map(|address| address.to_string()).collect()
    };
    if let Some(host) = super::kubernetes::endpoint_host(config) {
        places.push(format!("{host}:{}", crate::sandbox::machine::NodePorts::default().trustd));
    }
    let mut last = "there is no control plane to ask".to_owned();
    for place in places {
        match tokio::time::timeout(ATTEMPT, ask(node, config, &place)).await {
            Ok(Ok(issued)) => return Ok(issued),
            Ok(Err(error)) => last = format!("{place}: {error}"),
            Err(_) => last = format!("{place}: no answer"),
        }
    }
    Err(last)
}

async fn ask(node: &Node, config: &Config, place: &str) -> Result<Issued, String> {
    let machine = &config.machine.main.machine;
    let key = PrivateKey::generate(KeyKind::Ed25519).map_err(|error| full(&error))?;
    let request = CertificateRequest {
        common_name: node.hostname(),
        organization: None,
        names: node_tls::own_names(node, &machine.cert_sans),
    };
    let csr = request.to_pem(&key).map_err(|error| full(&error))?;
    let tls = trusting(&machine.ca.crt)?;
    let uri = format!("http://{place}");
    let endpoint = Endpoint::from_shared(uri).map_err(|error| full(&error))?;
    let endpoint = endpoint
        .origin(format!("https://{place}").parse().map_err(|error: http::uri::InvalidUri| full(&error))?);
    let connector = tower::service_fn(move |uri| tls::dial(uri, tls.clone()));
    let channel = endpoint.connect_with_connector(connector).await.map_err(|error| full(&error))?;
    let mut request = Request::new(Asked { csr: csr.into_bytes() });
    let token = machine.token.expose().parse().map_err(|_| "the token is not ASCII".to_owned())?;
    request.metadata_mut().insert("token", token);
    let answer = SecurityServiceClient::new(channel)
        .certificate(request)
        .await
        .map_err(|status| status.message().to_owned())?
        .into_inner();
    let certificate = String::from_utf8(answer.crt).map_err(|_| "the certificate is not text".to_owned())?;
    Ok(Issued { certificate, key: Secret::from(key.to_pem().expose()) })
}

fn trusting(authority: &str) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(
        CertificateDer::pem_slice_iter(authority.as_bytes()).filter_map(Result::ok),
    );
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| full(&error))?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(config))
}
