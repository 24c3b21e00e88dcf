//! Agents: TOML files the daemon runs.

mod catalog;
pub mod definition;
pub mod due;
pub mod ledger;
pub mod model;
pub mod run;
pub mod schedule;
pub mod selection;
pub mod undo;

pub use catalog::{Catalog, Entry, EntryState};
pub use definition::Definition;
