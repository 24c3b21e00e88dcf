//! Synchronising with another store: the remote.
//!
//! 1. What the two had in common is known by marks, if they hold for this remote ([`RemotePosition`]).
//! 2. Pull: texts of the remote that are not here. What was in both and is gone there is deleted.
//! 3. Push: texts that are here alone, each marked when it is durable there.
//! 4. Ties among what both have ([`links`]).
//!
//! Every step is a series of bounded transactions in one store at a time, and looks at what there is
//! rather than at what an earlier one did: whatever ends a sync, the next one completes it. A mark is
//! written after that of which it speaks, so a note without one may have been pushed, and a note with
//! one surely was. Only such a note is ever deleted.

mod binding;
mod inventory;
mod links;
mod plan;
mod remote;
#[cfg(test)]
mod tests;
mod transfer;

pub use binding::{Binding, LastSync, RemoteLocation};
pub use links::LinkReport;
pub use remote::RemoteStore;

use super::{Memory, message};
use binding::{RemotePosition, StoreId};
use inventory::{Inventory, Item};
use plan::{CopyTarget, NoteCopy, Plan};
use poc_graph::error::{Error, Result};
use poc_graph::{Node, NodeId, Origin, Tenant, Trust};
use poc_store::{Committed, Store, Tx};
use std::cell::{Cell, RefCell};
use transfer::{CopyJob, CopyResult};

/// In the log of both stores.
const OP: &str = "remote_sync";

/// Records one transaction changes at most, but for those of a single note.
const RECORDS_PER_TXN: usize = 100;

/// A note as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteSummary {
    /// Its id in the store it is in.
    pub id: NodeId,
    /// Its key there.
    pub key: String,
    /// Its title.
    pub title: String,
}

/// A note that could not keep its key in the store it came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRename {
    /// Whether it came here; else it went to the remote.
    pub pulled: bool,
    /// The key it has where it came from.
    pub key: String,
    /// The key it has now.
    pub renamed: String,
}

/// What a sync did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// Notes taken from the remote.
    pub pulled: u64,
    /// Notes deleted because the remote no longer has them, those with a new text there included.
    pub deleted: u64,
    /// Notes given to the remote.
    pub pushed: u64,
    /// Notes taken out of searches because the remote retired them.
    pub retired: u64,
    /// Ties.
    pub links: LinkReport,
    /// Keys that were taken.
    pub renamed: Vec<KeyRename>,
    /// Of a dry run, the notes that would be pulled, deleted and pushed.
    pub lists: [Vec<NoteSummary>; 3],
}

/// How a sync is watched.
pub struct SyncCallbacks<'a> {
    /// Told what is being counted, how much of it is done, and of how much.
    pub progress: &'a dyn Fn(&str, u64, u64),
    /// Asked after every transaction whether to go on; its error ends the sync there.
    pub go_on: &'a dyn Fn() -> Result<()>,
}

/// Remembers a remote. Another one is replaced; what both stores had in common is kept for as long
/// as it turns out to be the same store.
pub fn bind(memory: &Memory, binding: &Binding, actor: &str) -> Result<Option<Binding>> {
    let cause = memory.cause(actor, "profile remote bind");
    let replaced = memory.store.transact(cause, |tx| {
        let before = Binding::of(tx)?;
        let last = before.as_ref().filter(|before| before.place == binding.place).and_then(|b| b.last);
        Binding { last, ..binding.clone() }.put(tx)?;
        Ok(before)
    })?;
    Ok(replaced.value.filter(|before| before.place != binding.place))
}

/// Forgets the remote. All notes stay, and count as never synchronised.
pub fn detach(memory: &Memory, actor: &str) -> Result<Binding> {
    let cause = memory.cause(actor, "profile remote detach");
    let detached = memory.store.transact(cause, |tx| {
        let binding = Binding::of(tx)?.ok_or_else(unbound)?;
        binding::forget(tx)?;
        Ok(binding)
    })?;
    Ok(detached.value)
}

