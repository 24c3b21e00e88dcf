//! The memory over HTTP, derived from the op table. A request becomes the JSON value that the op takes
//! on every surface, and the answer of the op is the body of the response.
//!
//! A request first passes the [`origin_guard`]: it must be meant for this server and must not come from a
//! foreign page. The [`router`] passes it to its [`op_route`], which checks the [`caller`], reads the
//! [`request`] and writes the [`answer`]. [`mcp`] uses the same guard and the same tokens. The [`page`] is an
//! ordinary client of these routes, except that it has sessions.

mod accept;
mod answer;
mod body;
mod caller;
mod cors;
mod csrf;
mod docs;
mod event_stream;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod listen;
mod mcp;
mod mcp_tenant;
mod message_meta;
mod metrics_format;
mod min_seq;
mod note_path;
mod op_route;
mod openapi;
mod origin_guard;
mod page;
mod precondition;
mod query;
mod request;
mod router;
mod service_resources;
mod service_routes;
mod session_cookie;
mod token;
mod tracked_body;

pub(crate) use listen::{bind, listen_for_page, run};
pub(crate) use mcp::PATH as MCP_PATH;
pub(crate) use page::SIGN_IN_PATH;

use crate::state::DaemonState;
use std::sync::Arc;

/// The shared state of all requests.
struct RestContext {
    state: Arc<DaemonState>,
    origin_guard: origin_guard::OriginGuard,
    tokens: token::Tokens,
}

impl RestContext {
    fn config(&self) -> &poc_config::RestConfig {
        &self.state.memory.config.rest
    }
}
