//! Agents: TOML files the daemon runs.

pub mod action;
pub mod agenda;
mod apply;
pub mod budget;
mod bundle;
mod catalog;
mod change;
mod check;
pub mod circle;
mod deed;
pub mod definition;
pub mod diff;
mod draft;
pub mod due;
pub mod ledger;
pub mod model;
pub mod pause;
pub mod permit;
pub mod places;
mod program;
pub mod prompt;
pub mod proposal;
pub mod reply;
pub mod review;
pub mod run;
pub mod schedule;
pub mod selection;
mod template;
pub mod trial;
pub mod undo;

#[cfg(test)]
pub(crate) mod tests;

pub use catalog::{Catalog, Change, Entry, EntryState, GRACE, Look};
pub use definition::{Context, Definition};
pub use draft::Draft;