/// Finds the store at a place, without opening it; `create` makes an empty one where there is none.
pub fn locate(memory: &Memory, place: &RemoteLocation, create: bool) -> Result<RemoteStore> {
    if create { remote::create(memory, place) } else { remote::find(memory, place) }
}

fn unbound() -> Error {
    Error::not_found("this memory has no remote")
        .hint("`poc-memory profile remote bind NAME` names a profile or a folder to synchronise with")
}

/// Synchronises with the remote that is bound; a dry run only says what it would do.
///
/// # Errors
/// `not_found` when none is bound or it is not there, `locked` when a process holds it, `conflict`
/// when it is this very store or of a newer format. Nothing is changed then.
pub fn run(memory: &Memory, dry_run: bool, callbacks: &SyncCallbacks<'_>) -> Result<SyncReport> {
    let binding = Binding::of(&memory.store)?.ok_or_else(unbound)?;
    let remote = remote::find(memory, &binding.place)?.open(memory)?.of(memory.store.tuple());
    between(memory, &remote, &binding, dry_run, callbacks)
}

/// The same with a remote that is open.
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
        from: format!("remote:{}", binding.place),
        by: format!("remote:{}", memory.paths.profile()),
        identity: Cell::new(None),
        callbacks,
    };
    let known = RemotePosition::matches(&memory.store, sync.tenant, &remote.store)?;
    let marks = known.then(|| binding::marks(&memory.store, sync.tenant)).transpose()?;
    let own = Inventory::read(&memory.store, &|done, total| (callbacks.progress)("notes here", done, total))?;
    let other = Inventory::read(&remote.store, &|done, total| {
        (callbacks.progress)("notes of the remote", done, total)
    })?;
    let plan = Plan::of(&own, &other, marks.as_ref(), memory.now());
    if dry_run {
        return sync.dry_run_report(&plan);
    }
    if !known {
        sync.forget_marks()?;
    }
    sync.set_remote_position()?;
    let report = sync.execute(&plan, &own, &other)?;
    sync.record_last_sync(binding, &report)?;
    Ok(report)
}

/// Two open stores.
struct Sync<'a> {
    local: &'a Memory,
    remote: &'a Memory,
    tenant: Tenant,
    trust: Trust,
    /// Who writes here.
    from: String,
    /// Who writes there.
    by: String,
    /// The remote's, once marks hold for it.
    identity: Cell<Option<StoreId>>,
    callbacks: &'a SyncCallbacks<'a>,
}

