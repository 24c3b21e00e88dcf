//! Brings everything that is derived from the log up to the log's last transaction when a store opens.

use super::delta::deltas;
use super::derived_index::{DerivedIndex, TenantSource, count_changes};
use super::engine::{Engine, EngineError, Watermark, changes};
use super::log::Log;
use super::logged_transaction::LoggedTransaction;
use super::rebuilt_files::RebuiltFiles;
use super::record_encoding::Record;
use super::records::{Records, TenantRecords};
use super::table::{Table, tenant_prefix};
use super::tenant_counts::{TenantCounts, TenantTable};
use super::tenants::TenantRow;
use super::views::{StoreViews, Views};
use super::{keys, vector_encoding};
use poc_graph::error::Result;
use poc_graph::{Activity, Builder, Delta, Edge, Node, Tenant, View, Visit};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

/// Number of records between two heartbeats, and of deltas in a batch for an index.
const BATCH: usize = 2000;

/// Brings an engine up to the end of the log.
///
/// # Errors
/// Fails if the engine is ahead of the log or belongs to another log.
pub(super) fn engine(engine: &dyn Engine, log: &Log, beat: &dyn Fn()) -> Result<()> {
    let watermark = engine.watermark()?;
    // The log must contain all changes that a crash left half applied, or they cannot be completed.
    for watermark in [watermark].into_iter().chain(engine.unfinished()?) {
        if watermark == Watermark::default() {
            continue;
        }
        match log.read(watermark.seq)? {
            Some((_, checksum)) if checksum == watermark.checksum => {}
            Some(_) => return Err(EngineError::OtherLog.into()),
            None => return Err(EngineError::AheadOfLog.into()),
        }
    }
    log.replay(watermark.seq + 1, log.last(), &mut |txn, checksum| {
        beat();
        engine.apply(changes(&txn)?.into(), Watermark { seq: txn.seq, checksum })
    })
}

/// Brings a saved view and counts, which contain everything up to transaction `seq`, up to the end of the log. Returns
/// the number of changes applied. The view must not be shared.
pub(super) fn saved_views(views: &mut StoreViews, seq: u64, log: &Log) -> Result<usize> {
    let mut count = 0;
    log.replay(seq + 1, log.last(), &mut |txn, _| {
        count += apply_to_store_views(views, &txn)?;
        Ok(())
    })?;
    Ok(count)
}

/// Applies a transaction to the view of the default tenant or to the counts of another. Returns the number of changes.
pub(super) fn apply_to_store_views(views: &mut StoreViews, txn: &LoggedTransaction) -> Result<usize> {
    let deltas = deltas_of_view(txn)?;
    match txn.tenant.is_default() {
        // There is no other reference, so nothing is copied.
        true => Arc::make_mut(&mut views.main).apply(txn.seq, &deltas),
        false => views.others.entry(txn.tenant).or_default().apply(txn)?,
    }
    Ok(deltas.len())
}

/// Brings the view of a tenant up to its transaction `seq`, which the log must have.
pub(super) fn tenant_view(view: &mut View, tenant: Tenant, seq: u64, log: &Log) -> Result<()> {
    log.replay(view.seq + 1, seq, &mut |txn, _| {
        if txn.tenant == tenant {
            view.apply(txn.seq, &deltas_of_view(&txn)?);
        }
        Ok(())
    })?;
    // If the store has counted the records, this number is not that of a transaction of the tenant.
    view.seq = seq;
    Ok(())
}

/// Applies a transaction to the view of its tenant, which must not be shared.
pub(super) fn apply_to_views(views: &mut Views, txn: &LoggedTransaction) -> Result<()> {
    let view = views.entry(txn.tenant).or_insert_with(|| Arc::new(View::new()));
    Arc::make_mut(view).apply(txn.seq, &deltas_of_view(txn)?);
    Ok(())
}

/// The changes that a transaction makes to the view of its tenant.
fn deltas_of_view(txn: &LoggedTransaction) -> Result<Vec<Delta>> {
    // A view holds no vectors, so no embedder and no records are needed.
    deltas(&txn.writes, "", &NoRecords)
}

/// An empty source of records.
struct NoRecords;

