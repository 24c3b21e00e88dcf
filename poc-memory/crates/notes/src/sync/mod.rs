//! Synchronising with another store: the remote.
//!
//! 1. What the two had in common is known by marks, if they hold for this remote ([`Point`]).
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

pub use binding::{Binding, Last, Place};
pub use links::Links;
pub use remote::Found;

use super::{Memory, message};
use binding::{Identity, Point};
use inventory::{Inventory, Item};
use plan::{Becomes, Parcel, Plan};
use poc_graph::error::{Error, Result};
use poc_graph::{Node, NodeId, Origin, Tenant, Trust};
use poc_store::{Committed, Store, Tx};
use std::cell::{Cell, RefCell};
use transfer::{Placed, Way};

/// In the log of both stores.
const OP: &str = "remote_sync";

/// Records one transaction changes at most, but for those of a single note.
const KEYS: usize = 100;

/// A note as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its id in the store it is in.
    pub id: NodeId,
    /// Its key there.
    pub key: String,
    /// Its title.
    pub title: String,
}

/// A note that could not keep its key in the store it came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// Whether it came here; else it went to the remote.
    pub pulled: bool,
    /// The key it has where it came from.
    pub key: String,
    /// The key it has now.
    pub renamed: String,
}

/// What a sync did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Notes taken from the remote.
    pub pulled: u64,
    /// Notes deleted because the remote no longer has them, those with a new text there included.
    pub deleted: u64,
    /// Notes given to the remote.
    pub pushed: u64,
    /// Notes taken out of searches because the remote retired them.
    pub retired: u64,
    /// Ties.
    pub links: Links,
    /// Keys that were taken.
    pub renamed: Vec<Renamed>,
    /// Of a dry run, the notes that would be pulled, deleted and pushed.
    pub lists: [Vec<Named>; 3],
}

