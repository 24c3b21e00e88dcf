//! Undo: restores records to what they were before a change, unless they were changed again since.

mod restore;
mod unit_dependencies;
mod unit_order;
mod units;

pub use super::history::UNDO_OP;
pub use restore::restore;

use super::history::ChangeSummary;
use super::import::IMPORT_OP;
use super::sync::SYNC_OP;
use super::vault::VAULT_SYNC_OP;
use super::{Memory, history, quarantine, vault};
use poc_graph::error::{Error, Result};
use poc_graph::{NodeId, RunId};
use poc_store::{Cause, Commit, LoggedTransaction, REPAIR_OP, Table, Transaction, Write};
use restore::is_kept;
use std::borrow::Cow;
use std::collections::HashSet;
use units::{UnitOutcome, Units};

/// The outcome of undoing one change or action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoItem {
    /// A summary of the change.
    pub summary: String,
    /// Why it could not be undone; `None` if it was undone.
    pub refused: Option<String>,
}

/// The outcome of an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoReport {
    /// Number of the change that the undo made, which can be undone itself; `None` if nothing was undone.
    pub seq: Option<u64>,
    /// The outcome of each part of the undo.
    pub items: Vec<UndoItem>,
    /// The run whose undo cannot be undone, because only replays of notes were undone.
    pub final_run: Option<RunId>,
    /// Whether files of vaults may differ from their notes because of the undo.
    pub differs_from_files: bool,
}

/// Undoes one change, given by the number of its transaction: all of it, or nothing if a record was changed
/// since. If the same call made several transactions, as an import does, all of them are undone, the latest
/// first, each by its own transaction; those whose records were changed since are left unchanged. Of such a
/// transaction of an import or a sync, or of the undo of one, only the notes and links that were changed since are left,
/// and the notes that replace these or that they replace. An undo is itself a change and can be undone.
///
/// # Errors
/// `not_found` if the tenant's log has no such change, `conflict` if it belongs to a run, is not a change of
/// notes, was written by a repair in place of lost changes, or is undone already.
pub fn undo(memory: &Memory, seq: u64) -> Result<UndoReport> {
    let txn = revertible(memory, seq)?.ok_or_else(|| match history::missing_change(memory, seq) {
        Some(error) => error,
        None => Error::not_found(format!("there is no change {seq}"))
            .hint("`poc-memory changes` shows the latest with their numbers"),
    })?;
    require_revertible(seq, &txn)?;
    let began = memory.cause("manual", UNDO_OP);
    let parts = history::of_call(memory, seq, &txn.cause)?;
    // A sync also changes, by other transactions, what its store knows about the remote.
    for &part in parts.iter().filter(|part| **part != seq) {
        if let Some(txn) = revertible(memory, part)? {
            require_only_notes(seq, &txn)?;
        }
    }
    let mut progress = UndoProgress::default();
    let mut with_notes = Vec::with_capacity(parts.len());
    let mut last_at = None;
    for &part in &parts {
        let Some(txn) = revertible(memory, part)?.filter(changes_notes) else { continue };
        with_notes.push(part);
        // The time of the call is that of its last transaction, as in a list of changes.
        let at = *last_at.get_or_insert(txn.cause.at);
        let of_call = Cause { at, ..txn.cause.clone() };
        let cause = if parts.len() == 1 { began.clone() } else { began.part(memory.now()) };
        progress.undo_part(memory, &parts, &txn, &of_call, cause)?;
    }
    // The records of an undone change are not what it left, and so the undo has changed nothing.
    if progress.first.is_none()
        && let Some(undo) = history::undone_by(memory, &with_notes)?
    {
        return Err(Error::conflict(format!("change {seq} is already undone by change {undo}"))
            .hint(format!("`poc-memory undo {undo}` reverts that")));
    }
    Ok(progress.report())
}

