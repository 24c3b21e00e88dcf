//! What is derived from the graph as a whole, between the graph and the disk.

use poc_graph::error::Result;
use poc_graph::{Rules, Saved, View};
use poc_index::structure;
use std::path::Path;

/// Tells a view where to look for what was computed before the store was opened.
pub(super) fn remember(view: &View, directory: &Path, rules: Rules) {
    let directory = directory.to_owned();
    view.remember(move || structure::read(&directory, &rules));
}

/// Computes everything for a view where it is not there yet, and keeps it in `directory` when the
/// graph is large.
///
/// # Errors
/// `internal` when it cannot be kept.
pub fn refresh(view: &View, rules: &Rules, directory: &Path) -> Result<()> {
    view.refresh(rules);
    match Saved::of(view, rules).filter(|_| view.is_large(rules)) {
        Some(saved) => structure::write(directory, rules, view.seq, &saved),
        None => Ok(()),
    }
}
