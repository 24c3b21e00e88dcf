//! Encodes the words of a note as LEB128 numbers. Words that were added early, which are usually common, take one or
//! two bytes.

use super::words::Spelling;
use crate::packed_list::{push_number, read_number};

/// A word: its number and its spelling.
pub(super) type PackedWord = (u32, Spelling);

/// Appends a word.
pub(super) fn push(bytes: &mut Vec<u8>, (number, spelling): PackedWord) {
    let value =
        u64::from(number) << 2 | u64::from(spelling.is_evidence) << 1 | u64::from(spelling.begins_name);
    push_number(bytes, value);
}

/// Decodes the words.
pub(super) fn words(mut bytes: &[u8]) -> impl Iterator<Item = PackedWord> {
    std::iter::from_fn(move || {
        let value = read_number(&mut bytes)?;
        let spelling = Spelling { begins_name: value & 1 == 1, is_evidence: value & 2 == 2 };
        Some(((value >> 2) as u32, spelling))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn word() -> impl Strategy<Value = PackedWord> {
        (any::<u32>(), any::<bool>(), any::<bool>())
            .prop_map(|(number, begins_name, is_evidence)| (number, Spelling { begins_name, is_evidence }))
    }

    poc_laws::laws! {
        #[test]
        fn packed_words_are_decoded(all in proptest::collection::vec(word(), 0..40)) {
            let mut bytes = Vec::new();
            all.iter().for_each(|word| push(&mut bytes, *word));
            prop_assert_eq!(words(&bytes).collect::<Vec<_>>(), all);
        }

        #[test]
        fn any_bytes_can_be_decoded(bytes in any::<Vec<u8>>()) {
            prop_assert!(words(&bytes).count() <= bytes.len());
        }
    }
}
