//! Compares the view and the saved view with the log.

use super::{DamagedPart, StorePart, Verifier, listed};
use crate::catch_up::apply_to_views;
use crate::view_file;
use crate::views::Views;
use poc_graph::View;
use poc_graph::error::Result;

const FILE: &str = "view";

impl Verifier<'_> {
    /// Compares the views of all tenants with those that follow from the transactions of the log.
    pub(super) fn views(&self) -> Result<Vec<DamagedPart>> {
        let shared = &self.store.shared;
        let base = shared.log.base_seq();
        // The file is read before the views, so that the views are not older.
        let saved = view_file::read(&shared.directory);
        let mut findings: Vec<DamagedPart> = self.sealed(StorePart::View, FILE).into_iter().collect();
        let (seq, views) = shared.commits.views();
        let mut expected = Views::default();
        self.advance(&mut expected, 1, seq)?;
        if let Some(message) = difference(&expected, &views, "of the log", "in memory") {
            findings.push(self.finding(StorePart::View, FILE, message));
        }
        if let Some(saved) = saved {
            let (mut views, saved_seq) = saved.into_parts();
            self.advance(&mut views, saved_seq + 1, seq)?;
            if let Some(message) = difference(&expected, &views, "of the log", "in the file") {
                findings.push(self.finding(StorePart::View, FILE, message));
            }
        }
        // If a compaction or an erasure has replaced the transactions that were applied to the saved views, starts
        // over.
        if findings.is_empty() || shared.log.base_seq() == base { Ok(findings) } else { self.views() }
    }

    /// Applies a range of transactions to views.
    fn advance(&self, views: &mut Views, first: u64, last: u64) -> Result<()> {
        self.store.shared.log.replay(first, last, &mut |txn, _| {
            self.step("changes of names and links", txn.seq, Some(last))?;
            apply_to_views(views, &txn).map(drop)
        })
    }
}

/// A description of how two sets of views differ; `None` if they are equal.
fn difference(expected: &Views, found: &Views, expected_name: &str, found_name: &str) -> Option<String> {
    let mut names = Vec::new();
    let empty = View::new();
    let tenants = expected.keys().chain(found.keys().filter(|tenant| !expected.contains_key(tenant)));
    for tenant in tenants {
        let (a, b) = (
            expected.get(tenant).map_or(&empty, AsRef::as_ref),
            found.get(tenant).map_or(&empty, AsRef::as_ref),
        );
        for (view, other) in [(a, b), (b, a)] {
            let nodes = (0..view.slots()).filter(|ix| view.state(*ix).is_some());
            let nodes = nodes.filter_map(|ix| Some((ix, view.id(ix)?)));
            for (ix, id) in nodes {
                match other.find(id) {
                    Some(counterpart)
                        if std::ptr::eq(view, b) || view.describe(ix) == other.describe(counterpart) => {}
                    _ => names.push(format!("`{}`", view.key(ix))),
                }
            }
        }
    }
    if names.is_empty() {
        return None;
    }
    Some(format!("the view {found_name} differs from that {expected_name}: {}", listed(&names, names.len())))
}
