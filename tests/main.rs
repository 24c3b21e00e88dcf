//! End-to-end tests, which drive the real binaries.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot continue fails; clippy.toml allows it only in functions marked as tests"
)]

mod agent_explain;
mod agent_files;
mod agents;
mod backup;
mod bad_input;
mod callers;
mod compact;
mod completions;
mod damaged_store;
mod doctor;
mod documents;
mod embed;
mod eval;
mod everyday_use;
mod former_keys;
mod full_disk;
mod hook_relevance;
mod hooks;
mod install;
mod kill;
mod mcp;
mod models;
mod notify;
mod opening;
mod page;
mod reload;
mod rest;
mod schedule;
mod service;
mod setup;
mod shared_log;
mod store_of_0_1;
mod structure_refresh;
mod support;
mod sync;
mod sync_order;
mod tenants;
mod vault;
mod vault_history;
mod with_and_without_daemon;
