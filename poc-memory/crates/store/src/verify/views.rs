//! Compares the views and what is saved of them with the log.
//!
//! The views of tenants are compared in groups, so that only those of one group are in memory. Each group reads the
//! whole log once.

use super::{DamagedPart, MISSING, StorePart, Verifier, listed};
use crate::catch_up::{apply_to_store_views, apply_to_views};
use crate::tenant_counts::{TenantCounts, TenantTable};
use crate::views::Views;
use crate::{tenant_view_files, view_file};
use poc_graph::error::Result;
use poc_graph::{Tenant, View};
use std::collections::BTreeSet;
use std::sync::Arc;

const FILE: &str = view_file::NAME;
/// Approximate number of notes in the views of a group.
const GROUP: u64 = 1 << 18;

impl Verifier<'_> {
    /// Compares the views of all tenants with those that follow from the transactions of the log.
    pub(super) fn views(&self) -> Result<Vec<DamagedPart>> {
        let shared = &self.store.shared;
        let base = shared.log.base_seq();
        // The file is read before the views, so that the views are not older.
        let saved = view_file::read(&shared.directory);
        let mut findings: Vec<DamagedPart> = self.check_file(StorePart::View, FILE).into_iter().collect();
        // The lock is held while the file is written.
        let is_saved = *shared.saved.lock() > 0;
        if is_saved && !shared.directory.join(FILE).exists() {
            findings.push(self.finding(StorePart::View, FILE, MISSING));
        }
        let (seq, main, others) = shared.commits.main_and_counts();
        let (mut problems, mut unknown) = (Vec::new(), BTreeSet::new());
        for group in groups(&others) {
            let differences = self.differences(&group, seq, &others, &mut unknown)?;
            problems.extend(differences.in_memory);
            findings.extend(differences.in_files);
        }
        // Damaged files of views that were not in memory are deleted by now, and reported as rebuilt.
        findings.extend(self.damaged_tenant_files());
        if !unknown.is_empty() {
            let names: Vec<String> = unknown.iter().map(ToString::to_string).collect();
            problems.push(format!("tenants of the log are missing: {}", listed(&names, names.len())));
        }
        if let Some(saved) = saved {
            let (mut views, saved_seq) = saved.into_parts();
            shared.log.replay(saved_seq + 1, seq, &mut |txn, _| {
                self.step("changes of names and links", txn.seq, Some(seq))?;
                apply_to_store_views(&mut views, &txn).map(drop)
            })?;
            let one = |view| Views::from_iter([(Tenant::default(), view)]);
            problems.extend(difference(&one(main), &one(views.main), "in memory", "in the file"));
            problems.extend(differing_counts(&others, &views.others, "in the file"));
        }
        findings.extend(problems.into_iter().map(|message| self.finding(StorePart::View, FILE, message)));
        // If a compaction or an erasure has replaced the transactions that were applied to the saved views, starts
        // over.
        if findings.is_empty() || shared.log.base_seq() == base { Ok(findings) } else { self.views() }
    }

    /// The files with views of tenants that are damaged.
    fn damaged_tenant_files(&self) -> Vec<DamagedPart> {
        match self.store.shared.commits.view_file_names() {
            Ok(names) => names.iter().filter_map(|name| self.check_file(StorePart::View, name)).collect(),
            Err(error) => vec![self.finding(StorePart::View, tenant_view_files::FOLDER, error.message)],
        }
    }

    /// Compares the views of a group of tenants, in memory and in files, and their counts with the log. The counts are
    /// those after transaction `seq`. Adds the tenants without counts that have transactions up to that one to
    /// `unknown`.
    fn differences(
        &self,
        group: &[Tenant],
        seq: u64,
        counts: &TenantTable,
        unknown: &mut BTreeSet<Tenant>,
    ) -> Result<Differences> {
        let shared = &self.store.shared;
        // The records of a state have other numbers than the changes that led to it.
        let base = shared.log.base_seq();
        let found: Views = group.iter().map(|tenant| (*tenant, shared.view(*tenant))).collect();
        let last = found.values().map(|view| view.seq).max().unwrap_or(0).max(seq);
        let mut expected = Views::default();
        shared.log.replay(1, last, &mut |txn, _| {
            self.step("changes of names and links", txn.seq, Some(last))?;
            if txn.seq <= seq && !txn.tenant.is_default() && !counts.contains_key(&txn.tenant) {
                unknown.insert(txn.tenant);
            }
            match found.get(&txn.tenant) {
                Some(view) if txn.seq <= view.seq.max(base) => apply_to_views(&mut expected, &txn),
                _ => Ok(()),
            }
        })?;
        let mut in_memory = Vec::from_iter(difference(&expected, &found, "of the log", "in memory"));
        let in_files = found.iter().filter_map(|(tenant, view)| {
            // A view that was not in memory was read from its file. One that was may have another file.
            let saved = shared.commits.view_of_file(*tenant, view.seq)?;
            let saved = Views::from_iter([(*tenant, Arc::new(saved))]);
            let expected = expected.get(tenant).map(|view| (*tenant, view.clone()));
            let message = difference(&Views::from_iter(expected), &saved, "of the log", "in the file")?;
            let file = format!("{}/{tenant}", tenant_view_files::FOLDER);
            Some(self.finding(StorePart::View, &file, message))
        });
        let in_files = in_files.collect();
        // The counts were read earlier than the views.
        let of_log = |tenant: &Tenant| {
            let unchanged = counts.get(tenant)?.seq == found.get(tenant)?.seq;
            Some((*tenant, TenantCounts::of(expected.get(tenant).filter(|_| unchanged)?)))
        };
        let of_log: TenantTable = group.iter().filter_map(of_log).collect();
        let counted = counts.iter().filter(|(tenant, _)| of_log.contains_key(tenant));
        let counted: TenantTable = counted.map(|(tenant, counts)| (*tenant, *counts)).collect();
        in_memory.extend(differing_counts(&of_log, &counted, "in memory"));
        Ok(Differences { in_memory, in_files })
    }
}

/// What differs from the log in a group of tenants.
struct Differences {
    /// How the views and the counts in memory differ, as sentences.
    in_memory: Vec<String>,
    /// The files with other views.
    in_files: Vec<DamagedPart>,
}

/// The tenants in groups of about [`GROUP`] notes. The default tenant is in the first.
fn groups(counts: &TenantTable) -> Vec<Vec<Tenant>> {
    let (mut groups, mut group, mut notes) = (Vec::new(), vec![Tenant::default()], 0);
    for (tenant, counts) in counts {
        if notes >= GROUP {
            groups.push(std::mem::take(&mut group));
            notes = 0;
        }
        group.push(*tenant);
        // A view without notes also takes memory.
        notes += counts.nodes + 20;
    }
    groups.push(group);
    groups
}

/// The tenants whose counts differ, as a sentence; `None` if there are none.
fn differing_counts(expected: &TenantTable, found: &TenantTable, place: &str) -> Option<String> {
    let tenants: BTreeSet<&Tenant> = expected.keys().chain(found.keys()).collect();
    let of = |table: &TenantTable, tenant: &Tenant| {
        // The number of the last transaction is that of the last open if the counts were read from the records.
        table.get(tenant).map(|counts| TenantCounts { seq: 0, ..*counts })
    };
    let differing = tenants.into_iter().filter(|tenant| of(expected, tenant) != of(found, tenant));
    let names: Vec<String> = differing.map(ToString::to_string).collect();
    let is_any = !names.is_empty();
    is_any
        .then(|| format!("the numbers of notes and edges {place} are wrong: {}", listed(&names, names.len())))
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