impl Records for NoRecords {
    fn raw(&self, _: Table, _: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn raw_range(&self, _: Table, _: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        Ok(Vec::new())
    }
}

/// Builds the views from the engine: one for every tenant that has records or a name.
pub(super) fn views(engine: &dyn Engine, seq: u64, beat: &dyn Fn()) -> Result<Views> {
    let of_tenant =
        |tenant| -> Result<(Tenant, Arc<View>)> { Ok((tenant, Arc::new(view(engine, tenant, seq, beat)?))) };
    tenants(engine, beat)?.into_iter().map(of_tenant).collect()
}

/// Builds the view of the default tenant from the engine, and counts the notes and edges of the others. The views of
/// the others are in memory one at a time.
pub(super) fn store_views(engine: &dyn Engine, seq: u64, beat: &dyn Fn()) -> Result<StoreViews> {
    let main = Arc::new(view(engine, Tenant::default(), seq, beat)?);
    let mut others = TenantTable::default();
    for tenant in tenants(engine, beat)?.into_iter().filter(|tenant| !tenant.is_default()) {
        others.insert(tenant, TenantCounts::of(&view(engine, tenant, seq, beat)?));
    }
    Ok(StoreViews { main, others })
}

/// The default tenant, and every tenant that has records or a name. The record of a tenant's name may be lost although
/// others of its records are not.
fn tenants(engine: &dyn Engine, beat: &dyn Fn()) -> Result<BTreeSet<Tenant>> {
    let mut tenants = BTreeSet::from([Tenant::default()]);
    each(&TenantRecords { engine, tenant: Tenant::default() }, beat, |key, _: TenantRow| {
        tenants.insert(keys::read_tenant(key)?);
        Ok(())
    })?;
    for tenant in engine.tenants()? {
        if !tenants.contains(&tenant) && has_records(engine, tenant, beat)? {
            tenants.insert(tenant);
        }
    }
    Ok(tenants)
}

/// Whether a tenant other than the default one has any record.
fn has_records(engine: &dyn Engine, tenant: Tenant, beat: &dyn Fn()) -> Result<bool> {
    let mut has_any = false;
    let mut beat = every_batch(beat);
    engine.scan(&tenant_prefix(tenant), &mut |_, _| {
        beat();
        has_any = true;
        Ok(())
    })?;
    Ok(has_any)
}

/// Builds the view of a tenant.
pub(super) fn view(engine: &dyn Engine, tenant: Tenant, seq: u64, beat: &dyn Fn()) -> Result<View> {
    let own = TenantRecords { engine, tenant };
    let mut view = Builder::new();
    each(&own, beat, |_, node: Node| {
        view.node(&node);
        Ok(())
    })?;
    each(&own, beat, |key, activity: Activity| {
        view.activity(keys::read_id(key)?, &activity);
        Ok(())
    })?;
    each(&own, beat, |_, edge: Edge| {
        view.edge(&edge);
        Ok(())
    })?;
    each(&own, beat, |key, visit: Visit| {
        let (id, agent) = keys::read_visit(key)?;
        view.visit(agent, id, visit);
        Ok(())
    })?;
    Ok(view.finish(seq))
}

/// A function that calls `beat` once for every [`BATCH`] calls of it.
fn every_batch(beat: &dyn Fn()) -> impl FnMut() {
    let mut since = 0;
    move || {
        since = (since + 1) % BATCH;
        if since == 0 {
            beat();
        }
    }
}

/// Calls `take` with the key and value of every record of a table, in the order of keys.
fn each<R: Record>(
    engine: &TenantRecords<'_>,
    beat: &dyn Fn(),
    mut take: impl FnMut(&[u8], R) -> Result<()>,
) -> Result<()> {
    let mut heartbeat = every_batch(beat);
    engine.scan(R::TABLE, &[], &mut |key, bytes| {
        heartbeat();
        take(key, R::decode(bytes)?)
    })
}

/// The sources from which indexes are brought up to date.
pub(super) struct CatchUpSources {
    pub(super) log: Arc<Log>,
    pub(super) engine: Arc<dyn Engine>,
    /// The name of the embedder whose vectors indexes receive.
    pub(super) embedder: String,
    /// The default tenant and those with many notes, with their number of nodes. Indexes are brought up to date with
    /// these at open, and with the others when they are needed.
    pub(super) tenants: Vec<(Tenant, usize)>,
    /// For a store in which no file may be changed: the transactions for which the saved state of an index can be
    /// used. `None` for other stores. See [`DerivedIndex::load_read_only`].
    pub(super) usable: Option<RangeInclusive<u64>>,
    /// The damaged files that indexes found.
    pub(super) rebuilt: Arc<RebuiltFiles>,
}

/// The tenants with which indexes are brought up to date at open, with their number of nodes.
pub(super) fn tenants_at_open(main: &View, others: &TenantTable) -> Vec<(Tenant, usize)> {
    let others = others.iter().map(|(tenant, counts)| (*tenant, counts.nodes as usize));
    let large = others.filter(|(_, nodes)| *nodes >= LARGE_TENANT);
    std::iter::once((Tenant::default(), main.node_count())).chain(large).collect()
}

impl TenantSource for CatchUpSources {
    fn report_damaged(&self, file: PathBuf) {
        self.rebuilt.add(file);
    }

