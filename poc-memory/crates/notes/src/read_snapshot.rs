//! A state of the memory that reads are answered from: the newest one or a past one.

use super::answer_status::{self, AnswerStatus, AsOf};
use super::history::{self, NodeChange, UnfinishedCall};
use super::past::PastMemory;
use super::{Memory, resolve};
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::{PastTime, Timestamp};
use poc_graph::{HistoryPoint, Node, NodeId, View, Visibility};
use poc_search::query::{AbsentName, Indexes, PastNames, Sources, VisitRule, VisitRules};
use poc_store::{LoggedChangeKind, PastState, Records, Table};
use std::sync::Arc;

/// One state of the memory, with its graph, its records and its current time.
pub struct ReadSnapshot<'a> {
    memory: &'a Memory,
    state: SnapshotSource,
    // The past state as it was requested; none for the newest state.
    point: Option<HistoryPoint>,
    now: Timestamp,
    quarantined: bool,
    visit_rules: Vec<(String, VisitRule)>,
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
            Some(HistoryPoint::Time(time)) => {
                let at = time.resolve_end(now);
                (SnapshotSource::Past(memory.past(at)?), at)
            }
            Some(HistoryPoint::Change(seq)) => {
                let past = memory.past(PastState::AfterChange(seq))?;
                let at = past.store.at();
                (SnapshotSource::Past(past), at)
            }
        };
        Ok(ReadSnapshot { memory, state, point, now, quarantined: true, visit_rules: Vec::new(), completed })
    }

    /// The same state; includes quarantined notes only if `quarantined` is set.
    #[must_use]
    pub fn with_quarantined(self, quarantined: bool) -> ReadSnapshot<'a> {
        ReadSnapshot { quarantined, ..self }
    }

    /// The same state; its pipelines count for `not-visited:` the visits that these rules of agents count. Of other
    /// agents, every visit counts.
    #[must_use]
    pub fn with_visit_rules(self, visit_rules: Vec<(String, VisitRule)>) -> ReadSnapshot<'a> {
        ReadSnapshot { visit_rules, ..self }
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
        let past = self.is_past().then_some(self as &dyn PastNames);
        let visits = VisitRules::Search(&self.visit_rules);
        let sources = self.memory.sources(self.view());
        Sources { indexes, now: self.now, quarantined: self.quarantined, visits, past, ..sources }
    }

    /// The node with an id or a key, in any state.
    ///
    /// # Errors
    /// `not_found`, of a past state with what is known of the note in other states; `rejected` if it is quarantined and
    /// quarantined notes are not visible.
    pub fn find(&self, name: &str) -> Result<Node> {
        let node = match resolve::find(self, self.view(), name) {
            Err(error) if error.code == Code::NotFound && self.is_past() => {
                let AbsentName { state, reason } = self.absent(name)?;
                let absent = Error::not_found(format!("{state} there was no note `{name}`"));
                return Err(match reason.or(error.hint) {
                    Some(hint) => absent.hint(hint),
                    None => absent,
                });
            }
            found => found?,
        };
        resolve::require_visible_node(node, self.visibility())
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
    pub fn answer_status(&self) -> AnswerStatus {
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
                let seq = past.store.seq();
                // A failure to read later changes makes this answer no worse.
                if let Ok(Some(unfinished)) = UnfinishedCall::after(self.memory, seq) {
                    newest.degraded.push(unfinished.to_string());
                }
                AnswerStatus { as_of: AsOf { seq, ..newest.as_of }, lag: 0, ..newest }
            }
        }
    }
}

impl PastNames for ReadSnapshot<'_> {
    fn absent(&self, name: &str) -> Result<AbsentName> {
        let state = match self.point {
            Some(HistoryPoint::Change(seq)) => format!("at change {seq}"),
            Some(HistoryPoint::Time(PastTime::Ago(span))) => format!("{span} ago"),
            Some(HistoryPoint::Time(time)) => format!("at {time}"),
            None => "now".to_owned(),
        };
        let memory = self.memory;
        let id = match resolve::exact(&memory.store, name)? {
            Some(node) if !self.visibility().admits(node.trust) => None,
            Some(node) => Some(node.id),
            None => history::last_deleted(memory, name)?,
        };
        let reason = id.map(|id| self.reason_of_absence(id)).transpose()?.flatten();
        Ok(AbsentName { state, reason })
    }
}

impl ReadSnapshot<'_> {
    /// Why this past state does not have a note under the name that it has in another state; `None` if that is not
    /// known, or the note is not visible.
    fn reason_of_absence(&self, id: NodeId) -> Result<Option<String>> {
        let is_visible = |node: &Node| self.visibility().admits(node.trust);
        if let Some(then) = self.node(id)? {
            return Ok(is_visible(&then).then(|| format!("it had the key `{}` then", then.key)));
        }
        let last = match &self.state {
            SnapshotSource::Past(past) => past.store.seq(),
            SnapshotSource::Newest(_) => return Ok(None),
        };
        let (mut deleted_before, mut created, mut deleted_after) = (None, None, None);
        for change in self.memory.store.history(id)? {
            match change.kind {
                LoggedChangeKind::Deleted(node) if !is_visible(&node) => return Ok(None),
                LoggedChangeKind::Deleted(_) if change.seq <= last => deleted_before = Some(change.seq),
                LoggedChangeKind::Deleted(_) => deleted_after = Some(change.seq),
                LoggedChangeKind::Created(_) if change.seq > last => {
                    created.get_or_insert(change.seq);
                    deleted_after = None;
                }
                LoggedChangeKind::Created(_) | LoggedChangeKind::Changed { .. } => {}
            }
        }
        Ok(match (deleted_before, created, deleted_after) {
            (Some(deleted), ..) => Some(format!("it was deleted by change {deleted}")),
            (None, Some(created), None) => Some(format!("it was created by change {created}")),
            (None, Some(created), Some(deleted)) => {
                Some(format!("it was created by change {created} and deleted by change {deleted}"))
            }
            (None, None, _) => None,
        })
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
