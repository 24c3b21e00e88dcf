//! Protected notes, which an agent may only link.

use crate::Definition;
use poc_graph::error::Result;
use poc_graph::{Ix, View};
use poc_notes::Memory;
use std::collections::HashSet;

/// The given notes that match a filter of `limits.protect`.
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
