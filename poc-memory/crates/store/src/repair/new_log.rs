//! Writes a log without gaps from a damaged one.
//!
//! Intact records are copied byte for byte, so that their numbers and checksums do not change. The transactions of a
//! gap are replaced by the same number of new ones. The last of these write what the gap must have changed: records
//! whose before-image in a later transaction differs from their value before the gap, and whatever else the repaired
//! state needs, as early as possible and in the last gap at the latest. The history within the gaps is lost.
//!
//! The repaired state lacks what intact transactions added to a node that a gap has lost. Further transactions at the
//! end of the log delete it. They also write again what a view ignores or drops when it reads the log in order,
//! although it is in the state: what was added to a node before it is created, and what stays when a node is deleted
//! and created again.

use super::new_log_writer::{NewLogWriter, NodeIds, failed};
use crate::disk::remove_folder;
use crate::engine::Engine;
use crate::index_entries;
use crate::log::Log;
use crate::logged_transaction::{LoggedTransaction, MAX_RECORD, Write};
use crate::table::Table;
use crate::transaction_range::TransactionRange;
use poc_graph::Tenant;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Preferred size in bytes of the changes in one transaction of a gap, if the gap has enough transactions.
const TXN_BYTES: usize = 8 << 20;
/// Maximum size in bytes of the changes in one transaction of a gap. The rest is for the transaction's other fields.
const MAX_TXN_BYTES: usize = MAX_RECORD - (1 << 20);
/// Maximum size in bytes of an encoded write without its key and images: the names of its fields and of its table.
const WRITE_BYTES: usize = 64;

/// The log to be written.
pub(super) struct NewLog<'a> {
    /// The folder of the new log. Leftovers of an interrupted repair are deleted.
    pub(super) folder: &'a Path,
    /// The damaged log.
    pub(super) log: &'a Log,
    /// The last transaction of the damaged log that the new log has or replaces.
    pub(super) last: u64,
    /// The timestamp for transactions whose time is unknown.
    pub(super) now: Timestamp,
    /// Whether the log is a copy of a shared log. No transaction may then follow `last`, because the shared log has or
    /// will have another one with its number.
    pub(super) is_copy: bool,
}

