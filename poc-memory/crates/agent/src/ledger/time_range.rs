//! A range of time.

use poc_graph::time::Timestamp;
use serde::{Deserialize, Serialize};

/// The time from `first` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct TimeRange {
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
}
