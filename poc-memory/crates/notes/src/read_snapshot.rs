//! A state of the memory that reads are answered from: the newest one or a past one.

use super::answer_status::{self, AnswerStatus, AsOf};
use super::history::{self, NodeChange};
use super::past::PastMemory;
use super::{Memory, resolve};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{HistoryPoint, Node, NodeId, View, Visibility};
use poc_search::query::{Indexes, Sources};
use poc_store::{PastState, Records, Table};
use std::sync::Arc;

/// One state of the memory, with its graph, its records and its current time.
pub struct ReadSnapshot<'a> {
    memory: &'a Memory,
    state: SnapshotSource,
    now: Timestamp,
    quarantined: bool,
    // Number of completed indexes when the snapshot was taken.
    completed: usize,
}

enum SnapshotSource {
    Newest(Arc<View>),
    Past(Arc<PastMemory>),
}

impl<'a> ReadSnapshot<'a> {
    /// The newest state, or a past one. The current time of a state after a change is that of the change.
    ///
    /// # Errors
    /// As [`Memory::past`].
    pub fn of(memory: &'a Memory, point: Option<HistoryPoint>) -> Result<ReadSnapshot<'a>> {
        let completed = memory.store.completed();
        // The view is taken before the time, so that a later `--at` with this time shows at least the state
        // of this answer.
        let view = memory.store.view();
        let now = memory.now();
        let (state, now) = match point {
            None => (SnapshotSource::Newest(view), now),
            Some(HistoryPoint::Time(moment)) => {
                let at = moment.resolve_end(now);
                (SnapshotSource::Past(memory.past(at)?), at)
            }
            Some(HistoryPoint::Change(seq)) => {
                let past = memory.past(PastState::AfterChange(seq))?;
                let at = past.store.at();
                (SnapshotSource::Past(past), at)
            }
        };
        Ok(ReadSnapshot { memory, state, now, quarantined: true, completed })
    }

    /// The same state; includes quarantined notes only if `quarantined` is set.
    #[must_use]
    pub fn with_quarantined(self, quarantined: bool) -> ReadSnapshot<'a> {
        ReadSnapshot { quarantined, ..self }
    }

    /// The visibility of notes in this state.
    pub fn visibility(&self) -> Visibility {
        Visibility { now: self.now, quarantined: self.quarantined }
    }

    /// The current time of this state.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether this is a past state.
    pub fn is_past(&self) -> bool {
        matches!(self.state, SnapshotSource::Past(_))
    }

    /// The graph.
    pub fn view(&self) -> &View {
        match &self.state {
            SnapshotSource::Newest(view) => view,
            SnapshotSource::Past(past) => past.store.view(),
        }
    }

    /// The inputs of a pipeline over this state.
    pub fn sources(&self) -> Sources<'_> {
        let indexes: &dyn Indexes = match &self.state {
            SnapshotSource::Newest(_) => self.memory,
            SnapshotSource::Past(past) => past.as_ref(),
        };
        Sources { indexes, now: self.now, quarantined: self.quarantined, ..self.memory.sources(self.view()) }
    }

    /// The node with an id or a key, in any state.
    ///
    /// # Errors
    /// `not_found`; `rejected` if it is quarantined and quarantined notes are not visible.
    pub fn find(&self, name: &str) -> Result<Node> {
        resolve::require_visible_node(resolve::find(self, self.view(), name)?, self.visibility())
    }

    /// The changes of a node up to this state, oldest first.
    pub fn history(&self, id: NodeId) -> Result<Vec<NodeChange>> {
        let last = match &self.state {
            SnapshotSource::Past(past) => Some(past.store.seq()),
            SnapshotSource::Newest(_) => None,
        };
        history::entries(self.memory, id, last)
    }

    /// Identifies this state, and tells how complete the reads from it were so far.
    pub fn freshness(&self) -> AnswerStatus {
        let mut newest = answer_status::of(self.memory, self.view());
        newest.as_of.at = self.now;
        match &self.state {
            SnapshotSource::Newest(_) => {
                if self.memory.store.completed() != self.completed {
                    newest.degraded.push("an index was completed while this request was running, so the answer may be incomplete".into());
                }
                newest
            }
            // The indexes of a past state are built for it and are never behind.
            SnapshotSource::Past(past) => {
                AnswerStatus { as_of: AsOf { seq: past.store.seq(), ..newest.as_of }, lag: 0, ..newest }
            }
        }
    }
}

impl Records for ReadSnapshot<'_> {
    fn raw(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match &self.state {
            SnapshotSource::Newest(_) => self.memory.store.raw(table, key),
            SnapshotSource::Past(past) => past.store.raw(table, key),
        }
    }

    fn raw_range(&self, table: Table, prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        match &self.state {
            SnapshotSource::Newest(_) => self.memory.store.raw_range(table, prefix),
            SnapshotSource::Past(past) => past.store.raw_range(table, prefix),
        }
    }

    fn may_lack_records(&self) -> bool {
        matches!(self.state, SnapshotSource::Newest(_)) && self.memory.store.may_lack_records()
    }
}