impl NewLog<'_> {
    /// Writes the log. `target` is the state that it must lead to. Without a target, the damaged log must have no gap
    /// up to `last`.
    pub(super) fn write(&self, target: Option<&dyn Engine>) -> Result<()> {
        let made = remove_folder(self.folder).and_then(|()| fs::create_dir_all(self.folder));
        made.map_err(|error| failed("its folder cannot be created", &error))?;
        let mut writer = NewLogWriter::new(self.folder)?;
        for TransactionRange { first, last } in self.log.intact_parts(self.last) {
            self.fill(&mut writer, first - 1, target)?;
            self.log.replay_payloads(first, last, &mut |seq, payload, checksum| {
                let txn = LoggedTransaction::decode(&payload)?;
                writer.add(&txn, &payload, Some(checksum))?;
                Ok(txn.seq == seq)
            })?;
        }
        self.fill(&mut writer, self.last, target)?;
        let mut corrections = match target {
            Some(target) => orphans(&writer.state, target)?,
            None => Vec::new(),
        };
        let mut ignored: FxHashSet<Vec<u8>> = FxHashSet::default();
        if self.is_copy {
            ignored.extend(
                corrections.iter().map(|(tenant, write)| write.table.engine_key(*tenant, &write.key)),
            );
        } else {
            corrections.extend(writer.unseen_writes()?);
            self.append(&mut writer, corrections)?;
        }
        if !writer.finish(target, &ignored)? {
            return Err(failed(
                "it does not reproduce the state from which it was created",
                &"nothing was changed",
            ));
        }
        Ok(())
    }

    /// Adds transactions with these writes to the end of the log.
    fn append(&self, writer: &mut NewLogWriter, writes: Vec<(Tenant, Write)>) -> Result<()> {
        let at = self.log.time_of_last(self.last)?.unwrap_or(self.now);
        let end = format!("after {}", self.last);
        for (tenant, writes) in divide(writes, u64::MAX)? {
            writer.add_own(at, tenant, writes, &end)?;
        }
        Ok(())
    }

    /// Replaces the missing transactions up to and including number `last`.
    fn fill(&self, writer: &mut NewLogWriter, last: u64, target: Option<&dyn Engine>) -> Result<()> {
        let first = writer.next;
        if last < first {
            return Ok(());
        }
        let LaterChanges { mut writes, touched, needed } = self.later_changes(&writer.state, last)?;
        let is_last_gap = self.log.missing().iter().all(|gap| gap.first <= last || gap.first > self.last);
        // The number of transactions in the gap.
        let max_txns = last - first + 1;
        if let Some(target) = target {
            let mut differences = differences_of_states(&writer.state, target, &touched)?;
            if !is_last_gap {
                let gap = EarlyGap { state: &writer.state, writes: &writes, needed: &needed, max_txns };
                differences = gap.differences(differences)?;
            }
            writes.extend(differences);
        }
        let at = self.log.time_of_last(first - 1)?.or(self.log.time_of_next(last)?).unwrap_or(self.now);
        let gap = format!("{first} to {last}");
        let divided = divide(writes, max_txns)?;
        if divided.len() as u64 > max_txns {
            return Err(failed("a gap in the log changed more than its transactions can hold", &gap));
        }
        // The changes go to the end of the gap, so that an index that was saved in the middle of the gap reads all of
        // them.
        let empty = max_txns - divided.len() as u64;
        let mut txns = std::iter::repeat_n((Tenant::default(), Vec::new()), empty as usize).chain(divided);
        txns.try_for_each(|(tenant, writes)| writer.add_own(at, tenant, writes, &gap))
    }

    /// Reads the transactions after number `last`, at which a gap ends. `state` is the state before the gap.
    fn later_changes(&self, state: &dyn Engine, last: u64) -> Result<LaterChanges> {
        let mut writes: Vec<(Tenant, Write)> = Vec::new();
        let mut touched: FxHashSet<Vec<u8>> = FxHashSet::default();
        let mut needed = NodeIds::default();
        self.log.replay(last + 1, self.last, &mut |txn, _| {
            for write in txn.writes {
                if let Some(after) = &write.after {
                    let owners = index_entries::owners(write.table, &write.key, after);
                    needed.extend(owners.map(|id| (txn.tenant, id.to_vec())));
                }
                let key = write.table.engine_key(txn.tenant, &write.key);
                if !touched.contains(&key) {
                    let before = state.get(&key)?;
                    if before != write.before {
                        writes.push((txn.tenant, Write { before, after: write.before, ..write }));
                    }
                    touched.insert(key);
                }
            }
            Ok(())
        })?;
        Ok(LaterChanges { writes, touched, needed })
    }
}

/// What the transactions after a gap show about it.
struct LaterChanges {
    /// What the gap has changed for certain.
    writes: Vec<(Tenant, Write)>,
    /// The engine's keys of the records that the transactions change.
    touched: FxHashSet<Vec<u8>>,
    /// The nodes to which the transactions add something.
    needed: NodeIds,
}

