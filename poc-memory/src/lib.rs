//! poc-memory: a memory for AI agents that looks after itself.
pub mod agent;
pub mod cli;
pub mod client;
pub mod dispatch;
pub mod embedded;
pub mod eval;
pub mod index;
pub mod mcp;
pub mod memory;
pub mod ops;
pub mod query;
pub mod retrieve;
pub mod wire;
pub use poc_config::{self as config, paths, server};
pub use poc_embed as embed;
pub use poc_graph::{self as graph, chance, error, similar, time};
pub use poc_rank as rank;
pub use poc_store as store;
