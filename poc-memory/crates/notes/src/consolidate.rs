//! Consolidation: expires notes, deletes long-expired ones, and removes dangling and decayed edges.
//!
//! A note that is past `expires` first gets the state `expired`: no search returns it, but it can be read with
//! its history. It is permanently deleted when `[consolidate] keep-expired` has passed after that date.
//!
//! Candidates are found in the current view and checked again in the transaction that changes them.
//! Transactions are small; an interrupted run is completed by the next one.

#[cfg(test)]
mod tests;

use super::{Memory, derivation};
use poc_graph::error::Result;
use poc_graph::time::{Span, Timestamp};
use poc_graph::{Edge, EdgeId, Node, NodeId, State, View, cancellation, plural};
use poc_rank::decay::{edge_at, edge_stays_until};
use poc_store::{Cause, Table, Transaction, parse_keyword_key};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Number of changed records after which a transaction ends. A note and its dependent records, or an edge and
/// its mirror, are always in the same transaction.
const RECORDS_PER_TXN: usize = 100;

/// The result of a consolidation, or the forecast of a dry run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConsolidationReport {
    /// Number of notes that expired.
    pub pruned_nodes: u64,
    /// Number of notes that were permanently deleted after their retention time.
    pub deleted_nodes: u64,
    /// Number of removed edges: those with a missing end, those of deleted notes, and learned edges below the
    /// floor.
    pub removed_edges: u64,
    /// Number of keywords that no live note has any more.
    pub removed_keywords: u64,
}

impl ConsolidationReport {
    /// Adds what another consolidation did.
    pub fn add(&mut self, other: ConsolidationReport) {
        self.pruned_nodes += other.pruned_nodes;
        self.deleted_nodes += other.deleted_nodes;
        self.removed_edges += other.removed_edges;
        self.removed_keywords += other.removed_keywords;
    }

    /// The report as one line, in the conditional for a dry run.
    pub fn line(&self, dry_run: bool) -> String {
        let (expired, would) = if dry_run { ("would expire", "would be ") } else { ("expired", "") };
        format!(
            "{} {expired}, {} {would}deleted, {} and {} {would}removed",
            plural(self.pruned_nodes, "note"),
            plural(self.deleted_nodes, "note"),
            plural(self.removed_edges, "edge"),
            plural(self.removed_keywords, "keyword"),
        )
    }
}

/// A consolidation that was made, or in a dry run would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsolidationOutcome {
    /// What it did.
    pub report: ConsolidationReport,
    /// The sequence numbers of its transactions, in ascending order; empty in a dry run.
    pub changes: Vec<u64>,
    /// The number of the last transaction that it has seen before it changed anything.
    pub seen: u64,
    /// The first instant at which there may be something to do again although nothing has changed; `None` if there is
    /// none.
    pub due: Option<Timestamp>,
}

/// The phase of a consolidation, for progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsolidationPhase {
    /// Expiring and deleting notes.
    Notes,
    /// Edges.
    Edges,
    /// Entries of the keyword table.
    Keywords,
}

impl ConsolidationPhase {
    /// Its display name.
    pub fn name(self) -> &'static str {
        match self {
            ConsolidationPhase::Notes => "notes",
            ConsolidationPhase::Edges => "edges",
            ConsolidationPhase::Keywords => "keywords",
        }
    }
}

/// Consolidates the memory, or with `dry_run` only reports what it would do. Calls `progress` after each
/// transaction with the phase, the number of finished items and the total.
///
/// # Errors
/// `read_only` when the disk fails a write. Completed transactions stay.
pub fn consolidate(
    memory: &Memory,
    cause: &Cause,
    dry_run: bool,
    progress: &dyn Fn(ConsolidationPhase, u64, u64),
) -> Result<ConsolidationOutcome> {
    let now = cause.at;
    let view = memory.store.view();
    let plan = ConsolidationPlan::of(memory, &view, now)?;
    let outcome = ConsolidationOutcome { seen: view.seq, due: plan.due, ..ConsolidationOutcome::default() };
    if dry_run {
        return Ok(ConsolidationOutcome { report: plan.forecast(&view), ..outcome });
    }
    let mut work = Consolidation { memory, cause, progress, outcome };
    work.expire(&plan.to_expire, now)?;
    work.end_derived(&plan.ended_notes, now)?;
    work.delete_quotations(&plan.questions, now)?;
    work.remove_edges(&plan.edges, now)?;
    work.delete(&plan.to_delete, now)?;
    work.delete_keyword_entries(&plan.entries)?;
    if work.outcome.report != ConsolidationReport::default() {
        // Save the indexes again without the deleted notes.
        memory.store.settle();
        memory.vectors.finish(&|| false);
        memory.store.checkpoint()?;
    }
    Ok(work.outcome)
}

