//! How what is derived from the log gets to the log's last transaction at open.

use super::delta::deltas;
use super::engine::{Applier, Engine, Mark};
use super::log::Log;
use super::{Follower, Record, Table, keys, vector};
use crate::error::{Error, Result};
use crate::graph::{Activity, Builder, Delta, Edge, Node, View, Visit};
use std::sync::Arc;

/// Records between two signs of life, and deltas in one batch for a follower.
const BATCH: usize = 2000;

/// Brings an engine to the end of the log. An engine that is ahead of the log, or followed another
/// one, is an error.
pub(super) fn engine(engine: &dyn Engine, log: &Log, beat: &dyn Fn()) -> Result<()> {
    let mark = engine.mark()?;
    if mark != Mark::default() {
        match log.read(mark.seq)? {
            Some((_, checksum)) if checksum == mark.checksum => {}
            Some(_) => return Err(Error::internal("it follows another log")),
            None => return Err(Error::internal("it is ahead of the log")),
        }
    }
    let mut applier = Applier::new(engine);
    log.replay(mark.seq + 1, log.last(), &mut |txn, checksum| {
        beat();
        applier.take(&txn, checksum)
    })?;
    applier.finish()
}

/// The view of everything in the engine.
pub(super) fn view(engine: &dyn Engine, seq: u64, beat: &dyn Fn()) -> Result<View> {
    let mut view = Builder::new();
    each(engine, beat, |_, node: Node| {
        view.node(&node);
        Ok(())
    })?;
    each(engine, beat, |key, activity: Activity| {
        view.activity(keys::read_id(key)?, &activity);
        Ok(())
    })?;
    each(engine, beat, |_, edge: Edge| {
        view.edge(&edge);
        Ok(())
    })?;
    each(engine, beat, |key, visit: Visit| {
        let (id, agent) = keys::read_visit(key)?;
        view.visit(agent, id, visit);
        Ok(())
    })?;
    Ok(view.finish(seq))
}

/// Calls `take` with the key and value of every record of a table, by key.
fn each<R: Record>(
    engine: &dyn Engine,
    beat: &dyn Fn(),
    mut take: impl FnMut(&[u8], R) -> Result<()>,
) -> Result<()> {
    let mut since = 0;
    engine.scan(&R::TABLE.prefix(&[]), &mut |key, bytes| {
        since = (since + 1) % BATCH;
        if since == 0 {
            beat();
        }
        take(key.get(1..).unwrap_or_default(), R::decode(bytes)?)
    })
}

/// Brings a follower to the end of the log: from the log when it knows where it is, else from the
/// nodes and vectors in the engine. Returns how many changes it took in.
pub(super) fn follower(
    follower: &dyn Follower,
    engine: &dyn Engine,
    log: &Log,
    embedder: &str,
) -> Result<usize> {
    let mut taken = 0;
    let seq = log.last();
    if follower.applied() > seq {
        follower.reset()?;
    }
    let applied = follower.applied();
    if applied > 0 {
        log.replay(applied + 1, seq, &mut |txn, _| {
            let deltas = deltas(&txn.writes, embedder, engine)?;
            taken += deltas.len();
            follower.apply(txn.seq, &deltas)
        })?;
        return Ok(taken);
    }
    if seq == 0 {
        return Ok(0);
    }
    let mut feed = |batch: &[Delta]| {
        taken += batch.len();
        follower.apply(0, batch)
    };
    let mut nodes = Batches::new(&mut feed);
    each(engine, &|| {}, |_, node: Node| nodes.push(Delta::Node(Arc::new(node))))?;
    nodes.finish()?;
    let mut vectors = Batches::new(&mut feed);
    engine.scan(&Table::Vectors.prefix(&[]), &mut |key, bytes| {
        let (id, part, of) = keys::read_vector(key.get(1..).unwrap_or_default())?;
        if of != embedder.as_bytes() {
            return Ok(());
        }
        vectors.push(Delta::Vector(id, part, vector::decode(bytes)?))
    })?;
    vectors.finish()?;
    follower.apply(seq, &[])?;
    Ok(taken)
}

struct Batches<'a> {
    feed: &'a mut dyn FnMut(&[Delta]) -> Result<()>,
    batch: Vec<Delta>,
}

impl<'a> Batches<'a> {
    fn new(feed: &'a mut dyn FnMut(&[Delta]) -> Result<()>) -> Self {
        Batches { feed, batch: Vec::with_capacity(BATCH) }
    }

    fn push(&mut self, delta: Delta) -> Result<()> {
        self.batch.push(delta);
        if self.batch.len() >= BATCH { self.hand_over() } else { Ok(()) }
    }

    fn finish(mut self) -> Result<()> {
        self.hand_over()
    }

    fn hand_over(&mut self) -> Result<()> {
        (self.feed)(&self.batch)?;
        self.batch.clear();
        Ok(())
    }
}
