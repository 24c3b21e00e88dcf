//! Names of nodes besides their keys: former keys, or other names.
//!
//! Few nodes have any, so they are stored in a table instead of a column.

use super::Ix;
use super::lookup::{Lookup, hash_any_case, lowercase_chars};
use crate::Column;
use crate::lists::{Lists, Texts};

/// The aliases of all nodes. An alias of several nodes has a number for each of them. A name that is no longer used
/// keeps its number until the view is rebuilt.
#[derive(Clone, Debug, Default)]
pub(super) struct Aliases {
    names: Texts,
    by_name: Lookup,
    // The node that has the alias, by the alias's number.
    owners: Column<Option<Ix>>,
    // The numbers of the aliases of each node, oldest first. Nodes beyond the end have none.
    of: Lists<Vec<u32>>,
}

impl Aliases {
    /// The node with this alias.
    pub(super) fn find(&self, name: &str) -> Option<Ix> {
        let matches = |number| self.name(number) == name && self.owner(number).is_some();
        self.owner(self.by_name.find(hash_any_case(name), matches)?)
    }

    /// The nodes with an alias that is equal ignoring case, ascending.
    pub(super) fn find_all_any_case(&self, name: &str) -> Vec<Ix> {
        let matches = |number| lowercase_chars(self.name(number)).eq(lowercase_chars(name));
        let numbers = self.by_name.find_all(hash_any_case(name), matches);
        let mut owners: Vec<Ix> = numbers.into_iter().filter_map(|number| self.owner(number)).collect();
        owners.sort_unstable();
        owners.dedup();
        owners
    }

    /// The aliases of a node, oldest first.
    pub(super) fn of(&self, ix: Ix) -> impl Iterator<Item = &str> {
        let numbers = self.of.get(ix as usize).unwrap_or_default();
        numbers.iter().map(|&number| self.name(number))
    }

    /// Replaces the aliases of a node. Those of other nodes stay.
    pub(super) fn set<'a>(&mut self, ix: Ix, aliases: impl IntoIterator<Item = &'a str>) {
        let before = self.of.get(ix as usize).unwrap_or_default().to_vec();
        for &number in &before {
            if self.owner(number) == Some(ix) {
                self.owners.set(number as usize, None, None);
            }
        }
        let mut numbers = Vec::new();
        for alias in aliases {
            let number = self.number(alias, ix);
            self.owners.set(number as usize, Some(ix), None);
            numbers.push(number);
        }
        if numbers != before {
            self.of.set(ix as usize, &numbers);
        }
    }

    fn owner(&self, number: u32) -> Option<Ix> {
        self.owners.get(number as usize).copied().flatten()
    }

    fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).unwrap_or_default()
    }

    /// The number of an alias that no other node has, in the same spelling.
    fn number(&mut self, name: &str, ix: Ix) -> u32 {
        let is_free =
            |number| self.name(number) == name && self.owner(number).is_none_or(|owner| owner == ix);
        if let Some(number) = self.by_name.find(hash_any_case(name), is_free) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name);
        let names = &self.names;
        let name_of = |number: u32| names.get(number as usize).unwrap_or_default();
        self.by_name.insert(hash_any_case(name), number, |_| false, |number| hash_any_case(name_of(number)));
        number
    }
}
