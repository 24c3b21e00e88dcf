//! Accepts only requests that are meant for this server and that no foreign page has sent.
//!
//! A web page can make a browser send requests to any address, including this one. Headers that a page cannot
//! forge reveal such requests: `Host` if the page has pointed its own name at this address (DNS rebinding),
//! otherwise `Origin` and `Sec-Fetch-Site` (Fetch Metadata).

use super::answer::HttpError;
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, Uri};
use poc_config::RestConfig;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The names of this server, and the origins it trusts.
pub(super) struct OriginGuard {
    address: SocketAddr,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl OriginGuard {
    /// The guard of a server that listens at an address.
    pub(super) fn new(address: SocketAddr, config: &RestConfig) -> OriginGuard {
        OriginGuard { address, hosts: config.allowed_hosts.clone(), origins: config.allowed_origins.clone() }
    }

    /// Accepts or refuses a request.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), HttpError> {
        let host = self.check_host(uri, headers)?;
        let origin = single_header(headers, &ORIGIN)?;
        let known =
            origin.is_some_and(|origin| self.origins.iter().any(|known| equal_ignoring_case(known, origin)));
        if let Some(origin) = origin
            && !known
            && !equal_ignoring_case(origin, &format!("http://{host}"))
        {
            return Err(foreign_page(&format!("a page of `{origin}`")));
        }
        match single_header(headers, &HeaderName::from_static("sec-fetch-site"))? {
            None | Some("same-origin" | "none") => Ok(()),
            Some(_) if known => Ok(()),
            Some(_) => Err(foreign_page("a page of another site")),
        }
    }

    /// The host that a request is for, which must be this server.
    pub(super) fn check_host<'a>(&self, uri: &Uri, headers: &'a HeaderMap) -> Result<&'a str, HttpError> {
        let host = single_header(headers, &HOST)?.ok_or_else(|| wrong_host("no host"))?;
        // The host in an absolute request target takes precedence over `Host`, so both are checked.
        let named = [Some(host), uri.authority().map(|authority| authority.as_str())];
        if let Some(other) = named.into_iter().flatten().find(|name| !self.is_own(name)) {
            return Err(wrong_host(&format!("`{other}`")));
        }
        Ok(host)
    }

    /// Whether a host names this server.
    fn is_own(&self, host: &str) -> bool {
        let Some((name, port)) = split(host) else { return false };
        // A host without a port means the default port of HTTP.
        let here = port.unwrap_or(80) == self.address.port() && self.is_address(name);
        here || self
            .hosts
            .iter()
            .any(|known| equal_ignoring_case(known, host) || equal_ignoring_case(known, name))
    }

    /// Whether a name is an IP address of this server or `localhost`, which no page can own.
    fn is_address(&self, name: &str) -> bool {
        if equal_ignoring_case(name, "localhost") {
            return true;
        }
        let address = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(name) => name.parse::<Ipv6Addr>().map(IpAddr::from),
            None => name.parse::<Ipv4Addr>().map(IpAddr::from),
        };
        let own = self.address.ip();
        address.is_ok_and(|address| address.is_loopback() || address == own && !own.is_unspecified())
    }
}

/// Splits a host into its name and its port. An IPv6 address keeps its brackets.
fn split(host: &str) -> Option<(&str, Option<u16>)> {
    let end = host.rfind(']').map_or(0, |bracket| bracket + 1);
    let (name, port) = match host.get(end..)?.rfind(':') {
        Some(colon) => host.split_at(end + colon),
        None => (host, ""),
    };
    match port.strip_prefix(':') {
        None => Some((name, None)),
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some((name, Some(port.parse().ok()?)))
        }
        Some(_) => None,
    }
}

fn equal_ignoring_case(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// The value of a header that may occur only once.
fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, HttpError> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    if values.next().is_some() {
        return Err(HttpError::forbidden(
            format!("the header `{name}` occurs more than once"),
            "send it once",
        ));
    }
    let readable = value.map(|value| value.to_str()).transpose();
    readable.map_err(|_| {
        HttpError::forbidden(format!("the header `{name}` is not ASCII"), "send only ASCII in it")
    })
}

fn wrong_host(host: &str) -> HttpError {
    HttpError::forbidden(
        format!("the request is for {host}, which is not this server"),
        "use the address the server listens on, or name the host in `allowed-hosts` under `[rest]` in config.toml",
    )
}