/// What the undo of a call has done so far. It undoes the transactions of the call from the last to the first.
#[derive(Default)]
struct UndoProgress {
    /// The changes that were undone.
    undone: ChangeSummary,
    /// The cause of the first transaction of the call that was undone, at least in part.
    first: Option<Cause>,
    /// Number of the last transaction of the undo.
    last: Option<u64>,
    /// What was not undone.
    refused: Vec<UndoItem>,
    /// Whether an undo wrote records of files of vaults, or deleted notes of such files.
    differs_from_files: bool,
    /// Transactions all of whose records were already as before them.
    reverted: Vec<UndoItem>,
    /// The nodes that the transactions of the call wrote; `None` until they are needed.
    notes_of_call: Option<HashSet<NodeId>>,
}

impl UndoProgress {
    /// Undoes `txn`, one of the transactions `parts` of the call. `of_call` is its cause with the time of the call, and
    /// `cause` is that of the undo.
    fn undo_part(
        &mut self,
        memory: &Memory,
        parts: &[u64],
        txn: &LoggedTransaction,
        of_call: &Cause,
        cause: Cause,
    ) -> Result<()> {
        let mut summary = ChangeSummary::default();
        summary.add(memory, &txn.writes)?;
        let Commit { seq, value: refused } = memory.store.transact(cause.clone(), |tx| {
            read_ahead(tx, txn)?;
            let writes = without_renewed(tx, txn)?;
            let refused = restore(memory, tx, &writes)?;
            if refused.is_none() {
                vault::restore_files(tx, txn, &HashSet::new())?;
                tx.set_undoes(txn.seq);
            }
            Ok(refused)
        })?;
        if refused.is_none() {
            self.differs_from_files |= differs_from_files(memory, seq)?;
            self.add_undone(of_call, seq, summary);
            return Ok(());
        }
        let units = if has_units(memory, txn)? { Units::of(txn) } else { None };
        let Some(units) = units else {
            self.refused.push(UndoItem { summary: summary.text(of_call), refused });
            return Ok(());
        };
        let notes = match &self.notes_of_call {
            Some(notes) => notes,
            None => &*self.notes_of_call.insert(notes_of(memory, parts)?),
        };
        let Commit { seq, value: outcomes } = memory.store.transact(cause, |tx| {
            read_ahead(tx, txn)?;
            let outcomes = units.undo(memory, tx, notes)?;
            if !outcomes.iter().any(|outcome| matches!(outcome, UnitOutcome::Left(_))) {
                tx.set_undoes(txn.seq);
            }
            vault::restore_files(tx, txn, &units.notes_left(&outcomes))?;
            Ok(outcomes)
        })?;
        if outcomes.iter().all(|outcome| matches!(outcome, UnitOutcome::Reverted)) {
            self.reverted.push(UndoItem { summary: summary.text(of_call), refused });
            return Ok(());
        }
        if outcomes.iter().any(|outcome| matches!(outcome, UnitOutcome::Undone)) {
            self.differs_from_files |= differs_from_files(memory, seq)?;
        }
        self.add_units(memory, of_call, seq, units.writes().zip(outcomes))
    }

    /// Adds changes of a transaction with this cause, which transaction `seq` undid.
    fn add_undone(&mut self, cause: &Cause, seq: u64, summary: ChangeSummary) {
        self.undone.prepend(summary);
        (self.first, self.last) = (Some(cause.clone()), Some(seq));
    }

    /// Adds the outcomes of the units of a transaction, with their writes.
    fn add_units<'w>(
        &mut self,
        memory: &Memory,
        cause: &Cause,
        seq: u64,
        units: impl Iterator<Item = (&'w [Write], UnitOutcome)>,
    ) -> Result<()> {
        let mut undone: Option<ChangeSummary> = None;
        for (writes, outcome) in units {
            match outcome {
                UnitOutcome::Undone => undone.get_or_insert_default().add(memory, writes)?,
                UnitOutcome::Reverted => {}
                UnitOutcome::Left(reason) => {
                    let mut left = ChangeSummary::default();
                    left.add(memory, writes)?;
                    self.refused.push(UndoItem { summary: left.text(cause), refused: Some(reason) });
                }
            }
        }
        if let Some(summary) = undone {
            self.add_undone(cause, seq, summary);
        }
        Ok(())
    }