/// The writes that turn a state into the target, except those of records in `touched`, which later transactions change.
fn differences_of_states(
    state: &dyn Engine,
    target: &dyn Engine,
    touched: &FxHashSet<Vec<u8>>,
) -> Result<Vec<(Tenant, Write)>> {
    let mut differences: Vec<(Tenant, Write)> = Vec::new();
    let mut add = |key: &[u8], before: Option<Vec<u8>>, after: Option<Vec<u8>>| {
        let record_key = Table::split_engine_key(key).filter(|(_, table, _)| *table != Table::Changes);
        if let Some((tenant, table, key)) = record_key {
            differences.push((tenant, Write { table, key: key.to_vec(), before, after }));
        }
    };
    target.scan(&[], &mut |key, value| {
        let before = if touched.contains(key) { return Ok(()) } else { state.get(key)? };
        if before.as_deref() != Some(value) {
            add(key, before, Some(value.to_vec()));
        }
        Ok(())
    })?;
    state.scan(&[], &mut |key, value| {
        if !touched.contains(key) && target.get(key)?.is_none() {
            add(key, Some(value.to_vec()), None);
        }
        Ok(())
    })?;
    Ok(differences)
}

/// A gap that is not the last one.
struct EarlyGap<'a> {
    /// The state before the gap.
    state: &'a dyn Engine,
    /// What the gap has changed for certain.
    writes: &'a [(Tenant, Write)],
    /// The nodes to which later transactions add something.
    needed: &'a NodeIds,
    /// The number of transactions in the gap.
    max_txns: u64,
}

