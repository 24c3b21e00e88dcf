//! The servers: a Unix socket, and REST and MCP over HTTP.

mod call;
mod connection;
mod idle_connections;
pub(crate) mod rest;
pub(crate) mod socket;

#[cfg(test)]
mod tests;
