//! Hash tables from a value to its number. The values themselves are stored in a column.
//!
//! A table stores only the numbers, at about eight bytes an entry, and clones share it until one of them writes to it.
//! As the tables fill, they are split one at a time (linear hashing, Litwin 1980), so no insertion has to rehash
//! everything.

use super::Ix;
use crate::pages::Pages;
use hashbrown::HashTable;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Average number of entries per table at which the next table is split.
const MAX_AVERAGE_ENTRIES: usize = 512;

/// Numbers, found by the hash of their value.
#[derive(Clone, Debug, Default)]
pub(super) struct Lookup {
    tables: Pages<HashTable<Ix>>,
    len: usize,
}

/// The hash of a value. The low bits choose the slot within a table, and the high bits choose the table.
pub(super) fn hash(value: impl Hash) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    value.hash(&mut hasher);
    // The finaliser of MurmurHash3: every bit of the hash depends on every bit of the value.
    let mut hash = hasher.finish();
    for factor in [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
    }
    hash ^ (hash >> 33)
}

/// The case-insensitive hash of a name, over its [`lowercase_chars`].
pub(super) fn hash_any_case(name: &str) -> u64 {
    struct Lowercase<'a>(&'a [u8]);
    impl Hash for Lowercase<'_> {
        fn hash<H: Hasher>(&self, state: &mut H) {
            for chunk in self.0.chunks(8) {
                let mut word = [0; 8];
                word.iter_mut().zip(chunk).for_each(|(to, byte)| *to = byte.to_ascii_lowercase());
                state.write_u64(u64::from_le_bytes(word));
            }
        }
    }
    // Nearly all keys are ASCII, and characters are slow to convert one by one.
    match name.is_ascii() {
        true => hash(Lowercase(name.as_bytes())),
        false => hash(Lowercase(lowercase_chars(name).collect::<String>().as_bytes())),
    }
}

/// The characters of a name in lower case.
pub(super) fn lowercase_chars(name: &str) -> impl Iterator<Item = char> {
    name.chars().flat_map(char::to_lowercase)
}

impl Lookup {
    /// An empty lookup with room for `len` entries: adding them splits no table.
    pub(super) fn with_room(len: usize) -> Lookup {
        let mut tables = Pages::default();
        (0..len.div_ceil(MAX_AVERAGE_ENTRIES))
            .for_each(|_| tables.push(Arc::new(HashTable::with_capacity(MAX_AVERAGE_ENTRIES))));
        Lookup { tables, len: 0 }
    }

    /// The number with this hash that `is_equal` accepts.
    pub(super) fn find(&self, hash: u64, is_equal: impl Fn(Ix) -> bool) -> Option<Ix> {
        self.tables.get(self.table(hash))?.find(hash, |&ix| is_equal(ix)).copied()
    }

    /// All numbers with this hash that `is_equal` accepts, ascending.
    pub(super) fn find_all(&self, hash: u64, is_equal: impl Fn(Ix) -> bool) -> Vec<Ix> {
        let table = self.tables.get(self.table(hash)).into_iter();
        let mut found: Vec<Ix> = table.flat_map(|table| table.iter_hash(hash)).copied().collect();
        found.retain(|&ix| is_equal(ix));
        found.sort_unstable();
        found
    }

    /// Inserts a number, replacing the one that `is_equal` accepts. `hash_of` returns the hash of any number in the
    /// table and of the new one.
    pub(super) fn insert(
        &mut self,
        hash: u64,
        ix: Ix,
        is_equal: impl Fn(Ix) -> bool,
        hash_of: impl Fn(Ix) -> u64,
    ) {
        if self.tables.len() * MAX_AVERAGE_ENTRIES <= self.len {
            self.split(&hash_of);
        }
        let Some(table) = self.tables.get_mut(self.table(hash)) else { return };
        if let Some(present) = table.find_mut(hash, |&other| is_equal(other)) {
            *present = ix;
        } else {
            table.insert_unique(hash, ix, |&other| hash_of(other));
            self.len += 1;
        }
    }

    /// Removes a number. Does nothing if the table does not have it under this hash.
    pub(super) fn remove(&mut self, hash: u64, ix: Ix) {
        if self.find(hash, |other| other == ix).is_none() {
            return;
        }
        let Some(table) = self.tables.get_mut(self.table(hash)) else { return };
        if let Ok(found) = table.find_entry(hash, |&other| other == ix) {
            found.remove();
            self.len -= 1;
        }
    }

    /// The index of the table for a hash. Tables already split in the current round use one more bit.
    fn table(&self, hash: u64) -> usize {
        let tables = self.tables.len();
        let mask = tables.next_power_of_two() - 1;
        let table = (hash >> 32) as usize & mask;
        if table < tables { table } else { table & (mask >> 1) }
    }

