//! Interned strings: a small number for each distinct text.

use super::lookup::{Lookup, hash};
use crate::lists::Texts;

/// Texts, numbered in the order in which they were first seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Interner {
    names: Texts,
    numbers: Lookup,
}

impl Interner {
    /// The number of a text; `None` if it was never interned.
    pub(super) fn number(&self, name: &str) -> Option<u32> {
        self.numbers.find(hash(name), |number| self.name(number) == name)
    }

    /// The text with a number; empty for an unknown number.
    pub(super) fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).unwrap_or_default()
    }

    /// All texts with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        (0..).zip(self.names.iter())
    }

    /// The number of a text. A new text gets the next number.
    pub(super) fn intern(&mut self, name: &str) -> u32 {
        if let Some(number) = self.number(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name);
        let names = &self.names;
        let name_of = |number: u32| names.get(number as usize).unwrap_or_default();
        self.numbers.insert(hash(name), number, |_| false, |number| hash(name_of(number)));
        number
    }
}
