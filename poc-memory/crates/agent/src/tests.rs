//! Stories about agents: from a file to a changed graph and back.

mod action_groups;
mod agent_tests;
mod broken_files;
mod budgets;
mod catalog;
mod catch_up;
mod concurrent_changes;
mod concurrent_writers;
mod files;
mod fleet;
mod forecast;
mod hostile_replies;
mod invariants;
mod judge;
mod keys;
mod models;
mod month;
mod on_change;
mod params;
mod pause;
mod prompt_injection;
mod prompts;
mod proposals;
mod races;
mod reference;
mod reruns;
mod runaway_agents;
mod runs;
mod schema;
mod slot_batches;
mod stored_versions;
mod targets;
mod undo;
mod week;

use super::testing::world;
