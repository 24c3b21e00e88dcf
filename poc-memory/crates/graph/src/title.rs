//! Titles of notes: given explicitly, or derived from the text.

use super::Node;
use super::title_line::{first_line, is_heading, is_read_further, text_of, title_line, without_marks};

/// Maximum number of characters of a title derived from the body.
pub const DERIVED_TITLE_CHARS: usize = 80;

/// The title derived from a body: its first heading or line of prose, as a reader sees it, that is, without Markdown
/// markup and HTML, truncated at a word boundary. Images, comments, code, tables, lists of contents and definitions of
/// links are skipped if other lines have text. A heading in the first lines takes precedence over HTML and callouts
/// before it. `None` if no line has text.
pub fn title_of(body: &str) -> Option<String> {
    title_line(body).map(|line| truncated(line.text))
}

/// The title that earlier releases derived from a body: the first line that is more than markup. They kept markup
/// within the line.
pub fn former_title_of(body: &str) -> Option<String> {
    first_line(body).map(|line| truncated(text_of(line)))
}

/// A title of at most [`DERIVED_TITLE_CHARS`] characters.
fn truncated(line: String) -> String {
    if line.chars().count() <= DERIVED_TITLE_CHARS {
        return line;
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
    title
}

/// Whether this release or an earlier one derives this title from a body.
pub fn is_title_of(title: &str, body: &str) -> bool {
    let Some(first) = first_line(body) else { return false };
    let is_former = may_be_derived_from(title, first) && truncated(text_of(first)) == title;
    is_former || is_read_further(body, first) && title_of(body).as_deref() == Some(title)
}

/// Whether a title may be derived from a line with text. Most other titles differ in the first character, which is
/// faster to compare.
fn may_be_derived_from(title: &str, line: &str) -> bool {
    let first = without_marks(line).chars().next();
    // Earlier releases removed a leading backtick.
    first == Some('`') || first == title.chars().next()
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
            let Some(first) = first_line(&self.body) else { return false };
            let is_former = !is_heading(first)
                && may_be_derived_from(&self.title, first)
                && is_derived(&self.title, &truncated(text_of(first)));
            let is_derived_now = || {
                title_line(&self.body)
                    .is_some_and(|line| !line.is_heading && truncated(line.text) == self.title)
            };
            is_former || is_read_further(&self.body, first) && is_derived_now()
        };
        (!self.title.is_empty() && !repeats()).then_some(self.title.as_str())
    }

    /// The title as in [`Node::own_title`], if there is one, then the other names, then the last parts of the key and
    /// of the former keys that a person has written as titles, such as `Freya Lund` in `people/Freya Lund`. Editors
    /// show the name of a file as its title, and its text often does not repeat it. All of them are searched like
    /// titles.
    pub fn titles(&self) -> impl Iterator<Item = &str> {
        let others = self.other_names.iter().map(String::as_str);
        let mut titles: Vec<&str> = self.own_title().into_iter().chain(others).collect();
        for name in self.names().filter_map(|name| name.rsplit('/').next()) {
            // The key of a canvas has the extension of its file.
            let name = name.strip_suffix(".canvas").unwrap_or(name);
            // The words of a title that repeats the name would count twice.
            if is_written_as_title(name) && !titles.iter().any(|title| contains_words(title, name)) {
                titles.push(name);
            }
        }
        titles.into_iter()
    }
}

/// Whether a part of a key reads like a title: several words, or a word that begins with a capital. Ids, identifiers
/// (`retry-policy`, `RetryPolicy`) and parts of documents (`Annual report#3`), which have the title of the document, do
/// not.
fn is_written_as_title(name: &str) -> bool {
    let is_number = |end: &str| !end.is_empty() && end.chars().all(|c| c.is_ascii_digit());
    let is_part = || name.rsplit_once('#').is_some_and(|(_, end)| is_number(end));
    let is_word = |c: char| c.is_alphabetic() || matches!(c, '-' | '\'' | '’');
    let is_camel_case =
        || name.chars().zip(name.chars().skip(1)).any(|(c, next)| c.is_lowercase() && next.is_uppercase());
    let is_capitalized =
        || name.starts_with(char::is_uppercase) && name.chars().all(is_word) && !is_camel_case();
    name.contains(char::is_alphabetic) && !is_part() && (name.contains(' ') || is_capitalized())
}

