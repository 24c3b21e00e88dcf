//! Suggestions for misspelt names.

use super::{Ix, Trust, View};
use crate::similar;

/// The name most similar to `wrong`, of nodes in any state; `None` if none is similar enough. Names of quarantined
/// nodes are never suggested.
pub fn closest_name<'a>(view: &'a View, wrong: &str) -> Option<&'a str> {
    let may_be_suggested = |ix: &Ix| view.state(*ix).is_some() && view.trust(*ix) > Trust::Quarantined;
    let names = (0..view.slots()).filter(may_be_suggested);
    similar::closest(wrong, names.flat_map(|ix| view.names(ix).chain(view.other_names(ix))))
}
