//! The store as it was: the records of now, under what later transactions found when they changed
//! them.
//!
//! A transaction keeps what every record it changes was before. Laid over each other, newest first,
//! these images give the state in front of the oldest of them, so a look back costs what has
//! changed since. The engine goes on meanwhile: whoever reads it here looks into the log
//! afterwards, which is ahead of the engine, and believes the images of whatever came in between.

use super::engine::Engine;
use super::log::Log;
use super::records::Records;
use super::{Table, Txn, Write, delta};
use crate::error::{Error, Result};
use crate::graph::{Delta, View};
use crate::time::Timestamp;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Transactions read at once on the way back.
const STRIDE: u64 = 64;

/// The store as it was after one of its transactions.
pub struct Past {
    seq: u64,
    at: Timestamp,
    view: Arc<View>,
    engine: Arc<dyn Engine>,
    log: Arc<Log>,
    embedder: String,
    later: Mutex<Later>,
}

/// What the transactions after it have changed.
#[derive(Default)]
struct Later {
    /// The last of them looked at.
    last: u64,
    /// The earliest of their times.
    earliest: Option<Timestamp>,
    /// What each record they changed was in front of them, by its full key.
    images: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl Later {
    fn time(&mut self, txn: &Txn) {
        let at = txn.cause.at;
        self.earliest = Some(self.earliest.map_or(at, |earliest| earliest.min(at)));
    }

    /// Takes in a transaction in front of all others.
    fn precede(&mut self, txn: Txn) {
        self.time(&txn);
        for write in txn.writes {
            self.images.insert(write.table.prefix(&write.key), write.before);
        }
    }

    /// Takes in the transactions that have been logged meanwhile.
    fn catch_up(&mut self, log: &Log) -> Result<()> {
        if log.last() == self.last {
            return Ok(());
        }
        log.replay(self.last + 1, log.last(), &mut |txn, _| {
            self.time(&txn);
            self.last = txn.seq;
            for write in txn.writes {
                self.images.entry(write.table.prefix(&write.key)).or_insert(write.before);
            }
            Ok(())
        })
    }
}

impl Past {
    /// The state after the last transaction whose time is not after `at`. `newest` is a published
    /// view.
    pub(super) fn open(
        engine: Arc<dyn Engine>,
        log: Arc<Log>,
        newest: &View,
        embedder: &str,
        at: Timestamp,
    ) -> Result<Past> {
        let mut later = Later { last: log.last(), ..Later::default() };
        let Some((seq, time)) = walk_back(&log, at, &mut later)? else {
            return Err(out_of_reach(&log, at)?);
        };
        let past = Past {
            seq,
            at: time,
            view: Arc::default(),
            engine,
            log,
            embedder: embedder.to_owned(),
            later: Mutex::new(later),
        };
        // The view holds nothing that was not looked at: it is published after it is logged.
        let mut view = newest.branch();
        view.apply(seq, &past.deltas()?);
        Ok(Past { view: Arc::new(view), ..past })
    }

    /// Number of the last transaction in it.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The graph.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Whether it is the state as of an instant, whatever has happened since it was made.
    pub fn is_as_of(&self, at: Timestamp) -> Result<bool> {
        let mut later = self.later.lock();
        later.catch_up(&self.log)?;
        Ok(self.at <= at && later.earliest.is_none_or(|earliest| at < earliest))
    }

    /// What turns any newer state into this one.
    pub fn deltas(&self) -> Result<Vec<Delta>> {
        let mut later = self.later.lock();
        later.catch_up(&self.log)?;
        let mut writes = Vec::new();
        for (full, image) in &later.images {
            let Some((table, key)) = Table::split(full) else { continue };
            // Only a node's earlier state says whether it comes back to life.
            let before = if table == Table::Nodes { self.engine.get(full)? } else { None };
            writes.push(Write { table, key: key.to_vec(), before, after: image.clone() });
        }
        drop(later);
        delta::deltas(&writes, &self.embedder, self)
    }
}

impl Records for Past {
    fn raw(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let full = table.prefix(key);
        let now = self.engine.get(&full)?;
        let mut later = self.later.lock();
        later.catch_up(&self.log)?;
        Ok(later.images.get(&full).map_or(now, Clone::clone))
    }

    fn raw_range(&self, table: Table, prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut found: BTreeMap<Vec<u8>, Vec<u8>> =
            self.engine.raw_range(table, prefix)?.into_iter().collect();
        let mut later = self.later.lock();
        later.catch_up(&self.log)?;
        let full = table.prefix(prefix);
        let images = later.images.range(full.clone()..).take_while(|(key, _)| key.starts_with(&full));
        for (key, image) in images {
            let key = key.get(1..).unwrap_or_default();
            match image {
                Some(value) => found.insert(key.to_vec(), value.clone()),
                None => found.remove(key),
            };
        }
        Ok(found.into_iter().collect())
    }
}

/// Goes back from the newest transaction to the last one whose time is not after `at`, whose number
/// and time it returns; takes in all behind it.
fn walk_back(log: &Log, at: Timestamp, later: &mut Later) -> Result<Option<(u64, Timestamp)>> {
    let mut end = later.last;
    while end > 0 && end >= log.first() {
        let start = end.saturating_sub(STRIDE - 1).max(log.first());
        let mut txns = Vec::new();
        log.replay(start, end, &mut |txn, _| {
            txns.push(txn);
            Ok(())
        })?;
        for txn in txns.into_iter().rev() {
            if txn.cause.at <= at {
                return Ok(Some((txn.seq, txn.cause.at)));
            }
            later.precede(txn);
        }
        end = start - 1;
    }
    Ok(None)
}

/// Why there is no state as of an instant.
fn out_of_reach(log: &Log, at: Timestamp) -> Result<Error> {
    let first = log.read(log.first())?.map(|(txn, _)| txn);
    Ok(match first {
        None => Error::not_found("there is no past: nothing was ever stored"),
        Some(txn) if txn.seq == 1 => Error::not_found(format!("nothing was stored yet at {at}"))
            .hint(format!("the first change is of {}", txn.cause.at)),
        Some(txn) => Error::not_found(format!("the log does not reach back to {at}"))
            .hint(format!("it begins with a change of {}", txn.cause.at)),
    })
}
