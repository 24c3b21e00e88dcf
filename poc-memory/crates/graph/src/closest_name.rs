//! Suggestions for misspelt names.

use super::{Ix, Trust, View};
use crate::similar;
use std::iter;

/// The name most similar to `wrong`, of nodes in any state; `None` if none is similar enough. Names of quarantined
/// nodes are never suggested. If `wrong` has no folder, it is also compared with keys without their folders, by which
/// notes are found, too.
pub fn closest_name<'a>(view: &'a View, wrong: &str) -> Option<&'a str> {
    let may_be_suggested = |ix: &Ix| view.state(*ix).is_some() && view.trust(*ix) > Trust::Quarantined;
    let nodes = (0..view.slots()).filter(may_be_suggested);
    let names = nodes.flat_map(|ix| view.names(ix).chain(view.other_names(ix)));
    let has_folder = wrong.contains('/');
    let names = names.flat_map(|name| {
        let file = name.rsplit_once('/').filter(|_| !has_folder).map(|(_, file)| file);
        iter::once(name).chain(file)
    });
    let near = similar::closest(wrong, names)?;
    // Two names in a long folder are similar even if the notes have nothing in common.
    let (wrong, own) = without_common_folders(wrong, near);
    similar::closest(wrong, iter::once(own)).map(|_| near)
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
