//! The line that gives a text its title: the first heading or sentence that a reader sees.

use super::inline_markup::{
    begins_block, begins_tag, has_heading_tag, has_markup, image_text, unclosed_html, visible_text,
};

/// A heading in this many lines at the start of a text takes precedence over the text of HTML and callouts before it.
const MAX_HEADING_LINES: usize = 20;

/// The line that gives a text its title.
pub(super) struct TitleLine {
    /// The text of the line, without markup.
    pub(super) text: String,
    /// Whether the line is a heading, with `#` or in HTML.
    pub(super) is_heading: bool,
}

/// What a line contributes to the title.
enum LineContent {
    /// Nothing.
    Nothing,
    /// A heading, which is the title.
    Heading(String),
    /// Prose, which is the title unless there is a notice before it.
    Prose(String),
    /// Text of HTML or of a callout, which is the title unless a heading follows soon.
    Notice(String),
    /// Code, a table, a list of contents or the definition of a link, which is the title if there is nothing else.
    Other(String),
    /// The description of an image, which is the title if there is no other text.
    Image(String),
}

/// The blocks that a line is in.
#[derive(Default)]
struct Blocks<'a> {
    /// The text that ends the HTML which the line is in.
    html_end: Option<&'static str>,
    /// The fence of the code that the line is in.
    fence: Option<&'a str>,
    is_in_html: bool,
    is_in_html_heading: bool,
    is_in_callout: bool,
    /// Whether an earlier line is a [`LineContent::Other`]. Only the first one is needed.
    has_other: bool,
}

/// The line that gives a text its title. `None` if no line has text.
pub(super) fn title_line(body: &str) -> Option<TitleLine> {
    let first = first_line(body)?;
    let found = is_read_further(body, first).then(|| read_further(body)).flatten();
    Some(found.unwrap_or_else(|| TitleLine { text: text_of(first), is_heading: is_heading(first) }))
}

/// Whether the title may differ from the text of the first line with text.
pub(super) fn is_read_further(body: &str, first: &str) -> bool {
    // In most texts, the first line with text is the first line.
    let begins_code = || {
        let first = body.lines().find(|line| fence(line).is_some() || has_text(line));
        first.is_some_and(|line| fence(line).is_some())
    };
    has_markup(first) || first.trim_start().starts_with('|') || begins_code()
}

fn read_further(body: &str) -> Option<TitleLine> {
    let mut blocks = Blocks::default();
    let (mut notice, mut other, mut image) = (None, None, None);
    let mut lines = body.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        if notice.is_some() && number >= MAX_HEADING_LINES {
            break;
        }
        match blocks.read(line) {
            LineContent::Nothing => {}
            LineContent::Heading(text) => return Some(TitleLine { text, is_heading: true }),
            LineContent::Prose(text) => {
                if notice.is_none() || lines.peek().is_some_and(|(_, next)| is_underline(next)) {
                    return Some(TitleLine { text, is_heading: false });
                }
                break;
            }
            LineContent::Notice(text) => notice = notice.or(Some(text)),
            LineContent::Other(text) => other = other.or(Some(text)),
            LineContent::Image(text) => image = image.or(Some(text)),
        }
    }
    let text = notice.or(other).or(image)?;
    Some(TitleLine { text, is_heading: false })
}