    fn feed(&self, tenant: Tenant, take: &mut dyn FnMut(&[Delta]) -> Result<()>) -> Result<()> {
        let own = TenantRecords { engine: self.engine.as_ref(), tenant };
        let mut nodes = DeltaBatcher::new(take);
        each(&own, &|| {}, |_, node: Node| nodes.push(Delta::Node(Arc::new(node))))?;
        nodes.finish()?;
        let mut vectors = DeltaBatcher::new(take);
        own.scan(Table::Vectors, &[], &mut |key, bytes| {
            let (id, passage, embedder) = keys::read_vector(key)?;
            if embedder != self.embedder.as_bytes() {
                return Ok(());
            }
            vectors.push(Delta::Vector(id, passage, vector_encoding::decode(bytes)?))
        })?;
        vectors.finish()
    }
}

/// Number of notes from which a tenant is large: its missing indexes are built in the background when the store opens,
/// and its view is saved in a file.
pub(super) const LARGE_TENANT: usize = 1_000;
/// Readers wait for an index that lacks at most this many nodes.
const QUICK_NODES: usize = 5_000;
/// Readers wait for an index or a view that lacks at most this many bytes of log.
const QUICK_BYTES: u64 = 8 << 20;

/// The tenants whose complete data must be fed to an index.
pub(super) fn lacking(index: &dyn DerivedIndex, sources: &CatchUpSources) -> Vec<Tenant> {
    let tenants = sources.tenants.iter().filter(|(_, nodes)| *nodes > 0).map(|(tenant, _)| *tenant);
    tenants.filter(|&tenant| index.lacks(tenant)).collect()
}

/// Whether bringing an index up to the end of the log takes longer than readers should wait.
pub(super) fn is_long(index: &dyn DerivedIndex, sources: &CatchUpSources, lacking: &[Tenant]) -> bool {
    let lacking = sources.tenants.iter().filter(|(tenant, _)| lacking.contains(tenant));
    let nodes: usize = lacking.map(|(_, nodes)| nodes).sum();
    let applied = index.applied();
    nodes > QUICK_NODES || applied > 0 && !is_quick(&sources.log, applied)
}

/// Whether readers should wait while the log after transaction `seq` is read.
pub(super) fn is_quick(log: &Log, seq: u64) -> bool {
    log.bytes_after(seq) <= QUICK_BYTES
}

/// Feeds an index all nodes and vectors of the tenants that it lacks. An index that was empty then reflects
/// transaction `target`, which the engine must contain. Returns the number of changes applied.
pub(super) fn feed(
    index: &dyn DerivedIndex,
    sources: &CatchUpSources,
    lacking: &[Tenant],
    target: u64,
) -> Result<usize> {
    let mut count = 0;
    for &tenant in lacking {
        index.start_feed(tenant);
        sources.feed(tenant, &mut |batch| {
            count += count_changes(batch);
            index.apply(0, tenant, batch)
        })?;
    }
    if index.applied() == 0 {
        // The scan may have seen later transactions. Applying those again changes nothing.
        index.apply(target, Tenant::default(), &[])?;
    }
    Ok(count)
}

/// Brings an index up to transaction `target`, which the engine must contain, from the log. Returns the number of
/// changes applied.
pub(super) fn replay_into(index: &dyn DerivedIndex, sources: &CatchUpSources, target: u64) -> Result<usize> {
    let CatchUpSources { log, engine, embedder, .. } = sources;
    let mut count = 0;
    log.replay(index.applied() + 1, target, &mut |txn, _| {
        let own = TenantRecords { engine: engine.as_ref(), tenant: txn.tenant };
        let deltas = deltas(&txn.writes, embedder, &own)?;
        count += count_changes(&deltas);
        index.apply(txn.seq, txn.tenant, &deltas)
    })?;
    if index.applied() < target {
        // A damaged log may lack the last transactions.
        index.apply(target, Tenant::default(), &[])?;
    }
    Ok(count)
}

struct DeltaBatcher<'a> {
    feed: &'a mut dyn FnMut(&[Delta]) -> Result<()>,
    batch: Vec<Delta>,
}

impl<'a> DeltaBatcher<'a> {
    fn new(feed: &'a mut dyn FnMut(&[Delta]) -> Result<()>) -> Self {
        DeltaBatcher { feed, batch: Vec::with_capacity(BATCH) }
    }

    fn push(&mut self, delta: Delta) -> Result<()> {
        self.batch.push(delta);
        if self.batch.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    fn finish(mut self) -> Result<()> {
        self.flush()
    }

    fn flush(&mut self) -> Result<()> {
        (self.feed)(&self.batch)?;
        self.batch.clear();
        Ok(())
    }
}
