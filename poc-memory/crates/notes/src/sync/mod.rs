//! Synchronises two stores, the local one and a remote.
//!
//! 1. Marks record what both stores had in common, if they are valid for this remote ([`RemotePosition`]).
//! 2. Conflicts: if a note was edited in both stores, the later edit becomes its next version in both, and the other
//!    text becomes a new note. A later edit of the local store is pushed first; otherwise this is a part of the pull.
//! 3. Pull: copies texts of the remote that are not in the local store, and deletes local notes that were in
//!    both stores and are no longer in the remote.
//! 4. Push: copies texts that are only in the local store, and marks each when it is durable in the remote.
//! 5. Keys that name another note in each store are given to the same note in both ([`keys`]).
//! 6. Edges between notes that both stores have ([`links`]).
//!
//! Every step is a series of bounded transactions in one store at a time and depends only on the current
//! state of both stores, so the next sync completes an interrupted one. The transactions in the log of each
//! store are parts of one call. A mark is written after the copy is durable: a note without a mark may have
//! been pushed, and a note with a mark was pushed. Only notes with a mark are ever deleted.

mod binding;
mod copy_results;
mod dry_run;
mod inventory;
mod keys;
mod links;
mod plan;
mod remote;
mod report;
#[cfg(test)]
mod tests;
mod transfer;

pub use binding::{Binding, LastSync, RemoteLocation};
pub use links::LinkReport;
pub use remote::RemoteStore;
pub use report::{KeyRename, NoteSummary, PlannedChanges, PlannedConflict, SyncReport};

use super::{Memory, derivation, message};
use binding::{RemotePosition, StoreId};
use copy_results::{CopyResults, copied_notes};
use inventory::{Inventory, InventoryNote};
use links::Pairs;
use plan::{CopyTarget, NoteCopy, NoteDeletion, RemoteSyncPlan};
use poc_graph::error::{Error, Result};
use poc_graph::{Node, NodeId, Origin, Tenant, Trust};
use poc_store::{Cause, Commit, Transaction};
use std::cell::Cell;
use transfer::{CopyJob, CopyResult, RECORDS_PER_TXN};

/// The op of syncs in the log of both stores.
pub(crate) const SYNC_OP: &str = "remote_sync";

/// Callbacks of a sync.
pub struct SyncCallbacks<'a> {
    /// Called with the name of what is counted, the number of finished items and the total.
    pub progress: &'a dyn Fn(&str, u64, u64),
    /// Called after every transaction; an error ends the sync.
    pub check_cancelled: &'a dyn Fn() -> Result<()>,
}

/// Binds a remote and returns the binding that it replaces. The marks are kept; they stay valid if the new
/// location is the same store.
pub fn bind(memory: &Memory, binding: &Binding, actor: &str) -> Result<Option<Binding>> {
    let cause = memory.cause(actor, "profile remote bind");
    let replaced = memory.store.transact(cause, |tx| {
        let before = Binding::of(tx)?;
        let last = before.as_ref().filter(|before| before.location == binding.location).and_then(|b| b.last);
        Binding { last, ..binding.clone() }.put(tx)?;
        Ok(before)
    })?;
    Ok(replaced.value.filter(|before| before.location != binding.location))
}

/// Removes the remote. All notes stay and count as never synchronised.
pub fn detach(memory: &Memory, actor: &str) -> Result<Binding> {
    let cause = memory.cause(actor, "profile remote detach");
    let detached = memory.store.transact(cause, |tx| {
        let binding = Binding::of(tx)?.ok_or_else(unbound)?;
        binding::forget(tx)?;
        Ok(binding)
    })?;
    Ok(detached.value)
}

/// Finds the store at a location without opening it; `create` creates an empty one if there is none.
pub fn locate(memory: &Memory, location: &RemoteLocation, create: bool) -> Result<RemoteStore> {
    if create { remote::create(memory, location) } else { remote::find(memory, location) }
}

fn unbound() -> Error {
    Error::not_found("this memory has no remote")
        .hint("`poc-memory profile remote bind NAME` names a profile or a folder to synchronise with")
}

/// Synchronises with the bound remote; a dry run only reports what it would do.
///
/// # Errors
/// `not_found` if no remote is bound or it does not exist, `locked` if a process has it open, `conflict` if it
/// is the local store itself or has a newer format. Nothing is changed in these cases.
pub fn run(memory: &Memory, dry_run: bool, callbacks: &SyncCallbacks<'_>) -> Result<SyncReport> {
    let binding = Binding::of(&memory.store)?.ok_or_else(unbound)?;
    let remote = remote::find(memory, &binding.location)?.open(memory)?.of(memory.store.tuple());
    between(memory, &remote, &binding, dry_run, callbacks)
}