    /// Adds a table and moves half of the entries of one existing table into it.
    fn split(&mut self, hash_of: &impl Fn(Ix) -> u64) {
        let added = self.tables.len();
        self.tables.push(Arc::default());
        let Some(round) = added.checked_ilog2() else { return };
        let Some(old) = self.tables.get_mut(added - (1 << round)).map(std::mem::take) else { return };
        let mut parts: [Vec<(u64, Ix)>; 2] = Default::default();
        let [stay, go] = &mut parts;
        for &ix in &old {
            let hash = hash_of(ix);
            if self.table(hash) == added { go.push((hash, ix)) } else { stay.push((hash, ix)) }
        }
        for (table, part) in [added - (1 << round), added].into_iter().zip(parts) {
            if let Some(table) = self.tables.get_mut(table) {
                *table = HashTable::with_capacity(part.len());
                for (hash, ix) in part {
                    table.insert_unique(hash, ix, |&other| hash_of(other));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// With as many different hashes as there are values, or with only a few.
    fn filled(count: Ix, different: u64) -> Lookup {
        let mut lookup = Lookup::default();
        let hash_of = |ix: Ix| hash(u64::from(ix) % different);
        for ix in 0..count {
            lookup.insert(hash_of(ix), ix, |other| other == ix, hash_of);
        }
        lookup
    }

    #[test]
    fn thousands_of_entries_are_found_even_when_hashes_collide() {
        for different in [u64::MAX, 7] {
            let mut lookup = filled(6000, different);
            assert_eq!(lookup.tables.len(), 12);
            let find =
                |lookup: &Lookup, ix: Ix| lookup.find(hash(u64::from(ix) % different), |other| other == ix);
            assert!((0..6000).all(|ix| find(&lookup, ix) == Some(ix)));
            assert_eq!(find(&lookup, 6000), None);
            let copy = lookup.clone();
            (0..6000).step_by(2).for_each(|ix| lookup.remove(hash(u64::from(ix) % different), ix));
            assert!((0..6000).all(|ix| find(&lookup, ix) == (ix % 2 == 1).then_some(ix)));
            assert!((0..6000).all(|ix| find(&copy, ix) == Some(ix)));
        }
    }

    #[test]
    fn names_that_differ_in_case_have_the_same_hash() {
        let pairs = [
            ("Retry-Policy", "retry-policy"),
            ("\u{212a}elvin", "kelvin"),
            ("ÉMILE ZOLA 9", "émile zola 9"),
            ("", ""),
        ];
        for (one, other) in pairs {
            assert_eq!(hash_any_case(one), hash_any_case(other), "{one}");
        }
        let different = ["a", "b", "ab", "retry-policy", "retry-policies", "é", "e", "ba"];
        let hashes: std::collections::BTreeSet<u64> =
            different.iter().map(|name| hash_any_case(name)).collect();
        assert_eq!(hashes.len(), different.len());
    }

    #[test]
    fn a_table_with_room_does_not_split_and_behaves_like_a_grown_one() {
        let hash_of = |ix: Ix| hash(u64::from(ix));
        for room in [0, 1, 512, 513, 6000] {
            let mut lookup = Lookup::with_room(room);
            let tables = lookup.tables.len();
            for ix in 0..6000 {
                lookup.insert(hash_of(ix), ix, |other| other == ix, hash_of);
                assert!(ix as usize >= room || lookup.tables.len() == tables);
            }
            assert_eq!(lookup.tables.len(), 12);
            assert!((0..6000).all(|ix| lookup.find(hash_of(ix), |other| other == ix) == Some(ix)));
        }
    }

    #[test]
    fn tables_fill_evenly() {
        let lookup = filled(100_000, u64::MAX);
        let sizes: Vec<usize> = lookup.tables.iter().map(HashTable::len).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 100_000);
        assert!(sizes.iter().all(|size| (256..1200).contains(size)), "{sizes:?}");
    }

    poc_laws::laws! {
        #[test]
        fn a_lookup_behaves_like_a_map(steps in proptest::collection::vec((0u8..20, 0u32..30, any::<bool>()), 0..80)) {
            // A number represents the value `number % 20` and replaces numbers of the same value.
            let value = |ix: Ix| (ix % 20) as u8;
            let (mut lookup, mut model) = (Lookup::default(), HashMap::new());
            for (name, ix, put) in steps {
                if put {
                    lookup.insert(hash(value(ix)), ix, |other| value(other) == value(ix), |ix| hash(value(ix)));
                    model.insert(value(ix), ix);
                } else if let Some(ix) = model.remove(&name) {
                    lookup.remove(hash(name), ix);
                }
                for name in 0..20 {
                    let is = |ix| value(ix) == name;
                    prop_assert_eq!(lookup.find(hash(name), is), model.get(&name).copied());
                    let all: Vec<Ix> = model.get(&name).copied().into_iter().collect();
                    prop_assert_eq!(lookup.find_all(hash(name), is), all);
                }
            }
        }
    }
}
