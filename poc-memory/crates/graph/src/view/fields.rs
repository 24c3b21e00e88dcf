//! The single-valued fields of a node as one struct, for updates and for the saved form.

use super::{Ix, View};
use crate::Activity;
use crate::Category;
use crate::State;
use crate::Trust;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The fields of a node's record that a view stores. Type and provenance are interned numbers.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Fields<'a> {
    pub(super) key: &'a str,
    pub(super) body_len: u32,
    pub(super) node_type: u16,
    pub(super) provenance: u32,
    pub(super) state: State,
    pub(super) category: Category,
    pub(super) trust: Trust,
    pub(super) emotion: f32,
    pub(super) created: Timestamp,
    pub(super) modified: Timestamp,
    pub(super) expires: Option<Timestamp>,
    pub(super) version: u32,
}

impl View {
    /// Sets all single-valued fields except those of the activity.
    pub(super) fn set_fields(&mut self, ix: Ix, fields: &Fields) {
        let at = ix as usize;
        self.set_key(ix, fields.key);
        self.body_lens.set(at, fields.body_len, 0);
        self.types.set(at, fields.node_type, 0);
        self.provenances.set(at, fields.provenance, 0);
        self.states.set(at, Some(fields.state), None);
        self.categories.set(at, fields.category, fields.category);
        self.trusts.set(at, fields.trust, fields.trust);
        self.emotions.set_sparse(at, fields.emotion, 0.0);
        self.created.set(at, fields.created, fields.created);
        self.modified.set(at, fields.modified, fields.modified);
        self.expires.set_sparse(at, fields.expires.into(), None.into());
        self.versions.set(at, fields.version, 0);
    }

    /// The fields that [`View::set_fields`] sets.
    pub(super) fn fields(&self, ix: Ix) -> Fields<'_> {
        Fields {
            key: self.key(ix),
            body_len: self.body_len(ix),
            node_type: self.node_type(ix),
            provenance: self.provenance(ix),
            state: self.state(ix).unwrap_or(State::Expired),
            category: self.category(ix),
            trust: self.trust(ix),
            emotion: self.emotion(ix),
            created: self.created(ix),
            modified: self.modified(ix),
            expires: self.expires(ix),
            version: self.version(ix),
        }
    }

    /// The node's activity, except the access count and the time of the last feedback, which a view does not store.
    pub(super) fn activity(&self, ix: Ix) -> Activity {
        Activity {
            weight: self.stored_weight(ix),
            touched: self.touched(ix),
            accesses: 0,
            replay_interval: self.replay_interval(ix),
            replayed: self.replayed(ix),
            judged: None,
        }
    }

    pub(super) fn put_activity_at(&mut self, ix: Ix, activity: &Activity) {
        let at = ix as usize;
        self.weights.set(at, activity.weight, 0.0);
        self.touched.set(at, activity.touched, activity.touched);
        self.replay_intervals.set_sparse(at, activity.replay_interval, 0);
        self.replayed.set_sparse(at, activity.replayed.into(), None.into());
    }
}
