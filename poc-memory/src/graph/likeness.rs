//! The key somebody may have meant.

use super::View;
use crate::similar;

/// The key of any node, in whatever state, that resembles a wrong one most, if any does.
pub fn key_like<'a>(view: &'a View, wrong: &str) -> Option<&'a str> {
    let keys = (0..view.slots()).filter(|&ix| view.state(ix).is_some()).map(|ix| view.key(ix));
    similar::to(wrong, keys)
}
