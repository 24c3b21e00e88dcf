//! The part of a note that a prompt shows.

use super::PromptExtent;
use poc_graph::Node;

/// The part of a note that a prompt shows.
pub(crate) struct Excerpt {
    /// The title, or its start.
    pub title: String,
    /// The keywords, or the first of them, as one line.
    pub keywords: String,
    /// The text, or its start.
    pub body: String,
    /// Whether the note is shown in full.
    pub shown: PromptExtent,
}

impl Excerpt {
    /// At most `max` characters of the text, and as many of title and keywords together, so that one note does
    /// not crowd out the others.
    pub(crate) fn of(node: &Node, max: usize) -> Excerpt {
        let keywords = node.keywords.join(", ");
        let (title, left) = start(&node.title, max);
        let (keywords, _) = match left {
            Some(left) => start(&keywords, left),
            None => (String::new(), None),
        };
        let (body, _) = start(&node.body, max);
        let all = title.len() == node.title.len()
            && keywords.len() == node.keywords.iter().map(String::len).sum::<usize>() + separators(node)
            && body.len() == node.body.len();
        Excerpt { title, keywords, body, shown: if all { PromptExtent::Whole } else { PromptExtent::Cut } }
    }
}

fn separators(node: &Node) -> usize {
    node.keywords.len().saturating_sub(1) * ", ".len()
}

/// The start of a text, and the number of characters left; `None` when the text was cut.
fn start(text: &str, max: usize) -> (String, Option<usize>) {
    let mut rest = text.chars();
    let start: String = rest.by_ref().take(max).collect();
    let left = rest.next().is_none().then(|| max - start.chars().count());
    (start, left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::testing;

    fn check(node: &Node, max: usize) -> (usize, usize, usize, PromptExtent) {
        let Excerpt { title, keywords, body, shown } = Excerpt::of(node, max);
        (title.chars().count(), keywords.chars().count(), body.chars().count(), shown)
    }

    #[test]
    fn no_part_of_an_excerpt_exceeds_the_limit() {
        let mut node = testing::node(1);
        (node.title, node.keywords, node.body) =
            ("tïtle".into(), vec!["a".into(), "bc".into()], "böty".into());
        assert_eq!(check(&node, 10), (5, 5, 4, PromptExtent::Whole));
        assert_eq!(check(&node, 9), (5, 4, 4, PromptExtent::Cut));
        assert_eq!(check(&node, 4), (4, 0, 4, PromptExtent::Cut));
        assert_eq!(check(&node, 0), (0, 0, 0, PromptExtent::Cut));
        node.title = "t".repeat(1 << 20);
        assert_eq!(check(&node, 100), (100, 0, 4, PromptExtent::Cut));
        (node.title, node.keywords) = ("t".into(), vec!["k".into(); 10_000]);
        assert_eq!(check(&node, 100), (1, 99, 4, PromptExtent::Cut));
        (node.keywords, node.body) = (Vec::new(), String::new());
        assert_eq!(check(&node, 1), (1, 0, 0, PromptExtent::Whole));
    }
}
