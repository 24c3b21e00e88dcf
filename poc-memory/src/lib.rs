//! poc-memory: a memory for AI agents that stores, searches and maintains notes.

pub mod cli;
pub mod client;
pub mod dispatch;
pub mod mcp;
pub mod ops;
pub mod wire;
