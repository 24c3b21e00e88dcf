//! Interned names: a small number for each distinct text.

use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Texts numbered in the order they were first seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    names: Vec<Arc<str>>,
    numbers: FxHashMap<Arc<str>, u32>,
}

impl Names {
    /// The number of a text, if it was seen.
    pub(super) fn number(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// The text with a number; empty if there is none.
    pub(super) fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", |name| name)
    }

    /// All texts with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &str)> {
        self.names.iter().enumerate().map(|(number, name)| (number as u32, &**name))
    }

    /// The number of a text, given now if it is new. Copies the table only when it is new.
    pub(super) fn intern(this: &mut Arc<Names>, name: &str) -> u32 {
        if let Some(number) = this.number(name) {
            return number;
        }
        let table = Arc::make_mut(this);
        let number = table.names.len() as u32;
        let name: Arc<str> = name.into();
        table.names.push(name.clone());
        table.numbers.insert(name, number);
        number
    }
}