/// Like [`run`], with an open remote.
fn between(
    memory: &Memory,
    remote: &Memory,
    binding: &Binding,
    dry_run: bool,
    callbacks: &SyncCallbacks<'_>,
) -> Result<SyncReport> {
    let sync = Sync {
        local: memory,
        remote,
        tenant: memory.store.tenant(),
        trust: binding.trust,
        local_cause: memory.cause(&format!("remote:{}", binding.location), SYNC_OP),
        remote_cause: remote.cause(&format!("remote:{}", memory.paths.profile()), SYNC_OP),
        identity: Cell::new(None),
        callbacks,
    };
    let known = RemotePosition::matches(&memory.store, sync.tenant, &remote.store)?;
    let marks = known.then(|| binding::marks(&memory.store, sync.tenant)).transpose()?;
    let own = Inventory::read(&memory.store, &|done, total| (callbacks.progress)("notes here", done, total))?;
    let other = Inventory::read(&remote.store, &|done, total| {
        (callbacks.progress)("notes of the remote", done, total)
    })?;
    let plan = RemoteSyncPlan::of(&own, &other, marks.as_ref(), memory.now());
    if dry_run {
        return dry_run::report(&sync, &plan, &Pairs::of(&own, &other));
    }
    if !known {
        sync.forget_marks()?;
    }
    sync.set_remote_position()?;
    let report = sync.execute(&plan, &own, &other)?;
    sync.record_last_sync(binding, &report)?;
    Ok(report)
}

/// A sync of two open stores.
struct Sync<'a> {
    local: &'a Memory,
    remote: &'a Memory,
    tenant: Tenant,
    trust: Trust,
    /// The cause in the local log. All transactions of the sync there are parts of one call.
    local_cause: Cause,
    /// The cause in the log of the remote, which has its own clock.
    remote_cause: Cause,
    /// The id of the remote, once the marks are valid for it.
    identity: Cell<Option<StoreId>>,
    callbacks: &'a SyncCallbacks<'a>,
}

