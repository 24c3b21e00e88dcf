//! The servers: a Unix socket, and REST and MCP over HTTP.

mod call;
mod connection;
mod idle_connections;
pub(crate) mod rest;
pub(crate) mod socket;

use std::time::Duration;

/// How long a client whose connection is to be closed may take to send the rest of a request that is answered with an
/// error, and to read its last answers.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
