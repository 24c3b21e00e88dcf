//! An optional timestamp in eight bytes.

use super::Ix;
use crate::Cursor;
use crate::time::Timestamp;

/// An optional timestamp. `i64::MIN`, 292 million years before 1970, represents `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
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

/// A [`Cursor`] over optional timestamps.
#[derive(Clone, Debug)]
pub struct OptionalTimestampCursor<'a>(pub(super) Cursor<'a, OptionalTimestamp>);

impl OptionalTimestampCursor<'_> {
    /// The timestamp of a node, or `absent` when the column has no entry for it.
    #[inline]
    pub fn of(&mut self, ix: Ix, absent: Option<Timestamp>) -> Option<Timestamp> {
        match self.0.get(ix as usize) {
            Some(&moment) => moment.into(),
            None => absent,
        }
    }
}
