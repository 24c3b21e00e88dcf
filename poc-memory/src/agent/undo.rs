//! Undoing a run: its writes backwards, checked one action at a time.

use super::ledger::Run;
use crate::error::Result;
use crate::memory::Memory;

/// What became of one part of a run that was to be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The action in words.
    pub summary: String,
    /// Why it could not be undone; `None` when it was.
    pub refused: Option<String>,
}

/// Undoes a run. What was changed since is left alone and reported.
pub fn undo(_memory: &Memory, _run: &Run) -> Result<Vec<Item>> {
    todo!()
}
