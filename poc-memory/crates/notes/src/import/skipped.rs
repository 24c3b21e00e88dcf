//! Content that an import left out on purpose.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How much was left out, by kind, for example `tool results`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SkippedCounts(BTreeMap<String, SkippedAmount>);

/// How much of one kind was left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedAmount {
    /// Number of items.
    pub count: u64,
    /// Bytes of their text; 0 if they have none.
    pub bytes: u64,
}

impl SkippedCounts {
    /// Counts one more of a kind.
    pub(super) fn add(&mut self, kind: &str, bytes: usize) {
        self.add_all(kind, SkippedAmount { count: 1, bytes: bytes as u64 });
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &SkippedCounts) {
        for (kind, skipped) in other.iter() {
            self.add_all(kind, skipped);
        }
    }

    /// Kinds and counts, by kind.
    pub fn iter(&self) -> impl Iterator<Item = (&str, SkippedAmount)> {
        self.0.iter().map(|(kind, skipped)| (kind.as_str(), *skipped))
    }

    fn add_all(&mut self, kind: &str, more: SkippedAmount) {
        let skipped = self.0.entry(kind.to_owned()).or_default();
        skipped.count += more.count;
        skipped.bytes += more.bytes;
    }
}
