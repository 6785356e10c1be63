//! The one place where errors of the Kubernetes client become errors of ours.
//!
//! Everything is told apart by type: HTTP status, I/O error kind, certificate error, our deadline.
//! What remains of the cause is a sentence, because the client's own errors print debug output.

use std::{error::Error, io};

use http::StatusCode;
use kube::{core::Status, runtime::watcher};
use rustls::{AlertDescription, CertificateError};

use super::deadline::{DeadlineExceeded, OnTheWay};
use crate::error::{Code, Diagnose, ErrorKind};

/// A call to the API server that failed; says what was tried on which object.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}")]
pub struct ApiError {
    action: String,
    code: Code,
    status: Option<u16>,
    resume: Option<String>,
    #[source]
    cause: Cause,
}

/// The reason, in the words of whoever knows it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Cause(String);

impl ApiError {
    /// Wraps a client error. `action` completes the sentence "cannot …", with the object named in
    /// backticks: "get tenant cluster `dev` in namespace `butler-tenants`".
    pub fn new(action: impl Into<String>, source: kube::Error) -> Self {
        let action = action.into();
        if let kube::Error::Api(status) = &source {
            return Self::answered(action, status);
        }
        let (code, cause) = transport(&source);
        Self { action, code, status: None, resume: None, cause: Cause(cause) }
    }

    /// Wraps the error of a watch.
    pub fn watching(action: impl Into<String>, source: watcher::Error) -> Self {
        match source {
            watcher::Error::InitialListFailed(error)
            | watcher::Error::WatchStartFailed(error)
            | watcher::Error::WatchFailed(error) => Self::new(action, error),
            watcher::Error::WatchError(status) => Self::new(action, kube::Error::Api(status)),
            watcher::Error::NoResourceVersion => Self {
                action: action.into(),
                code: Code::AnswerUnreadable,
                status: None,
                resume: None,
                cause: Cause(source.to_string()),
            },
        }
    }

    /// An answer that is not the API's JSON.
    pub(crate) fn not_kubernetes(action: &str, status: StatusCode, body: &[u8]) -> Self {
        let said = Status::failure(&String::from_utf8_lossy(body), UNPARSED).with_code(status.as_u16());
        Self::answered(action.to_owned(), &said)
    }

    fn answered(action: String, said: &Status) -> Self {
        let names_object = said.details.as_ref().is_some_and(|details| !details.name.is_empty());
        let code = match said.code {
            _ if is_foreign(said) => Code::NotKubernetes,
            401 => Code::Unauthorized,
            403 => Code::Forbidden,
            404 if names_object => Code::ObjectNotFound,
            // The path itself is unknown: the kind is not served.
            404 => Code::CrdsMissing,
            409 if said.reason == "AlreadyExists" => Code::ObjectExists,
            409 => Code::ObjectConflict,
            422 => Code::ObjectInvalid,
            429 | 500..=599 => Code::ApiBusy,
            _ => Code::ApiRejected,
        };
        let cause = match code {
            Code::NotKubernetes => format!("the answer was {} and not JSON", StatusText(said.code)),
            _ if said.message.is_empty() => format!("the answer was {}", StatusText(said.code)),
            _ => said.message.trim().to_owned(),
        };
        let resume = said.metadata.as_ref().and_then(|meta| meta.continue_.clone());
        Self { action, code, status: Some(said.code), resume, cause: Cause(cause) }
    }

    /// True when the object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.code == Code::ObjectNotFound
    }

    /// True when the server no longer has the state that was asked for; begin again without it.
    pub fn is_gone(&self) -> bool {
        self.status == Some(410)
    }

    /// Where a list whose state is gone can go on.
    pub fn resume_token(&self) -> Option<&str> {
        self.resume.as_deref().filter(|token| self.is_gone() && !token.is_empty())
    }
}

impl Diagnose for ApiError {
    fn code(&self) -> Code {
        self.code
    }

    fn kind(&self) -> ErrorKind {
        // 400 is about what the person typed: a selector, a name.
        if self.status == Some(400) { ErrorKind::Invalid } else { self.code.kind() }
    }
}

