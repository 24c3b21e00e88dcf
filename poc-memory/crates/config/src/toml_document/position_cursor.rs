//! Lines and columns of many byte offsets, in one pass over a text.

use poc_graph::error::ErrorLocation;

/// A position in a text that moves forward.
pub(super) struct PositionCursor<'t> {
    text: &'t str,
    offset: usize,
    line: u32,
    column: u32,
}

impl<'t> PositionCursor<'t> {
    /// The beginning of a text.
    pub(super) fn new(text: &'t str) -> PositionCursor<'t> {
        PositionCursor { text, offset: 0, line: 1, column: 1 }
    }

    /// Line and column of a byte offset, as [`ErrorLocation::offset`] returns them. Each offset must be at least the
    /// one before.
    pub(super) fn location(&mut self, offset: usize) -> ErrorLocation {
        let offset = self.text.floor_char_boundary(offset);
        let passed = self.text.get(self.offset..offset).unwrap_or_default();
        match passed.rsplit_once('\n') {
            Some((before, last)) => {
                self.line += 1 + before.matches('\n').count() as u32;
                self.column = 1 + last.chars().count() as u32;
            }
            None => self.column += passed.chars().count() as u32,
        }
        self.offset = offset;
        ErrorLocation { line: Some(self.line), column: Some(self.column), ..ErrorLocation::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    poc_laws::laws! {
        #[test]
        fn positions_are_those_of_each_offset(
            text in "[aä\n\r]{0,24}",
            mut offsets in prop::collection::vec(0..40_usize, 0..12),
        ) {
            offsets.sort_unstable();
            let mut cursor = PositionCursor::new(&text);
            for offset in offsets {
                prop_assert_eq!(cursor.location(offset), ErrorLocation::offset(&text, offset));
            }
        }
    }
}
