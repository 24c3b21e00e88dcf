//! Characters of a text, counted by line and column.

/// Index of the character at a line and column, both counted from 1.
pub(crate) fn offset_of(text: &str, line: u32, column: u32) -> usize {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1) as usize);
    before.map(|line| line.chars().count()).sum::<usize>() + column.saturating_sub(1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_characters() {
        assert_eq!(offset_of("ab\ncd\n", 2, 2), 4);
        assert_eq!(offset_of("äb\ncd\n", 2, 1), 3);
    }
}
