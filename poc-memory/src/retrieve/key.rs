//! Notes that are asked for by their key.

use crate::graph::{Ix, View, normal_key};
use crate::index::names;

/// The note whose key a text is, and those whose keys stand in it as names (`people/lin`, `chat-013`); each once,
/// also such as are not to be found. Other keys count only as the whole text: keys are made of titles, and texts
/// are full of `follow-up` and `end-to-end`.
pub(super) fn owners(view: &View, text: &str) -> Vec<Ix> {
    let mut owners = Vec::new();
    for name in std::iter::once(text).chain(names(text)) {
        owners.extend(view.find_key(&normal_key(name)).filter(|owner| !owners.contains(owner)));
    }
    owners
}
