//! The differences between two versions of a node, field by field.

use poc_graph::Node;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of characters of an excerpt.
const EXCERPT: usize = 60;

/// One field that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldChange {
    /// Name of the field.
    pub field: String,
    /// Its value before. In a history, a long text is shortened to the part around the first difference.
    pub before: String,
    /// Its value after, shortened in the same way.
    pub after: String,
}

impl FieldChange {
    /// The change with long texts shortened to the part around the first difference. Both parts begin at the
    /// same word, so that they can be compared.
    #[must_use]
    pub fn shortened(&self) -> FieldChange {
        let is_long = |text: &str| text.chars().nth(EXCERPT).is_some();
        if !is_long(&self.before) && !is_long(&self.after) {
            return self.clone();
        }
        let common = self.before.chars().zip(self.after.chars()).take_while(|(a, b)| a == b).count();
        let start = word_start(&self.before, common.saturating_sub(EXCERPT / 4));
        FieldChange {
            field: self.field.clone(),
            before: excerpt(&self.before, start),
            after: excerpt(&self.after, start),
        }
    }
}

/// The fields that differ, except for version and modification time, which every change updates. Long texts are
/// shortened.
pub fn fields(before: &Node, after: &Node) -> Vec<FieldChange> {
    fields_in_full(before, after).iter().map(FieldChange::shortened).collect()
}

/// Like [`fields`], with whole texts.
pub fn fields_in_full(before: &Node, after: &Node) -> Vec<FieldChange> {
    let texts = |node: &Node| {
        [
            ("key", node.key.clone()),
            ("aliases", node.aliases.join(", ")),
            ("other names", node.other_names.join(", ")),
            ("title", node.title.clone()),
            ("body", node.body.clone()),
            ("type", node.node_type.to_string()),
            ("category", node.category.to_string()),
            ("keywords", node.keywords.join(", ")),
            ("provenance", node.provenance.clone()),
            ("trust", node.trust.to_string()),
            ("author", node.author.clone().unwrap_or_default()),
            ("source", node.source.clone().unwrap_or_default()),
            ("emotion", node.emotion.to_string()),
            ("created", node.created.to_string()),
            ("expires", node.expires.map(|at| at.to_string()).unwrap_or_default()),
            ("state", node.state.to_string()),
            ("origin", node.origin.to_string()),
        ]
    };
    texts(before)
        .into_iter()
        .zip(texts(after))
        .filter(|((_, before), (_, after))| before != after)
        .map(|((field, before), (_, after))| FieldChange { field: field.into(), before, after })
        .collect()
}

/// The text from character `start`, at most [`EXCERPT`] characters that end with a whole word.
fn excerpt(text: &str, start: usize) -> String {
    let rest: String = text.chars().skip(start).collect();
    let before = if start > 0 { "…" } else { "" };
    match rest.char_indices().nth(EXCERPT) {
        None => format!("{before}{rest}"),
        Some((end, _)) => {
            let part = rest.get(..end).unwrap_or_default();
            let whole =
                part.rfind(char::is_whitespace).map_or(part, |end| part.get(..end).unwrap_or_default());
            format!("{before}{whole}…")
        }
    }
}

/// The start of the word that contains or precedes character `at`; `at` itself in a very long word.
fn word_start(text: &str, at: usize) -> usize {
    let before: Vec<char> = text.chars().take(at).collect();
    let word = before.iter().rev().take_while(|character| !character.is_whitespace()).count();
    if word < EXCERPT / 4 { at - word } else { at }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::{State, testing};

    #[test]
    fn only_changed_fields_are_listed() {
        let before = testing::node(1);
        let mut after = before.clone();
        assert_eq!(fields(&before, &after), []);
        after.state = State::Superseded;
        after.version += 1;
        after.body = format!("{}X{}", "a".repeat(100), "b".repeat(100));
        let changed: Vec<String> = fields(&before, &after)
            .iter()
            .map(|c| format!("{}: {} -> {}", c.field, c.before, c.after))
            .collect();
        insta::assert_snapshot!(changed.join("\n"), @r"
        body: Body of 1 -> aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…
        state: active -> superseded
        ");
    }

    #[test]
    fn both_parts_of_a_long_change_begin_at_the_same_word() {
        let text = "Hiking and gardening are what he likes. Video games and films are his main hobbies.";
        let change = |before: &str, after: &str| {
            let change =
                FieldChange { field: "body".into(), before: before.into(), after: after.into() }.shortened();
            format!("{}\n{}", change.before, change.after)
        };
        insta::assert_snapshot!(change(text, &format!("{text} He also has two turtles and a dog that he calls Max.")), @r"
        …his main hobbies.
        …his main hobbies. He also has two turtles and a dog that he…
        ");
        insta::assert_snapshot!(change(text, &text.replacen("Hiking", "Sailing", 1)), @r"
        Hiking and gardening are what he likes. Video games and…
        Sailing and gardening are what he likes. Video games and…
        ");
        insta::assert_snapshot!(change("short", "shorter"), @r"
        short
        shorter
        ");
    }
}
