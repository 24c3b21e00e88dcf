//! poc-memory: a memory for AI agents that looks after itself.
pub mod chance;
pub mod config;
pub mod error;
pub mod graph;
pub mod paths;
pub mod time;
