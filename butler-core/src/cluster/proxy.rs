//! Which proxy leads to the API server, by the rules other Kubernetes programs follow: the
//! kubeconfig's `proxy-url`, else `HTTPS_PROXY` unless `NO_PROXY` or loopback exempts the host.

use std::net::IpAddr;

use http::Uri;

use crate::settings::{Environment, env};

/// The proxy that the environment names for this server.
pub(crate) fn from_environment(server: &Uri, environment: &Environment) -> Option<Uri> {
    let host = server.host()?.trim_matches(['[', ']']);
    let named =
        |names: [&str; 2]| names.into_iter().find_map(|name| environment.get(name)).map(str::to_owned);
    if is_loopback(host) || named([env::NO_PROXY, "no_proxy"]).is_some_and(|list| exempts(&list, host)) {
        return None;
    }
    named([env::HTTPS_PROXY, "https_proxy"])?.parse().ok()
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Entries are host names (their subdomains too), addresses, or `*`.
fn exempts(list: &str, host: &str) -> bool {
    list.split(',').map(|entry| entry.trim().trim_start_matches('.')).any(|entry| {
        entry == "*"
            || !entry.is_empty()
                && (host == entry
                    || host.strip_suffix(entry).is_some_and(|subdomain| subdomain.ends_with('.')))
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::named("https://api.corp.example:6443", &[("HTTPS_PROXY", "http://proxy:3128")], Some("http://proxy:3128/"))]
    #[case::lower_case("https://api.corp.example", &[("https_proxy", "http://proxy:3128")], Some("http://proxy:3128/"))]
    #[case::exempt_domain("https://api.corp.example", &[("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", "x, .corp.example")], None)]
    #[case::other_domain("https://notcorp.example", &[("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", "corp.example")], Some("http://p:1/"))]
    #[case::loopback("https://127.40.0.11:6443", &[("HTTPS_PROXY", "http://p:1")], None)]
    #[case::loopback_six("https://[::1]:6443", &[("HTTPS_PROXY", "http://p:1")], None)]
    #[case::everything("https://api.corp.example", &[("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", "*")], None)]
    fn the_environment_names_a_proxy(
        #[case] server: &str,
        #[case] vars: &[(&str, &str)],
        #[case] expected: Option<&str>,
    ) {
        let proxy = from_environment(&server.parse().unwrap(), &Environment::of(vars.iter().copied()));
        assert_eq!(proxy.map(|uri| uri.to_string()).as_deref(), expected);
    }
}