fn foreign_page(page: &str) -> HttpError {
    HttpError::forbidden(
        format!("{page} may not use this server"),
        "name its origin in `allowed-origins` under `[rest]` in config.toml if it is yours",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderValue, StatusCode};
    use axum::response::IntoResponse;
    use poc_config::Config;
    use proptest::prelude::*;

    fn guard(address: &str) -> OriginGuard {
        let mut config = Config::defaults().unwrap().rest;
        config.allowed_hosts = vec!["memory.example.org".into(), "other.example.org:8443".into()];
        config.allowed_origins = vec!["https://memory.example.org".into()];
        OriginGuard::new(address.parse().unwrap(), &config)
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn accepts(pairs: &[(&'static str, &str)]) -> bool {
        match guard("127.0.0.1:9977").check(&Uri::from_static("/v1/stats"), &headers(pairs)) {
            Ok(()) => true,
            Err(error) => {
                assert_eq!(error.into_response().status(), StatusCode::FORBIDDEN);
                false
            }
        }
    }

    /// Hosts, and whether they name this server.
    const HOSTS: &[(&str, bool)] = &[
        ("127.0.0.1:9977", true),
        ("localhost:9977", true),
        ("LocalHost:9977", true),
        ("[::1]:9977", true),
        ("127.1.2.3:9977", true),
        ("memory.example.org", true),
        ("memory.example.org:443", true),
        ("MEMORY.example.org", true),
        ("other.example.org:8443", true),
        ("other.example.org", false),
        ("other.example.org:443", false),
        ("localhost", false),
        ("localhost:80", false),
        ("localhost:9978", false),
        ("localhost.:9977", false),
        ("localhost:+9977", false),
        ("localhost:99770000", false),
        ("localhost:", false),
        ("127.0.0.1", false),
        ("127.1:9977", false),
        ("0.0.0.0:9977", false),
        ("192.168.1.5:9977", false),
        ("::1:9977", false),
        ("[::2]:9977", false),
        ("[localhost]:9977", false),
        ("evil.example:9977", false),
        ("localhost.evil.example:9977", false),
        ("127.0.0.1.evil.example:9977", false),
        ("evil.example#@localhost:9977", false),
        ("user@localhost:9977", false),
        ("sub.memory.example.org", false),
        ("", false),
    ];

    #[test]
    fn the_matrix_of_hosts_origins_and_sites() {
        let origins = [
            (None, true),
            (Some("https://memory.example.org"), true),
            (Some("http://evil.example"), false),
            (Some("http://localhost:3000"), false),
            (Some("https://localhost:9977"), false),
            (Some("null"), false),
            (Some(""), false),
        ];
        let sites = [
            (None, true),
            (Some("none"), true),
            (Some("same-origin"), true),
            (Some("same-site"), false),
            (Some("cross-site"), false),
            (Some("anything"), false),
        ];
        for (host, host_ok) in HOSTS {
            for (origin, origin_ok) in origins {
                for (site, site_ok) in sites {
                    let mut pairs = vec![("host", *host)];
                    pairs.extend(origin.map(|origin| ("origin", origin)));
                    pairs.extend(site.map(|site| ("sec-fetch-site", site)));
                    // A page of an allowed origin comes from another site.
                    let site_ok = site_ok || origin == Some("https://memory.example.org");
                    assert_eq!(accepts(&pairs), *host_ok && origin_ok && site_ok, "{pairs:?}");
                }
            }
            // A page of this server itself.
            assert_eq!(accepts(&[("host", host), ("origin", &format!("http://{host}"))]), *host_ok, "{host}");
        }
    }

    #[test]
    fn a_repeated_or_missing_host_is_refused() {
        let own = ("host", "localhost:9977");
        assert!(!accepts(&[]));
        assert!(!accepts(&[own, own]));
        assert!(!accepts(&[own, ("host", "evil.example")]));
        let origin = ("origin", "http://localhost:9977");
        assert!(accepts(&[own, origin]));
        assert!(!accepts(&[own, origin, origin]));
        assert!(!accepts(&[own, ("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")]));
    }

    #[test]
    fn the_host_of_an_absolute_target_is_checked_too() {
        let guard = guard("127.0.0.1:9977");
        let headers = headers(&[("host", "localhost:9977")]);
        assert!(guard.check(&Uri::from_static("http://127.0.0.1:9977/v1/stats"), &headers).is_ok());
        assert!(guard.check(&Uri::from_static("http://evil.example:9977/v1/stats"), &headers).is_err());
    }

    #[test]
    fn the_listening_address_is_accepted_unless_it_is_unspecified() {
        let host = headers(&[("host", "192.168.1.5:9977")]);
        let check = |address| guard(address).check(&Uri::from_static("/"), &host).is_ok();
        assert!(check("192.168.1.5:9977"));
        assert!(!check("0.0.0.0:9977"));
    }

    poc_laws::laws! {
        #[test]
        fn only_names_of_this_server_are_accepted(name in "[a-z0-9.:@#\\[\\]-]{0,30}") {
            let own = ["localhost:9977", "[::1]:9977", "other.example.org:8443"];
            let ours = own.contains(&name.as_str())
                || name.starts_with("127.")
                || name.split(':').next() == Some("memory.example.org");
            prop_assert!(ours || !accepts(&[("host", &name)]), "{}", name);
        }
    }
}