impl Sync<'_> {
    /// Calls `each` for every item in bounded transactions of the local store, and returns its results. Each
    /// transaction also updates the remote position, once marks are valid.
    fn write_local<T, R>(
        &self,
        items: &[T],
        each: impl Fn(&mut Transaction<'_>, &T) -> Result<R>,
    ) -> Result<Vec<R>> {
        let mut results = Vec::with_capacity(items.len());
        while let Some(rest) = items.get(results.len()..).filter(|rest| !rest.is_empty()) {
            let read =
                |identity| RemotePosition::at(&self.remote.store, identity, self.remote.store.last_seq());
            let point = self.identity.get().map(read).transpose()?;
            let first = |tx: &mut Transaction<'_>| match &point {
                Some(point) => point.put(tx, self.tenant),
                None => Ok(()),
            };
            results.extend(self.chunk(self.local, &self.local_cause, rest, first, &each)?);
        }
        Ok(results)
    }

    /// Like [`Sync::write_local`], in the remote store and without a position.
    fn write_remote<T>(
        &self,
        items: &[T],
        each: impl Fn(&mut Transaction<'_>, &T) -> Result<()>,
    ) -> Result<()> {
        let mut done = 0;
        while let Some(rest) = items.get(done..).filter(|rest| !rest.is_empty()) {
            done += self.chunk(self.remote, &self.remote_cause, rest, |_| Ok(()), &each)?.len();
        }
        Ok(())
    }

    /// Runs one transaction with the first items. Returns the result of each item in it.
    fn chunk<T, R>(
        &self,
        memory: &Memory,
        cause: &Cause,
        items: &[T],
        first: impl Fn(&mut Transaction<'_>) -> Result<()>,
        each: impl Fn(&mut Transaction<'_>, &T) -> Result<R>,
    ) -> Result<Vec<R>> {
        let done = memory.store.transact(cause.part(memory.now()), |tx| {
            first(tx)?;
            let mut results = Vec::new();
            for item in items {
                results.push(each(tx, item)?);
                if tx.write_count() >= RECORDS_PER_TXN {
                    break;
                }
            }
            Ok(results)
        })?;
        (self.callbacks.check_cancelled)()?;
        Ok(done.value)
    }

    /// Deletes the marks of another remote, or of one that has lost transactions.
    fn forget_marks(&self) -> Result<()> {
        let marks: Vec<NodeId> = binding::marks(&self.local.store, self.tenant)?.into_keys().collect();
        self.write_local(&marks, |tx, id| {
            binding::unmark(tx, self.tenant, *id)?;
            match tx.node(*id)? {
                Some(node) if node.origin != Origin::Local => {
                    tx.put_node(&Node { origin: Origin::Local, ..node })
                }
                _ => Ok(()),
            }
        })?;
        let links: Vec<_> = binding::link_marks(&self.local.store, self.tenant)?.into_iter().collect();
        self.write_local(&links, |tx, link| binding::unmark_link(tx, self.tenant, *link)).map(drop)
    }

    /// Makes the marks valid for this remote.
    fn set_remote_position(&self) -> Result<()> {
        let identity = match StoreId::of(&self.remote.store)? {
            Some(identity) => identity,
            None => {
                // Not a part of the call: an undo of the notes keeps the identity.
                let cause = self.remote_cause.clone();
                let rng = self.remote.rng.as_ref();
                let created = self.remote.store.transact(cause, |tx| StoreId::get_or_create(tx, rng))?;
                (self.callbacks.check_cancelled)()?;
                created.value
            }
        };
        let point = RemotePosition::at(&self.remote.store, identity, self.remote.store.last_seq())?;
        self.write_local(&[()], |tx, ()| point.put(tx, self.tenant))?;
        self.identity.set(Some(identity));
        Ok(())
    }

    fn execute(&self, plan: &RemoteSyncPlan, own: &Inventory, other: &Inventory) -> Result<SyncReport> {
        let mut report = SyncReport::default();
        let steps = [plan.winners.len(), plan.pulls.len(), plan.deletes.len(), plan.pushes.len()];
        let total = steps.iter().sum::<usize>() as u64;
        let done = Cell::new(0);
        let progress = |more: usize| {
            done.set(done.get() + more as u64);
            (self.callbacks.progress)("notes", done.get(), total);
        };

        links::delete_lost_marks(self, own, plan)?;
        self.write_local(&plan.recognized, |tx, note| {
            self.mark_pushed(tx, note.local, note.hash, note.remote)
        })?;
        self.write_local(&plan.diverged, |tx, id| binding::unmark(tx, self.tenant, *id))?;

        let mut results = CopyResults::default();
        let won = self.push(&plan.winners, own, other, &mut results, &progress)?;
        let other = other.after(&[], won);
        let pulled = self.pull(plan, own, &other, &mut results, &progress)?;
        report.deleted = results.replaced + self.delete(&plan.deletes)?;
        progress(plan.deletes.len());
        let deleted: Vec<NodeId> = plan.deletes.iter().map(|deletion| deletion.id).collect();
        let own = own.after(&deleted, pulled);
        let pushed = self.push(&plan.pushes, &own, &other, &mut results, &progress)?;
        let other = other.after(&[], pushed);
        (report.pulled, report.pushed) = (results.pulled, results.pushed);

        let pairs = Pairs::of(&own, &other);
        let settled = keys::settle_conflicts(self, &pairs)?;
        let kept_apart = keys::give_back(self, results.renamed)?;
        report.renamed = copy_results::displaced_notes(self, &results.displaced)?;
        report.renamed.extend(settled.into_iter().chain(kept_apart));

        (self.callbacks.progress)("edges", 0, 1);
        let links = links::synchronize(self, &pairs)?;
        let retired = links::follow_retired(self, &own, &other)?;
        (self.callbacks.progress)("edges", 1, 1);
        Ok(SyncReport { links, retired, ..report })
    }

    /// Copies notes of the remote. Returns the notes that changed locally, as they are there.
    fn pull(
        &self,
        plan: &RemoteSyncPlan,
        own: &Inventory,
        other: &Inventory,
        results: &mut CopyResults,
        progress: &dyn Fn(usize),
    ) -> Result<Vec<InventoryNote>> {
        let adapt = |node: Node| Node { origin: Origin::Remote, trust: node.trust.min(self.trust), ..node };
        let job = CopyJob { from: self.remote, to: self.local, adapt: &adapt, cause: &self.local_cause };
        let mark = |tx: &mut Transaction<'_>, copied: &CopyResult| match copied.id {
            Some(id) => binding::mark(tx, self.tenant, id, copied.copy.hash, copied.copy.id),
            None => Ok(()),
        };
        let mut pulled = Vec::new();
        job.copy(&plan.pulls, &mark, &mut |copied: Commit<Vec<CopyResult>>| {
            for copied in &copied.value {
                let Some(id) = copied.id else { continue };
                results.pulled += 1;
                results.replaced += u64::from(matches!(copied.copy.target, CopyTarget::NextVersion(..)));
                pulled.extend(copied_notes(other, own, copied, id));
                results.add_renamed(copied, id, true);
            }
            progress(copied.value.len());
            (self.callbacks.check_cancelled)()
        })?;
        Ok(pulled)
    }

    /// Deletes notes of the local memory, and returns their number.
    fn delete(&self, deletions: &[NoteDeletion]) -> Result<u64> {
        let deleted = self.write_local(deletions, |tx, deletion| self.delete_local(tx, deletion))?;
        Ok(deleted.into_iter().filter(|is_deleted| *is_deleted).count() as u64)
    }

    /// Copies notes to the remote. Returns the notes that changed in the remote, as they are there.
    fn push(
        &self,
        copies: &[NoteCopy],
        own: &Inventory,
        other: &Inventory,
        results: &mut CopyResults,
        progress: &dyn Fn(usize),
    ) -> Result<Vec<InventoryNote>> {
        let adapt = |node: Node| Node { origin: Origin::Local, ..node };
        let job = CopyJob { from: self.local, to: self.remote, adapt: &adapt, cause: &self.remote_cause };
        let mut pushed = Vec::new();
        job.copy(copies, &|_, _| Ok(()), &mut |copied: Commit<Vec<CopyResult>>| {
            (self.callbacks.check_cancelled)()?;
            let written = copied.value.iter().filter_map(|copied| Some((copied, copied.id?)));
            let written: Vec<(&CopyResult, NodeId)> = written.collect();
            self.write_local(&written, |tx, (copied, remote_id)| {
                self.mark_pushed(tx, copied.copy.id, copied.copy.hash, *remote_id)
            })?;
            for (copied, remote_id) in written {
                results.pushed += 1;
                pushed.extend(copied_notes(own, other, copied, remote_id));
                results.add_renamed(copied, remote_id, false);
            }
            progress(copied.value.len());
            Ok(())
        })?;
        Ok(pushed)
    }

    /// Deletes a note of the local memory, and returns whether it did. A note that was edited since the plan was made
    /// is kept.
    fn delete_local(
        &self,
        tx: &mut Transaction<'_>,
        &NoteDeletion { id, hash }: &NoteDeletion,
    ) -> Result<bool> {
        let Some(node) = tx.node(id)?.filter(|node| node.content_hash == hash) else { return Ok(false) };
        let message = message::of(tx, id, node.source.as_deref())?;
        derivation::source_deleted(tx, id, self.local.now())?;
        tx.delete_node(id)?;
        binding::unmark(tx, self.tenant, id)?;
        if let Some((_, message)) = message {
            transfer::forget_emptied(tx, &message, &self.remote.store)?;
        }
        Ok(true)
    }

    /// Records that the remote has a text of a note, under the id `remote_id`. If the note was edited after it was read
    /// for the push, its new text is pushed by the next sync as a new version.
    fn mark_pushed(
        &self,
        tx: &mut Transaction<'_>,
        id: NodeId,
        hash: [u8; 32],
        remote_id: NodeId,
    ) -> Result<()> {
        let Some(node) = tx.node(id)? else { return Ok(()) };
        if node.content_hash == hash && node.origin == Origin::Local {
            tx.put_node(&Node { origin: Origin::Pushed, ..node })?;
        }
        binding::mark(tx, self.tenant, id, hash, remote_id)
    }

    /// Records the completed sync, unless the remote was detached during the sync.
    fn record_last_sync(&self, binding: &Binding, report: &SyncReport) -> Result<()> {
        let SyncReport { pulled, deleted, pushed, .. } = *report;
        let last = LastSync { at: self.local.now(), pulled, deleted, pushed };
        self.write_local(&[()], |tx, ()| match Binding::of(tx)? {
            Some(now) if now.location == binding.location => Binding { last: Some(last), ..now }.put(tx),
            _ => Ok(()),
        })
        .map(drop)
    }
}
