//! The one-line summary of a call, for an undo.

use super::touched_nodes::TouchedNodes;
use crate::Memory;
use poc_config::schedule::local_second;
use poc_graph::error::Result;
use poc_graph::plural;
use poc_store::{Cause, Table, Write};
use rustc_hash::{FxHashMap, FxHashSet};

/// The nodes that a call changed, for a one-line summary.
#[derive(Default)]
pub(crate) struct ChangeSummary {
    /// The keys of the changed nodes; a key that several transactions wrote occurs several times.
    keys: Vec<String>,
    /// The nodes whose records the call wrote, by their keys in the store: whether each existed before and after.
    notes: FxHashMap<Vec<u8>, (bool, bool)>,
    /// Whether the call wrote edges.
    has_edges: bool,
}

impl ChangeSummary {
    /// Adds writes of a transaction of the call, before they are undone.
    pub(crate) fn add(&mut self, memory: &Memory, writes: &[Write]) -> Result<()> {
        self.keys.extend(TouchedNodes::of(writes)?.keys(memory)?);
        for write in writes.iter().filter(|write| write.table == Table::Nodes) {
            let (before, after) = (write.before.is_some(), write.after.is_some());
            let existed = self.notes.entry(write.key.clone()).or_insert((before, after));
            existed.1 = after;
        }
        self.has_edges |= writes.iter().any(|write| write.table == Table::Edges);
        Ok(())
    }

    /// Prepends the summary of an earlier transaction.
    pub(crate) fn prepend(&mut self, earlier: ChangeSummary) {
        let later = std::mem::replace(&mut self.keys, earlier.keys);
        self.keys.extend(later);
        for (key, (before, after)) in earlier.notes {
            let existed = self.notes.entry(key).or_insert((before, after));
            existed.0 = before;
        }
        self.has_edges |= earlier.has_edges;
    }

    /// The summary after an undo of the whole call, with the number of notes that were deleted, reverted and restored.
    /// `cause` is that of the first transaction.
    pub(crate) fn undone_text(self, cause: &Cause) -> String {
        let count = |wanted| self.notes.values().filter(|existed| **existed == wanted).count() as u64;
        let counts = [
            ("deleted", count((false, true))),
            ("reverted", count((true, true))),
            ("restored", count((true, false))),
        ];
        let found = counts.iter().filter(|(_, count)| *count > 0);
        let results: Vec<String> =
            found.map(|(verb, count)| format!("{verb} {}", plural(*count, "note"))).collect();
        let results = if results.is_empty() { String::new() } else { format!("; {}", results.join(", ")) };
        self.text(cause) + &results
    }

    /// The summary; `cause` is that of the first transaction.
    pub(crate) fn text(mut self, cause: &Cause) -> String {
        let mut seen = FxHashSet::default();
        self.keys.retain(|key| seen.insert(key.clone()));
        let of = match self.keys.as_slice() {
            [] => String::new(),
            [one] => format!(" of `{one}`"),
            [one, another] => format!(" of `{one}` and `{another}`"),
            [one, rest @ ..] => format!(" of `{one}` and {} more", rest.len()),
        };
        // The last parts of an import create only links.
        let only =
            if cause.op != "link" && self.has_edges && self.notes.is_empty() { " (links only)" } else { "" };
        let at = local_second(cause.at);
        format!("{}{only}{of} by {}, {at}", cause.op, cause.actor)
    }
}
