//! The section `[rest]`.

use poc_graph::error::{Error, Result};
use poc_graph::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// The REST interface.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RestConfig {
    /// Whether the daemon serves the REST interface.
    pub enabled: bool,
    /// Address and port to listen on; port 0 selects any free port.
    pub address: SocketAddr,
    /// Whether the address may be one that other machines can reach.
    pub allow_remote: bool,
    /// Names of ops that are disabled.
    pub disabled: Vec<String>,
    /// Whether ops that delete data permanently are enabled.
    pub delete: bool,
    /// Values of the `Host` header allowed in addition to this machine, with or without a port:
    /// `memory.example.org`.
    pub allowed_hosts: Vec<String>,
    /// Values of the `Origin` header allowed in addition to the host itself:
    /// `https://memory.example.org`.
    pub allowed_origins: Vec<String>,
    /// Maximum size of a request body, in bytes.
    pub max_body_bytes: usize,
    /// Maximum number of concurrent connections.
    pub max_connections: usize,
    /// Time limit for the headers of a request, for a pause within its body, and for an idle connection.
    pub header_timeout: Span,
    /// Time limit for the body of a request, and for the response.
    pub request_timeout: Span,
}

impl RestConfig {
    /// Refuses an address that other machines can reach, unless the settings allow it.
    pub(super) fn check_address(&self) -> Result<()> {
        if self.address.ip().is_loopback() || self.allow_remote {
            return Ok(());
        }
        let message =
            format!("`{}` can be reached from other machines, and `allow-remote` is off", self.address);
        Err(Error::config(message)
            .hint("use `127.0.0.1`, or set `allow-remote = true` and put TLS in front of it")
            .field("rest.address"))
    }

    /// An error for each text that is not an origin or not a host.
    pub(super) fn invalid_names(&self) -> Vec<Error> {
        let origins = self.allowed_origins.iter().filter(|origin| !is_origin(origin)).map(|origin| {
            Error::config(format!("`{origin}` is not an origin"))
                .hint("write scheme and host, as in `https://memory.example.org`")
                .field("rest.allowed-origins")
        });
        let hosts = self.allowed_hosts.iter().filter(|host| !is_host(host)).map(|host| {
            Error::config(format!("`{host}` is not a host"))
                .hint("write a name, or a name and a port, as in `memory.example.org`")
                .field("rest.allowed-hosts")
        });
        origins.chain(hosts).collect()
    }
}

/// Whether a text can be a host, with or without a port.
fn is_host(text: &str) -> bool {
    !text.is_empty() && !text.contains(['/', '@', ' ', '*'])
}

/// Whether a text consists of only a scheme, a host and an optional port.
fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '@', ' ', '*', '?', '#']))
}

#[cfg(test)]
mod tests {
    use crate::Config;

    fn report(text: &str) -> String {
        match Config::layered(Some(("config.toml", text)), std::iter::empty()) {
            Ok(_) => "taken".into(),
            Err(error) => error.line(),
        }
    }

    #[test]
    fn unsafe_and_impossible_settings_are_rejected() {
        let files = [
            "rest.address = \"0.0.0.0:9977\"",
            "rest.address = \"[::1]:9977\"",
            "rest.address = \"localhost:9977\"",
            "rest.max-connections = 0",
            "rest.header-timeout = \"0s\"",
            "rest.allowed-origins = [\"memory.example.org\"]",
            "rest.allowed-origins = [\"https://memory.example.org/\"]",
            "rest.allowed-hosts = [\"*\"]",
            "rest.allowed-hosts = [\"memory.example.org:443\"]",
            "[rest]\naddress = \"0.0.0.0:9977\"\nallow-remote = true",
        ];
        let all: Vec<String> = files.iter().map(|file| report(file)).collect();
        insta::assert_snapshot!(all.join("\n"), @r"
        config.toml:1:6: `rest.address`: `0.0.0.0:9977` can be reached from other machines, and `allow-remote` is off; use `127.0.0.1`, or set `allow-remote = true` and put TLS in front of it
        taken
        config.toml:1:6: `rest.address`: the value is not an address; write an IP address and a port, such as `127.0.0.1:9977`
        config.toml:1:6: `rest.max-connections`: cannot be 0; give 1 or more; 256 is usual
        config.toml:1:6: `rest.header-timeout`: cannot be 0s; give 1ms or more; 10s is usual
        config.toml:1:6: `rest.allowed-origins`: `memory.example.org` is not an origin; write scheme and host, as in `https://memory.example.org`
        config.toml:1:6: `rest.allowed-origins`: `https://memory.example.org/` is not an origin; write scheme and host, as in `https://memory.example.org`
        config.toml:1:6: `rest.allowed-hosts`: `*` is not a host; write a name, or a name and a port, as in `memory.example.org`
        taken
        taken
        ");
    }
}
