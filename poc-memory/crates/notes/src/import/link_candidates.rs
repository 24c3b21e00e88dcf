//! The notes that an unresolved link may mean.

use super::location::SourceLocation;
use super::run::{Import, PendingEdges};
use super::wikilinks::{folded, last_part, without_heading};
use poc_graph::cancellation;
use poc_graph::error::Result;
use std::collections::{BTreeSet, HashMap};

/// Maximum number of notes that are listed for a link.
const MAX_CANDIDATES: usize = 100;

impl Import<'_> {
    /// Adds to the unresolved links the keys of the notes that they may mean: notes in any folder that have the name, and
    /// notes of this import that have it as their title. The titles of all notes would take too long to read.
    pub(super) fn add_link_candidates(&mut self, pending: &[(SourceLocation, PendingEdges)]) -> Result<()> {
        let unresolved = &mut self.report.unresolved;
        if unresolved.is_empty() {
            return Ok(());
        }
        let mut candidates: HashMap<String, BTreeSet<String>> =
            unresolved.iter().map(|link| (folded_name(&link.link), BTreeSet::new())).collect();
        let (store, view) = (&self.memory.store, self.memory.store.view());
        for ix in (0..view.slots()).filter(|&ix| view.is_live(ix)) {
            for name in view.names(ix).chain(view.other_names(ix)) {
                if let Some(found) = candidates.get_mut(&folded(last_part(name))) {
                    found.insert(view.key(ix).to_owned());
                }
            }
        }
        for (_, edges) in pending {
            cancellation::check()?;
            let PendingEdges::Foreign { src: Some(src), .. } = edges else { continue };
            if let Some(node) = store.node(*src)?
                && let Some(found) = candidates.get_mut(&folded(&node.title))
            {
                found.insert(node.key);
            }
        }
        for link in unresolved {
            let found = candidates.get(&folded_name(&link.link)).into_iter().flatten();
            link.candidates = found.take(MAX_CANDIDATES).cloned().collect();
        }
        Ok(())
    }
}

/// The name in a link, without its folder and its heading, in lower case.
fn folded_name(link: &str) -> String {
    folded(last_part(without_heading(link)))
}
