//! Tests of syncs between two stores.

mod interrupted;
mod locations;
mod messages;
mod model;
mod scenarios;

use super::{Binding, RemoteLocation, SyncCallbacks, SyncReport, between};
use crate::Draft;
use crate::Memory;
use crate::insert;
use crate::testing::{TestMemory, draft};
use poc_config::Config;
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use poc_graph::{EdgeKind, Node, NodeId, Trust};
use poc_store::Table;
use std::cell::Cell;
use std::collections::BTreeSet;

/// A store and its remote, both open.
pub(super) struct StorePair {
    pub(super) local: TestMemory,
    pub(super) remote: TestMemory,
    pub(super) binding: Binding,
}

impl StorePair {
    pub(super) fn new() -> StorePair {
        StorePair::with_chunk(Config::defaults().unwrap().import.chunk)
    }

    /// Two stores that copy at most `chunk` notes in one transaction.
    pub(super) fn with_chunk(chunk: usize) -> StorePair {
        let config = || {
            let mut config = Config::defaults().unwrap();
            config.import.chunk = chunk;
            config
        };
        let binding = Binding {
            location: RemoteLocation::Profile("there".into()),
            trust: Trust::User,
            bound: Timestamp(0),
            last: None,
        };
        StorePair { local: TestMemory::apart(1, config()), remote: TestMemory::apart(2, config()), binding }
    }

    pub(super) fn sync(&self) -> SyncReport {
        self.sync_with(false, &|| Ok(())).unwrap()
    }

    pub(super) fn dry_run(&self) -> SyncReport {
        self.sync_with(true, &|| Ok(())).unwrap()
    }

    /// Runs a sync that ends after a number of transactions; returns whether it finished before.
    pub(super) fn killed_after(&self, transactions: usize) -> bool {
        let left = Cell::new(transactions);
        let check_cancelled = || match left.get() {
            0 => Err(Error::new(Code::Unavailable, "killed")),
            more => {
                left.set(more - 1);
                Ok(())
            }
        };
        match self.sync_with(false, &check_cancelled) {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.message, "killed");
                false
            }
        }
    }

    fn sync_with(&self, dry_run: bool, check_cancelled: &dyn Fn() -> Result<()>) -> Result<SyncReport> {
        let callbacks = SyncCallbacks { progress: &|_, _, _| {}, check_cancelled };
        between(&self.local, &self.remote, &self.binding, dry_run, &callbacks)
    }

    /// Advances the time of both stores.
    pub(super) fn later(&self) {
        for side in [&self.local, &self.remote] {
            side.clock.advance(poc_graph::time::Span::MINUTE);
        }
    }
}

/// The numbers of notes that were pulled, deleted and pushed.
pub(super) fn counts(report: &SyncReport) -> (u64, u64, u64) {
    (report.pulled, report.deleted, report.pushed)
}

/// Every note, by id.
pub(super) fn notes(memory: &Memory) -> Vec<Node> {
    let view = memory.store.view();
    let ids: BTreeSet<NodeId> =
        (0..view.slots()).filter(|&ix| view.state(ix).is_some()).filter_map(|ix| view.id(ix)).collect();
    ids.into_iter().map(|id| memory.store.node(id).unwrap().unwrap()).collect()
}

/// Number of transactions that wrote notes.
pub(super) fn note_transactions(memory: &Memory) -> usize {
    let store = &memory.store;
    let wrote_notes = |seq: &u64| {
        let txn = store.transaction(*seq).unwrap().unwrap();
        txn.writes.iter().any(|write| write.table == Table::Nodes)
    };
    (store.first_seq()..=store.last_seq()).filter(wrote_notes).count()
}

/// The text of every note.
pub(super) fn texts(memory: &Memory) -> BTreeSet<String> {
    notes(memory).into_iter().map(|node| node.body).collect()
}

pub(super) fn named(memory: &Memory, key: &str) -> Node {
    memory.find(key).unwrap()
}

/// Changes the text of a note.
pub(super) fn edit(memory: &Memory, key: &str, body: &str) -> Result<insert::InsertReport> {
    let draft = Draft { key: Some(key.into()), update: true, ..draft(body) };
    insert::insert(memory, draft, memory.cause("manual", "insert"))
}

pub(super) fn delete(memory: &Memory, key: &str) {
    let id = named(memory, key).id;
    let cause = memory.cause("manual", "delete");
    memory.store.transact(cause, |tx| crate::delete::apply(tx, id, memory.now())).unwrap();
}

pub(super) fn link(memory: &Memory, from: &str, to: &str) {
    let (src, dst) = (named(memory, from).id, named(memory, to).id);
    let link = crate::link::Link {
        src,
        dst,
        kind: EdgeKind::Link,
        strength: 0.8,
        reason: "because".into(),
        provenance: "manual".into(),
    };
    let cause = memory.cause("manual", "link");
    let now = memory.now();
    memory.store.transact(cause, |tx| crate::link::add(tx, &link, now)).unwrap();
}

pub(super) fn unlink(memory: &Memory, from: &str, to: &str) {
    let (src, dst) = (named(memory, from).id, named(memory, to).id);
    let cause = memory.cause("manual", "link");
    memory.store.transact(cause, |tx| crate::link::remove(tx, src, EdgeKind::Link, dst)).unwrap();
}

pub(super) fn supersede(memory: &Memory, old: &str, new: &str) {
    let (old, new) = (named(memory, old).id, named(memory, new).id);
    let cause = memory.cause("manual", "supersede");
    let now = memory.now();
    memory
        .store
        .transact(cause, |tx| crate::supersede::apply(tx, old, new, "manual", "", &memory.config, now))
        .unwrap();
}

/// The explicit edges, by the texts of their nodes.
pub(super) fn links(memory: &Memory) -> BTreeSet<(String, EdgeKind, String)> {
    let mut found = BTreeSet::new();
    for node in notes(memory) {
        for edge in memory.store.edges(node.id).unwrap() {
            if edge.src == node.id && !matches!(edge.kind, EdgeKind::Keyword | EdgeKind::Semantic) {
                let other = memory.store.node(edge.dst).unwrap().unwrap();
                found.insert((node.body.clone(), edge.kind, other.body));
            }
        }
    }
    found
}
