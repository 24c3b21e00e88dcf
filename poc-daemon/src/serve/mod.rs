//! The servers: a Unix socket, and REST and MCP over HTTP.

mod call;
mod connection;
mod idle_connections;
pub(crate) mod rest;
pub(crate) mod socket;

pub(crate) use call::Surface;

#[cfg(test)]
mod tests;