/// How a sync is watched.
pub struct Watch<'a> {
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
pub fn look(memory: &Memory, place: &Place, create: bool) -> Result<Found> {
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
pub fn run(memory: &Memory, dry_run: bool, watch: &Watch<'_>) -> Result<Report> {
    let binding = Binding::of(&memory.store)?.ok_or_else(unbound)?;
    let remote = remote::find(memory, &binding.place)?.open(memory)?.of(memory.store.tuple());
    between(memory, &remote, &binding, dry_run, watch)
}

/// The same with a remote that is open.
fn between(
    memory: &Memory,
    remote: &Memory,
    binding: &Binding,
    dry_run: bool,
    watch: &Watch<'_>,
) -> Result<Report> {
    let sync = Sync {
        local: memory,
        remote,
        tenant: memory.store.tenant(),
        trust: binding.trust,
        from: format!("remote:{}", binding.place),
        by: format!("remote:{}", memory.paths.profile()),
        identity: Cell::new(None),
        watch,
    };
    let known = Point::holds(&memory.store, sync.tenant, &remote.store)?;
    let marks = known.then(|| binding::marks(&memory.store, sync.tenant)).transpose()?;
    let own = Inventory::read(&memory.store, &|done, total| (watch.progress)("notes here", done, total))?;
    let other =
        Inventory::read(&remote.store, &|done, total| (watch.progress)("notes of the remote", done, total))?;
    let plan = Plan::of(&own, &other, marks.as_ref(), memory.now());
    if dry_run {
        return sync.lists(&plan);
    }
    if !known {
        sync.forget_marks()?;
    }
    sync.meet()?;
    let report = sync.carry_out(&plan, &own, &other)?;
    sync.remember(binding, &report)?;
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
    identity: Cell<Option<Identity>>,
    watch: &'a Watch<'a>,
}

impl Sync<'_> {
    /// Does something with each of many, here, a bounded transaction at a time. With what marks say
    /// goes how far the remote was read.
    fn here<T>(&self, items: &[T], each: impl Fn(&mut Tx<'_>, &T) -> Result<()>) -> Result<()> {
        let mut rest = items;
        while !rest.is_empty() {
            let read = |identity| Point::at(&self.remote.store, identity, self.remote.store.last());
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
    fn there<T>(&self, items: &[T], each: impl Fn(&mut Tx<'_>, &T) -> Result<()>) -> Result<()> {
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
                if tx.written() >= KEYS {
                    break;
                }
            }
            Ok(done)
        })?;
        (self.watch.go_on)()?;
        Ok(items.get(done.value..).unwrap_or_default())
    }

    /// What a dry run answers.
    fn lists(&self, plan: &Plan) -> Result<Report> {
        let named = |store: &Store, ids: &mut dyn Iterator<Item = NodeId>| -> Result<Vec<Named>> {
            let mut list = Vec::new();
            for id in ids {
                let named = |node: Node| Named { id: node.id, key: node.key, title: node.title };
                list.extend(store.node(id)?.map(named));
            }
            Ok(list)
        };
        let (local, remote) = (&self.local.store, &self.remote.store);
        let pulled = named(remote, &mut plan.pulls.iter().map(|parcel| parcel.id))?;
        let deleted = named(local, &mut plan.deletes.iter().map(|(id, _)| *id).chain(plan.replaced()))?;
        let pushed = named(local, &mut plan.pushes.iter().map(|parcel| parcel.id))?;
        Ok(Report {
            pulled: pulled.len() as u64,
            deleted: deleted.len() as u64,
            pushed: pushed.len() as u64,
            lists: [pulled, deleted, pushed],
            ..Report::default()
        })
    }

    /// Forgets what was in common with another remote, or with one that has lost what happened since.
    fn forget_marks(&self) -> Result<()> {
        let marks: Vec<NodeId> = binding::marks(&self.local.store, self.tenant)?.into_keys().collect();
        self.here(&marks, |tx, id| {
            binding::unmark(tx, self.tenant, *id)?;
            match tx.node(*id)? {
                Some(node) if node.origin != Origin::Local => {
                    tx.put_node(&Node { origin: Origin::Local, ..node })
                }
                _ => Ok(()),
            }
        })?;
        let links: Vec<_> = binding::link_marks(&self.local.store, self.tenant)?.into_iter().collect();
        self.here(&links, |tx, link| binding::unmark_link(tx, self.tenant, *link))
    }

    /// From here on marks speak of this remote.
    fn meet(&self) -> Result<()> {
        let identity = match Identity::of(&self.remote.store)? {
            Some(identity) => identity,
            None => {
                let cause = self.remote.cause(&self.by, OP);
                let chance = self.remote.chance.as_ref();
                let given = self.remote.store.transact(cause, |tx| Identity::given(tx, chance))?;
                (self.watch.go_on)()?;
                given.value
            }
        };
        let point = Point::at(&self.remote.store, identity, self.remote.store.last())?;
        self.here(&[()], |tx, ()| point.put(tx, self.tenant))?;
        self.identity.set(Some(identity));
        Ok(())
    }

    fn carry_out(&self, plan: &Plan, own: &Inventory, other: &Inventory) -> Result<Report> {
        let moved = RefCell::new(Report::default());
        let (mut come_here, mut come_there): (Vec<Item>, Vec<Item>) = Default::default();
        let total = (plan.pulls.len() + plan.deletes.len() + plan.pushes.len()) as u64;
        let done = Cell::new(0);
        let progress = |more: usize| {
            done.set(done.get() + more as u64);
            (self.watch.progress)("notes", done.get(), total);
        };

        links::forget_lost(self, own, plan)?;
        self.here(&plan.recognised, |tx, (id, hash, there)| self.mark_pushed(tx, *id, *hash, *there))?;
        self.here(&plan.parted, |tx, id| binding::unmark(tx, self.tenant, *id))?;

        let adapt = |node: Node| Node { origin: Origin::Remote, trust: node.trust.min(self.trust), ..node };
        let way = Way { from: self.remote, to: self.local, adapt: &adapt, actor: &self.from };
        let mark = |tx: &mut Tx<'_>, placed: &Placed| match placed.id {
            Some(id) => binding::mark(tx, self.tenant, id, placed.parcel.hash, placed.parcel.id),
            None => Ok(()),
        };
        way.carry(&plan.pulls, &mark, &mut |placed: Committed<Vec<Placed>>| {
            let mut report = moved.borrow_mut();
            for placed in &placed.value {
                let Some(id) = placed.id else { continue };
                report.pulled += 1;
                report.deleted += u64::from(matches!(placed.parcel.becomes, Becomes::Next(..)));
                come_here.extend(come(other, &placed.parcel, id));
                report.renamed.extend(renamed(placed, true));
            }
            progress(placed.value.len());
            (self.watch.go_on)()
        })?;

        self.here(&plan.deletes, |tx, (id, hash)| {
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
        let way = Way { from: self.local, to: self.remote, adapt: &adapt, actor: &self.by };
        way.carry(&plan.pushes, &|_, _| Ok(()), &mut |placed: Committed<Vec<Placed>>| {
            (self.watch.go_on)()?;
            let there = placed.value.iter().filter_map(|placed| Some((placed, placed.id?)));
            let there: Vec<(&Placed, NodeId)> = there.collect();
            self.here(&there, |tx, (placed, there)| {
                self.mark_pushed(tx, placed.parcel.id, placed.parcel.hash, *there)
            })?;
            let mut report = moved.borrow_mut();
            for (placed, there) in there {
                report.pushed += 1;
                come_there.extend(come(own, &placed.parcel, there));
                report.renamed.extend(renamed(placed, false));
            }
            progress(placed.value.len());
            Ok(())
        })?;

        let gone: Vec<NodeId> = plan.deletes.iter().map(|(id, _)| *id).collect();
        let (own, other) = (own.after(&gone, come_here), other.after(&[], come_there));
        (self.watch.progress)("ties", 0, 1);
        let links = links::bring_in_step(self, &own, &other)?;
        let retired = links::follow_retired(self, &own, &other)?;
        (self.watch.progress)("ties", 1, 1);
        Ok(Report { links, retired, ..moved.into_inner() })
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
    fn remember(&self, binding: &Binding, report: &Report) -> Result<()> {
        let Report { pulled, deleted, pushed, .. } = *report;
        let last = Last { at: self.local.now(), pulled, deleted, pushed };
        self.here(&[()], |tx, ()| match Binding::of(tx)? {
            Some(now) if now.place == binding.place => Binding { last: Some(last), ..now }.put(tx),
            _ => Ok(()),
        })
    }
}

/// What a note became in the store it was copied to.
fn come(from: &Inventory, parcel: &Parcel, id: NodeId) -> Option<Item> {
    from.with_id(parcel.id).map(|item| Item { id, ..*item })
}

fn renamed(placed: &Placed, pulled: bool) -> Option<Renamed> {
    let (key, renamed) = placed.renamed.clone()?;
    Some(Renamed { pulled, key, renamed })
}
