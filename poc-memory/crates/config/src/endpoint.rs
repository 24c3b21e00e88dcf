//! HTTP endpoints in the settings: validates their URLs and builds clients for them.

use super::sections::Config;
use poc_graph::error::{Error, Result};
use reqwest::Url;
use reqwest::blocking::{Client, ClientBuilder};
use reqwest::redirect::Policy;
use std::net::IpAddr;

/// Why a text is not a valid URL of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointError {
    /// The text does not have the form `http://HOST…` or `https://HOST…`.
    NoAddress,
    /// The URL contains a user or a password, which would then appear in every message that shows the URL.
    Credentials,
}

/// Parses the URL of an endpoint.
pub fn parse(text: &str) -> std::result::Result<Url, EndpointError> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let url = url.ok_or(EndpointError::NoAddress)?;
    match url.username().is_empty() && url.password().is_none() {
        true => Ok(url),
        false => Err(EndpointError::Credentials),
    }
}

/// An error for each address of a server in the settings that [`parse`] refuses. The addresses of the webhook and of
/// the hub may be empty, and so may that of the embedder if its kind is not `http`.
pub(super) fn invalid_addresses(config: &Config) -> Vec<Error> {
    let fixed = [
        ("embedder.url", &config.embedder.url, config.embedder.kind == "http"),
        ("hub.url", &config.hub.url, false),
        ("notify.webhook", &config.notify.webhook, false),
    ];
    let fixed = fixed
        .into_iter()
        .filter(|(_, address, is_needed)| *is_needed || !address.is_empty())
        .map(|(field, address, _)| (field.to_owned(), address.as_str()));
    let providers = config.providers.iter().filter_map(|(name, provider)| {
        Some((format!("providers.{name}.base-url"), provider.base_url.as_deref()?))
    });
    let invalid = |(field, address): (String, &str)| Some(check(address).err()?.field(field));
    fixed.chain(providers).filter_map(invalid).collect()
}

/// Checks the address of a server. The message does not repeat it, because it may contain a secret.
///
/// # Errors
/// `invalid_config` if it cannot be parsed, as [`parse`].
fn check(text: &str) -> Result<()> {
    parse(text).map(drop).map_err(|error| match error {
        EndpointError::NoAddress => Error::config("the value is not an address")
            .hint("give one that begins with `http://` or `https://`, such as `https://example.org/path`"),
        EndpointError::Credentials => Error::config("the address contains a user or a password")
            .hint("leave them out, because messages show the address"),
    })
}

/// Appends `path` to a base URL.
pub fn join(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    url
}

/// Builds an HTTP client for one server. It follows no redirects, because they could send an API key and notes to a
/// host that was not configured. Servers on this machine are called without the proxy from the environment.
pub fn client(server: &Url) -> ClientBuilder {
    let client = Client::builder()
        .user_agent(concat!("poc-memory/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none());
    if is_loopback(server) { client.no_proxy() } else { client }
}

/// Whether the URL refers to this machine.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_addresses_without_credentials_are_valid() {
        for good in ["http://127.0.0.1:11434/v1", "https://api.example.com"] {
            assert!(parse(good).is_ok(), "{good}");
        }
        for none in ["", "localhost:11434", "ftp://example.com", "http://", "/v1"] {
            assert_eq!(parse(none), Err(EndpointError::NoAddress), "{none}");
        }
        assert_eq!(parse("http://me:secret@example.com"), Err(EndpointError::Credentials));
    }

    #[test]
    fn join_appends_the_path() {
        for base in ["http://example.com/v1", "http://example.com/v1/"] {
            let below = join(&Url::parse(base).unwrap(), "embeddings");
            assert_eq!(below.as_str(), "http://example.com/v1/embeddings");
        }
    }

    #[test]
    fn loopback_addresses_are_recognized() {
        for (url, here) in [
            ("http://localhost/", true),
            ("http://127.0.0.9:80/", true),
            ("http://[::1]:8080/", true),
            ("http://192.168.0.2/", false),
            ("https://localhost.example.com/", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), here, "{url}");
        }
    }
}
