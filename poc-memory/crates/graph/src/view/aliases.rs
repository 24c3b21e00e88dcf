//! Names of nodes besides their keys: former keys, or other names.
//!
//! Few nodes have any, so they are stored in a table instead of a column.

use super::Ix;
use super::lookup::{Lookup, hash_any_case, lowercase_chars};
use crate::Column;
use crate::lists::{Lists, Texts};

/// The aliases of all nodes. A name that is no longer used keeps its number until the view is rebuilt.
#[derive(Clone, Debug, Default)]
pub(super) struct Aliases {
    names: Texts,
    by_name: Lookup,
    /// The newest entry of each alias, by the alias's number.
    newest: Column<Option<u32>>,
    /// The entries of all aliases. Those of an alias form a chain, because many nodes may have it. The entry of a node
    /// that has lost the alias stays in the chain until the view is rebuilt.
    entries: Column<AliasEntry>,
    /// The numbers of the aliases of each node, oldest first. Nodes beyond the end have none.
    by_node: Lists<Vec<u32>>,
}

/// A node that has, or had, an alias.
#[derive(Clone, Copy, Debug)]
struct AliasEntry {
    ix: Ix,
    /// The next older entry of the alias.
    older: Option<u32>,
}

impl Aliases {
    /// The node with this alias. A former key has one node, except within a transaction.
    pub(super) fn find(&self, name: &str) -> Option<Ix> {
        self.nodes_with(self.find_number(name)?).min()
    }

    /// The nodes with an alias that is equal ignoring case, ascending.
    pub(super) fn find_all_any_case(&self, name: &str) -> Vec<Ix> {
        let matches = |number| lowercase_chars(self.name(number)).eq(lowercase_chars(name));
        let numbers = self.by_name.find_all(hash_any_case(name), matches);
        let mut nodes: Vec<Ix> = numbers.into_iter().flat_map(|number| self.nodes_with(number)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Whether a node is found under each of its aliases.
    pub(super) fn are_found(&self, ix: Ix) -> bool {
        self.of(ix).all(|name| {
            let number = self.find_number(name);
            number.is_some_and(|number| self.nodes_with(number).any(|node| node == ix))
        })
    }

    /// The aliases of a node, oldest first.
    pub(super) fn of(&self, ix: Ix) -> impl Iterator<Item = &str> {
        self.numbers_of(ix).iter().map(|&number| self.name(number))
    }

    /// Replaces the aliases of a node. Those of other nodes stay.
    pub(super) fn set<'a>(&mut self, ix: Ix, aliases: impl IntoIterator<Item = &'a str>) {
        let before = self.numbers_of(ix).to_vec();
        let mut numbers = Vec::new();
        for alias in aliases {
            let number = self.intern(alias);
            if !before.contains(&number) && !numbers.contains(&number) {
                let older = self.newest.get(number as usize).copied().flatten();
                self.newest.set(number as usize, Some(self.entries.len() as u32), None);
                self.entries.push(AliasEntry { ix, older });
            }
            numbers.push(number);
        }
        if numbers != before {
            self.by_node.set(ix as usize, &numbers);
        }
    }

    fn numbers_of(&self, ix: Ix) -> &[u32] {
        self.by_node.get(ix as usize).unwrap_or_default()
    }

    /// The nodes that have an alias, the one that got it last first. A node that lost the alias and got it again may be
    /// repeated.
    fn nodes_with(&self, number: u32) -> impl Iterator<Item = Ix> {
        let entry = move |at: u32| self.entries.get(at as usize);
        let newest = self.newest.get(number as usize).copied().flatten().and_then(entry);
        let chain = std::iter::successors(newest, move |newer| newer.older.and_then(entry));
        chain.map(|entry| entry.ix).filter(move |&ix| self.numbers_of(ix).contains(&number))
    }

    fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).unwrap_or_default()
    }

    fn find_number(&self, name: &str) -> Option<u32> {
        self.by_name.find(hash_any_case(name), |number| self.name(number) == name)
    }

    /// The number of an alias with exactly this spelling. A new one is added.
    fn intern(&mut self, name: &str) -> u32 {
        if let Some(number) = self.find_number(name) {
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
