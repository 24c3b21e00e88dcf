//! Titles of notes: given explicitly, or derived from the first line of the text.

use super::Node;

/// Maximum number of characters of a title derived from the body.
pub const DERIVED_TITLE_CHARS: usize = 80;

/// The title derived from a body: its first line with text, without Markdown markup, truncated at a word boundary.
/// `None` if there is no such line.
pub fn title_of(body: &str) -> Option<String> {
    let line = without_marks(first_line(body)?);
    let line = one_line(line.trim_end_matches(|c: char| c == '#' || c.is_whitespace()));
    if line.chars().count() <= DERIVED_TITLE_CHARS {
        return Some(line);
    }
    let mut title = String::new();
    let mut length = 0;
    for word in line.split(' ') {
        let chars = word.chars().count() + usize::from(length > 0);
        if length + chars >= DERIVED_TITLE_CHARS {
            break;
        }
        if length > 0 {
            title.push(' ');
        }
        title.push_str(word);
        length += chars;
    }
    if title.is_empty() {
        title = line.chars().take(DERIVED_TITLE_CHARS - 1).collect();
    }
    title.push('…');
    Some(title)
}

/// Whether [`title_of`] gives this title for a body.
pub fn is_title_of(title: &str, body: &str) -> bool {
    first_line(body).is_some_and(|line| may_be_derived_from(title, line))
        && title_of(body).as_deref() == Some(title)
}

/// Whether a title may be derived from a line with text. Most other titles differ in the first character, which is
/// faster to compare.
fn may_be_derived_from(title: &str, line: &str) -> bool {
    let first = without_marks(line).chars().next();
    // Earlier releases removed a leading backtick.
    first == Some('`') || first == title.chars().next()
}

/// The first line that contains more than Markdown markup and is not a comment.
fn first_line(body: &str) -> Option<&str> {
    body.lines().find(|line| !without_marks(line).is_empty() && !is_comment(line.trim()))
}

/// The line without the markup at its start. A single backtick is kept because it starts inline code.
fn without_marks(line: &str) -> &str {
    let mut rest = line.trim_start_matches(is_mark);
    while rest.starts_with("``") || rest == "`" {
        rest = rest.trim_start_matches('`').trim_start_matches(is_mark);
    }
    rest
}

fn is_mark(c: char) -> bool {
    matches!(c, '#' | '>' | '-' | '*' | '+' | '=' | '_') || c.is_whitespace()
}

/// Whether a line consists of a single HTML comment.
fn is_comment(line: &str) -> bool {
    line.starts_with("<!--") && line.ends_with("-->")
}

/// Replaces every run of white space with one space.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a title equals the derived one. Earlier releases removed a leading backtick.
fn is_derived(title: &str, derived: &str) -> bool {
    title == derived || derived.strip_prefix('`') == Some(title)
}

impl Node {
    /// The title if it was given explicitly or is a heading of the text; `None` if it was derived from a plain first
    /// line.
    pub fn own_title(&self) -> Option<&str> {
        let repeats = || {
            let Some(line) = first_line(&self.body) else { return false };
            let heading = line.trim_start().starts_with('#');
            !heading
                && may_be_derived_from(&self.title, line)
                && title_of(&self.body).is_some_and(|derived| is_derived(&self.title, &derived))
        };
        (!self.title.is_empty() && !repeats()).then_some(self.title.as_str())
    }

    /// The title as in [`Node::own_title`], if there is one, then the other names, which are searched like titles.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        self.own_title().into_iter().chain(self.other_names.iter().map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_title_is_compared_with_the_derived_one(
            body in "[ab#`*. \\n-]{0,12}", other in "[ab`…]{0,3}", is_derived_title: bool,
        ) {
            let derived = title_of(&body);
            let title = derived.clone().filter(|_| is_derived_title).unwrap_or(other);
            prop_assert_eq!(is_title_of(&title, &body), derived.as_ref() == Some(&title));
            let heading = first_line(&body).is_some_and(|line| line.trim_start().starts_with('#'));
            let repeats = !heading && derived.is_some_and(|derived| is_derived(&title, &derived));
            let node = Node { title: title.clone(), body, ..testing::node(1) };
            prop_assert_eq!(node.own_title().is_some(), !title.is_empty() && !repeats);
        }
    }

    #[test]
    fn a_title_comes_from_the_first_line() {
        let check = |body: &str, title: Option<&str>| assert_eq!(title_of(body).as_deref(), title);
        check("", None);
        check("# \n---\n", None);
        check("\n\n## The journal ##\n\nIt is cut.", Some("The journal"));
        check("- [ ] call   Ann", Some("[ ] call Ann"));
        check("- `get` returns a note", Some("`get` returns a note"));
        check("```rust\nfn main() {}\n```", Some("rust"));
        check("`\n``` \nText", Some("Text"));
        check("<!-- markdownlint-disable -->\n# Journal", Some("Journal"));
        check("<!-- a --> Journal", Some("<!-- a --> Journal"));
        let long = title_of(&"word ".repeat(60)).unwrap();
        assert!(long.ends_with("word…") && long.chars().count() <= DERIVED_TITLE_CHARS, "{long}");
        let endless = title_of(&"x".repeat(500)).unwrap();
        assert_eq!(endless.chars().count(), DERIVED_TITLE_CHARS);
    }

    #[test]
    fn a_derived_title_is_not_an_own_title() {
        let own = |title: &str, body: &str| {
            Node { title: title.into(), body: body.into(), ..testing::node(1) }.own_title().map(str::to_owned)
        };
        let check =
            |title: &str, body: &str, has: bool| assert_eq!(own(title, body).is_some(), has, "{title}");
        check("Soup", "Lentils", true);
        check("Soup", "Soup is made of lentils", true);
        check("Journal", "# Journal\n\nEvery page", true);
        check("Hey Mel! How are you?", "Hey Mel! How are you?", false);
        let long = "word ".repeat(60);
        check(&title_of(&long).unwrap(), &long, false);
        check("", "Lentils", false);
        check("Soup", "", true);
        check("`get` returns", "`get` returns", false);
        // An earlier release derived this title.
        check("get` returns", "`get` returns", false);
    }
}
