//! Where a call goes, from its metadata alone.

use bytes::Bytes;
use http::HeaderMap;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use tonic::Status;

/// Where a call goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    Local,
    One(String),
    Many(Vec<String>),
}

/// Methods that answer with a stream and are not named so.
const STREAMS: &[&str] = &[
    "/machine.MachineService/Copy",
    "/machine.MachineService/DiskUsage",
    "/machine.MachineService/Dmesg",
    "/machine.MachineService/EtcdSnapshot",
    "/machine.MachineService/Events",
    "/machine.MachineService/ImageList",
    "/machine.MachineService/Kubeconfig",
    "/machine.MachineService/List",
    "/machine.MachineService/Logs",
    "/machine.MachineService/PacketCapture",
    "/machine.MachineService/Read",
    "/cluster.ClusterService/HealthCheck",
];

pub(super) fn is_stream(path: &str) -> bool {
    STREAMS.contains(&path) || path.ends_with("Stream")
}

/// Decides. `can_forward` is false on workers, which have no certificate to show to others.
pub(super) fn route(
    headers: &HeaderMap,
    path: &str,
    can_forward: bool,
    is_self: impl Fn(&str) -> bool,
) -> Result<Route, Status> {
    let values = |name: &str| -> Result<Vec<String>, Status> {
        let texts = headers.get_all(name).iter().map(|value| value.to_str().map(str::to_owned));
        texts.collect::<Result<_, _>>().map_err(|_| Status::invalid_argument("metadata is not text"))
    };
    if headers.contains_key("proxyfrom") {
        return Ok(Route::Local);
    }
    let (nodes, node) = (values("nodes")?, values("node")?);
    if node.len() > 1 {
        return Err(Status::invalid_argument("node metadata must be single-valued"));
    }
    if !nodes.is_empty() && path.starts_with("/cosi.") {
        return Err(Status::invalid_argument("one-2-many proxying is not supported for COSI methods"));
    }
    let targets = if nodes.is_empty() { &node } else { &nodes };
    if targets.is_empty() {
        return Ok(Route::Local);
    }
    if !can_forward {
        return match targets.as_slice() {
            [only] if is_self(only) => Ok(Route::Local),
            _ => Err(Status::permission_denied("no request forwarding")),
        };
    }
    if let Some(wrong) = targets.iter().find(|target| !is_target(target)) {
        return Err(Status::internal(format!("invalid target {wrong:?}")));
    }
    Ok(if nodes.is_empty() { Route::One(node.concat()) } else { Route::Many(nodes) })
}

/// A host or an address, without port.
fn is_target(target: &str) -> bool {
    !target.is_empty() && (!target.contains(':') || target.parse::<std::net::Ipv6Addr>().is_ok())
}

/// The elements of a unary answer: the values of field 1.
pub(super) fn elements(message: &Bytes) -> Option<Vec<Bytes>> {
    let mut rest = message.clone();
    let mut elements = Vec::new();
    while !rest.is_empty() {
        let (tag, kind) = decode_key(&mut rest).ok()?;
        if tag == 1 && kind == WireType::LengthDelimited {
            let length = usize::try_from(decode_varint(&mut rest).ok()?).ok()?;
            if length > rest.len() {
                return None;
            }
            elements.push(rest.split_to(length));
        } else {
            skip_field(kind, tag, &mut rest, DecodeContext::default()).ok()?;
        }
    }
    (!elements.is_empty()).then_some(elements)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    const VERSION: &str = "/machine.MachineService/Version";

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[rstest]
    #[case(&[], VERSION, Ok(Route::Local))]
    #[case(&[("node", "b")], VERSION, Ok(Route::One("b".into())))]
    #[case(&[("nodes", "b")], VERSION, Ok(Route::Many(vec!["b".into()])))]
    #[case(&[("nodes", "b"), ("nodes", "c")], VERSION, Ok(Route::Many(vec!["b".into(), "c".into()])))]
    #[case(&[("nodes", "b"), ("proxyfrom", "a")], VERSION, Ok(Route::Local))]
    #[case(&[("node", "b"), ("node", "c")], VERSION, Err("node metadata must be single-valued"))]
    #[case(&[("nodes", "b")], "/cosi.resource.State/List", Err("one-2-many proxying is not supported for COSI methods"))]
    #[case(&[("nodes", "10.0.0.1:50000")], VERSION, Err("invalid target \"10.0.0.1:50000\""))]
    #[case(&[("node", "")], VERSION, Err("invalid target \"\""))]
    #[case(&[("nodes", "fd00::1")], VERSION, Ok(Route::Many(vec!["fd00::1".into()])))]
    fn metadata_decides(
        #[case] pairs: &[(&'static str, &str)],
        #[case] path: &str,
        #[case] expected: Result<Route, &str>,
    ) {
        let route = route(&headers(pairs), path, true, |_| false);
        assert_eq!(route.map_err(|status| status.message().to_owned()), expected.map_err(str::to_owned));
    }

    #[rstest]
    #[case(&[("nodes", "self")], Ok(Route::Local))]
    #[case(&[("node", "self")], Ok(Route::Local))]
    #[case(&[("nodes", "other")], Err("no request forwarding"))]
    #[case(&[("nodes", "self"), ("nodes", "other")], Err("no request forwarding"))]
    fn a_worker_answers_for_itself_alone(
        #[case] pairs: &[(&'static str, &str)],
        #[case] expected: Result<Route, &str>,
    ) {
        let route = route(&headers(pairs), VERSION, false, |name| name == "self");
        assert_eq!(route.map_err(|status| status.message().to_owned()), expected.map_err(str::to_owned));
    }

    proptest! {
        #[test]
        fn any_metadata_is_routed_or_refused(value in "[ -~]{0,40}", many in any::<bool>(), can in any::<bool>()) {
            let mut map = HeaderMap::new();
            map.append(if many { "nodes" } else { "node" }, HeaderValue::from_str(&value).unwrap());
            let _ = route(&map, VERSION, can, |_| false);
        }

        #[test]
        fn any_bytes_have_elements_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let bytes = Bytes::from(bytes);
            if let Some(found) = elements(&bytes) {
                prop_assert!(found.iter().map(Bytes::len).sum::<usize>() <= bytes.len());
            }
        }
    }
}