/// Whether a text contains a name as whole words, ignoring case.
fn contains_words(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_lowercase(), name.to_lowercase());
    text.match_indices(&name).any(|(at, found)| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + found.len()..).unwrap_or_default();
        !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;

    poc_laws::laws! {
        #[test]
        fn a_title_is_compared_with_the_derived_one(
            body in "[ab#`*. \\n-]{0,12}", other in "[ab`…]{0,3}", is_derived_title in any::<bool>(),
        ) {
            let (derived, former) = (title_of(&body), former_title_of(&body));
            let title = derived.clone().filter(|_| is_derived_title).unwrap_or(other);
            let is_title = [&derived, &former].contains(&&Some(title.clone()));
            prop_assert_eq!(is_title_of(&title, &body), is_title);
            let repeats_former = first_line(&body).is_some_and(|line| !is_heading(line))
                && former.is_some_and(|former| is_derived(&title, &former));
            let repeats = title_line(&body).is_some_and(|line| !line.is_heading)
                && derived.as_ref() == Some(&title);
            let node = Node { title: title.clone(), body, ..testing::node(1) };
            prop_assert_eq!(node.own_title().is_some(), !title.is_empty() && !repeats_former && !repeats);
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
        check("```rust\nfn main() {}\n```", Some("fn main() {}"));
        check("`\n``` \nText", Some("Text"));
        check("<!-- markdownlint-disable -->\n# Journal", Some("Journal"));
        check("<!-- a --> Journal", Some("Journal"));
        let long = title_of(&"word ".repeat(60)).unwrap();
        assert!(long.ends_with("word…") && long.chars().count() <= DERIVED_TITLE_CHARS, "{long}");
        let endless = title_of(&"x".repeat(500)).unwrap();
        assert_eq!(endless.chars().count(), DERIVED_TITLE_CHARS);
    }

    #[test]
    fn a_title_of_a_readme_is_its_visible_text() {
        let check = |body: &str, title: &str| assert_eq!(title_of(body).as_deref(), Some(title));
        check("# **heck** is a case conversion library", "heck is a case conversion library");
        check("[hyper](https://hyper.rs) is *fast*", "hyper is fast");
        check(
            "<div align=\"center\">\n\n<img\n  src=\"logo.png\">\n\n# Name &amp; more\n</div>",
            "Name & more",
        );
        check("<style>\n.a { color: red; }\n</style>\n\n# Name", "Name");
        check("<!--\nLicence: MIT\n-->\n[![badge](http://x)](http://y)\n\nText", "Text");
        // Nothing else has text.
        check("![Picture](a.png)", "Picture");
        check("* [ ] call Ann", "[ ] call Ann");
    }

    #[test]
    fn a_title_that_an_earlier_release_derived_is_no_own_title() {
        let check = |body: &str, former: &str, derived: &str| {
            assert_eq!(former_title_of(body).as_deref(), Some(former));
            assert_eq!(title_of(body).as_deref(), Some(derived));
            for title in [former, derived] {
                let node = Node { title: title.into(), body: body.into(), ..testing::node(1) };
                assert!(is_title_of(title, body) && node.own_title().is_none(), "{title}");
            }
        };
        check("The **best** [soup](soup.md)", "The **best** [soup](soup.md)", "The best soup");
        check("```sh\nls\n```\nIt lists files.", "sh", "It lists files.");
        check("| a | b |\n\nAll sizes.", "| a | b |", "All sizes.");
        check("```\nls\n```\nIt lists files.", "ls", "It lists files.");
    }

    #[test]
    fn a_key_that_is_written_as_a_title_is_one_of_the_titles() {
        let check = |key: &str, title: &str, body: &str, expected: &[&str]| {
            let node = Node { key: key.into(), title: title.into(), body: body.into(), ..testing::node(1) };
            assert_eq!(node.titles().collect::<Vec<_>>(), expected, "{key}");
        };
        check("people/Freya Lund", "Agent in Copenhagen.", "Agent in Copenhagen.", &["Freya Lund"]);
        check("People/Oskar", "My partner.", "My partner.", &["Oskar"]);
        check("How-to/Cat feeding", "Feeding Mogli", "60 g at 7.", &["Feeding Mogli", "Cat feeding"]);
        check("How-to/Boiler", "The boiler shows F28", "Press reset.", &["The boiler shows F28"]);
        check("2025-05-12 Warehouse", "Meeting", "Keys.", &["Meeting", "2025-05-12 Warehouse"]);
        check("Werft/Rights board.canvas", "Rights board", "Danish: sold.", &["Rights board"]);
        check("People/Ann", "Annual plan", "First the gate.", &["Annual plan", "Ann"]);
        for key in [
            "notes/retry-policy",
            "src/RetryPolicy",
            "INC-412",
            "2026-11-05",
            "claude-code/1111/ca43d0f40360",
            "D1:3",
            "session_1/t4",
            "Refund_not_showing_up",
            "Refund_not_showing_up/3",
            "Annual report#3",
        ] {
            check(key, "Title", "Body", &["Title"]);
        }
        let named =
            Node { other_names: vec!["FREYA LUND".into()], key: "Freya Lund".into(), ..testing::node(1) };
        assert_eq!(named.titles().collect::<Vec<_>>(), ["Title 1", "FREYA LUND"]);
        // Former keys are names of the note, too.
        let aliases = vec!["inbox/Freya Lund".into(), "people/lund".into(), "people/Freya Lund".into()];
        let renamed = Node { key: "people/freya".into(), aliases, ..testing::node(1) };
        assert_eq!(renamed.titles().collect::<Vec<_>>(), ["Title 1", "Freya Lund"]);
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
