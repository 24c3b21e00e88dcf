//! Agents: TOML files the daemon runs.

pub mod action;
mod action_executor;
pub mod agenda;
mod apply;
pub mod budget;
mod bundle;
mod catalog;
mod change;
mod check;
pub mod child_process;
pub mod circle;
pub mod cost;
pub mod definition;
pub mod diff;
mod draft;
pub mod due;
pub mod embedded;
pub mod ledger;
pub mod model;
pub mod pause;
pub mod permit;
pub mod prompt;
pub mod proposal;
pub mod reply;
pub mod review;
pub mod run;
pub mod run_limiter;
pub mod schedule;
pub mod selection;
mod template;
pub mod trial;
pub mod undo;

#[doc(hidden)]
pub mod testing;
#[cfg(test)]
mod tests;

pub use catalog::{Catalog, CatalogScan, Change, Entry, EntryState, GRACE};
pub use definition::{Context, Definition};
pub use draft::Draft;
