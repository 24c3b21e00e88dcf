//! Merges the sorted records of several sources.

use crate::engine::EngineError;
use crate::engine::sorted_table::StoredRecord;
use std::iter::Peekable;

type Record = Result<StoredRecord, EngineError>;

/// The records of several sources, sorted by key. If sources have the same key, the source that was added first wins.
/// The iteration ends after an error.
#[derive(Default)]
pub(super) struct MergeIterator<'a>(Vec<Peekable<Box<dyn Iterator<Item = Record> + 'a>>>);

impl<'a> MergeIterator<'a> {
    /// Adds a source that is older than all sources added so far.
    pub(super) fn add(&mut self, records: impl Iterator<Item = Record> + 'a) {
        let boxed: Box<dyn Iterator<Item = Record> + 'a> = Box::new(records);
        self.0.push(boxed.peekable());
    }

    /// The source with the smallest key, or with an error.
    fn first(&mut self) -> Option<usize> {
        let mut first: Option<(usize, &[u8])> = None;
        for (at, source) in self.0.iter_mut().enumerate() {
            match source.peek() {
                Some(Ok((key, _))) if first.is_none_or(|(_, smallest)| key.as_slice() < smallest) => {
                    first = Some((at, key));
                }
                Some(Err(_)) => return Some(at),
                _ => {}
            }
        }
        first.map(|(at, _)| at)
    }
}

impl Iterator for MergeIterator<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let at = self.first()?;
        let record = self.0.get_mut(at)?.next()?;
        match &record {
            Ok((key, _)) => {
                for older in self.0.iter_mut().skip(at + 1) {
                    older.next_if(|other| other.as_ref().is_ok_and(|(other, _)| other == key));
                }
            }
            Err(_) => self.0.clear(),
        }
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    poc_laws::laws! {
        #[test]
        fn the_first_source_wins(sources in any::<Vec<BTreeMap<u8, u8>>>()) {
            let mut merged = MergeIterator::default();
            let mut expected: BTreeMap<u8, u8> = BTreeMap::new();
            for source in &sources {
                merged.add(source.iter().map(|(key, value)| Ok((vec![*key], vec![*value]))));
                for (key, value) in source {
                    expected.entry(*key).or_insert(*value);
                }
            }
            let found: Vec<(u8, u8)> = merged.map(|record| record.map(|(key, value)| (key[0], value[0])).unwrap()).collect();
            prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
