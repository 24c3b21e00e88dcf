//! The parts of a note that have a vector each.

use crate::config;
use crate::graph::Node;
use crate::index::passages;

/// The title, then the passages of the text that say more than the title.
pub(super) fn texts<'a>(node: &'a Node, config: &config::Vectors) -> Vec<&'a str> {
    let windows = passages(&node.body, config.passage_words, config.passage_stride);
    let more = windows.into_iter().filter(|window| *window != node.title);
    std::iter::once(node.title.as_str()).chain(more).collect()
}

/// The text of a part by its number, as the vector index has it; `None` when the note has no such part.
pub fn text<'a>(node: &'a Node, part: u16, config: &config::Vectors) -> Option<&'a str> {
    texts(node, config).get(usize::from(part)).copied()
}
