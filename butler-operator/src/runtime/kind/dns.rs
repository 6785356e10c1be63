//! What the temporary cluster resolves, and how. No resolver is ever added that nobody asked for: the
//! names of a private cloud are no business of a public one.

use std::{
    collections::BTreeMap,
    fmt::{self, Write},
    net::IpAddr,
    str::FromStr,
};

use crate::runtime::RuntimeError;

/// A name that the temporary cluster resolves itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAlias {
    /// Its address.
    pub address: IpAddr,
    /// The name.
    pub name: String,
}

impl HostAlias {
    /// An alias, if the name is one.
    pub fn new(address: IpAddr, name: &str) -> Result<Self, RuntimeError> {
        if is_host_name(name) {
            return Ok(Self { address, name: name.to_owned() });
        }
        let why = "a host name has letters, digits, `-` and `.`".to_owned();
        Err(RuntimeError::Settings { what: format!("the host alias `{name}`"), why })
    }
}

impl FromStr for HostAlias {
    type Err = RuntimeError;

    /// `address name`, as a line of a hosts file.
    fn from_str(text: &str) -> Result<Self, RuntimeError> {
        let refuse = |why: &str| RuntimeError::Settings {
            what: format!("the host alias `{text}`"),
            why: why.to_owned(),
        };
        let mut words = text.split_whitespace();
        let (Some(address), Some(name), None) = (words.next(), words.next(), words.next()) else {
            return Err(refuse("it is an address and a name"));
        };
        let address = address.parse().map_err(|_| refuse("it begins with an address"))?;
        Self::new(address, name)
    }
}

impl fmt::Display for HostAlias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.address, self.name)
    }
}

/// True for a name that is safe in a hosts file and in a Corefile.
pub(super) fn is_host_name(name: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.strip_suffix('.').unwrap_or(name).split('.').all(label)
}

/// The lines of `aliases` that a hosts file does not have yet.
pub(super) fn missing_lines(hosts: &str, aliases: &[HostAlias]) -> String {
    let has = |alias: &HostAlias| {
        hosts.lines().any(|line| {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            words.next().is_some_and(|address| address.parse() == Ok(alias.address))
                && words.any(|name| name == alias.name)
        })
    };
    let mut lines: String =
        aliases.iter().filter(|alias| !has(alias)).map(|alias| format!("{alias}\n")).collect();
    if !lines.is_empty() && !hosts.is_empty() && !hosts.ends_with('\n') {
        lines.insert(0, '\n');
    }
    lines
}

/// The name servers to ask: those of the node that answer from inside a Pod, then the ones asked for.
pub(super) fn upstreams(resolv_conf: &str, asked_for: &[IpAddr]) -> Vec<IpAddr> {
    let of_node = resolv_conf.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        // A zone such as `%eth0` means nothing elsewhere.
        (words.next()? == "nameserver").then(|| words.next()?.parse().ok()).flatten()
    });
    let mut all: Vec<IpAddr> = Vec::new();
    for server in of_node.filter(|server| is_reachable(*server)).chain(asked_for.iter().copied()) {
        if !all.contains(&server) {
            all.push(server);
        }
    }
    all
}

/// Loopback is the node's own, and the Service range is CoreDNS itself.
fn is_reachable(server: IpAddr) -> bool {
    let service = matches!(server, IpAddr::V4(ip) if ip.octets()[..2] == [10, 96]);
    !server.is_loopback() && !service
}

/// The configuration of CoreDNS.
pub(super) fn corefile(upstreams: &[IpAddr], aliases: &[HostAlias]) -> String {
    let mut text = String::from(
        ".:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
",
    );
    // Names of one address share a line.
    let mut hosts: BTreeMap<IpAddr, Vec<&str>> = BTreeMap::new();
    for alias in aliases {
        hosts.entry(alias.address).or_default().push(&alias.name);
    }
    if !hosts.is_empty() {
        text.push_str("    hosts {\n");
        for (address, names) in hosts {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "       {address} {}", names.join(" "));
        }
        text.push_str("       fallthrough\n    }\n");
    }
    if !upstreams.is_empty() {
        let list: Vec<String> = upstreams.iter().map(IpAddr::to_string).collect();
        let _ = writeln!(text, "    forward . {} {{\n       max_concurrent 1000\n    }}", list.join(" "));
    }
    text.push_str("    cache 30\n    loop\n    reload\n    loadbalance\n}\n");
    text
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn alias(text: &str) -> HostAlias {
        text.parse().unwrap()
    }

    #[rstest]
    #[case("10.0.0.5")]
    #[case("prism.corp 10.0.0.5")]
    #[case("10.0.0.5 a b")]
    #[case("10.0.0.5 $(reboot)")]
    #[case("10.0.0.5 a;b")]
    #[case("10.0.0.5 -a")]
    #[case("10.0.0.5 a..b")]
    #[case("10.0.0.5 a}")]
    fn what_is_no_alias_is_refused_before_it_reaches_a_file(#[case] text: &str) {
        let error = text.parse::<HostAlias>().unwrap_err().to_string();
        assert!(error.contains("host alias"), "{error}");
    }

    #[test]
    fn only_missing_aliases_are_added_to_a_hosts_file() {
        let aliases = [alias("10.0.0.5 prism.corp"), alias("fd00::5  pve")];
        assert_eq!(missing_lines("", &aliases), "10.0.0.5 prism.corp\nfd00::5 pve\n");
        let hosts = "127.0.0.1 localhost\n10.0.0.5 other prism.corp\n# fd00::5 pve";
        assert_eq!(missing_lines(hosts, &aliases), "\nfd00::5 pve\n");
        assert_eq!(missing_lines("10.0.0.5 prism.corp\nfd00:0::5 pve\n", &aliases), "");
    }

    #[test]
    fn no_resolver_is_asked_that_nobody_named() {
        let node = "search corp\nnameserver 127.0.0.11\nnameserver 172.18.0.1\nnameserver ::1\n\
                    nameserver 10.96.0.10\nnameserver fe80::1%eth0\nnameserver 172.18.0.1\noptions ndots:0\n";
        let gateway: IpAddr = "172.18.0.1".parse().unwrap();
        let own: IpAddr = "9.9.9.9".parse().unwrap();
        assert_eq!(upstreams(node, &[]), [gateway]);
        assert_eq!(upstreams(node, &[own, gateway]), [gateway, own]);
        assert_eq!(upstreams("nameserver 127.0.0.53", &[]), [] as [IpAddr; 0]);
        assert!(!corefile(&[], &[]).contains("forward"), "nobody is asked when there is nobody to ask");
    }

    #[test]
    fn the_corefile_has_its_plugins_in_order() {
        let servers = ["172.18.0.1".parse().unwrap(), "10.1.1.1".parse().unwrap()];
        let text = corefile(&servers, &[alias("10.0.0.5 prism.corp"), alias("10.0.0.5 prism")]);
        let plugins: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("    ") && !line.starts_with("     ") && line.trim() != "}")
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        let wanted = [
            "errors",
            "health",
            "ready",
            "kubernetes",
            "prometheus",
            "hosts",
            "forward",
            "cache",
            "loop",
            "reload",
            "loadbalance",
        ];
        assert_eq!(plugins, wanted);
        assert!(text.contains("       10.0.0.5 prism.corp prism\n       fallthrough\n"), "{text}");
        assert!(
            text.contains("forward . 172.18.0.1 10.1.1.1 {\n       max_concurrent 1000\n    }"),
            "{text}"
        );
    }
}