/// How kube marks an error answer that is no `Status`.
const UNPARSED: &str = "Failed to parse error data";

/// Not the API server: no `Status`, and neither its plain 404 nor the short text of its filters.
fn is_foreign(said: &Status) -> bool {
    said.reason == UNPARSED && (said.code < 400 || said.message.trim_start().starts_with('<'))
}

struct StatusText(u16);

impl std::fmt::Display for StatusText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match StatusCode::from_u16(self.0) {
            Ok(status) => write!(f, "{status}"),
            Err(_) => write!(f, "{}", self.0),
        }
    }
}

/// The class and the reason of an error that is not an answer of the server.
fn transport(error: &kube::Error) -> (Code, String) {
    match error {
        kube::Error::SerdeError(error) => return unreadable(error),
        kube::Error::FromUtf8(_) => return (Code::NotKubernetes, "the answer is not text".to_owned()),
        kube::Error::Auth(error) => return (Code::CredentialPluginFailed, plugin(error)),
        kube::Error::BuildRequest(_) | kube::Error::HttpError(_) => {
            return (Code::Usage, error.to_string());
        }
        _ => {}
    }
    let mut place = String::new();
    let mut root = String::new();
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(way) = error.downcast_ref::<OnTheWay>() {
            place = format!("{}: ", way.server);
        }
        if let Some((code, reason)) = by_type(error) {
            return (code, place + &reason);
        }
        root = error.to_string();
        // An `io::Error` hides the error it wraps from `source`.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    (Code::ApiUnreachable, place + &root)
}

fn by_type(error: &(dyn Error + 'static)) -> Option<(Code, String)> {
    if let Some(late) = error.downcast_ref::<DeadlineExceeded>() {
        return Some((Code::ApiTimeout, late.to_string()));
    }
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(handshake(tls));
    }
    if let Some(http) = error.downcast_ref::<hyper::Error>().filter(|error| error.is_parse()) {
        return Some((Code::NotKubernetes, http.to_string()));
    }
    let io = error.downcast_ref::<io::Error>()?;
    (io.kind() == io::ErrorKind::TimedOut).then(|| (Code::ApiTimeout, io.to_string()))
}

fn handshake(error: &rustls::Error) -> (Code, String) {
    use CertificateError as Certificate;
    match error {
        rustls::Error::InvalidCertificate(reason) => {
            let text = match reason {
                Certificate::Expired | Certificate::ExpiredContext { .. } => {
                    "the server's certificate has expired".to_owned()
                }
                Certificate::NotValidYet | Certificate::NotValidYetContext { .. } => {
                    "the server's certificate is not valid yet".to_owned()
                }
                Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                    "the server's certificate is made for another name".to_owned()
                }
                Certificate::UnknownIssuer | Certificate::BadSignature => {
                    "the server's certificate is not signed by the authority in the kubeconfig".to_owned()
                }
                _ => error.to_string(),
            };
            (Code::CertificateRejected, text)
        }
        // The server looked at our certificate.
        rustls::Error::AlertReceived(
            AlertDescription::BadCertificate
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateRequired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied,
        ) => (Code::Unauthorized, error.to_string()),
        _ => (Code::NotKubernetes, error.to_string()),
    }
}

fn unreadable(error: &serde_json::Error) -> (Code, String) {
    match error.classify() {
        serde_json::error::Category::Syntax if error.line() == 1 && error.column() <= 1 => {
            (Code::NotKubernetes, "the answer is not JSON".to_owned())
        }
        serde_json::error::Category::Eof => {
            (Code::AnswerUnreadable, "the answer ends in the middle".to_owned())
        }
        _ => (Code::AnswerUnreadable, error.to_string()),
    }
}

/// Why a credential plugin failed, without its output and environment: they could hold secrets.
pub(super) fn plugin(error: &kube::client::AuthError) -> String {
    match error {
        kube::client::AuthError::AuthExecRun { out, .. } => format!("the plugin ended with {}", out.status),
        kube::client::AuthError::AuthExecParse(_) => "the plugin's answer cannot be parsed".to_owned(),
        other => other.to_string(),
    }
}
