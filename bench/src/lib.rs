//! What the benches share: a graph made from a seed, the peers, and how times are taken and told.
//!
//! A time means little on a shared machine, so every bench sets its times beside those of a peer
//! that did the same work on the same data in the same run, by turns, and proves that both gave the
//! same answer.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a bench that goes wrong shall stop"
)]

pub mod graph;
pub mod measure;
pub mod memory;
pub mod notes;
pub mod peers;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub mod sqlite_vec;
