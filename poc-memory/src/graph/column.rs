//! A column that is cheap to copy and to change: chunks shared between the copies.

use std::sync::Arc;

/// One value per node, in chunks of [`Column::CHUNK`] that are shared until written to.
///
/// A clone costs one pointer a chunk; a write copies the one chunk it falls in, if shared. That is
/// what makes a new [`View`](super::View) per commit affordable.
#[derive(Clone, Debug)]
pub struct Column<T> {
    chunks: Vec<Arc<Vec<T>>>,
    len: usize,
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Column { chunks: Vec::new(), len: 0 }
    }
}

impl<T: Clone> Column<T> {
    /// Values a chunk holds.
    pub const CHUNK: usize = 1024;

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        self.chunks.get(index / Self::CHUNK)?.get(index % Self::CHUNK)
    }

    /// Appends a value.
    pub fn push(&mut self, value: T) {
        if self.len.is_multiple_of(Self::CHUNK) {
            self.chunks.push(Arc::new(Vec::with_capacity(Self::CHUNK)));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            Arc::make_mut(chunk).push(value);
            self.len += 1;
        }
    }

    /// The value at `index`, to change; copies its chunk when it is shared.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        Arc::make_mut(self.chunks.get_mut(index / Self::CHUNK)?).get_mut(index % Self::CHUNK)
    }

    /// Sets the value at `index`; growing the column with `fill` when it is too short.
    pub fn set(&mut self, index: usize, value: T, fill: T) {
        while self.len <= index {
            self.push(fill.clone());
        }
        if let Some(slot) = self.get_mut(index) {
            *slot = value;
        }
    }

    /// A reader for many look-ups, cheapest when they go up.
    pub fn cursor(&self) -> Cursor<'_, T> {
        Cursor { column: self, start: 0, chunk: &[] }
    }

    /// All values in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// The chunks in order; every one but the last holds [`Column::CHUNK`] values.
    pub fn chunks(&self) -> impl Iterator<Item = &[T]> {
        self.chunks.iter().map(|chunk| chunk.as_slice())
    }
}

/// Reads a [`Column`] at many places: a look-up in the chunk of the one before costs no more than
/// in a plain slice.
#[derive(Clone, Debug)]
pub struct Cursor<'a, T> {
    column: &'a Column<T>,
    start: usize,
    chunk: &'a [T],
}

impl<'a, T: Clone> Cursor<'a, T> {
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
        self.chunk = self.column.chunks.get(index / Column::<T>::CHUNK)?;
        self.start = index - index % Column::<T>::CHUNK;
        self.chunk.get(index - self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_in_any_order() {
        let mut column = Column::default();
        (0..3000).for_each(|value| column.push(value));
        let mut cursor = column.cursor();
        for index in [0, 1, 2999, 1023, 1024, 1025, 3000, 5, 9999, 2048] {
            assert_eq!(cursor.get(index), column.get(index), "at {index}");
        }
    }

    #[test]
    fn a_copy_does_not_see_later_writes() {
        let mut column = Column::default();
        (0..3000).for_each(|value| column.push(value));
        let copy = column.clone();
        column.set(1500, -1, 0);
        column.push(7);
        assert_eq!((copy.len(), copy.get(1500)), (3000, Some(&1500)));
        assert_eq!((column.len(), column.get(1500), column.get(3000)), (3001, Some(&-1), Some(&7)));
        assert_eq!(copy.iter().copied().collect::<Vec<_>>(), (0..3000).collect::<Vec<_>>());
    }
}
