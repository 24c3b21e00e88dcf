//! Cursors over the columns a scan reads, one per field.

use super::{Ix, OptionalTimestampCursor, View};
use crate::Category;
use crate::Cursor;
use crate::State;
use crate::time::Timestamp;

macro_rules! cursors {
    ($($(#[$doc:meta])* $name:ident: $column:ident -> $type:ty;)+) => {
        impl View {
            $($(#[$doc])*
            pub fn $name(&self) -> Cursor<'_, $type> {
                self.$column.cursor()
            })+
        }
    };
}

cursors! {
    /// [`View::key_len`] of many nodes.
    key_lens: key_lens -> u32;
    /// [`View::body_len`] of many nodes.
    body_lens: body_lens -> u32;
    /// [`View::state`] of many nodes.
    states: states -> Option<State>;
    /// [`View::category`] of many nodes.
    categories: categories -> Category;
    /// [`View::emotion`] of many nodes.
    emotions: emotions -> f32;
    /// [`View::created`] of many nodes.
    creations: created -> Timestamp;
    /// [`View::modified`] of many nodes.
    modifications: modified -> Timestamp;
    /// [`View::version`] of many nodes.
    versions: versions -> u32;
    /// [`View::stored_weight`] of many nodes.
    stored_weights: weights -> f64;
    /// [`View::touched`] of many nodes.
    touches: touched -> Timestamp;
    /// [`View::replay_interval`] of many nodes.
    replay_intervals: replay_intervals -> u16;
    /// [`View::degree`] of many nodes.
    degrees: degrees -> u32;
    /// [`View::triangles`] of many nodes.
    triangle_counts: triangles -> u32;
    /// [`View::node_type`] of many nodes.
    node_types: types -> u16;
    /// [`View::provenance`] of many nodes.
    provenance_numbers: provenances -> u32;
}

impl View {
    /// [`View::expires`] of many nodes.
    pub fn expiries(&self) -> OptionalTimestampCursor<'_> {
        OptionalTimestampCursor(self.expires.cursor())
    }

    /// [`View::replayed`] of many nodes.
    pub fn replays(&self) -> OptionalTimestampCursor<'_> {
        OptionalTimestampCursor(self.replayed.cursor())
    }
}

impl<T: Copy> Cursor<'_, T> {
    /// The value of a node, or `absent` when the column has none.
    #[inline]
    pub fn of(&mut self, ix: Ix, absent: T) -> T {
        self.get(ix as usize).copied().unwrap_or(absent)
    }
}
