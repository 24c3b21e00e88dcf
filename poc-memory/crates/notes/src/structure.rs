//! What is derived from the graph as a whole, between the graph and the disk.

use poc_graph::error::Result;
use poc_graph::{Saved, StructureOptions, View};
use poc_index::structure;
use std::path::Path;

/// Tells a view where to look for what was computed before the store was opened.
pub(super) fn set_loader(view: &View, directory: &Path, options: StructureOptions) {
    let directory = directory.to_owned();
    view.remember(move || structure::read(&directory, &options));
}

/// Computes everything for a view where it is not there yet, and keeps it in `directory` when the
/// graph is large.
///
/// # Errors
/// `internal` when it cannot be kept.
pub fn refresh(view: &View, options: &StructureOptions, directory: &Path) -> Result<()> {
    view.refresh(options);
    match Saved::of(view, options).filter(|_| view.is_large(options)) {
        Some(saved) => structure::write(directory, options, view.seq, &saved),
        None => Ok(()),
    }
}
