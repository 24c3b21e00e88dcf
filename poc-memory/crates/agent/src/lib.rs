//! Agents: definitions in TOML files, which the daemon runs by schedule.

pub mod action;
mod action_executor;
mod action_group;
pub mod agent_changes;
pub mod agent_files;
mod apply;
pub mod batches;
pub mod budget;
mod catalog;
pub mod child_process;
pub mod consolidation;
pub mod cost;
pub mod created_notes;
pub mod definition;
pub mod diff;
pub mod due_slots;
pub mod embedded;
pub mod feedback_loop;
#[cfg(any(fuzzing, test))]
pub mod fuzzing;
pub mod idle_tenants;
mod judge;
pub mod ledger;
mod log_changes;
pub mod model;
mod new_agent;
pub mod pause;
pub mod pause_reason;
pub mod permit;
pub mod preview;
pub mod prompt;
pub mod proposal;
mod quotation;
mod rare_words;
pub mod reply;
pub mod review;
pub mod run;
pub mod run_limiter;
pub mod scheduler;
pub mod selection;
mod template;
pub mod tenant_rotation;
pub mod test_runner;
pub mod undo;
mod unwanted_actions;
mod writer_record;

#[doc(hidden)]
pub mod testing;
#[cfg(test)]
mod tests;

pub use catalog::{AgentStatus, Catalog, CatalogChange, CatalogEntry, CatalogScan, EntryState, GRACE};
pub use definition::{Definition, DefinitionContext};
pub use new_agent::{AgentDraft, PromptDraft};
pub use poc_config::schedule;
