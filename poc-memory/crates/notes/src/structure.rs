//! Loads and saves the structures derived from the whole graph, such as communities.

use poc_graph::error::Result;
use poc_graph::{SavedStructure, StructureOptions, View};
use poc_index::structure;
use std::path::Path;

/// Gives a view a loader for the structures that were saved before the store was opened.
pub(super) fn set_loader(view: &View, directory: &Path, options: StructureOptions) {
    let directory = directory.to_owned();
    view.set_structure_loader(move || structure::read(&directory, &options));
}

/// Computes the missing structures of a view, and saves them in `directory` if the graph is large.
///
/// # Errors
/// `internal` if they cannot be saved.
pub fn refresh(view: &View, options: &StructureOptions, directory: &Path) -> Result<()> {
    view.refresh(options);
    match SavedStructure::of(view, options).filter(|_| view.is_large(options)) {
        Some(saved) => structure::write(directory, options, view.seq, &saved),
        None => Ok(()),
    }
}
