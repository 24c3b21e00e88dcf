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
    /// Of long texts the part around the first difference.
    #[must_use]
    pub fn shortened(&self) -> FieldChange {
        let common = self.before.chars().zip(self.after.chars()).take_while(|(a, b)| a == b).count();
        FieldChange {
            field: self.field.clone(),
            before: excerpt(&self.before, common),
            after: excerpt(&self.after, common),
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

/// The text, or if it is long, the part around character `at`.
fn excerpt(text: &str, at: usize) -> String {
    let length = text.chars().count();
    if length <= EXCERPT {
        return text.to_owned();
    }
    let start = at.saturating_sub(EXCERPT / 4).min(length - EXCERPT);
    let part: String = text.chars().skip(start).take(EXCERPT).collect();
    let (before, after) = (if start > 0 { "…" } else { "" }, if start + EXCERPT < length { "…" } else { "" });
    format!("{before}{part}{after}")
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
}