/// Whether a note is past `expires`. Searches treat it as expired even before a consolidation gives it that state.
pub(super) fn is_past_date(node: &Node, now: Timestamp) -> bool {
    node.expires.is_some_and(|at| at <= now)
}

/// Gives a note that is past `expires` the state `expired`.
pub(super) fn expire(tx: &mut Transaction<'_>, node: Node, now: Timestamp) -> Result<()> {
    let (id, version) = (node.id, node.version.saturating_add(1));
    tx.put_node(&Node { state: State::Expired, modified: now, version, ..node })?;
    derivation::source_changed(tx, id, now)
}

/// The changes that a consolidation will make.
struct ConsolidationPlan {
    /// Live notes past their `expires`.
    to_expire: Vec<NodeId>,
    /// Derived notes of agents that have no live source left once `to_expire` has expired, and confirmed questions whose
    /// notes damage has lost.
    ended_notes: Vec<NodeId>,
    /// Notes past their retention time, and the quotations of answers that repeat a question of them.
    to_delete: Vec<NodeId>,
    /// Those of `to_delete` with a question that quotations repeat.
    questions: Vec<NodeId>,
    /// Edges to remove.
    edges: Vec<EdgeId>,
    /// Keyword entries that do not lead to a live note with that keyword.
    entries: Vec<Vec<u8>>,
    /// The first instant at which a note expires or is past its retention time, or a learned edge may have decayed.
    due: Option<Timestamp>,
}

impl ConsolidationPlan {
    fn of(memory: &Memory, view: &View, now: Timestamp) -> Result<ConsolidationPlan> {
        let keep = memory.config.consolidate.keep_expired;
        let (mut to_expire, mut to_delete) = (Vec::new(), Vec::new());
        let mut due: Option<Timestamp> = None;
        let mut is_due_at = |at: Timestamp| due = Some(due.map_or(at, |due| due.min(at)));
        for ix in 0..view.slots() {
            let (Some(id), Some(expires), Some(state)) = (view.id(ix), view.expires(ix), view.state(ix))
            else {
                continue;
            };
            let expiry = state.is_live().then_some(expires);
            expiry.into_iter().chain([expires.plus(keep)]).filter(|at| *at > now).for_each(&mut is_due_at);
            if is_past_retention(expires, keep, now) {
                to_delete.push(id);
            } else if state.is_live() && expires <= now {
                to_expire.push(id);
            }
        }
        let (mut quotations, mut questions) = (BTreeSet::new(), Vec::new());
        for &id in &to_delete {
            let repeating = derivation::answers_to(&memory.store, view, id)?;
            if !repeating.is_empty() {
                questions.push(id);
            }
            quotations.extend(repeating.into_iter().map(|quotation| quotation.id));
        }
        to_expire.retain(|id| !quotations.contains(id));
        to_delete.retain(|id| !quotations.contains(id));
        to_delete.extend(quotations);
        let leaving: HashSet<NodeId> = to_expire.iter().chain(&to_delete).copied().collect();
        let mut orphans = derivation::orphaned_questions(memory, view)?;
        orphans.retain(|id| !leaving.contains(id));
        let mut ended_notes = derivation::ended_notes(view, leaving);
        ended_notes.append(&mut orphans);
        let deleted: HashSet<NodeId> = to_delete.iter().copied().collect();
        let is_missing = |id: NodeId| deleted.contains(&id) || view.find(id).is_none();
        let mut edges: BTreeSet<EdgeId> = BTreeSet::new();
        memory.store.for_each_edge(&mut |edge| {
            cancellation::check()?;
            if is_missing(edge.src) || is_missing(edge.dst) || has_decayed(&edge, memory, now) {
                edges.insert(edge.id());
            } else if edge.kind.is_associative() {
                let config = &memory.config.edges;
                edge_stays_until(&edge, config, config.floor).into_iter().for_each(&mut is_due_at);
            }
            Ok(())
        })?;
        memory.store.for_each_incoming_edge(&mut |edge| {
            cancellation::check()?;
            if is_missing(edge.src) || is_missing(edge.dst) {
                edges.insert(edge);
            }
            Ok(())
        })?;
        Ok(ConsolidationPlan {
            to_expire,
            ended_notes,
            to_delete,
            questions,
            edges: edges.into_iter().collect(),
            entries: dangling_entries(memory, view)?,
            due,
        })
    }

