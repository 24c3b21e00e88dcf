//! What the benches share: a graph generated from a seed, the peers, and the measurements and reports.
//!
//! A time alone means little, because machines and their load differ. Each bench therefore compares its times with
//! those of a peer that does the same work on the same data in the same run, interleaved, and checks that both give the
//! same answer.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a bench that fails stops"
)]

pub mod graph;
pub mod measure;
pub mod memory;
pub mod notes;
pub mod peers;
pub mod processes;
pub mod prompt;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub mod sqlite_vec;
