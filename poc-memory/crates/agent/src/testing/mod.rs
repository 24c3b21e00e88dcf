//! Helpers for tests of agents and models.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::new_without_default,
    reason = "only tests use it; the lints exempt tests by `cfg(test)`, which does not reach other crates"
)]

pub mod request;
pub mod world;
