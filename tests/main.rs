//! End-to-end tests, which drive the real binaries.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot continue fails; clippy.toml allows it only in functions marked as tests"
)]

mod agent_files;
mod agents;
mod backup;
mod bad_input;
mod both_ways;
mod by_hand;
mod callers;
mod compact;
mod completions;
mod damaged_store;
mod doctor;
mod documents;
mod embed;
mod eval;
mod full_disk;
mod hooks;
mod kill;
mod made_up_sessions;
mod mcp;
mod models;
mod names;
mod notify;
mod opening;
mod page;
mod predictions;
mod refresh;
mod reload;
mod rest;
mod schedule;
mod service;
mod setup;
mod shared_log;
mod store_of_0_1;
mod support;
mod sync;
mod tenants;
mod vault;
