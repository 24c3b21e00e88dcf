//! An instant or none, in the eight bytes of the instant.

use super::Ix;
use crate::Cursor;
use crate::time::Timestamp;

/// An instant that may be missing. The earliest one there is stands for none: it lies 292 million
/// years before the first note.
#[derive(Clone, Copy, Debug)]
pub(super) struct OptionalTimestamp(i64);

impl From<Option<Timestamp>> for OptionalTimestamp {
    fn from(at: Option<Timestamp>) -> Self {
        OptionalTimestamp(at.map_or(i64::MIN, |at| at.0))
    }
}

impl From<OptionalTimestamp> for Option<Timestamp> {
    #[inline]
    fn from(moment: OptionalTimestamp) -> Self {
        (moment.0 != i64::MIN).then_some(Timestamp(moment.0))
    }
}

/// As [`Cursor`], over instants that may be missing.
#[derive(Clone, Debug)]
pub struct OptionalTimestampCursor<'a>(pub(super) Cursor<'a, OptionalTimestamp>);

impl OptionalTimestampCursor<'_> {
    /// The instant of a node, or `absent` when the column has no value for it.
    #[inline]
    pub fn of(&mut self, ix: Ix, absent: Option<Timestamp>) -> Option<Timestamp> {
        match self.0.get(ix as usize) {
            Some(&moment) => moment.into(),
            None => absent,
        }
    }
}
