//! The key somebody may have meant.

use super::{Ix, Trust, View};
use crate::similar;

/// The key of any node, in whatever state, that resembles a wrong one most, if any does. A key that
/// nobody has vouched for is proposed to nobody.
pub fn closest_key<'a>(view: &'a View, wrong: &str) -> Option<&'a str> {
    let may_be_told = |ix: &Ix| view.state(*ix).is_some() && view.trust(*ix) > Trust::Quarantined;
    let keys = (0..view.slots()).filter(may_be_told).map(|ix| view.key(ix));
    similar::closest(wrong, keys)
}