impl Sync<'_> {
    /// Does something with each of many, here, a bounded transaction at a time. With what marks say
    /// goes how far the remote was read.
    fn write_local<T>(&self, items: &[T], each: impl Fn(&mut Tx<'_>, &T) -> Result<()>) -> Result<()> {
        let mut rest = items;
        while !rest.is_empty() {
            let read =
                |identity| RemotePosition::at(&self.remote.store, identity, self.remote.store.last_seq());
            let point = self.identity.get().map(read).transpose()?;
            rest = self.chunk(
                self.local,
                &self.from,
                rest,
                |tx| match point {
                    Some(point) => point.put(tx, self.tenant),
                    None => Ok(()),
                },
                &each,
            )?;
        }
        Ok(())
    }

    /// The same there, without any mark.
    fn write_remote<T>(&self, items: &[T], each: impl Fn(&mut Tx<'_>, &T) -> Result<()>) -> Result<()> {
        let mut rest = items;
        while !rest.is_empty() {
            rest = self.chunk(self.remote, &self.by, rest, |_| Ok(()), &each)?;
        }
        Ok(())
    }

    /// One transaction; what of the items is left for the next.
    fn chunk<'i, T>(
        &self,
        memory: &Memory,
        actor: &str,
        items: &'i [T],
        first: impl FnOnce(&mut Tx<'_>) -> Result<()>,
        each: impl Fn(&mut Tx<'_>, &T) -> Result<()>,
    ) -> Result<&'i [T]> {
        let done = memory.store.transact(memory.cause(actor, OP), |tx| {
            first(tx)?;
            let mut done = 0;
            for item in items {
                each(tx, item)?;
                done += 1;
                if tx.write_count() >= RECORDS_PER_TXN {
                    break;
                }
            }
            Ok(done)
        })?;
        (self.callbacks.go_on)()?;
        Ok(items.get(done.value..).unwrap_or_default())
    }

    /// What a dry run answers.
    fn dry_run_report(&self, plan: &Plan) -> Result<SyncReport> {
        let named = |store: &Store, ids: &mut dyn Iterator<Item = NodeId>| -> Result<Vec<NoteSummary>> {
            let mut list = Vec::new();
            for id in ids {
                let named = |node: Node| NoteSummary { id: node.id, key: node.key, title: node.title };
                list.extend(store.node(id)?.map(named));
            }
            Ok(list)
        };
        let (local, remote) = (&self.local.store, &self.remote.store);
        let pulled = named(remote, &mut plan.pulls.iter().map(|copy| copy.id))?;
        let deleted = named(local, &mut plan.deletes.iter().map(|(id, _)| *id).chain(plan.replaced()))?;
        let pushed = named(local, &mut plan.pushes.iter().map(|copy| copy.id))?;
        Ok(SyncReport {
            pulled: pulled.len() as u64,
            deleted: deleted.len() as u64,
            pushed: pushed.len() as u64,
            lists: [pulled, deleted, pushed],
            ..SyncReport::default()
        })
    }

    /// Forgets what was in common with another remote, or with one that has lost what happened since.
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
        self.write_local(&links, |tx, link| binding::unmark_link(tx, self.tenant, *link))
    }

    /// From here on marks speak of this remote.
    fn set_remote_position(&self) -> Result<()> {
        let identity = match StoreId::of(&self.remote.store)? {
            Some(identity) => identity,
            None => {
                let cause = self.remote.cause(&self.by, OP);
                let rng = self.remote.rng.as_ref();
                let given = self.remote.store.transact(cause, |tx| StoreId::get_or_create(tx, rng))?;
                (self.callbacks.go_on)()?;
                given.value
            }
        };
        let point = RemotePosition::at(&self.remote.store, identity, self.remote.store.last_seq())?;
        self.write_local(&[()], |tx, ()| point.put(tx, self.tenant))?;
        self.identity.set(Some(identity));
        Ok(())
    }

    fn execute(&self, plan: &Plan, own: &Inventory, other: &Inventory) -> Result<SyncReport> {
        let moved = RefCell::new(SyncReport::default());
        let (mut come_here, mut come_there): (Vec<Item>, Vec<Item>) = Default::default();
        let total = (plan.pulls.len() + plan.deletes.len() + plan.pushes.len()) as u64;
        let done = Cell::new(0);
        let progress = |more: usize| {
            done.set(done.get() + more as u64);
            (self.callbacks.progress)("notes", done.get(), total);
        };

        links::delete_lost_marks(self, own, plan)?;
        self.write_local(&plan.recognised, |tx, (id, hash, there)| self.mark_pushed(tx, *id, *hash, *there))?;
        self.write_local(&plan.diverged, |tx, id| binding::unmark(tx, self.tenant, *id))?;

        let adapt = |node: Node| Node { origin: Origin::Remote, trust: node.trust.min(self.trust), ..node };
        let job = CopyJob { from: self.remote, to: self.local, adapt: &adapt, actor: &self.from };
        let mark = |tx: &mut Tx<'_>, copied: &CopyResult| match copied.id {
            Some(id) => binding::mark(tx, self.tenant, id, copied.copy.hash, copied.copy.id),
            None => Ok(()),
        };
        job.copy(&plan.pulls, &mark, &mut |copied: Committed<Vec<CopyResult>>| {
            let mut report = moved.borrow_mut();
            for copied in &copied.value {
                let Some(id) = copied.id else { continue };
                report.pulled += 1;
                report.deleted += u64::from(matches!(copied.copy.target, CopyTarget::NextVersion(..)));
                come_here.extend(copied_item(other, &copied.copy, id));
                report.renamed.extend(renamed(copied, true));
            }
            progress(copied.value.len());
            (self.callbacks.go_on)()
        })?;

        self.write_local(&plan.deletes, |tx, (id, hash)| {
            // An edit of this moment makes it a note of ours.
            if let Some(node) = tx.node(*id)?.filter(|node| node.content_hash == *hash) {
                let message = message::of(tx, *id, node.source.as_deref())?;
                tx.delete_node(*id)?;
                binding::unmark(tx, self.tenant, *id)?;
                if let Some((_, message)) = message {
                    transfer::forget_emptied(tx, &message, &self.remote.store)?;
                }
                moved.borrow_mut().deleted += 1;
            }
            Ok(())
        })?;
        progress(plan.deletes.len());

        let adapt = |node: Node| Node { origin: Origin::Local, ..node };
        let job = CopyJob { from: self.local, to: self.remote, adapt: &adapt, actor: &self.by };
        job.copy(&plan.pushes, &|_, _| Ok(()), &mut |copied: Committed<Vec<CopyResult>>| {
            (self.callbacks.go_on)()?;
            let there = copied.value.iter().filter_map(|copied| Some((copied, copied.id?)));
            let there: Vec<(&CopyResult, NodeId)> = there.collect();
            self.write_local(&there, |tx, (copied, there)| {
                self.mark_pushed(tx, copied.copy.id, copied.copy.hash, *there)
            })?;
            let mut report = moved.borrow_mut();
            for (copied, there) in there {
                report.pushed += 1;
                come_there.extend(copied_item(own, &copied.copy, there));
                report.renamed.extend(renamed(copied, false));
            }
            progress(copied.value.len());
            Ok(())
        })?;

        let gone: Vec<NodeId> = plan.deletes.iter().map(|(id, _)| *id).collect();
        let (own, other) = (own.after(&gone, come_here), other.after(&[], come_there));
        (self.callbacks.progress)("ties", 0, 1);
        let links = links::synchronize(self, &own, &other)?;
        let retired = links::follow_retired(self, &own, &other)?;
        (self.callbacks.progress)("ties", 1, 1);
        Ok(SyncReport { links, retired, ..moved.into_inner() })
    }

    /// Writes down that the remote has a text of a note, which has the id `there` in it. A note that was
    /// edited meanwhile has another one by now and is still to be pushed: as the next version of this one.
    fn mark_pushed(&self, tx: &mut Tx<'_>, id: NodeId, hash: [u8; 32], there: NodeId) -> Result<()> {
        let Some(node) = tx.node(id)? else { return Ok(()) };
        if node.content_hash == hash && node.origin == Origin::Local {
            tx.put_node(&Node { origin: Origin::Pushed, ..node })?;
        }
        binding::mark(tx, self.tenant, id, hash, there)
    }

    /// Writes down that a sync was completed, unless the remote was taken away meanwhile.
    fn record_last_sync(&self, binding: &Binding, report: &SyncReport) -> Result<()> {
        let SyncReport { pulled, deleted, pushed, .. } = *report;
        let last = LastSync { at: self.local.now(), pulled, deleted, pushed };
        self.write_local(&[()], |tx, ()| match Binding::of(tx)? {
            Some(now) if now.place == binding.place => Binding { last: Some(last), ..now }.put(tx),
            _ => Ok(()),
        })
    }
}

/// What a note became in the store it was copied to.
fn copied_item(from: &Inventory, copy: &NoteCopy, id: NodeId) -> Option<Item> {
    from.with_id(copy.id).map(|item| Item { id, ..*item })
}

fn renamed(copied: &CopyResult, pulled: bool) -> Option<KeyRename> {
    let (key, renamed) = copied.renamed.clone()?;
    Some(KeyRename { pulled, key, renamed })
}
