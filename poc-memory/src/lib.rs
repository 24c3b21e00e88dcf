//! poc-memory: a memory for AI agents that looks after itself.

pub mod cli;
pub mod client;
pub mod dispatch;
pub mod mcp;
pub mod ops;
pub mod wire;
