//! Loads and saves the structures derived from the whole graph, such as communities.

use poc_graph::error::Result;
use poc_graph::{SavedStructure, StructureOptions, View};
use poc_index::structure;
use poc_store::Store;
use std::path::Path;

/// Gives the view of a store a loader for the structures that were saved before the store was opened.
pub(super) fn set_loader(store: &Store, directory: &Path, options: StructureOptions) {
    let (directory, rebuilt) = (directory.to_owned(), store.rebuilt_files());
    store.view().set_structure_loader(move || {
        let saved = structure::read(&directory, &options);
        if saved.is_none()
            && let Some(file) = structure::damaged_file(&directory)
        {
            rebuilt.add(file);
        }
        saved
    });
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
