//! Notes that an agent may link and do nothing else with.

use crate::agent::Definition;
use crate::error::Result;
use crate::graph::{Ix, View};
use crate::memory::Memory;
use std::collections::HashSet;

/// Those of some notes that pass a filter of `limits.protect` in a view.
pub(in crate::agent) fn protected(
    memory: &Memory,
    definition: &Definition,
    view: &View,
    notes: &[Ix],
) -> Result<HashSet<Ix>> {
    let mut protected = HashSet::new();
    for filter in &definition.limits.protect {
        protected.extend(filter.passing(&memory.sources(view), notes)?);
    }
    Ok(protected)
}
