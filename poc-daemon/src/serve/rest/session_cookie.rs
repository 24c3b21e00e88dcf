//! The cookie with the secret of a session.

use super::RestContext;
use axum::http::header::{COOKIE, HOST};
use axum::http::{HeaderMap, HeaderValue};
use poc_graph::error::{Error, Result};
use poc_graph::time::Span;
use std::net::IpAddr;

/// The name of the cookie. Browsers send cookies to every port of a host, so the daemons of several profiles
/// need different names.
fn name(rest: &RestContext) -> String {
    let port = rest.state.http.get().map_or(0, |address| address.port());
    format!("poc-memory-{port}")
}

/// The secret in the cookie of a request. None if there are several, because their order is undefined.
pub(super) fn read<'a>(rest: &RestContext, headers: &'a HeaderMap) -> Option<&'a str> {
    let name = name(rest);
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut values = lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(known, _)| *known == name)
        .map(|(_, value)| value);
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

/// The header that sets the cookie.
pub(super) fn set(
    rest: &RestContext,
    headers: &HeaderMap,
    secret: &str,
    lifetime: Span,
) -> Result<HeaderValue> {
    let seconds = lifetime.std().as_secs();
    header(format!("{}={secret}; Max-Age={seconds}{}", name(rest), attributes(headers)))
}

/// The header that removes the cookie.
pub(super) fn clear(rest: &RestContext, headers: &HeaderMap) -> Result<HeaderValue> {
    header(format!("{}=; Max-Age=0{}", name(rest), attributes(headers)))
}

fn attributes(headers: &HeaderMap) -> String {
    // Browsers do not send a `Secure` cookie without TLS, and Safari makes no exception for loopback
    // addresses.
    let secure = if is_loopback(headers) { "" } else { "; Secure" };
    format!("; Path=/; HttpOnly; SameSite=Strict{secure}")
}

/// Whether the browser reaches the server over a loopback address. Otherwise it needs TLS.
pub(super) fn is_loopback(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn header(text: String) -> Result<HeaderValue> {
    HeaderValue::from_str(&text).map_err(|error| Error::internal(format!("a cookie cannot be sent: {error}")))
}
