//! Notes that an agent may link and do nothing else with.

use crate::Definition;
use poc_graph::error::Result;
use poc_graph::{Ix, View};
use poc_notes::Memory;
use std::collections::HashSet;

/// Those of some notes that pass a filter of `limits.protect` in a view.
pub(crate) fn protected(
    memory: &Memory,
    definition: &Definition,
    view: &View,
    notes: &[Ix],
) -> Result<HashSet<Ix>> {
    let mut protected = HashSet::new();
    for filter in &definition.limits.protect {
        protected.extend(filter.filter_nodes(&memory.sources(view), notes)?);
    }
    Ok(protected)
}
