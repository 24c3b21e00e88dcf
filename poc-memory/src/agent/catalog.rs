//! The agents of a profile as last read from their folder.

use super::Definition;
use crate::error::{Error, Result};
use crate::memory::Memory;
use crate::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How an agent's file stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryState {
    /// The file is good.
    Ok,
    /// The file is broken; its last good version goes on.
    LastGood,
    /// The file is broken and was never good.
    Invalid,
}

/// One agent file.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What runs: the file's definition or its last good version.
    pub definition: Option<Arc<Definition>>,
    /// How the file stands.
    pub state: EntryState,
    /// What is wrong with the file.
    pub errors: Vec<Error>,
    /// When the agent was first seen; no slot before it counts. An agent that comes back after
    /// its file was deleted is seen anew.
    pub since: Timestamp,
}

/// Every agent file of the profile.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// By name.
    pub agents: BTreeMap<String, Entry>,
    /// What is wrong with the folder as a whole.
    pub problems: Vec<String>,
}

impl Catalog {
    /// Reads the folder, falls back to the last good versions in the store and remembers good ones.
    pub fn load(_memory: &Memory) -> Result<Catalog> {
        todo!()
    }
}
