//! The Model Context Protocol: the ops that models may call as tools, and notes as resources.
//!
//! Derived from the op table like every surface. The protocol itself, in all its versions, is that of
//! the official SDK.

mod resources;
mod schema;
mod server;
#[cfg(test)]
mod tests;
mod tools;

pub use server::Server;

use crate::ops::{Access, OpDef};
use poc_config::TenantSchema;
use poc_graph::error::Result;
use serde_json::Value;

/// Whoever runs the ops: a daemon, or a process that asks one.
pub trait Caller: Send + Sync + 'static {
    /// Runs an op. May take as long as the op does.
    fn call(&self, op: &'static OpDef, request: Value) -> Result<Value>;

    /// Starts blocking work that calls ops: of a tool its op, of a resource none. The default is the runtime's
    /// own pool of blocking threads; a process that serves more than MCP decides itself how much runs at once.
    fn spawn_blocking(&self, _op: Option<&'static OpDef>, work: Box<dyn FnOnce() + Send>) {
        // The work reports its result itself.
        drop(tokio::task::spawn_blocking(work));
    }

    /// Whether ops with such access are offered. What only a person may do never is.
    fn offers(&self, access: Access) -> bool;

    /// What the tenants of requests may be called; `None` when requests name none, since whoever runs the
    /// ops has been given one.
    fn tenants(&self) -> Option<&TenantSchema>;
}
