//! Which bytes of a file are intact.

use std::ops::Range;

/// What a check of the contents of a file found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileIntegrity {
    /// The number of records in the intact parts.
    pub(crate) records: u64,
    /// The ranges of bytes that are not intact, ascending.
    pub(crate) damaged: Vec<Range<u64>>,
}

impl FileIntegrity {
    /// Of a file with this length in bytes. `intact` are its intact parts, ascending, each with its number of records.
    pub(crate) fn new(length: u64, intact: impl IntoIterator<Item = (Range<u64>, u64)>) -> FileIntegrity {
        let mut found = FileIntegrity::default();
        let mut end = 0;
        for (part, records) in intact {
            found.records += records;
            if part.start > end {
                found.damaged.push(end..part.start);
            }
            end = end.max(part.end);
        }
        if end < length {
            found.damaged.push(end..length);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_between_intact_parts_are_damaged() {
        let of = |length, parts: &[(u64, u64)]| {
            let found = FileIntegrity::new(length, parts.iter().map(|&(from, to)| (from..to, 2)));
            (found.records, found.damaged)
        };
        assert_eq!(of(0, &[]), (0, vec![]));
        assert_eq!(of(9, &[(0, 4)]), (2, std::iter::once(4..9).collect()));
        assert_eq!(of(9, &[(0, 4), (4, 9)]), (4, vec![]));
        assert_eq!(of(9, &[(2, 4), (5, 8)]), (4, vec![0..2, 4..5, 8..9]));
    }
}
