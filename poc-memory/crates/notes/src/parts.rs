//! The parts of a note that have a vector each.
use poc_graph::{Node, title_of};
use poc_index::passages;
use std::borrow::Cow;

/// The title, then the passages of the text that say more than the title.
pub(super) fn texts<'a>(node: &'a Node, config: &poc_config::VectorsConfig) -> Vec<&'a str> {
    let windows = passages(&node.body, config.passage_words, config.passage_stride);
    let more = windows.into_iter().filter(|window| *window != node.title);
    std::iter::once(node.title.as_str()).chain(more).collect()
}

/// The text of a part by its number, as the vector index has it; `None` when the note has no such part.
pub fn text<'a>(node: &'a Node, part: u16, config: &poc_config::VectorsConfig) -> Option<&'a str> {
    texts(node, config).get(usize::from(part)).copied()
}

/// What a part says by itself: its text with the title in front. A title that is the beginning of the body says
/// nothing more. `None` when the note has no such part.
pub(super) fn embedding_text<'a>(
    node: &'a Node,
    part: u16,
    config: &poc_config::VectorsConfig,
) -> Option<Cow<'a, str>> {
    embedding_texts(node, config).into_iter().nth(usize::from(part))
}

/// What each part says by itself.
pub(super) fn embedding_texts<'a>(node: &'a Node, config: &poc_config::VectorsConfig) -> Vec<Cow<'a, str>> {
    let is_named = title_of(&node.body).as_ref() != Some(&node.title);
    let texts = texts(node, config).into_iter().enumerate();
    texts
        .map(|(part, text)| match part > 0 && is_named {
            true => Cow::Owned(format!("{}. {text}", node.title)),
            false => Cow::Borrowed(text),
        })
        .collect()
}
