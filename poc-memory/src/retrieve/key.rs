//! Notes that are asked for by their key.

use crate::graph::{Ix, View, normal_key};
use crate::index::identifiers;

/// The note whose key a text is, and those whose keys stand in it as names of several parts (`retry-policy`,
/// `people/lin`); each once, also such as are not to be found. A key that is one plain word counts only as
/// the whole text: others are full of those.
pub fn owners(view: &View, text: &str) -> Vec<Ix> {
    let mut owners = Vec::new();
    for name in std::iter::once(text).chain(identifiers(text)) {
        owners.extend(view.find_key(&normal_key(name)).filter(|owner| !owners.contains(owner)));
    }
    owners
}
