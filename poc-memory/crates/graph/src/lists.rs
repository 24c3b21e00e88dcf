//! Rows of different lengths that are cheap to clone and to modify.

use super::pages::Pages;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// Rows per page. The number is small, because changing one row copies its whole page, and a longer row moves the
/// others.
const ROWS_PER_PAGE: usize = 16;

/// Storage that rows are slices of: items (`Vec`) or text (`String`).
pub(super) trait Items: Clone + Debug + Default {
    /// A row.
    type Row: ?Sized;

    /// The slice at `range`.
    fn slice(&self, range: Range<usize>) -> Option<&Self::Row>;

    /// Replaces the slice at `range` with `row`; returns the length of `row`.
    fn replace(&mut self, range: Range<usize>, row: &Self::Row) -> usize;
}

impl<T: Copy + Debug> Items for Vec<T> {
    type Row = [T];

    #[inline]
    fn slice(&self, range: Range<usize>) -> Option<&[T]> {
        self.get(range)
    }

    fn replace(&mut self, range: Range<usize>, row: &[T]) -> usize {
        let additional = row.len().saturating_sub(range.len());
        self.reserve_exact(items_to_reserve(self.len(), self.capacity(), additional));
        self.splice(range, row.iter().copied());
        row.len()
    }
}

impl Items for String {
    type Row = str;

    #[inline]
    fn slice(&self, range: Range<usize>) -> Option<&str> {
        self.get(range)
    }

    fn replace(&mut self, range: Range<usize>, row: &str) -> usize {
        let additional = row.len().saturating_sub(range.len());
        self.reserve_exact(items_to_reserve(self.len(), self.capacity(), additional));
        self.replace_range(range, row);
        row.len()
    }
}

/// The number of items to reserve memory for, if a page with `len` items gets `additional` ones. A page that grows item
/// by item reserves some in advance, because every reservation moves it. A copy of the page has no spare capacity.
fn items_to_reserve(len: usize, capacity: usize, additional: usize) -> usize {
    if capacity - len >= additional { additional } else { additional.max(len / 16) }
}

/// One row of any length per node, 16 rows to a page. A row takes its items and about eight bytes. A
/// clone costs one pointer per 1,024 rows. A write copies only the page that it changes, and only
/// if that page is shared.
#[derive(Clone, Debug)]
pub(super) struct Lists<S> {
    pages: Pages<Page<S>>,
    len: usize,
}

/// Rows of text.
pub(super) type Texts = Lists<String>;

#[derive(Clone, Debug)]
struct Page<S> {
    /// The start of each row, and the end of the last one.
    starts: [u32; ROWS_PER_PAGE + 1],
    items: S,
}

impl<S: Items> Page<S> {
    #[inline]
    fn range(&self, row: usize) -> Option<Range<usize>> {
        Some(*self.starts.get(row)? as usize..*self.starts.get(row + 1)? as usize)
    }

    fn set(&mut self, row: usize, items: &S::Row) {
        let Some(range) = self.range(row) else { return };
        let before = range.len();
        let length = self.items.replace(range, items);
        for start in self.starts.iter_mut().skip(row + 1) {
            *start = (*start as usize - before + length) as u32;
        }
    }
}

impl<S> Default for Lists<S> {
    fn default() -> Self {
        Lists { pages: Pages::default(), len: 0 }
    }
}

impl<S: Items> Lists<S> {
    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The row at `index`.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&S::Row> {
        if index >= self.len {
            return None;
        }
        let page = self.pages.get(index / ROWS_PER_PAGE)?;
        page.items.slice(page.range(index % ROWS_PER_PAGE)?)
    }

    /// Sets the row at `index`. Missing rows before it become empty.
    pub(super) fn set(&mut self, index: usize, row: &S::Row) {
        if let Some(page) = self.page_mut(index) {
            page.set(index % ROWS_PER_PAGE, row);
        }
    }

    /// The page of the row at `index`, mutable. Missing rows up to it become empty.
    fn page_mut(&mut self, index: usize) -> Option<&mut Page<S>> {
        self.len = self.len.max(index + 1);
        while self.pages.len() * ROWS_PER_PAGE < self.len {
            self.pages.push(Arc::new(Page { starts: [0; ROWS_PER_PAGE + 1], items: S::default() }));
        }
        self.pages.get_mut(index / ROWS_PER_PAGE)
    }

    /// Appends a row.
    pub(super) fn push(&mut self, row: &S::Row) {
        self.set(self.len, row);
    }

    /// All rows in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &S::Row> {
        (0..self.len).filter_map(|index| self.get(index))
    }
}

