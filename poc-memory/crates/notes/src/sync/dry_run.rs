//! The report of a dry run.

use super::Sync;
use super::keys;
use super::links::Pairs;
use super::plan::{CopyTarget, RemoteSyncPlan};
use super::report::{NoteSummary, PlannedChanges, PlannedConflict, SyncReport};
use poc_graph::error::Result;
use poc_graph::{Node, NodeId};
use poc_store::Store;
use std::collections::BTreeSet;

/// The report of a dry run. `pairs` are the notes that both stores have already.
pub(super) fn report(sync: &Sync<'_>, plan: &RemoteSyncPlan, pairs: &Pairs) -> Result<SyncReport> {
    let named = |store: &Store, ids: &mut dyn Iterator<Item = NodeId>| -> Result<Vec<NoteSummary>> {
        let mut list = Vec::new();
        for id in ids {
            let named = |node: Node| NoteSummary { id: node.id, key: node.key, title: node.title };
            list.extend(store.node(id)?.map(named));
        }
        Ok(list)
    };
    let (local, remote) = (&sync.local.store, &sync.remote.store);
    let pulled = named(remote, &mut plan.pulls.iter().map(|copy| plan.present_id(copy)))?;
    let deleted = named(local, &mut plan.deletes.iter().map(|deletion| deletion.id).chain(plan.replaced()))?;
    let pushes = plan.winners.iter().chain(&plan.pushes);
    let pushed = named(local, &mut pushes.map(|copy| plan.present_id(copy)))?;
    Ok(SyncReport {
        pulled: pulled.len() as u64,
        deleted: deleted.len() as u64,
        pushed: pushed.len() as u64,
        planned: PlannedChanges { conflicts: planned_conflicts(sync, plan, pairs)?, pulled, deleted, pushed },
        ..SyncReport::default()
    })
}

/// The conflicts of a plan: first the notes that were edited in both stores, then the keys that are taken.
fn planned_conflicts(sync: &Sync<'_>, plan: &RemoteSyncPlan, pairs: &Pairs) -> Result<Vec<PlannedConflict>> {
    let (mut edited, mut taken) = (BTreeSet::new(), keys::conflicting_keys(sync, pairs));
    let deleted: BTreeSet<NodeId> = plan.deletes.iter().map(|deletion| deletion.id).collect();
    let directions = [(&plan.pulls, sync.remote, sync.local), (&plan.pushes, sync.local, sync.remote)];
    for (copies, from, to) in directions {
        for copy in copies.iter().filter(|copy| matches!(copy.target, CopyTarget::New(_))) {
            let Some(node) = from.store.node(plan.present_id(copy))? else { continue };
            if plan.displaced.contains_key(&copy.id) {
                edited.insert(node.key);
            } else if to.store.find_key(&node.key)?.is_some_and(|owner| !deleted.contains(&owner)) {
                taken.insert(node.key);
            }
        }
    }
    let of = |edited_in_both| move |key| PlannedConflict { key, edited_in_both };
    Ok(edited.into_iter().map(of(true)).chain(taken.into_iter().map(of(false))).collect())
}
