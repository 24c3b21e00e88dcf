//! Titles of notes: given explicitly, or derived from the first line of the text.

use super::Node;
use super::markdown_line::{VisibleLine, visible_lines, without_marks};

/// Maximum number of characters of a title derived from the body.
pub const DERIVED_TITLE_CHARS: usize = 80;

/// Maximum number of lines that are searched for one with visible text.
const MAX_LINES: usize = 200;

/// The title derived from a body: its first line with visible text, without markup, truncated at a word boundary. Lines
/// of images and of HTML without text are skipped, unless there are no others. `None` if there is no such line.
pub fn title_of(body: &str) -> Option<String> {
    first_visible_line(body).map(|line| shortened(&line.text)).or_else(|| raw_title_of(body))
}

/// The title that earlier releases derived from a body: its first line, without the markup in front.
pub fn raw_title_of(body: &str) -> Option<String> {
    first_line(body).map(shortened)
}

/// Whether a title was derived from a body, by this release or an earlier one.
pub fn is_title_of(title: &str, body: &str) -> bool {
    title_of(body).as_deref() == Some(title) || raw_title_of(body).as_deref() == Some(title)
}

/// The text below its first visible line, if that line is the title, and not an item of a list or a quote.
pub fn below_title<'a>(text: &'a str, title: &str) -> Option<&'a str> {
    let first = first_visible_line(text).filter(|line| unmarked(&line.text) == title)?;
    let is_item = ["- ", "+ ", "* ", ">"].iter().any(|marker| first.raw.trim_start().starts_with(*marker));
    text.get(first.end..).filter(|_| !is_item)
}

/// The first line with a visible letter or digit.
fn first_visible_line(body: &str) -> Option<VisibleLine<'_>> {
    visible_lines(body).take(MAX_LINES).find(|line| line.text.contains(char::is_alphanumeric))
}

/// The text of a line without the markup at its ends.
fn unmarked(line: &str) -> String {
    one_line(without_marks(line).trim_end_matches(|c: char| c == '#' || c.is_whitespace()))
}

/// The title that a line becomes.
fn shortened(line: &str) -> String {
    let line = unmarked(line);
    if line.chars().count() <= DERIVED_TITLE_CHARS {
        return line;
    }
    let mut title = String::new();
    let mut taken = 0;
    for word in line.split(' ') {
        let chars = word.chars().count() + usize::from(taken > 0);
        if taken + chars >= DERIVED_TITLE_CHARS {
            break;
        }
        if taken > 0 {
            title.push(' ');
        }
        title.push_str(word);
        taken += chars;
    }
    if title.is_empty() {
        title = line.chars().take(DERIVED_TITLE_CHARS - 1).collect();
    }
    title.push('…');
    title
}

/// The first line that contains more than Markdown markup and is not a comment.
fn first_line(body: &str) -> Option<&str> {
    body.lines().find(|line| !without_marks(line).is_empty() && !is_comment(line.trim()))
}

/// Whether a line consists of a single HTML comment.
fn is_comment(line: &str) -> bool {
    line.starts_with("<!--") && line.ends_with("-->")
}

/// Whether a line is a heading of Markdown or of HTML.
fn is_heading(line: &str) -> bool {
    let line = line.trim_start();
    let level = line.strip_prefix("<h").and_then(|rest| rest.chars().next());
    line.starts_with('#') || level.is_some_and(|level| ('1'..='6').contains(&level))
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
        let repeats_visible_line = || {
            let plain = first_visible_line(&self.body).filter(|line| !is_heading(line.raw));
            plain.is_some_and(|line| shortened(&line.text) == self.title)
        };
        // Of notes of earlier releases.
        let repeats_raw_line = || {
            let plain = first_line(&self.body).filter(|line| !line.trim_start().starts_with('#'));
            plain.is_some_and(|line| is_derived(&self.title, &shortened(line)))
        };
        let is_own = !self.title.is_empty() && !repeats_visible_line() && !repeats_raw_line();
        is_own.then_some(self.title.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

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
        check("<!-- a --> Journal", Some("Journal"));
        check("<h1 align=\"center\">USearch</h1>", Some("USearch"));
        check(
            "<div align=\"center\">\n\n[![Build](https://x)](https://y)\n\n**Fast** search.",
            Some("Fast search."),
        );
        check("Journal\n=======\n\nText", Some("Journal"));
        check("=======\n[docs]: https://docs.rs\n[Journal][docs] &mdash; a log", Some("Journal — a log"));
        check("![A picture](x.png)", Some("![A picture](x.png)"));
        check("¯\\_(?)_/¯", Some("¯\\_(?)_/¯"));
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
        check("Done. It works", "**Done.** It works", false);
        check("USearch", "<h1>USearch</h1>\n\nSearches", true);
        // Earlier releases derived these titles.
        check("get` returns", "`get` returns", false);
        check("Done.** It works", "**Done.** It works", false);
        check("[Journal](x)", "# [Journal](x)", true);
    }

    #[test]
    fn a_title_of_an_earlier_release_is_known_as_derived() {
        for title in ["Done. It works", "Done.** It works"] {
            assert!(is_title_of(title, "**Done.** It works\n\nIt does."), "{title}");
        }
        assert!(!is_title_of("It works", "**Done.** It works"));
        assert_eq!(below_title("# [Journal](x) ##\n\nText", "Journal"), Some("\nText"));
        assert_eq!(below_title("# Another\nText", "Journal"), None);
        assert_eq!(below_title("- call Ann\n- call Bob", "call Ann"), None);
    }
}
