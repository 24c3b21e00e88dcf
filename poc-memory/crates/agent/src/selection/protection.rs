//! Which notes an agent may read, and which of them it may only link.

use crate::Definition;
use poc_graph::error::Result;
use poc_graph::{Ix, Trust, View};
use poc_notes::Memory;
use std::collections::HashSet;

/// Whether a node may appear in a prompt. Confirmed questions and quotations may not: they only lead search to notes, and
/// agents cannot do anything with them.
pub(crate) fn may_be_read(view: &View, ix: Ix) -> bool {
    is_trusted(view, ix) && !view.is_pointer(ix)
}

/// Whether a prompt may list a node among those that were derived from others. Quotations are listed only for agents that
/// insert them. To others, they would suggest that nothing is left to say about their sources.
pub(super) fn may_be_known(view: &View, ix: Ix, lists_quotations: bool) -> bool {
    is_trusted(view, ix) && !view.is_confirmed_question(ix) && (lists_quotations || !view.is_quotation(ix))
}

fn is_trusted(view: &View, ix: Ix) -> bool {
    view.is_live(ix) && view.trust(ix) > Trust::Quarantined
}

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