impl<'a> Blocks<'a> {
    /// Reads the next line.
    fn read(&mut self, line: &'a str) -> LineContent {
        if let Some(end) = self.html_end {
            self.html_end = (!line.to_ascii_lowercase().contains(end)).then_some(end);
            return LineContent::Nothing;
        }
        if let Some(opening) = self.fence {
            self.fence = (!closes(line, opening)).then_some(opening);
            let is_needed = self.fence.is_some() && !self.has_other;
            let text = if is_needed { text_of(line) } else { String::new() };
            self.has_other |= !text.is_empty();
            return if text.is_empty() { LineContent::Nothing } else { LineContent::Other(text) };
        }
        self.fence = fence(line);
        if self.fence.is_some() {
            return LineContent::Nothing;
        }
        let line = line.trim();
        self.html_end = unclosed_html(line);
        self.is_in_html = !line.is_empty() && (self.is_in_html || begins_block(line));
        let begins_heading = self.is_in_html && has_heading_tag(line);
        let is_in_heading = is_heading(line) || self.is_in_html && self.is_in_html_heading || begins_heading;
        let ends_heading = line.contains("</h") || line.contains("</H");
        self.is_in_html_heading =
            self.is_in_html && (self.is_in_html_heading || begins_heading) && !ends_heading;
        let callout = callout(line);
        self.is_in_callout = callout.is_some() || self.is_in_callout && line.starts_with('>');
        let is_other =
            !is_in_heading && (is_table_row(line) || is_link_definition(line) || is_contents_entry(line));
        if is_other && self.has_other {
            return LineContent::Nothing;
        }
        let text = text_of(&visible_text(callout.unwrap_or(line)));
        if text.is_empty() {
            let image = text_of(&image_text(line));
            return if image.is_empty() { LineContent::Nothing } else { LineContent::Image(image) };
        }
        if is_in_heading {
            LineContent::Heading(text)
        } else if is_other {
            self.has_other = true;
            LineContent::Other(text)
        } else if self.is_in_callout || self.is_in_html || begins_tag(line) {
            LineContent::Notice(text)
        } else {
            LineContent::Prose(text)
        }
    }
}

/// The text of a line without the markup at its ends.
pub(super) fn text_of(line: &str) -> String {
    one_line(without_marks(line).trim_end_matches(|c: char| c == '#' || c.is_whitespace()))
}

/// The first line that contains more than Markdown markup and is not a comment.
pub(super) fn first_line(body: &str) -> Option<&str> {
    body.lines().find(|line| has_text(line))
}

fn has_text(line: &str) -> bool {
    !without_marks(line).is_empty() && !is_comment(line.trim())
}

/// The line without the markup at its start. A single backtick is kept because it starts inline code.
pub(super) fn without_marks(line: &str) -> &str {
    let mut rest = line.trim_start_matches(is_mark);
    while rest.starts_with("``") || rest == "`" {
        rest = rest.trim_start_matches('`').trim_start_matches(is_mark);
    }
    rest
}

fn is_mark(c: char) -> bool {
    matches!(c, '#' | '>' | '-' | '*' | '+' | '=' | '_') || c.is_whitespace()
}

