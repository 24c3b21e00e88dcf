//! The one-line summary of a call, for an undo.

use super::touched_nodes::TouchedNodes;
use crate::Memory;
use poc_config::schedule::local_second;
use poc_graph::error::Result;
use poc_graph::plural;
use poc_store::{Cause, Table, Write};
use rustc_hash::{FxHashMap, FxHashSet};

/// Records by their keys in the store: whether each existed before and after a call.
type Existence = FxHashMap<Vec<u8>, (bool, bool)>;

/// The nodes that a call changed, for a one-line summary.
#[derive(Default)]
pub(crate) struct ChangeSummary {
    /// The keys of the nodes whose records the call wrote; a key that several transactions wrote occurs several times.
    keys: Vec<String>,
    /// The keys of the nodes whose edges, weight or visits were written by transactions that wrote no record of a node.
    linked: Vec<String>,
    /// The nodes whose records the call wrote.
    notes: Existence,
    /// The edges that the call wrote.
    edges: Existence,
}

impl ChangeSummary {
    /// Adds writes of a transaction of the call, before they are undone.
    pub(crate) fn add(&mut self, memory: &Memory, writes: &[Write]) -> Result<()> {
        match TouchedNodes::of(writes)? {
            TouchedNodes::Written { keys, .. } => self.keys.extend(keys),
            linked => self.linked.extend(linked.keys(memory)?),
        }
        for write in writes {
            let records = match write.table {
                Table::Nodes => &mut self.notes,
                Table::Edges => &mut self.edges,
                _ => continue,
            };
            let (before, after) = (write.before.is_some(), write.after.is_some());
            let existed = records.entry(write.key.clone()).or_insert((before, after));
            existed.1 = after;
        }
        Ok(())
    }

    /// Prepends the summary of an earlier transaction.
    pub(crate) fn prepend(&mut self, earlier: ChangeSummary) {
        for (keys, earlier) in [(&mut self.keys, earlier.keys), (&mut self.linked, earlier.linked)] {
            let later = std::mem::replace(keys, earlier);
            keys.extend(later);
        }
        for (records, earlier) in [(&mut self.notes, earlier.notes), (&mut self.edges, earlier.edges)] {
            for (key, (before, after)) in earlier {
                let existed = records.entry(key).or_insert((before, after));
                existed.0 = before;
            }
        }
    }

    /// The summary after an undo of the whole call, with the number of notes that were deleted, reverted and restored,
    /// or of links if the call wrote no note. `cause` is that of the first transaction.
    pub(crate) fn undone_text(self, cause: &Cause) -> String {
        let (records, noun) =
            if self.notes.is_empty() { (&self.edges, "link") } else { (&self.notes, "note") };
        let count = |wanted| records.values().filter(|existed| **existed == wanted).count() as u64;
        let counts = [
            ("deleted", count((false, true))),
            ("reverted", count((true, true))),
            ("restored", count((true, false))),
        ];
        let found = counts.iter().filter(|(_, count)| *count > 0);
        let results: Vec<String> =
            found.map(|(verb, count)| format!("{verb} {}", plural(*count, noun))).collect();
        let results = if results.is_empty() { String::new() } else { format!("; {}", results.join(", ")) };
        self.text(cause) + &results
    }

    /// The summary; `cause` is that of the first transaction.
    pub(crate) fn text(self, cause: &Cause) -> String {
        // An import also links its notes to others, which it does not change.
        let mut keys = if self.keys.is_empty() { self.linked } else { self.keys };
        let mut seen = FxHashSet::default();
        keys.retain(|key| seen.insert(key.clone()));
        let of = match keys.as_slice() {
            [] => String::new(),
            [one] => format!(" of `{one}`"),
            [one, another] => format!(" of `{one}` and `{another}`"),
            [one, rest @ ..] => format!(" of `{one}` and {} more", rest.len()),
        };
        // The last parts of an import create only links.
        let has_only_links = !self.edges.is_empty() && self.notes.is_empty();
        let only = if cause.op != "link" && has_only_links { " (links only)" } else { "" };
        let at = local_second(cause.at);
        format!("{}{only}{of} by {}, {at}", cause.op, cause.actor)
    }
}
