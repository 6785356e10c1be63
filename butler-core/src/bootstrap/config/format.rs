//! Shapes of text: what a scalar must look like to be an address, a name or a version.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;
use semver::Version;

/// What a text must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// Anything of one line.
    Any,
    /// A DNS label.
    Label,
    /// An IPv4 address.
    Ipv4,
    /// An IPv4 or IPv6 address.
    Ip,
    /// An IPv4 network.
    Cidr,
    /// `vN.N.N`.
    Version,
    /// `namespace/name`.
    NamespacedName,
    /// An address of an API, with or without `https://`.
    Endpoint,
    /// A place with charts: a directory, an `https://` address, an `oci://` prefix.
    Mirror,
    /// A wildcard domain or host name.
    Host,
    /// A host name or address, such as a time server's.
    HostOrIp,
    /// `address name…`, as in a hosts file.
    HostAlias,
    /// The name of a network card.
    Interface,
    /// A path of a device.
    Device,
    /// Two addresses with a dash between them.
    Range,
    /// A resource's own name, without the path to it.
    BareName,
    /// A UUID.
    Uuid,
}

/// Longer than any name, address or version.
const LONGEST: usize = 1024;

fn is_line(text: &str) -> bool {
    text.len() <= LONGEST && !text.contains(char::is_control)
}

impl Format {
    /// Why the text is not of this format, and what would be if that can be guessed.
    pub(super) fn check(self, text: &str) -> Result<(), Wrong> {
        let fine = match self {
            Self::Any => is_line(text),
            Self::Label => is_label(text),
            Self::Ipv4 => return ipv4(text),
            Self::Ip => text.parse::<IpAddr>().is_ok(),
            Self::Cidr => return cidr(text).map(|_| ()),
            Self::Version => return version(text).map(|_| ()),
            Self::NamespacedName => {
                text.split_once('/').is_some_and(|(namespace, name)| is_label(namespace) && is_name(name))
            }
            Self::Endpoint => is_endpoint(text),
            Self::Mirror => is_mirror(text),
            Self::Host => is_name(text.strip_prefix("*.").unwrap_or(text)),
            Self::HostOrIp => is_name(&text.to_ascii_lowercase()) || text.parse::<IpAddr>().is_ok(),
            Self::HostAlias => {
                let mut words = text.split_whitespace();
                words.next().is_some_and(|address| address.parse::<IpAddr>().is_ok())
                    && words.clone().next().is_some()
                    && words.all(|name| is_name(&name.to_ascii_lowercase()))
            }
            Self::Interface => {
                (1..16).contains(&text.len())
                    && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
            }
            Self::Device => text.starts_with("/dev/") && is_line(text) && !text.contains(' '),
            Self::Range => return range(text).map(|_| ()),
            Self::BareName => is_line(text) && !text.contains(['/', ' ']),
            Self::Uuid => is_uuid(text),
        };
        if fine { Ok(()) } else { Err(self.wrong(text)) }
    }

    /// True when somebody's name or password stands before the host of an address.
    pub(super) fn shows_user(self, text: &str) -> bool {
        let rest = match (self, text.split_once("://")) {
            (Self::Endpoint | Self::Mirror, Some((_, rest))) => rest,
            (Self::Endpoint, None) => text,
            _ => return false,
        };
        rest.split('/').next().is_some_and(|host| host.contains('@'))
    }

    /// What the format is called in a message.
    pub(super) fn expected(self) -> &'static str {
        match self {
            Self::Any => "text of one line without tabs, at most 1024 long",
            Self::Label => "a name of a-z, 0-9 and `-`, at most 63 long, with a letter or digit at both ends",
            Self::Ipv4 => "an IPv4 address such as 192.168.50.10",
            Self::Ip => "an IP address",
            Self::Cidr => "an IPv4 network such as 10.244.0.0/16",
            Self::Version => "a version such as v1.12.1",
            Self::NamespacedName => "`namespace/name`",
            Self::Endpoint => "an address such as https://prism.example.org",
            Self::Mirror => "a directory, an https:// address or an oci:// prefix",
            Self::Host => "a host name such as *.k8s.example.org",
            Self::HostOrIp => "a host name or an IP address",
            Self::HostAlias => "an address and a host name, such as `172.20.1.5 prism.example.org`",
            Self::Interface => "the name of a network card such as eth0",
            Self::Device => "a device such as /dev/vda",
            Self::Range => "two addresses with a dash, such as 192.168.50.40-192.168.50.79",
            Self::BareName => "a name without the path to it",
            Self::Uuid => "a UUID such as 11111111-2222-3333-4444-555555555555",
        }
    }

    /// The regular expression of the schema.
    pub(super) fn pattern(self) -> Option<&'static str> {
        match self {
            Self::Label => Some("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"),
            Self::Ipv4 => Some(r"^(\d{1,3}\.){3}\d{1,3}$"),
            Self::Cidr => Some(r"^(\d{1,3}\.){3}\d{1,3}/\d{1,2}$"),
            Self::Version => Some(r"^v\d+\.\d+\.\d+$"),
            Self::NamespacedName => Some(r"^[a-z0-9-]+/[a-z0-9.-]+$"),
            Self::Device => Some(r"^/dev/\S+$"),
            Self::Range => Some(r"^(\d{1,3}\.){3}\d{1,3} *- *(\d{1,3}\.){3}\d{1,3}$"),
            Self::BareName => Some("^[^/ ]+$"),
            Self::Interface => Some(r"^[A-Za-z0-9._-]{1,15}$"),
            Self::Uuid => Some("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"),
            Self::Any
            | Self::Ip
            | Self::Endpoint
            | Self::Mirror
            | Self::Host
            | Self::HostOrIp
            | Self::HostAlias => None,
        }
    }

    fn wrong(self, text: &str) -> Wrong {
        let lower = text.to_ascii_lowercase().replace(['_', ' ', '.'], "-");
        let better = match self {
            Self::Label => Some(lower).filter(|name| is_label(name)),
            Self::NamespacedName if is_label(text) => Some(format!("default/{text}")),
            Self::BareName => {
                let name = text.rsplit('/').next();
                name.filter(|name| !name.is_empty() && *name != text && is_line(name)).map(str::to_owned)
            }
            _ => None,
        };
        Wrong { expected: self.expected().to_owned(), better }
    }
}

