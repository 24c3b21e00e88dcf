//! Suggestions for misspelt names.

use super::{Ix, Trust, View};
use crate::similar;
use std::iter;

/// The name most similar to `wrong`, of nodes in any state; `None` if none is similar enough. Names of quarantined
/// nodes are never suggested. If `wrong` has no folder, it is also compared with names without their folders. The
/// suggestion has no folder only if a live node is found that way.
pub fn closest_name<'a>(view: &'a View, wrong: &str) -> Option<&'a str> {
    let may_be_suggested = |ix: &Ix| view.state(*ix).is_some() && view.trust(*ix) > Trust::Quarantined;
    let nodes = || (0..view.slots()).filter(may_be_suggested);
    let names = || nodes().flat_map(move |ix| view.names(ix).chain(view.other_names(ix)));
    let has_folder = wrong.contains('/');
    let compared = names().flat_map(|name| iter::once(name).chain(file_of(name).filter(|_| !has_folder)));
    let near = similar::closest(wrong, compared)?;
    // Two names in a long folder are similar even if the notes have nothing in common.
    let (wrong, own) = without_common_folders(wrong, near);
    similar::closest(wrong, iter::once(own))?;
    let is_file = |name: &str| file_of(name) == Some(near);
    let is_found = |ix: Ix| view.is_live(ix) && view.names(ix).any(is_file);
    match names().any(|name| name == near) || nodes().any(is_found) {
        true => Some(near),
        false => names().find(|name| is_file(name)),
    }
}

/// A name without its folder; `None` if it has none.
fn file_of(name: &str) -> Option<&str> {
    name.rsplit_once('/').map(|(_, file)| file)
}

/// Two names without the folders that both begin with.
fn without_common_folders<'a, 'b>(mut one: &'a str, mut other: &'b str) -> (&'a str, &'b str) {
    while let (Some((folder, below)), Some((other_folder, other_below))) =
        (one.split_once('/'), other.split_once('/'))
    {
        if folder.to_lowercase() != other_folder.to_lowercase() {
            break;
        }
        (one, other) = (below, other_below);
    }
    (one, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_that_both_names_begin_with_are_removed() {
        let check = |one, other, expected| assert_eq!(without_common_folders(one, other), expected);
        check("people/anna", "People/jonas", ("anna", "jonas"));
        check("a/b/c", "a/x/c", ("b/c", "x/c"));
        check("anna", "people/anna", ("anna", "people/anna"));
    }
}