    /// The report of a dry run.
    fn forecast(&self, view: &View) -> ConsolidationReport {
        // The number of live notes that will expire or be deleted, by keyword; 0 for keywords that only have dangling
        // entries.
        let mut leaving: HashMap<&str, u32> = HashMap::new();
        for &id in self.to_expire.iter().chain(&self.ended_notes).chain(&self.to_delete) {
            let Some(ix) = view.find(id).filter(|&ix| view.is_live(ix)) else { continue };
            for &word in view.keywords(ix) {
                *leaving.entry(view.keyword_name(word)).or_default() += 1;
            }
        }
        for (word, _) in self.entries.iter().filter_map(|key| parse_keyword_key(key)) {
            leaving.entry(word).or_default();
        }
        let uses = |word: &str| view.keyword_number(word).map_or(0, |number| view.keyword_uses(number));
        let unused = leaving.into_iter().filter(|&(word, count)| uses(word) <= count).count();
        ConsolidationReport {
            pruned_nodes: (self.to_expire.len() + self.ended_notes.len()) as u64,
            deleted_nodes: self.to_delete.len() as u64,
            removed_edges: self.edges.len() as u64,
            removed_keywords: unused as u64,
        }
    }
}

/// Keyword entries that do not lead to a live note with that keyword.
fn dangling_entries(memory: &Memory, view: &View) -> Result<Vec<Vec<u8>>> {
    let has = |word: &str, ix| {
        view.is_live(ix) && view.keywords(ix).iter().any(|&own| view.keyword_name(own) == word)
    };
    let mut entries = Vec::new();
    memory.store.for_each_keyword_key(&mut |key| {
        cancellation::check()?;
        let is_valid =
            parse_keyword_key(key).is_some_and(|(word, id)| view.find(id).is_some_and(|ix| has(word, ix)));
        if !is_valid {
            entries.push(key.to_vec());
        }
        Ok(())
    })?;
    Ok(entries)
}

fn is_past_retention(expires: Timestamp, keep: Span, now: Timestamp) -> bool {
    expires.plus(keep) <= now
}

/// Whether a learned edge has decayed below the floor.
fn has_decayed(edge: &Edge, memory: &Memory, now: Timestamp) -> bool {
    let config = &memory.config.edges;
    edge.kind.is_associative() && edge_at(edge, config, now) < config.floor
}

struct Consolidation<'a> {
    memory: &'a Memory,
    cause: &'a Cause,
    progress: &'a dyn Fn(ConsolidationPhase, u64, u64),
    outcome: ConsolidationOutcome,
}

