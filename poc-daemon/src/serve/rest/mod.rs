//! The memory over HTTP, derived from the op table: a request becomes the JSON value the op takes
//! on every surface, and its answer is written as it is.
//!
//! A request passes the [`door`] (is it meant for this server, does a page of ours send it), finds
//! its place in [`routes`] and its [`endpoint`], shows its [`token`], is put together ([`request`])
//! and answered ([`answer`]). Behind the same door and with the same tokens stands [`mcp`].

mod answer;
mod body;
mod docs;
mod door;
mod endpoint;
mod listen;
mod mcp;
mod openapi;
mod plain;
mod query;
mod request;
mod routes;
mod token;

pub(crate) use listen::{bind, run};
pub(crate) use mcp::PATH as MCP_PATH;

use crate::shared::Shared;
use std::sync::Arc;

/// What every request needs.
struct Rest {
    shared: Arc<Shared>,
    door: door::Door,
    tokens: token::Tokens,
}

impl Rest {
    fn config(&self) -> &poc_config::Rest {
        &self.shared.memory.config.rest
    }
}
