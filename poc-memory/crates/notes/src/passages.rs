//! The passages of a note, each with a vector of its own.
use poc_graph::{Node, is_title_of};
use poc_index::passages;
use std::borrow::Cow;

/// The title, then the passages of the body that differ from the title.
pub(super) fn texts<'a>(node: &'a Node, config: &poc_config::VectorsConfig) -> Vec<&'a str> {
    let windows = passages(&node.body, config.passage_words, config.passage_stride);
    let more = windows.into_iter().filter(|window| *window != node.title);
    std::iter::once(node.title.as_str()).chain(more).collect()
}

/// The text of a passage by its number in the vector index; `None` if the note has no such passage.
pub fn text<'a>(node: &'a Node, passage: u16, config: &poc_config::VectorsConfig) -> Option<&'a str> {
    texts(node, config).get(usize::from(passage)).copied()
}

/// The text that is embedded for a passage: its text with the title in front, unless the title was derived from
/// the body. `None` if the note has no such passage.
pub(super) fn embedding_text<'a>(
    node: &'a Node,
    passage: u16,
    config: &poc_config::VectorsConfig,
) -> Option<Cow<'a, str>> {
    embedding_texts(node, config).into_iter().nth(usize::from(passage))
}

/// The text that is embedded for each passage.
pub(super) fn embedding_texts<'a>(node: &'a Node, config: &poc_config::VectorsConfig) -> Vec<Cow<'a, str>> {
    let is_named = !is_title_of(&node.title, &node.body);
    let texts = texts(node, config).into_iter().enumerate();
    texts
        .map(|(passage, text)| match passage > 0 && is_named {
            true => Cow::Owned(format!("{}. {text}", node.title)),
            false => Cow::Borrowed(text),
        })
        .collect()
}
