//! Ranges of transactions.

use serde::{Serialize, Serializer};
use std::fmt;

/// The transactions from one sequence number to another, both included. In JSON, it is a list of the two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionRange {
    /// The first sequence number.
    pub first: u64,
    /// The last sequence number, not below the first one.
    pub last: u64,
}

impl TransactionRange {
    /// The range from `first` to `last`; `None` if it is empty.
    pub fn new(first: u64, last: u64) -> Option<TransactionRange> {
        (first <= last).then_some(TransactionRange { first, last })
    }

    /// The range of one transaction.
    pub fn one(seq: u64) -> TransactionRange {
        TransactionRange { first: seq, last: seq }
    }

    /// The transactions that are also in another range; `None` if there are none.
    pub fn intersection(self, other: TransactionRange) -> Option<TransactionRange> {
        TransactionRange::new(self.first.max(other.first), self.last.min(other.last))
    }

    /// Whether all transactions of another range are in this one.
    pub fn contains(self, other: TransactionRange) -> bool {
        self.first <= other.first && other.last <= self.last
    }

    /// The number of transactions.
    pub fn count(self) -> u64 {
        self.last - self.first + 1
    }
}

/// One number, or `3 to 8`.
impl fmt::Display for TransactionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            TransactionRange { first, last } if first == last => write!(f, "{first}"),
            TransactionRange { first, last } => write!(f, "{first} to {last}"),
        }
    }
}

impl Serialize for TransactionRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.first, self.last).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_intersection_has_the_common_transactions() {
        let range = |first, last| TransactionRange::new(first, last).unwrap();
        assert_eq!(range(3, 8).intersection(range(5, 20)), Some(range(5, 8)));
        assert_eq!(range(3, 8).intersection(range(8, 8)), Some(TransactionRange::one(8)));
        assert_eq!(range(3, 8).intersection(range(9, 20)), None);
        assert!(range(3, 8).contains(range(3, 5)) && !range(3, 8).contains(range(5, 9)));
        assert_eq!((TransactionRange::new(4, 3), range(3, 8).count()), (None, 6));
    }

    #[test]
    fn a_range_is_a_list_of_two_numbers_in_json() {
        let range = TransactionRange { first: 3, last: 8 };
        assert_eq!(serde_json::to_value(range).unwrap(), serde_json::json!([3, 8]));
        assert_eq!([range.to_string(), TransactionRange::one(3).to_string()], ["3 to 8", "3"]);
    }
}
