//! A vector with one value per node that is cheap to clone and to modify.

use super::pages::Pages;
use std::sync::Arc;

/// One value per node, in chunks of [`Column::CHUNK`] values that clones share until one of them writes.
///
/// A clone costs one pointer per 65,536 values. A write copies only the chunk that it changes, and only if that chunk
/// is shared. This keeps a new [`View`](super::View) for each commit affordable.
#[derive(Clone, Debug)]
pub struct Column<T> {
    chunks: Pages<[T]>,
    len: usize,
}

const CHUNK: usize = 1024;

/// The initial capacity of the first chunk, and the factor by which it grows. Both are small because
/// there may be many small graphs.
const FIRST: usize = 16;
const GROWTH: usize = 4;

impl<T> Default for Column<T> {
    fn default() -> Self {
        Column { chunks: Pages::default(), len: 0 }
    }
}

impl<T: Copy> Column<T> {
    /// Values per chunk.
    pub const CHUNK: usize = CHUNK;

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the column has no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        // A chunk may be longer than the values in use.
        if index < self.len { self.chunks.get(index / CHUNK)?.get(index % CHUNK) } else { None }
    }

    /// Appends a value.
    pub fn push(&mut self, value: T) {
        self.len += 1;
        match self.get_mut(self.len - 1) {
            Some(last) => *last = value,
            None => self.make_room(value),
        }
    }

    /// Extends the last chunk or adds one; new slots hold `value`.
    fn make_room(&mut self, value: T) {
        match self.chunks.get(0) {
            None => self.chunks.push(vec![value; FIRST].into()),
            Some(first) if first.len() < CHUNK => {
                let mut values = first.to_vec();
                values.resize((first.len() * GROWTH).min(CHUNK), value);
                self.chunks.replace(0, values.into());
            }
            Some(_) => self.chunks.push(vec![value; CHUNK].into()),
        }
    }

    /// The value at `index`, mutable. Copies its chunk if the chunk is shared.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index < self.len { self.chunks.values_mut(index / CHUNK)?.get_mut(index % CHUNK) } else { None }
    }

    /// Sets the value at `index`. A shorter column is first extended with `fill`.
    pub fn set(&mut self, index: usize, value: T, fill: T) {
        if index >= self.len {
            self.grow(index, fill);
            self.push(value);
        } else if let Some(slot) = self.get_mut(index) {
            *slot = value;
        }
    }

    /// Like [`Column::set`], but does not store `fill` beyond the end. This saves memory if few nodes have another
    /// value, and readers must take a missing value for `fill`.
    pub fn set_sparse(&mut self, index: usize, value: T, fill: T)
    where
        T: PartialEq,
    {
        if index < self.len || value != fill {
            self.set(index, value, fill);
        }
    }

    /// Extends the column to `len` values. Whole chunks of `fill` share one allocation.
    fn grow(&mut self, len: usize, fill: T) {
        while self.len < len && !self.len.is_multiple_of(CHUNK) {
            self.push(fill);
        }
        if self.len + CHUNK <= len {
            let chunk: Arc<[T]> = vec![fill; CHUNK].into();
            while self.len + CHUNK <= len {
                self.chunks.push(chunk.clone());
                self.len += CHUNK;
            }
        }
        while self.len < len {
            self.push(fill);
        }
    }

    /// A reader for many look-ups; ascending indices are cheapest.
    pub fn cursor(&self) -> Cursor<'_, T> {
        Cursor { column: self, start: 0, chunk: &[] }
    }

    /// All values in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks().flatten()
    }

    /// The chunks in order; every one but the last holds [`Column::CHUNK`] values.
    pub fn chunks(&self) -> impl Iterator<Item = &[T]> {
        let mut left = self.len;
        self.chunks.iter().map(move |chunk| {
            let (values, _) = chunk.split_at_checked(left).unwrap_or((chunk, &[]));
            left -= values.len();
            values
        })
    }
}

/// Reads many values of a [`Column`]. A look-up in the same chunk as the previous one is as cheap as in a
/// plain slice.
#[derive(Clone, Debug)]
pub struct Cursor<'a, T> {
    column: &'a Column<T>,
    start: usize,
    chunk: &'a [T],
}

impl<'a, T: Copy> Cursor<'a, T> {
    /// The value at `index`.
    #[inline]
    pub fn get(&mut self, index: usize) -> Option<&'a T> {
        match self.chunk.get(index.wrapping_sub(self.start)) {
            Some(value) => Some(value),
            None => self.seek(index),
        }
    }

    #[inline(never)]
    fn seek(&mut self, index: usize) -> Option<&'a T> {
        let start = index - index % CHUNK;
        let values = self.column.len.checked_sub(start)?.min(CHUNK);
        self.chunk = self.column.chunks.get(index / CHUNK)?.get(..values)?;
        self.start = start;
        self.chunk.get(index - start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting(len: i32) -> Column<i32> {
        let mut column = Column::default();
        (0..len).for_each(|value| column.push(value));
        column
    }

    #[test]
    fn a_cursor_reads_in_any_order() {
        let column = counting(3000);
        let mut cursor = column.cursor();
        for index in [0, 1, 2999, 1023, 1024, 1025, 3000, 5, 9999, 2048] {
            assert_eq!(cursor.get(index), column.get(index), "at {index}");
            assert_eq!(column.get(index).is_some(), index < 3000);
        }
    }

    #[test]
    fn a_short_column_allocates_little() {
        for (len, room) in [(1, 16), (16, 16), (17, 64), (65, 256), (257, 1024), (1025, 2048)] {
            let column = counting(len);
            assert_eq!(column.chunks.iter().map(<[i32]>::len).sum::<usize>(), room, "{len}");
            assert_eq!(column.iter().copied().collect::<Vec<_>>(), (0..len).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_copy_does_not_see_later_writes() {
        let mut column = counting(3000);
        let copy = column.clone();
        column.set(1500, -1, 0);
        column.push(7);
        assert_eq!((copy.len(), copy.get(1500)), (3000, Some(&1500)));
        assert_eq!((column.len(), column.get(1500), column.get(3000)), (3001, Some(&-1), Some(&7)));
        assert_eq!(copy.iter().copied().collect::<Vec<_>>(), (0..3000).collect::<Vec<_>>());
        assert_eq!(copy.chunks().map(<[i32]>::len).collect::<Vec<_>>(), [1024, 1024, 952]);
    }

    #[test]
    fn a_sparse_column_ends_at_the_last_other_value() {
        let mut column = Column::default();
        (0..3000).for_each(|index| column.set_sparse(index, i32::from(index == 5) * 7, 0));
        assert_eq!((column.len(), column.get(5), column.get(4)), (6, Some(&7), Some(&0)));
        column.set_sparse(5, 0, 0);
        assert_eq!((column.len(), column.get(5)), (6, Some(&0)));
        column.set_sparse(2500, 1, 0);
        assert_eq!((column.len(), column.get(2499), column.get(2500)), (2501, Some(&0), Some(&1)));
    }

    #[test]
    fn setting_a_value_past_the_end_grows_the_column() {
        for start in [0, 5, 1024] {
            for index in [start, 1023, 1024, 1025, 5000] {
                let mut column = counting(start as i32);
                column.set(index, -1, -2);
                let mut expected: Vec<i32> = (0..start as i32).collect();
                expected.resize(expected.len().max(index + 1), -2);
                expected[index] = -1;
                assert_eq!(column.iter().copied().collect::<Vec<_>>(), expected, "{start} {index}");
            }
        }
    }
}