/// Whether a line is a heading that begins with `#`.
pub(super) fn is_heading(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// Whether a line marks the line before it as a heading.
fn is_underline(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && ['=', '-'].iter().any(|mark| line.trim_start_matches(*mark).is_empty())
}

/// Whether a line consists of a single HTML comment.
fn is_comment(line: &str) -> bool {
    line.starts_with("<!--") && line.ends_with("-->")
}

/// The backticks or tildes that begin a block of code.
fn fence(line: &str) -> Option<&str> {
    let line = line.trim();
    let of = |mark: char| {
        let info = line.trim_start_matches(mark);
        let marks = line.get(..line.len() - info.len())?;
        // Inline code may have three backticks, too.
        (marks.len() >= 3 && !(mark == '`' && info.contains(mark))).then_some(marks)
    };
    of('`').or_else(|| of('~'))
}

/// Whether a line ends the block of code that this fence began.
fn closes(line: &str, fence: &str) -> bool {
    let line = line.trim();
    line.starts_with(fence) && line.chars().all(|c| fence.starts_with(c))
}

/// The title of a callout, `> [!NOTE] Title`, which is usually empty.
fn callout(line: &str) -> Option<&str> {
    let (kind, title) = line.strip_prefix('>')?.trim_start().strip_prefix("[!")?.split_once(']')?;
    (!kind.is_empty()).then(|| title.trim_start_matches(['+', '-']))
}

fn is_table_row(line: &str) -> bool {
    line.len() > 1 && line.starts_with('|') && line.ends_with('|')
}

/// Whether a line defines the target of links, `[label]: target "title"`. Such lines also contain comments:
/// `[comment]: # (text)`. `[Ann]: Hello` is no definition.
fn is_link_definition(line: &str) -> bool {
    let definition = line.strip_prefix('[').and_then(|rest| rest.split_once("]:"));
    let Some((label, definition)) = definition else { return false };
    let (target, title) =
        definition.trim().split_once(char::is_whitespace).unwrap_or((definition.trim(), ""));
    let is_target = target.starts_with(['#', '<']) || target.trim_end_matches('.').contains(['/', '.']);
    let title = title.trim();
    !label.contains(']') && is_target && (title.is_empty() || title.starts_with(['"', '\'', '(']))
}

/// Whether a line consists of links to headings of the same text, such as `- [Install](#install)`.
fn is_contents_entry(line: &str) -> bool {
    let is_list_mark = |c: char| is_mark(c) || c.is_ascii_digit() || matches!(c, '.' | ')');
    let links = line.trim_start_matches(is_list_mark);
    let is_link = |(_, target): (&str, &str)| target.starts_with("(#");
    links.starts_with('[') && links.ends_with(')') && links.split_once(']').is_some_and(is_link)
}

/// Replaces every run of white space with one space.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, title: &str) {
        assert_eq!(title_line(body).unwrap().text, title, "{body}");
    }

    #[test]
    fn a_heading_follows_code_tables_definitions_and_contents() {
        check("```sh\ncargo install heck\n```\n\n# heck\n\nIt converts cases.", "heck");
        check("~~~~\n# no heading\n~~~\n~~~~\n\nheck\n====\n", "heck");
        check("| a | b |\n|---|---|\n| 1 | 2 |\n\n## Sizes", "Sizes");
        check("[comment]: # (hidden)\n<h1 align=\"center\">heck</h1>\n", "heck");
        check("[logo]: logo.png \"Logo\"\n# heck", "heck");
        check("- [Install](#install)\n  - [From source](#source)\n1. [Use](#use)\n\n# heck", "heck");
    }

    #[test]
    fn prose_follows_code_tables_definitions_and_contents() {
        check("```sh\ncargo install heck\n```\nIt converts cases.", "It converts cases.");
        check("| a | b |\n|---|---|\n\nThe sizes of all disks.", "The sizes of all disks.");
        check("* [Install](#install)\n\nIt *converts* cases.\n\n# Install", "It converts cases.");
    }

    #[test]
    fn a_heading_takes_precedence_over_notices_and_html() {
        check("> [!NOTE]\n> It has moved.\n\n# heck", "heck");
        check("<p align=\"center\">\n  <a href=\"a\">English</a>\n  Text\n</p>\n\n# heck", "heck");
        check("<div>\n<h1 align=\"center\">\n  heck\n</h1>\n</div>", "heck");
        check("<b>A library</b>\n\nheck\n----\n", "heck");
        let late = format!("> [!NOTE]\n> It has moved.\n{}# heck", "\n".repeat(20));
        check(&late, "It has moved.");
    }

    #[test]
    fn a_notice_without_a_heading_is_the_title() {
        check("> [!NOTE]\n> It has **moved**.\n\nMore is below.\n\n# heck", "It has moved.");
        check("> [!tip]- Cold starts\n> They take a second.", "Cold starts");
        check("<p>It has moved.</p>", "It has moved.");
    }

    #[test]
    fn a_text_without_prose_has_a_title() {
        check("```rust\nfn main() {}\n```", "fn main() {}");
        check("```sh\n# Installs heck\n```", "Installs heck");
        check("```sh\n```", "sh");
        check("| a | b |", "| a | b |");
        check("- [Install](#install)\n- [Use](#use)", "Install");
        check("![The logo](logo.svg)", "The logo");
        check("![](logo.svg)\n[![Build](b.svg)](b)", "Build");
    }

    #[test]
    fn prose_that_resembles_markup_is_kept() {
        check("[Ann]: ok.\n\n# Calls", "[Ann]: ok.");
        check("[x] call Ann\n\n# Calls", "[x] call Ann");
        check("|x| is never negative\n\n# Numbers", "|x| is never negative");
        check("```a` b``` is code\n\n# Code", "a` b``` is code");
        check("> A quote\n\n# Quotes", "A quote");
        check("See [the soup](soup.md) (hot)\n\n# Soups", "See the soup (hot)");
    }

    #[test]
    fn code_that_begins_like_a_heading_is_no_heading() {
        let is_heading = |body: &str| title_line(body).unwrap().is_heading;
        assert!(is_heading("# heck") && is_heading("```\na\n```\n# heck") && is_heading("<h1>heck</h1>"));
        assert!(!is_heading("```\n# heck\n```") && !is_heading("heck") && !is_heading("**heck**"));
    }
}
