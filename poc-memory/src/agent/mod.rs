//! Agents: TOML files the daemon runs.

mod catalog;
mod definition;
pub mod due;
pub mod ledger;
pub mod model;

pub use catalog::{Catalog, Entry, EntryState};
pub use definition::Definition;
