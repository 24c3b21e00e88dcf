//! Who speaks in a message or in a turn of a conversation.

use poc_graph::Node;

/// The name of the person in an imported conversation with an assistant.
pub const USER: &str = "User";

/// The authors of a message or of a turn. In a turn, their names stand before their words.
pub fn authors(note: &Node) -> impl Iterator<Item = &str> {
    note.author.iter().flat_map(|author| author.split(", ")).filter(|name| !name.is_empty())
}

/// The place of the author whose words begin with a line, and the line without the name; `None` if no name stands before
/// it.
pub fn named_speaker<'a>(authors: &[&str], line: &'a str) -> Option<(usize, &'a str)> {
    let words = |name: &str| line.strip_prefix(name)?.strip_prefix(':');
    authors.iter().enumerate().find_map(|(place, name)| Some((place, words(name)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::testing;

    #[test]
    fn a_line_begins_the_words_of_the_author_whose_name_stands_before_it() {
        let turn = Node { author: Some("User, Claude".into()), ..testing::node(1) };
        let authors: Vec<&str> = authors(&turn).collect();
        assert_eq!(authors, [USER, "Claude"]);
        assert_eq!(named_speaker(&authors, "Claude: Yes: port 5432."), Some((1, " Yes: port 5432.")));
        for line in ["Users: two", "Ann: hello", " User: hello", "User"] {
            assert_eq!(named_speaker(&authors, line), None, "{line}");
        }
        assert_eq!(super::authors(&testing::node(1)).count(), 0);
    }
}
