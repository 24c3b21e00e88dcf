//! Quotations: derived notes whose body is text of their source, word by word, in quotation marks.
//!
//! Only agents with the setting `limits.insert.only-quotations` may write them. Their keys
//! ([`poc_graph::quotation_key`]) tell them from other derived notes.

use poc_graph::Node;

/// Stands for text that a quotation leaves out, between two spaces.
const OMISSION: char = '…';

/// The body of a quotation of these parts of a text, in order.
pub(crate) fn body(parts: &[String]) -> String {
    format!("“{}”", parts.join(&format!(" {OMISSION} ")))
}

/// Whether a body quotes a note: each part of the quotation is in the body of the note.
pub(crate) fn is_of(body: &str, source: &Node) -> bool {
    // The text may have the mark as well, so that a part is not always what was quoted, and can be empty.
    quoted(body).is_some_and(|text| {
        let mut parts = text.split(OMISSION).map(str::trim);
        parts.clone().any(|part| !part.is_empty()) && parts.all(|part| source.body.contains(part))
    })
}

/// The text between the quotation marks.
fn quoted(body: &str) -> Option<&str> {
    body.strip_prefix('“')?.strip_suffix('”')
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::testing;

    fn note(body: &str) -> Node {
        Node { body: body.to_owned(), ..testing::node(1) }
    }

    #[test]
    fn a_quotation_is_of_notes_that_have_all_its_parts() {
        let source = note("Hey! I moved to Lisbon. It rains. We like it here.");
        let quotation = body(&["I moved to Lisbon.".to_owned(), "We like it here.".to_owned()]);
        assert_eq!(quotation, "“I moved to Lisbon. … We like it here.”");
        assert!(is_of(&quotation, &source));
        assert!(!is_of(&quotation, &note("I moved to Lisbon.")));
        assert!(!is_of(&source.body, &source));
        for empty in ["“”", "“ … ”"] {
            assert!(!is_of(empty, &source), "{empty}");
        }
        let source = note("I was so tired …\nWe went home early.");
        assert!(is_of(&body(&["I was so tired …".to_owned(), "We went home early.".to_owned()]), &source));
    }
}