/// Why a text is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    /// What it should be.
    pub expected: String,
    /// What was probably meant.
    pub better: Option<String>,
}

impl Wrong {
    fn new(expected: impl Into<String>) -> Self {
        Self { expected: expected.into(), better: None }
    }
}

/// True for a DNS label.
pub(super) fn is_label(text: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&text.len())
        && text.bytes().all(inside)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// True for DNS labels with dots between them.
fn is_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

fn is_endpoint(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or(text);
    let rest = rest.trim_end_matches('/');
    let (host, port) = rest.rsplit_once(':').unwrap_or((rest, "443"));
    let host = host.to_ascii_lowercase();
    (is_name(&host) || host.parse::<Ipv4Addr>().is_ok()) && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// Plain HTTP is only accepted on this computer, so another address of it would never be of use.
fn is_mirror(text: &str) -> bool {
    let fine = match text.split_once("://") {
        None | Some(("file" | "oci" | "https", _)) => true,
        Some(("http", rest)) => is_on_this_computer(rest),
        Some(_) => false,
    };
    fine && is_line(text)
}

/// An address without the name and password that may stand in it.
pub fn without_user(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

/// True for the host of an address that nobody else can answer at.
fn is_on_this_computer(rest: &str) -> bool {
    let host = rest.split('/').next().unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name).trim_matches(['[', ']']);
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// True when what is sent to an API can be read on its way.
pub(super) fn is_in_clear(endpoint: &str) -> bool {
    endpoint.strip_prefix("http://").is_some_and(|rest| !is_on_this_computer(rest))
}

/// An API's address without its port, and the port.
pub(super) fn split_port(endpoint: &str) -> (&str, Option<u16>) {
    let trimmed = endpoint.trim_end_matches('/');
    let port = trimmed.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    port.map_or((trimmed, None), |(host, port)| (host, Some(port)))
}

fn ipv4(text: &str) -> Result<(), Wrong> {
    if text.parse::<Ipv4Addr>().is_ok() {
        return Ok(());
    }
    let mut wrong = Wrong::new(Format::Ipv4.expected());
    if let Some((address, _)) = text.split_once('/')
        && address.parse::<Ipv4Addr>().is_ok()
    {
        wrong.expected = "one address without a length".to_owned();
        wrong.better = Some(address.to_owned());
    }
    Err(wrong)
}

/// Reads a network; bits of a host in it are a mistake.
pub(super) fn cidr(text: &str) -> Result<Ipv4Net, Wrong> {
    let Ok(network) = text.parse::<Ipv4Net>() else {
        let mut wrong = Wrong::new(Format::Cidr.expected());
        wrong.better = text.parse::<Ipv4Addr>().ok().map(|address| format!("{address}/32"));
        return Err(wrong);
    };
    if network.trunc() == network {
        return Ok(network);
    }
    let expected = format!("the first address of a /{}", network.prefix_len());
    Err(Wrong { expected, better: Some(network.trunc().to_string()) })
}

/// Reads `vN.N.N`.
pub(super) fn version(text: &str) -> Result<Version, Wrong> {
    let parsed = text.strip_prefix('v').and_then(|number| Version::parse(number).ok());
    if let Some(version) = parsed.filter(|version| version.pre.is_empty() && version.build.is_empty()) {
        return Ok(version);
    }
    let digits = text.trim_start_matches(['v', 'V']);
    let better = match Version::parse(digits) {
        Ok(version) => Some(format!("v{}.{}.{}", version.major, version.minor, version.patch)),
        Err(_) => Version::parse(&format!("{digits}.0")).ok().map(|version| format!("v{version}")),
    };
    Err(Wrong { expected: Format::Version.expected().to_owned(), better })
}

/// Reads the legacy form `a-b` of a range.
pub(super) fn range(text: &str) -> Result<(Ipv4Addr, Ipv4Addr), Wrong> {
    text.split_once('-')
        .and_then(|(start, end)| Some((start.trim().parse().ok()?, end.trim().parse().ok()?)))
        .ok_or_else(|| Wrong::new(Format::Range.expected()))
}

/// An API's address as the ProviderConfig wants it.
pub(super) fn endpoint(text: &str) -> String {
    let text = text.trim_end_matches('/');
    if text.contains("://") { text.to_owned() } else { format!("https://{text}") }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(Format::Label, "mgmt-1", "Mgmt_1", Some("mgmt-1"))]
    #[case(Format::Label, "a", "-a", None)]
    #[case(Format::Ipv4, "10.0.0.1", "10.0.0.1/24", Some("10.0.0.1"))]
    #[case(Format::Ipv4, "10.0.0.1", "10.0.0.256", None)]
    #[case(Format::Ip, "fd00::1", "localhost", None)]
    #[case(Format::Cidr, "10.0.0.0/8", "10.1.2.3/8", Some("10.0.0.0/8"))]
    #[case(Format::Cidr, "10.0.0.0/8", "10.0.0.0", Some("10.0.0.0/32"))]
    #[case(Format::Cidr, "10.0.0.0/8", "10.0.0.0/33", None)]
    #[case(Format::Version, "v1.12.1", "1.12.1", Some("v1.12.1"))]
    #[case(Format::Version, "v1.12.1", "v1.12", Some("v1.12.0"))]
    #[case(Format::Version, "v1.12.1", "v1.12.1-beta.0", Some("v1.12.1"))]
    #[case(Format::Version, "v1.12.1", "latest", None)]
    #[case(Format::NamespacedName, "platform/vlan50", "vlan50", Some("default/vlan50"))]
    #[case(Format::Endpoint, "https://prism.example.org:9440/", "https://prism example", None)]
    #[case(Format::Endpoint, "10.1.2.3", "prism:99999", None)]
    #[case(Format::Endpoint, "prism", "https://admin:pw@prism", None)]
    #[case(Format::Mirror, "http://127.0.0.1:8080/m", "http://charts.example", None)]
    #[case(Format::Mirror, "file:///srv/charts", "ftp://charts.example", None)]
    #[case(Format::Mirror, "a@b/charts", "s3://charts", None)]
    #[case(Format::Host, "*.k8s.example.org", "*", None)]
    #[case(Format::HostOrIp, "Time.example.org", "time server", None)]
    #[case(Format::HostAlias, "10.0.0.1 Prism.example", "prism.example 10.0.0.1", None)]
    #[case(Format::HostAlias, "10.0.0.1 a b", "10.0.0.1", None)]
    #[case(Format::HostAlias, "10.0.0.1 a", "10.0.0.1 a; rm -rf /", None)]
    #[case(Format::Interface, "enp1s0", "an-interface-too-long", None)]
    #[case(Format::Device, "/dev/vda", "vda", None)]
    #[case(Format::Range, "10.0.0.1 - 10.0.0.9", "10.0.0.1..10.0.0.9", None)]
    #[case(Format::BareName, "vnet", "group/vnet", Some("vnet"))]
    #[case(Format::Uuid, "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "aaaaaaaa", None)]
    fn a_text_is_of_its_format_or_is_told_what_would_be(
        #[case] format: Format,
        #[case] right: &str,
        #[case] wrong: &str,
        #[case] better: Option<&str>,
    ) {
        assert_eq!(format.check(right), Ok(()));
        let refused = format.check(wrong).unwrap_err();
        assert_eq!(refused.better.as_deref(), better);
        if let Some(better) = better {
            assert_eq!(format.check(better), Ok(()), "what is suggested is right itself");
        }
    }

    #[test]
    fn a_port_is_taken_off_an_endpoint() {
        for (text, expected) in [
            ("https://prism.example.org:9441/", ("https://prism.example.org", Some(9441))),
            ("prism:9440", ("prism", Some(9440))),
            ("https://prism.example.org", ("https://prism.example.org", None)),
            ("10.0.0.1", ("10.0.0.1", None)),
        ] {
            assert_eq!(split_port(text), expected);
        }
        for (text, expected) in
            [("http://pve:8006", true), ("http://127.0.0.1:1", false), ("https://pve", false), ("pve", false)]
        {
            assert_eq!(is_in_clear(text), expected, "{text}");
        }
    }

    #[test]
    fn an_endpoint_gets_its_scheme_and_loses_its_slash() {
        assert_eq!(endpoint("prism.example.org/"), "https://prism.example.org");
        assert_eq!(endpoint("http://10.0.0.1:8006"), "http://10.0.0.1:8006");
    }
}