impl Consolidation<'_> {
    fn expire(&mut self, nodes: &[NodeId], now: Timestamp) -> Result<()> {
        self.in_transactions(ConsolidationPhase::Notes, nodes, |tx, id, report| {
            let Some(node) = tx.node(*id)? else { return Ok(()) };
            if !node.state.is_live() || !is_past_date(&node, now) {
                return Ok(());
            }
            let keywords = node.keywords.clone();
            expire(tx, node, now)?;
            report.pruned_nodes += 1;
            count_unused(tx, &keywords, report)
        })
    }

    /// Expires the derived notes that have no live source any more.
    fn end_derived(&mut self, nodes: &[NodeId], now: Timestamp) -> Result<()> {
        self.in_transactions(ConsolidationPhase::Notes, nodes, |tx, id, report| {
            let Some(node) = tx.node(*id)? else { return Ok(()) };
            if !node.state.is_live() || !derivation::has_ended(tx, &node)? {
                return Ok(());
            }
            report.pruned_nodes += 1;
            let (version, keywords) = (node.version.saturating_add(1), node.keywords.clone());
            tx.put_node(&Node { state: State::Expired, expires: Some(now), modified: now, version, ..node })?;
            count_unused(tx, &keywords, report)
        })
    }

    /// Deletes the quotations that repeat a question of a note past its retention time. Its edges, which are removed
    /// afterwards, lead to the answers.
    fn delete_quotations(&mut self, nodes: &[NodeId], now: Timestamp) -> Result<()> {
        let keep = self.memory.config.consolidate.keep_expired;
        self.in_transactions(ConsolidationPhase::Notes, nodes, |tx, id, report| {
            let Some(node) = tx.node(*id)? else { return Ok(()) };
            if node.expires.is_none_or(|at| !is_past_retention(at, keep, now)) {
                return Ok(());
            }
            for quotation in derivation::answers_to(tx, tx.view(), *id)? {
                delete(tx, &quotation, now, report)?;
            }
            Ok(())
        })
    }

    fn remove_edges(&mut self, edges: &[EdgeId], now: Timestamp) -> Result<()> {
        let (memory, keep) = (self.memory, self.memory.config.consolidate.keep_expired);
        self.in_transactions(ConsolidationPhase::Edges, edges, |tx, &EdgeId { src, kind, dst }, report| {
            let mut is_deleted = false;
            for id in [src, dst] {
                let node = tx.node(id)?;
                is_deleted |=
                    node.is_none_or(|node| node.expires.is_some_and(|at| is_past_retention(at, keep, now)));
            }
            let edge = tx.edge(src, kind, dst)?;
            if is_deleted || edge.is_some_and(|edge| has_decayed(&edge, memory, now)) {
                let before = tx.write_count();
                tx.delete_edge(src, kind, dst)?;
                report.removed_edges += u64::from(tx.write_count() > before);
            }
            Ok(())
        })
    }

    fn delete(&mut self, nodes: &[NodeId], now: Timestamp) -> Result<()> {
        let keep = self.memory.config.consolidate.keep_expired;
        self.in_transactions(ConsolidationPhase::Notes, nodes, |tx, id, report| {
            let Some(node) = tx.node(*id)? else { return Ok(()) };
            if node.expires.is_none_or(|at| !is_past_retention(at, keep, now)) {
                return Ok(());
            }
            delete(tx, &node, now, report)
        })
    }

    fn delete_keyword_entries(&mut self, entries: &[Vec<u8>]) -> Result<()> {
        self.in_transactions(ConsolidationPhase::Keywords, entries, |tx, key, report| {
            let entry = parse_keyword_key(key).map(|(word, id)| (word.to_owned(), id));
            if let Some((word, id)) = &entry {
                let node = tx.node(*id)?.filter(|node| node.state.is_live());
                if node.is_some_and(|node| node.keywords.contains(word)) {
                    return Ok(());
                }
            }
            tx.put_raw(Table::Keywords, key, None)?;
            entry.map_or(Ok(()), |(word, _)| count_unused(tx, &[word], report))
        })
    }

    /// Calls `change` for each item, in transactions of about [`RECORDS_PER_TXN`] changed records.
    fn in_transactions<T>(
        &mut self,
        part: ConsolidationPhase,
        items: &[T],
        change: impl Fn(&mut Transaction<'_>, &T, &mut ConsolidationReport) -> Result<()>,
    ) -> Result<()> {
        let mut done = 0;
        while let Some(rest) = items.get(done..).filter(|rest| !rest.is_empty()) {
            cancellation::check()?;
            let cause = self.cause.clone();
            let done_before = self.outcome.report;
            let committed = self.memory.store.transact(cause, |tx| {
                let (mut taken, mut report) = (0, done_before);
                for item in rest {
                    if tx.write_count() >= RECORDS_PER_TXN {
                        break;
                    }
                    change(tx, item, &mut report)?;
                    taken += 1;
                }
                Ok((taken, report, tx.write_count() > 0))
            })?;
            let (taken, report, has_changed) = committed.value;
            done += taken;
            self.outcome.report = report;
            self.outcome.changes.extend(has_changed.then_some(committed.seq));
            (self.progress)(part, done as u64, items.len() as u64);
        }
        Ok(())
    }
}

/// Deletes a note with the edges that it still has. Derived notes that end with it have expired already; the others
/// become stale.
fn delete(
    tx: &mut Transaction<'_>,
    note: &Node,
    now: Timestamp,
    report: &mut ConsolidationReport,
) -> Result<()> {
    report.removed_edges += tx.edges(note.id)?.len() as u64;
    derivation::source_changed(tx, note.id, now)?;
    tx.delete_node(note.id)?;
    report.deleted_nodes += 1;
    if note.state.is_live() { count_unused(tx, &note.keywords, report) } else { Ok(()) }
}

/// Counts the given keywords that no live note has any more.
fn count_unused(tx: &Transaction<'_>, keywords: &[String], report: &mut ConsolidationReport) -> Result<()> {
    for word in keywords {
        report.removed_keywords += u64::from(tx.nodes_with_keyword(word)?.is_empty());
    }
    Ok(())
}