    fn report(self) -> UndoReport {
        let UndoProgress { undone, first, last, mut refused, differs_from_files, reverted, notes_of_call: _ } =
            self;
        let done = first.map(|cause| UndoItem { summary: undone.undone_text(&cause), refused: None });
        if done.is_none() && refused.is_empty() {
            refused = reverted;
        }
        UndoReport {
            seq: last,
            items: done.into_iter().chain(refused).collect(),
            final_run: None,
            differs_from_files,
        }
    }
}

/// Reads the records that a transaction wrote. Its undo compares each with what the transaction left, and then reads it
/// again to replace it.
fn read_ahead(tx: &mut Transaction<'_>, txn: &LoggedTransaction) -> Result<()> {
    tx.read_ahead(txn.writes.iter().map(|write| (write.table, write.key.as_slice())))
}

/// Whether a transaction is undone in units: one of an import or a sync, or the undo of one.
fn has_units(memory: &Memory, txn: &LoggedTransaction) -> Result<bool> {
    let (mut seq, mut cause) = (txn.seq, Cow::Borrowed(&txn.cause));
    while cause.op == UNDO_OP {
        // The undo of a part of the units does not name the transaction that it undoes.
        let Some(&undone) = cause.undoes.iter().max() else { return Ok(true) };
        match memory.store.transaction(undone)?.filter(|earlier| earlier.seq < seq) {
            Some(earlier) => (seq, cause) = (earlier.seq, Cow::Owned(earlier.cause)),
            None => return Ok(false),
        }
    }
    Ok([IMPORT_OP, SYNC_OP, VAULT_SYNC_OP].contains(&cause.op.as_str()))
}

/// Whether files of vaults may differ from their notes because of the undo with this number.
fn differs_from_files(memory: &Memory, undo: u64) -> Result<bool> {
    // The undo of a large change takes long to read again.
    if vault::bindings(memory)?.is_empty() {
        return Ok(false);
    }
    let Some(txn) = memory.store.transaction(undo)? else { return Ok(false) };
    let has_files = txn.writes.iter().any(|write| write.table == Table::Vaults);
    Ok(has_files || vault::deletes_notes_of_files(memory, &txn.writes)?)
}

/// Fails if an undo of change `seq` by its number is not possible: it belongs to a run, was written by a repair, or
/// changed no note or more than notes.
fn require_revertible(seq: u64, txn: &LoggedTransaction) -> Result<()> {
    if let Some(run) = &txn.cause.run {
        return Err(Error::conflict(format!("change {seq} belongs to the run `{run}`"))
            .hint(format!("undo the run: `poc-memory undo {run}`")));
    }
    // The repair may have re-created all notes whose changes were lost, and an undo would delete them.
    if txn.cause.op == REPAIR_OP {
        return Err(Error::conflict(format!(
            "change {seq} was written by a repair, in place of lost changes"
        ))
        .hint("`poc-memory repair --undo` reverts the repair"));
    }
    require_only_notes(seq, txn)?;
    if !changes_notes(txn) {
        return Err(Error::conflict(format!("change {seq} (`{}`) changed no note", txn.cause.op)));
    }
    Ok(())
}

/// Fails if a transaction of the call with change `seq` has changed more than notes.
fn require_only_notes(seq: u64, txn: &LoggedTransaction) -> Result<()> {
    if txn.writes.iter().all(|write| history::is_note_table(write.table) || is_kept(write.table)) {
        return Ok(());
    }
    if txn.cause.op == SYNC_OP {
        // Compared with the marks of the sync, restored texts are edits, which the next sync would push.
        return Err(Error::conflict(format!(
            "change {seq} is the local side of a sync, which also recorded what both stores have in common: after an \
             undo only here, the next sync would pull the notes again, and push back what the remote has edited or \
             deleted"
        ))
        .hint("undo in the remote what should not have been there, and synchronise again"));
    }
    Err(Error::conflict(format!("change {seq} (`{}`) changed more than notes", txn.cause.op))
        .hint("only changes of notes can be undone"))
}

