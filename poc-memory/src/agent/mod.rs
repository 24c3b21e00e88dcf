//! Agents: TOML files the daemon runs.

mod catalog;
pub mod definition;
pub mod due;
pub mod ledger;
pub mod model;
pub mod schedule;
pub mod selection;

pub use catalog::{Catalog, Entry, EntryState};
pub use definition::Definition;
