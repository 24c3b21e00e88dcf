//! Lists that a snapshot holds in a packed form. They are unpacked when they are first used, because most questions
//! need few of them, and a process that answers one question should not unpack the rest.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// An item of a packed list.
pub(super) trait PackedItem: Copy + Default {
    /// Appends the item; `before` is the item before it in the list.
    fn pack(self, before: Self, bytes: &mut Vec<u8>);

    /// Reads the next item from the beginning of the bytes. `None` if they are invalid.
    fn unpack(before: Self, bytes: &mut &[u8]) -> Option<Self>;
}

/// Bytes of their own, or a part of the bytes of a snapshot.
#[derive(Clone, Debug)]
pub(super) enum SharedBytes {
    Own(Box<[u8]>),
    Part { snapshot: Arc<Vec<u8>>, start: u32, length: u32 },
}

impl SharedBytes {
    /// A part of a snapshot.
    pub(super) fn part(snapshot: &Arc<Vec<u8>>, part: &[u8], start: usize) -> SharedBytes {
        match (u32::try_from(start), u32::try_from(part.len())) {
            (Ok(start), Ok(length)) => SharedBytes::Part { snapshot: snapshot.clone(), start, length },
            _ => SharedBytes::Own(part.into()),
        }
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            SharedBytes::Own(bytes) => bytes,
            SharedBytes::Part { snapshot, start, length } => {
                let start = *start as usize;
                snapshot.get(start..start + *length as usize).unwrap_or_default()
            }
        }
    }
}

/// A list that is packed until it is first used.
#[derive(Clone, Debug, Default)]
pub(super) struct PackedList<T> {
    length: u32,
    /// `None` if the list has changed, or has never been packed.
    packed: Option<SharedBytes>,
    items: OnceLock<Vec<T>>,
}

impl<T: PackedItem> PackedList<T> {
    /// A list of `length` items in their packed form.
    pub(super) fn packed(length: u32, packed: SharedBytes) -> PackedList<T> {
        PackedList { length, packed: Some(packed), items: OnceLock::new() }
    }

    /// The number of items.
    pub(super) fn len(&self) -> usize {
        self.length as usize
    }

    /// The items. They are unpacked if this is the first use.
    pub(super) fn items(&self) -> &[T] {
        self.items.get_or_init(|| self.unpacked().collect())
    }

    /// The items in order, without keeping the unpacked list.
    pub(super) fn each(&self) -> impl Iterator<Item = T> {
        let items = self.items.get();
        // Either the items are known, or there are packed ones.
        let packed = if items.is_none() { Some(self.unpacked()) } else { None };
        items.into_iter().flatten().copied().chain(packed.into_iter().flatten())
    }

    fn unpacked(&self) -> impl Iterator<Item = T> {
        let mut bytes: &[u8] = self.packed.as_deref().unwrap_or_default();
        let mut before = T::default();
        std::iter::from_fn(move || {
            before = T::unpack(before, &mut bytes)?;
            Some(before)
        })
    }

    /// Changes the items.
    pub(super) fn change<R>(&mut self, change: impl FnOnce(&mut Vec<T>) -> R) -> R {
        self.items();
        self.packed = None;
        let mut empty = Vec::new();
        let items = self.items.get_mut().unwrap_or(&mut empty);
        let result = change(items);
        self.length = items.len() as u32;
        result
    }

    /// The size in memory in bytes, including the part of the snapshot.
    pub(super) fn bytes(&self) -> usize {
        let packed = self.packed.as_deref().map_or(0, <[u8]>::len);
        packed + self.items.get().map_or(0, |items| items.capacity() * size_of::<T>())
    }
}

impl<T> From<Vec<T>> for PackedList<T> {
    fn from(items: Vec<T>) -> PackedList<T> {
        PackedList { length: items.len() as u32, packed: None, items: OnceLock::from(items) }
    }
}

/// Packs items.
pub(super) fn pack<T: PackedItem>(items: impl Iterator<Item = T>) -> Vec<u8> {
    let (mut bytes, mut before) = (Vec::new(), T::default());
    for item in items {
        item.pack(before, &mut bytes);
        before = item;
    }
    bytes
}

/// Appends a number as LEB128.
pub(super) fn push_number(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads a LEB128 number from the beginning of the bytes; `None` if they end within it or it has more than 64 bits.
#[inline]
pub(super) fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let (mut value, mut shift) = (0u64, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        shift += 7;
    }
}

/// Slots, as differences from the one before.
impl PackedItem for u32 {
    fn pack(self, before: u32, bytes: &mut Vec<u8>) {
        push_number(bytes, self.wrapping_sub(before).into());
    }

    #[inline]
    fn unpack(before: u32, bytes: &mut &[u8]) -> Option<u32> {
        Some(before.wrapping_add(read_number(bytes)? as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    poc_laws::laws! {
        /// A packed list has the items that it was made of, also after changes, and in whatever order it is used.
        #[test]
        fn a_packed_list_is_the_list(
            items in proptest::collection::vec(any::<u32>(), 0..40), more in any::<u32>(), before in any::<Vec<u8>>(), uses in any::<bool>(),
        ) {
            let packed = pack(items.iter().copied());
            let snapshot = Arc::new([before.as_slice(), &packed, &[7]].concat());
            let part = SharedBytes::part(&snapshot, &packed, before.len());
            prop_assert_eq!(&*part, &*packed);
            let mut list = PackedList::packed(items.len() as u32, part);
            let copy = list.clone();
            prop_assert_eq!(list.each().collect::<Vec<u32>>(), &*items);
            if uses {
                prop_assert_eq!(list.items(), &*items);
            }
            prop_assert_eq!(list.each().collect::<Vec<u32>>(), &*items);
            let expected = [items.as_slice(), &[more]].concat();
            list.change(|items| items.push(more));
            prop_assert_eq!((list.len(), list.items()), (expected.len(), &*expected));
            prop_assert_eq!(list.each().collect::<Vec<u32>>(), expected);
            prop_assert_eq!((copy.len(), copy.items()), (items.len(), &*items));
        }

        #[test]
        fn any_bytes_can_be_unpacked(bytes in any::<Vec<u8>>()) {
            let length = bytes.len();
            let list: PackedList<u32> = PackedList::packed(0, SharedBytes::Own(bytes.into()));
            prop_assert!(list.items().len() <= length);
        }
    }
}
