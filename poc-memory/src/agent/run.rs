//! One run of an agent, start to finish.

use super::Definition;
use super::ledger::Run;
use super::model::{Model, Stop};
use crate::error::Result;
use crate::memory::Memory;
use crate::time::Timestamp;
use std::sync::Arc;

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A person asked.
    Manual,
    /// A slot of its schedule came.
    Slot(Timestamp),
}

/// How a run departs from the usual.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Everything but applying: nothing is written, neither actions nor visits nor a row.
    pub dry_run: bool,
    /// Nodes count as stale whatever the visits say.
    pub force: bool,
    /// Only the node with this key, whatever the pipeline and the visits say.
    pub target: Option<String>,
    /// Ends the run early; it is then interrupted.
    pub stop: Stop,
}

/// Runs an agent with the model its definition names. Every outcome leaves a row, which comes
/// back; an error means that not even a row could be written.
pub fn run(
    _memory: &Memory,
    _definition: &Arc<Definition>,
    _trigger: Trigger,
    _options: &Options,
) -> Result<Run> {
    todo!()
}

/// As [`run`], with a model of the caller's.
pub fn run_with(
    _memory: &Memory,
    _definition: &Definition,
    _model: &dyn Model,
    _trigger: Trigger,
    _options: &Options,
) -> Result<Run> {
    todo!()
}
