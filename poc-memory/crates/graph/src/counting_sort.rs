//! Counting sort: groups items by row in a time that is linear in their number.

/// Where each of `rows` rows starts if items are grouped by row, and where the last one ends. `of_items` gives the row
/// of each item. Items of other rows do not count.
pub(crate) fn row_starts(rows: usize, of_items: impl Iterator<Item = u32>) -> Vec<usize> {
    let mut starts = vec![0; rows + 1];
    for row in of_items {
        if let Some(count) = starts.get_mut(row as usize + 1) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    starts
}

/// Groups items by row. Returns the [`row_starts`] and the items: those of row `row` are
/// `items[starts[row]..starts[row + 1]]`, in the given order. Items of other rows are left out.
pub(crate) fn grouped<T: Copy + Default>(
    rows: usize,
    items: impl Iterator<Item = (u32, T)> + Clone,
) -> (Vec<usize>, Vec<T>) {
    let starts = row_starts(rows, items.clone().map(|(row, _)| row));
    let mut sorted = vec![T::default(); starts.last().copied().unwrap_or(0)];
    let mut next = starts.clone();
    for (row, item) in items {
        let Some(index) = next.get_mut(row as usize) else { continue };
        if let Some(slot) = sorted.get_mut(*index) {
            *slot = item;
        }
        *index += 1;
    }
    (starts, sorted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    poc_laws::laws! {
        #[test]
        fn items_are_grouped_as_by_a_stable_sort(items in proptest::collection::vec((0u32..6, any::<u8>()), 0..40)) {
            let (starts, found) = grouped(5, items.iter().copied());
            let of_row = |row: u32| &found[starts[row as usize]..starts[row as usize + 1]];
            let rows: Vec<(u32, u8)> =
                (0..5).flat_map(|row| of_row(row).iter().map(move |&item| (row, item))).collect();
            let mut expected = items;
            expected.retain(|(row, _)| *row < 5);
            expected.sort_by_key(|(row, _)| *row);
            prop_assert_eq!(rows, expected);
        }
    }
}
