//! Who is let in: requests that name this server and that no foreign page has sent.
//!
//! A page may make a browser send requests to any address, this one too. Its name gives it away:
//! `Host` when the page has made its own name point here (DNS rebinding), else `Origin` and
//! `Sec-Fetch-Site` (Fetch Metadata), which a page cannot forge.

use super::answer::Refusal;
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, Uri};
use poc_config::Rest;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What this server is called.
pub(super) struct Door {
    address: SocketAddr,
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl Door {
    /// The door of a server that listens there.
    pub(super) fn new(address: SocketAddr, config: &Rest) -> Door {
        Door { address, hosts: config.allowed_hosts.clone(), origins: config.allowed_origins.clone() }
    }

    /// Whether a request may come in.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = one(headers, &HOST)?.ok_or_else(|| stranger("no host"))?;
        // A target that is a whole address overrides `Host` for whoever reads it first.
        let named = [Some(host), uri.authority().map(|authority| authority.as_str())];
        if let Some(other) = named.into_iter().flatten().find(|name| !self.is_own(name)) {
            return Err(stranger(&format!("`{other}`")));
        }
        let origin = one(headers, &ORIGIN)?;
        let known = origin.is_some_and(|origin| self.origins.iter().any(|known| same(known, origin)));
        if let Some(origin) = origin
            && !known
            && !same(origin, &format!("http://{host}"))
        {
            return Err(foreign(&format!("a page of `{origin}`")));
        }
        match one(headers, &HeaderName::from_static("sec-fetch-site"))? {
            None | Some("same-origin" | "none") => Ok(()),
            Some(_) if known => Ok(()),
            Some(_) => Err(foreign("a page of another site")),
        }
    }

    /// Whether a host names this server.
    fn is_own(&self, host: &str) -> bool {
        let Some((name, port)) = split(host) else { return false };
        // Without a port it is the one of HTTP.
        let here = port.unwrap_or(80) == self.address.port() && self.is_address(name);
        here || self.hosts.iter().any(|known| same(known, host) || same(known, name))
    }

    /// Whether a name is an address of this server, which no page can make its own.
    fn is_address(&self, name: &str) -> bool {
        if same(name, "localhost") {
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

/// A host as its name, an IPv6 address in its brackets, and its port.
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

fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// The value of a header that may stand there once.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let value = values.next();
    if values.next().is_some() {
        return Err(Refusal::forbidden(format!("`{name}` is there more than once"), "send it once"));
    }
    let readable = value.map(|value| value.to_str()).transpose();
    readable.map_err(|_| Refusal::forbidden(format!("`{name}` is not readable"), "use ASCII"))
}

fn stranger(host: &str) -> Refusal {
    Refusal::forbidden(
        format!("the request is for {host}, which is not this server"),
        "use the address the server listens on, or name the host in `allowed-hosts` under `[rest]` in config.toml",
    )
}

fn foreign(page: &str) -> Refusal {
    Refusal::forbidden(
        format!("{page} may not ask this server"),
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

    fn door(address: &str) -> Door {
        let mut config = Config::defaults().unwrap().rest;
        config.allowed_hosts = vec!["memory.example.org".into(), "other.example.org:8443".into()];
        config.allowed_origins = vec!["https://memory.example.org".into()];
        Door::new(address.parse().unwrap(), &config)
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    fn lets_in(pairs: &[(&'static str, &str)]) -> bool {
        match door("127.0.0.1:9977").check(&Uri::from_static("/v1/stats"), &headers(pairs)) {
            Ok(()) => true,
            Err(refusal) => {
                assert_eq!(refusal.into_response().status(), StatusCode::FORBIDDEN);
                false
            }
        }
    }

    /// Hosts, and whether they are this server.
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
                    // A page the operator has named comes from another site, and may.
                    let site_ok = site_ok || origin == Some("https://memory.example.org");
                    assert_eq!(lets_in(&pairs), *host_ok && origin_ok && site_ok, "{pairs:?}");
                }
            }
            // The page of this very server.
            assert_eq!(lets_in(&[("host", host), ("origin", &format!("http://{host}"))]), *host_ok, "{host}");
        }
    }

    #[test]
    fn a_header_that_stands_twice_or_not_at_all_lets_nobody_in() {
        let own = ("host", "localhost:9977");
        assert!(!lets_in(&[]));
        assert!(!lets_in(&[own, own]));
        assert!(!lets_in(&[own, ("host", "evil.example")]));
        let origin = ("origin", "http://localhost:9977");
        assert!(lets_in(&[own, origin]));
        assert!(!lets_in(&[own, origin, origin]));
        assert!(!lets_in(&[own, ("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")]));
    }

    #[test]
    fn a_whole_address_as_target_must_be_ours_too() {
        let door = door("127.0.0.1:9977");
        let headers = headers(&[("host", "localhost:9977")]);
        assert!(door.check(&Uri::from_static("http://127.0.0.1:9977/v1/stats"), &headers).is_ok());
        assert!(door.check(&Uri::from_static("http://evil.example:9977/v1/stats"), &headers).is_err());
    }

    #[test]
    fn the_address_listened_on_is_ours_and_any_address_is_not() {
        let host = headers(&[("host", "192.168.1.5:9977")]);
        let check = |address| door(address).check(&Uri::from_static("/"), &host).is_ok();
        assert!(check("192.168.1.5:9977"));
        assert!(!check("0.0.0.0:9977"));
    }

    proptest! {
        #[test]
        fn no_name_but_ours_gets_in(name in "[a-z0-9.:@#\\[\\]-]{0,30}") {
            let own = ["localhost:9977", "[::1]:9977", "other.example.org:8443"];
            let ours = own.contains(&name.as_str())
                || name.starts_with("127.")
                || name.split(':').next() == Some("memory.example.org");
            prop_assert!(ours || !lets_in(&[("host", &name)]), "{}", name);
        }
    }
}
