//! The Model Context Protocol: tools, prompts, and notes as resources.
//!
//! Models see six tools by default. The other tools are derived from the op table. The official SDK
//! implements the protocol in all its versions.

mod arguments;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
mod hints;
mod prompts;
mod recent_searches;
pub mod repeated_field;
mod resources;
mod results;
mod schema;
mod server;
mod session_seq;
mod session_tenant;
mod stdio;
#[cfg(test)]
mod tests;
mod tools;

pub(crate) use resources::percent_encoded;
pub use server::Server;
pub use session_seq::SEQ_KEY;
pub use session_tenant::{TENANT_KEY, other_tenant};
pub use stdio::StdioTransport;

use crate::ops::{Access, OpDef};
use poc_config::{TenantSchema, ToolSet};
use poc_graph::error::Result;
use serde_json::Value;

/// Runs ops for the server: a daemon, or a process that calls one.
pub trait OpExecutor: Send + Sync + 'static {
    /// Runs an op and blocks until it is done.
    fn call(&self, op: &'static OpDef, request: Value) -> Result<Value>;

    /// Starts blocking work that calls ops. `op` is the op of a tool, and `None` for a resource. The default
    /// uses the runtime's pool of blocking threads. A process that does not only serve MCP should limit the
    /// concurrent work.
    fn spawn_blocking(&self, _op: Option<&'static OpDef>, work: Box<dyn FnOnce() + Send>) {
        // The work reports its result itself.
        drop(tokio::task::spawn_blocking(work));
    }

    /// Whether ops with this access are offered. Ops for people never are.
    fn offers(&self, access: Access) -> bool;

    /// Which tools are offered.
    fn tool_set(&self) -> ToolSet;

    /// The schema of the tenants that requests may name; `None` when the server or the session is bound to one tenant.
    fn tenants(&self) -> Option<&TenantSchema>;

    /// Whether the memory has a shared log, so that another daemon may answer the next call of a session.
    fn shares_log(&self) -> bool;
}
