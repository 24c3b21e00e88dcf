//! poc-memory: a memory for AI agents that looks after itself.
pub mod agent;
pub mod chance;
pub mod config;
pub mod embed;
pub mod embedded;
pub mod error;
pub mod graph;
pub mod index;
pub mod memory;
pub mod ops;
pub mod paths;
pub mod query;
pub mod rank;
pub mod similar;
pub mod store;
pub mod time;
pub mod wire;
