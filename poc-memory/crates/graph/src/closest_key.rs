//! Suggestions for misspelt keys.

use super::{Ix, Trust, View};
use crate::similar;

/// The key or former key most similar to `wrong`, of nodes in any state; `None` if none is similar enough. Keys of
/// quarantined nodes are never suggested.
pub fn closest_key<'a>(view: &'a View, wrong: &str) -> Option<&'a str> {
    let may_be_suggested = |ix: &Ix| view.state(*ix).is_some() && view.trust(*ix) > Trust::Quarantined;
    let keys = (0..view.slots()).filter(may_be_suggested).flat_map(|ix| view.names(ix));
    similar::closest(wrong, keys)
}