impl<T: Copy + Debug> Page<Vec<T>> {
    fn insert(&mut self, row: usize, at: usize, item: T) {
        let Some(range) = self.range(row) else { return };
        self.items.reserve_exact(items_to_reserve(self.items.len(), self.items.capacity(), 1));
        self.items.insert((range.start + at).min(range.end), item);
        for start in self.starts.iter_mut().skip(row + 1) {
            *start += 1;
        }
    }
}

impl<T: Copy + Debug> Lists<Vec<T>> {
    /// Inserts an item into the row at `index`, before the item at position `at` of the row, or at its end. Missing
    /// rows before it become empty.
    pub(super) fn insert(&mut self, index: usize, at: usize, item: T) {
        if let Some(page) = self.page_mut(index) {
            page.insert(index % ROWS_PER_PAGE, at, item);
        }
    }

    /// The items of the row at `index`, mutable; `None` if there is no such row.
    pub(super) fn row_mut(&mut self, index: usize) -> Option<&mut [T]> {
        if index >= self.len {
            return None;
        }
        let page = self.pages.get_mut(index / ROWS_PER_PAGE)?;
        let range = page.range(index % ROWS_PER_PAGE)?;
        page.items.get_mut(range)
    }

    /// Creates rows from concatenated `items`: row `row` is `items[starts[row]..starts[row + 1]]`.
    /// `starts` must ascend.
    pub(super) fn from_rows(starts: &[usize], items: &[T]) -> Self {
        let len = starts.len().saturating_sub(1);
        let start = |row: usize| starts.get(row.min(len)).copied().unwrap_or(0);
        let page = |first: usize| {
            let range = start(first)..start(first + ROWS_PER_PAGE);
            Arc::new(Page {
                starts: std::array::from_fn(|row| (start(first + row) - range.start) as u32),
                items: items.get(range).unwrap_or_default().to_vec(),
            })
        };
        Lists { pages: (0..len).step_by(ROWS_PER_PAGE).map(page).collect(), len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    poc_laws::laws! {
        /// The rows equal those of a list of lists, whether they are set as a whole or item by item.
        #[test]
        fn single_items_are_inserted_and_replaced(
            steps in proptest::collection::vec((0usize..200, 0usize..20, any::<u16>(), any::<bool>()), 0..300),
        ) {
            let mut lists: Lists<Vec<u16>> = Lists::default();
            let mut model: Vec<Vec<u16>> = Vec::new();
            let copy = lists.clone();
            for (index, at, item, is_new) in steps {
                if is_new {
                    lists.insert(index, at, item);
                    model.resize(model.len().max(index + 1), Vec::new());
                    let at = at.min(model[index].len());
                    model[index].insert(at, item);
                } else {
                    let slot = model.get_mut(index).and_then(|row| row.get_mut(at));
                    prop_assert_eq!(lists.row_mut(index).and_then(|row| row.get(at)), slot.as_deref());
                    if let Some(slot) = slot {
                        *slot = item;
                        lists.row_mut(index).unwrap()[at] = item;
                    }
                }
            }
            prop_assert_eq!(lists.iter().collect::<Vec<_>>(), model.iter().map(Vec::as_slice).collect::<Vec<_>>());
            prop_assert_eq!(copy.len(), 0);
        }

        /// The rows equal those of a list of lists, and copies do not see later writes.
        #[test]
        fn rows_equal_a_list_of_lists(
            steps in proptest::collection::vec((0usize..200, proptest::collection::vec(any::<u16>(), 0..9)), 0..60),
        ) {
            let mut lists: Lists<Vec<u16>> = Lists::default();
            let mut texts = Texts::default();
            let mut model: Vec<Vec<u16>> = Vec::new();
            let mut copies = Vec::new();
            let text = |row: &[u16]| row.iter().map(|&number| char::from_u32(u32::from(number)).unwrap_or('ß')).collect::<String>();
            for (index, row) in steps {
                copies.push((lists.clone(), texts.clone(), model.clone()));
                lists.set(index, &row);
                texts.set(index, &text(&row));
                model.resize(model.len().max(index + 1), Vec::new());
                model[index] = row;
            }
            copies.push((lists, texts, model));
            for (lists, texts, model) in copies {
                let mut starts = vec![0];
                starts.extend(model.iter().scan(0, |end, row| { *end += row.len(); Some(*end) }));
                let again = Lists::from_rows(&starts, &model.concat());
                prop_assert_eq!(again.iter().collect::<Vec<_>>(), lists.iter().collect::<Vec<_>>());
                prop_assert_eq!(lists.iter().collect::<Vec<_>>(), model.iter().map(Vec::as_slice).collect::<Vec<_>>());
                prop_assert_eq!(texts.iter().collect::<Vec<_>>(), model.iter().map(|row| text(row)).collect::<Vec<_>>());
                prop_assert_eq!(lists.get(model.len()), None);
            }
        }
    }
}