/// The nodes that some transactions wrote.
fn notes_of(memory: &Memory, parts: &[u64]) -> Result<HashSet<NodeId>> {
    let mut notes = HashSet::new();
    for &part in parts {
        let txn = memory.store.transaction(part)?;
        let writes = txn.iter().flat_map(|txn| &txn.writes);
        notes.extend(writes.filter(|write| write.table == Table::Nodes).filter_map(Write::node_id));
    }
    Ok(notes)
}

/// A transaction of the tenant with the writes that an undo may revert. Records of runs and histograms that were
/// restored from the quarantine stay.
fn revertible(memory: &Memory, seq: u64) -> Result<Option<LoggedTransaction>> {
    let mut txn = memory.store.transaction(seq)?;
    if let Some(txn) = txn.as_mut().filter(|txn| txn.cause.op == quarantine::OP) {
        txn.writes.retain(|write| history::is_note_table(write.table) || is_kept(write.table));
    }
    Ok(txn)
}

/// The writes of a transaction, without visits and weights that were restored from the quarantine and have changed
/// since: an undo does not revert these.
fn without_renewed<'t>(tx: &Transaction<'_>, txn: &'t LoggedTransaction) -> Result<Cow<'t, [Write]>> {
    if txn.cause.op != quarantine::OP {
        return Ok(Cow::Borrowed(txn.writes.as_slice()));
    }
    let mut writes = Vec::with_capacity(txn.writes.len());
    for write in &txn.writes {
        let is_renewable = matches!(write.table, Table::Visits | Table::Activity);
        if !is_renewable || tx.get_raw(write.table, &write.key)? == write.after {
            writes.push(write.clone());
        }
    }
    Ok(Cow::Owned(writes))
}

/// Whether a transaction changed notes. One that writes only vectors, as in a migration, did not.
fn changes_notes(txn: &LoggedTransaction) -> bool {
    !txn.writes.iter().all(|write| is_kept(write.table) || write.table == Table::Vectors)
}

/// Undoes a change that is one transaction.
#[cfg(test)]
pub(super) fn undo_single(memory: &Memory, seq: u64) -> Result<UndoItem> {
    let items = undo(memory, seq)?.items;
    assert_eq!(items.len(), 1, "{items:?}");
    items.into_iter().next().ok_or_else(|| Error::internal("nothing was undone"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestMemory;
    use poc_graph::error::Code;
    use poc_graph::{Category, Node};

    #[test]
    fn a_change_of_only_the_other_names_prevents_no_undo_and_stays() {
        let memory = TestMemory::new();
        memory.note("gate", "The gate opens at noon.");
        let node = memory.find("gate").unwrap();
        let write = |op: &str, node: &Node| {
            memory.store.transact(memory.cause("manual", op), |tx| tx.put_node(node)).unwrap().seq
        };
        let later = Node { category: Category::Core, version: node.version + 1, ..node.clone() };
        let changed = write("insert", &later);
        let named = |name: &str| Node { other_names: vec![name.to_owned()], ..later.clone() };
        let first = write("vault names", &named("The Gate"));
        write("vault names", &named("Noon"));
        assert!(undo_single(&memory, first).unwrap().refused.is_some(), "its names changed since");
        assert_eq!(undo_single(&memory, changed).unwrap().refused, None);
        assert_eq!(memory.find("gate").unwrap(), Node { other_names: vec!["Noon".into()], ..node });
    }

    #[test]
    fn changes_that_a_repair_wrote_are_not_undone() {
        let memory = TestMemory::new();
        memory.note("kept", "The gate opens at noon.");
        let node = memory.find("kept").unwrap();
        let again = Node { title: "Found again".into(), version: node.version + 1, ..node };
        let write = |op: &str| {
            memory.store.transact(memory.cause("manual", op), |tx| tx.put_node(&again)).unwrap().seq
        };
        assert_eq!(undo(&memory, write(REPAIR_OP)).unwrap_err().code, Code::Conflict);
        assert_eq!(memory.find("kept").unwrap().title, "Found again");
    }
}