impl EarlyGap<'_> {
    /// Chooses the differences from the target state that this gap writes. The others are left to later gaps. No later
    /// transaction changes their records, so each could be written in any gap. But a node must exist before something
    /// is added to it, and a gap has a limited number of transactions, each for one tenant. The deletion of a node that
    /// is still needed is left, with what belongs to the node, to a later gap. That gap has a transaction of the node's
    /// tenant, namely the one that deleted it. Other deletions do not wait, because possibly no later gap has a
    /// transaction of their tenant.
    fn differences(&self, mut differences: Vec<(Tenant, Write)>) -> Result<Vec<(Tenant, Write)>> {
        let is_needed = |tenant: Tenant, write: &Write| {
            owners(tenant, write).iter().any(|owner| self.needed.contains(owner))
        };
        let deleted_later = differences
            .iter()
            .filter(|(tenant, write)| is_node(write) && write.after.is_none() && is_needed(*tenant, write));
        let deleted_later: NodeIds =
            deleted_later.map(|(tenant, write)| (*tenant, write.key.clone())).collect();
        // Needed records come first, and nodes before the records that belong to them.
        differences.sort_by_cached_key(|(tenant, write)| {
            (write.after.is_none() || !is_needed(*tenant, write), !is_node(write))
        });
        let own = self.writes.iter().filter(|(_, write)| !write.table.is_shared());
        let mut tenants: BTreeSet<Tenant> = own.map(|(tenant, _)| *tenant).collect();
        let written = self.writes.iter().filter(|(_, write)| is_node(write) && write.after.is_some());
        let mut nodes: NodeIds = written.map(|(tenant, write)| (*tenant, write.key.clone())).collect();
        let mut chosen = Vec::new();
        // What the gap has changed for certain must fit, too.
        let mut bytes: usize = self.writes.iter().map(|(_, write)| write_length(write)).sum();
        for (tenant, write) in differences {
            let length = write_length(&write);
            let is_shared = write.table.is_shared();
            let is_new_tenant = !is_shared && !tenants.contains(&tenant);
            if bytes + length > TXN_BYTES || is_new_tenant && tenants.len() as u64 >= self.max_txns {
                continue;
            }
            if write.after.is_none() {
                if owners(tenant, &write).iter().any(|owner| deleted_later.contains(owner)) {
                    continue;
                }
            } else if is_node(&write) {
                nodes.insert((tenant, write.key.clone()));
            } else if !self.exist(&owners(tenant, &write), &nodes)? {
                continue;
            }
            bytes += length;
            if !is_shared {
                tenants.insert(tenant);
            }
            chosen.push((tenant, write));
        }
        Ok(chosen)
    }

    /// Whether all of these nodes existed before the gap or are among `nodes`, which the gap writes.
    fn exist(&self, owners: &[(Tenant, Vec<u8>)], nodes: &NodeIds) -> Result<bool> {
        for owner in owners {
            let (tenant, id) = owner;
            if !nodes.contains(owner) && self.state.get(&Table::Nodes.engine_key(*tenant, id))?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn is_node(write: &Write) -> bool {
    write.table == Table::Nodes
}

/// The nodes to which the record of a write belongs; for a node, the node itself.
fn owners(tenant: Tenant, write: &Write) -> Vec<(Tenant, Vec<u8>)> {
    match write.after.as_deref().or(write.before.as_deref()) {
        _ if is_node(write) => vec![(tenant, write.key.clone())],
        Some(value) => {
            let ids = index_entries::owners(write.table, &write.key, value);
            ids.map(|id| (tenant, id.to_vec())).collect()
        }
        None => Vec::new(),
    }
}

/// The deletions of records that belong to lost nodes and that the target therefore lacks.
fn orphans(state: &dyn Engine, target: &dyn Engine) -> Result<Vec<(Tenant, Write)>> {
    let mut orphans = Vec::new();
    for (full, _) in index_entries::orphan_deletions(state, &|| {})? {
        if let Some((tenant, table, key)) = Table::split_engine_key(&full)
            && target.get(&full)?.is_none()
        {
            let before = state.get(&full)?;
            orphans.push((tenant, Write { table, key: key.to_vec(), before, after: None }));
        }
    }
    Ok(orphans)
}

/// The size of an encoded write in bytes, at most.
fn write_length(write: &Write) -> usize {
    let images = [&write.before, &write.after].into_iter().flatten().map(Vec::len).sum::<usize>();
    WRITE_BYTES + write.key.len() + images
}

/// Divides writes into transactions of one tenant each, with nodes first, and into at most `max_txns` of them if
/// possible.
fn divide(writes: Vec<(Tenant, Write)>, max_txns: u64) -> Result<Vec<(Tenant, Vec<Write>)>> {
    let mut by_tenant: BTreeMap<Tenant, Vec<Write>> = BTreeMap::new();
    let (shared, own): (Vec<_>, Vec<_>) = writes.into_iter().partition(|(_, write)| write.table.is_shared());
    for (tenant, write) in own {
        by_tenant.entry(tenant).or_default().push(write);
    }
    if !shared.is_empty() {
        // A table that all tenants share can be written by a transaction of any tenant.
        let tenant = by_tenant.keys().next().copied().unwrap_or_default();
        by_tenant.entry(tenant).or_default().extend(shared.into_iter().map(|(_, write)| write));
    }
    if by_tenant.len() as u64 > max_txns {
        return Err(failed("a gap in the log changed more tenants than it has transactions", &max_txns));
    }
    for writes in by_tenant.values_mut() {
        writes.sort_by(|a, b| (u8::from(a.table), &a.key).cmp(&(u8::from(b.table), &b.key)));
    }
    let mut limit = TXN_BYTES;
    loop {
        let parts = parts_of(&by_tenant, limit);
        if parts.len() as u64 <= max_txns {
            return Ok(parts);
        }
        if limit >= MAX_TXN_BYTES {
            // This is the last attempt: the lengths above are upper bounds, so it may succeed.
            return Ok(by_tenant.into_iter().collect());
        }
        limit = (limit * 2).min(MAX_TXN_BYTES);
    }
}

/// Divides the writes of each tenant into parts of at most `limit` bytes. A larger write is a part of its own.
fn parts_of(by_tenant: &BTreeMap<Tenant, Vec<Write>>, limit: usize) -> Vec<(Tenant, Vec<Write>)> {
    let mut parts = Vec::new();
    for (tenant, writes) in by_tenant {
        let mut bytes = limit;
        for write in writes {
            let length = write_length(write);
            if bytes + length > limit {
                parts.push((*tenant, Vec::new()));
                bytes = 0;
            }
            bytes += length;
            if let Some((_, part)) = parts.last_mut() {
                part.push(write.clone());
            }
        }
    }
    parts
}
