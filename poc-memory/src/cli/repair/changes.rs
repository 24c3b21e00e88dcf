//! Ranges of changes in words.

use poc_store::TransactionRange;

/// Ranges of changes in words, such as `change 8` or `changes 3, 8 to 10`.
pub(super) fn changes_in_words(ranges: &[TransactionRange]) -> String {
    let word = if matches!(ranges, [range] if range.count() == 1) { "change" } else { "changes" };
    let ranges: Vec<String> = ranges.iter().map(TransactionRange::to_string).collect();
    format!("{word} {}", ranges.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_change_is_not_called_changes() {
        let range = |first, last| TransactionRange { first, last };
        assert_eq!(changes_in_words(&[range(8, 8)]), "change 8");
        assert_eq!(changes_in_words(&[range(8, 9)]), "changes 8 to 9");
        assert_eq!(changes_in_words(&[range(3, 3), range(8, 10)]), "changes 3, 8 to 10");
    }
}
