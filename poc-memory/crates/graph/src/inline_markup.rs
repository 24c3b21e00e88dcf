//! The text of a line of Markdown as a reader sees it: without emphasis, link targets, images, HTML tags and entities.

/// The HTML elements whose tags are removed. Other text in angle brackets, such as `Vec<Item>`, is kept.
const ELEMENTS: &str = "\
    a abbr b big blockquote br center code dd del details div dl dt em figcaption figure font h1 h2 \
    h3 h4 h5 h6 header hr i img ins kbd li mark nav ol p path picture pre s samp script section \
    small source span strong style sub summary sup svg table tbody td th thead tr u ul video";

/// The elements among them that are paragraphs, or contain some.
const BLOCKS: &str = "\
    blockquote center dd details div dl dt figcaption figure h1 h2 h3 h4 h5 h6 header hr li nav ol p picture \
    pre script section style summary table tbody td th thead tr ul";

/// Maximum number of bytes of a line that are read. A title needs fewer, and searching for the end of markup takes
/// quadratic time.
const MAX_BYTES: usize = 2048;

/// Maximum nesting of markup. Deeper markup is kept.
const MAX_DEPTH: usize = 8;

/// What a reader sees of a piece of markup.
enum Visible<'a> {
    /// This text.
    Text(&'a str),
    /// This character.
    Char(char),
    /// The visible text of this Markdown.
    Markdown(&'a str),
}

/// Whether the visible text of a line may differ from the line.
pub(super) fn has_markup(line: &str) -> bool {
    line.contains(['*', '_', '[', '<', '&', '~'])
}

/// The visible text of a line, with its white space.
pub(super) fn visible_text(line: &str) -> String {
    let mut text = String::new();
    push_visible(beginning(line), 0, &mut text);
    text
}

/// The part of a line that is read.
fn beginning(line: &str) -> &str {
    line.get(..line.floor_char_boundary(MAX_BYTES)).unwrap_or(line)
}

/// The visible text of a line of images, with their descriptions.
pub(super) fn image_text(line: &str) -> String {
    let line = beginning(line);
    if line.contains("![") { visible_text(&line.replace("![", "[")) } else { String::new() }
}

/// Whether a line begins with the tag of an element.
pub(super) fn begins_tag(line: &str) -> bool {
    element(line).is_some()
}

/// Whether a line begins with the tag of an element that is a paragraph or contains some.
pub(super) fn begins_block(line: &str) -> bool {
    element(line).is_some_and(|name| BLOCKS.split(' ').any(|block| block == name))
}

/// Whether a line contains the start tag of a heading.
pub(super) fn has_heading_tag(line: &str) -> bool {
    let line = beginning(line);
    line.match_indices('<').any(|(at, _)| {
        let tag = line.get(at..).filter(|tag| !tag.starts_with("</"));
        matches!(tag.and_then(element).map(str::as_bytes), Some([b'h', b'1'..=b'6']))
    })
}

/// The text that ends the HTML comment, tag, style or script which a line begins and does not end.
pub(super) fn unclosed_html(line: &str) -> Option<&'static str> {
    let line = line.to_ascii_lowercase();
    if line.rfind("<!--").is_some_and(|at| !line.get(at..).unwrap_or_default().contains("-->")) {
        return Some("-->");
    }
    let tag = line.get(line.rfind('<')?..)?;
    if !tag.contains('>') {
        return element(tag).map(|_| ">");
    }
    [("style", "</style"), ("script", "</script")].into_iter().find_map(|(name, end)| {
        (element(line.trim_start()) == Some(name) && !line.contains(end)).then_some(end)
    })
}

fn push_visible(line: &str, depth: usize, text: &mut String) {
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let found = match first {
            '`' => Some(code(rest)),
            '\\' => escaped(rest),
            '!' => rest.strip_prefix('!').and_then(link).map(|(_, after)| (Visible::Text(""), after)),
            '[' => {
                wikilink(rest).or_else(|| link(rest).map(|(inner, after)| (Visible::Markdown(inner), after)))
            }
            '<' => html(rest),
            '&' => entity(rest).map(|(char, after)| (Visible::Char(char), after)),
            '*' | '_' | '~' => Some(emphasis(rest, first, text.chars().next_back())),
            _ => None,
        };
        let (visible, after) =
            found.unwrap_or((Visible::Char(first), rest.get(first.len_utf8()..).unwrap_or("")));
        match visible {
            Visible::Text(inner) => text.push_str(inner),
            Visible::Char(char) => text.push(char),
            Visible::Markdown(inner) if depth < MAX_DEPTH => push_visible(inner, depth + 1, text),
            Visible::Markdown(inner) => text.push_str(inner),
        }
        rest = after;
    }
}

/// Splits off the run of one character at the start of a text.
fn run(text: &str, char: char) -> (&str, &str) {
    let after = text.trim_start_matches(char);
    text.split_at(text.len() - after.len())
}

/// A code span, with its backticks.
fn code(rest: &str) -> (Visible<'_>, &str) {
    let (ticks, inner) = run(rest, '`');
    let mut at = 0;
    while let Some(found) = inner.get(at..).and_then(|inner| inner.find('`')) {
        let (end, after) = run(inner.get(at + found..).unwrap_or(""), '`');
        if end == ticks {
            return (Visible::Text(rest.get(..rest.len() - after.len()).unwrap_or(rest)), after);
        }
        at += found + end.len();
    }
    (Visible::Text(ticks), inner)
}

/// A character that a backslash protects, with the backslash.
fn escaped(rest: &str) -> Option<(Visible<'_>, &str)> {
    let length = 1 + rest.chars().nth(1).filter(char::is_ascii_punctuation)?.len_utf8();
    let (pair, after) = rest.split_at_checked(length)?;
    Some((Visible::Text(pair), after))
}

/// Text between two runs of the same length, or the run itself. It begins and ends outside of words, so `2*3*4` and
/// `snake_case_name` are kept.
fn emphasis(rest: &str, mark: char, before: Option<char>) -> (Visible<'_>, &str) {
    let (marks, inner) = run(rest, mark);
    let kept = (Visible::Text(marks), inner);
    let is_length = if mark == '~' { marks.len() == 2 } else { marks.len() <= 3 };
    if !is_length || before.is_some_and(char::is_alphanumeric) || inner.starts_with(char::is_whitespace) {
        return kept;
    }
    let mut at = 0;
    while let Some(found) = inner.get(at..).and_then(|inner| inner.find(mark)) {
        let (content, end) = inner.split_at(at + found);
        let (end, after) = run(end, mark);
        let may_follow = |next: char| match mark {
            '_' => next.is_whitespace() || ",;:!?)".contains(next),
            _ => !next.is_alphanumeric(),
        };
        if end == marks
            && !content.ends_with(char::is_whitespace)
            && after.chars().next().is_none_or(may_follow)
        {
            return (Visible::Markdown(content), after);
        }
        at += found + end.len();
    }
    kept
}

/// The text between the bracket at the start and the one that closes it, and the text after that.
fn bracketed(rest: &str, open: char, close: char) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    let mut is_escaped = false;
    for (at, char) in rest.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if char == '\\' {
            is_escaped = true;
        } else if char == open {
            depth += 1;
        } else if char == close && depth > 1 {
            depth -= 1;
        } else if char == close {
            return Some((rest.get(open.len_utf8()..at)?, rest.get(at + close.len_utf8()..)?));
        } else if depth == 0 {
            return None;
        }
    }
    None
}

/// The text of a link, `[text](target)` or `[text][label]`, and what follows the link.
fn link(rest: &str) -> Option<(&str, &str)> {
    let (text, after) = bracketed(rest, '[', ']')?;
    let (_, after) = bracketed(after, '(', ')').or_else(|| bracketed(after, '[', ']'))?;
    Some((text, after))
}

/// A link to a note, which is kept: it names the note.
fn wikilink(rest: &str) -> Option<(Visible<'_>, &str)> {
    let end = rest.strip_prefix("[[")?.find("]]")?;
    let (link, after) = rest.split_at_checked(end + "[[]]".len())?;
    Some((Visible::Text(link), after))
}

/// A comment, a tag of a known element, or an address in angle brackets.
fn html(rest: &str) -> Option<(Visible<'_>, &str)> {
    if let Some(comment) = rest.strip_prefix("<!--") {
        return Some((Visible::Text(""), comment.split_once("-->").map_or("", |(_, after)| after)));
    }
    if let Some(name) = element(rest) {
        let after = rest.split_once('>').map_or("", |(_, after)| after);
        return Some((if name == "br" { Visible::Char(' ') } else { Visible::Text("") }, after));
    }
    let (inner, after) = rest.strip_prefix('<')?.split_once('>')?;
    let is_address = !inner.contains(char::is_whitespace) && (inner.contains("://") || inner.contains('@'));
    is_address.then_some((Visible::Text(inner), after))
}

/// The element of the tag at the start of a text. A tag that the text does not end has attributes or nothing after its
/// name, unlike `a <b and c`.
fn element(text: &str) -> Option<&'static str> {
    let tag = text.strip_prefix('<')?;
    let tag = tag.strip_prefix('/').unwrap_or(tag);
    let name = tag.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    let after = tag.get(name.len()..)?;
    let ends = after.chars().next().is_none_or(|c| c.is_whitespace() || matches!(c, '>' | '/'));
    let is_tag = ends && (after.contains(['>', '=']) || after.trim().is_empty());
    ELEMENTS.split(' ').find(|known| is_tag && known.eq_ignore_ascii_case(name))
}

/// The character of an entity such as `&amp;`, and what follows the entity.
fn entity(rest: &str) -> Option<(char, &str)> {
    let (name, after) = rest.strip_prefix('&')?.split_once(';')?;
    let char = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "copy" => '©',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?).filter(|char| !char.is_control())?
        }
    };
    Some((char, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_reduced_to_its_text() {
        let check = |line: &str, expected: &str| assert_eq!(visible_text(line), expected, "{line}");
        check("# **heck** is a *case* ~~converter~~", "# heck is a case converter");
        check("***both*** and _one_, __two__", "both and one, two");
        check("[hyper](https://hyper.rs) and [serde][1]", "hyper and serde");
        check("[![badge](http://x)](http://y)", "");
        check("![Logo](a.png) Name", " Name");
        check("<b>heck</b> &amp; <https://example.org>&#39;s<br/>list", "heck & https://example.org's list");
        check("<!-- a --> Journal <!-- b", " Journal ");
        check("<h1 align=\"center\">Name</h1>", "Name");
    }

    #[test]
    fn other_text_is_kept() {
        for line in [
            "2*3*4 and snake_case_name, *.rs and *.md",
            "`**code** [a](b)` and ``a ` *b*``",
            "[ ] call Ann [x] [[journal|the journal]] ![[picture.png]]",
            "Vec<Item> & HashMap<K, V>; a < b > c &unknown;",
            "a <b and c",
            "\\*no emphasis\\* ** open",
            "the file __init__.py",
        ] {
            assert_eq!(visible_text(line), line);
        }
    }

    #[test]
    fn tags_of_blocks_and_headings_are_recognized() {
        assert!(begins_block("<DIV align=\"center\">") && begins_block("</p>") && !begins_block("<b>a</b>"));
        assert!(begins_tag("<b>a</b>") && !begins_tag("<T> is a type") && !begins_tag("a <b>"));
        assert!(has_heading_tag("<div><h1 align=\"center\">") && !has_heading_tag("</h1><hr>"));
    }

    #[test]
    fn descriptions_of_images_are_read() {
        let check = |line: &str, expected: &str| assert_eq!(image_text(line), expected, "{line}");
        check("![The logo](a.png)", "The logo");
        check("[![Build](b.svg)](http://x) ![](c.png)", "Build ");
        check("[text](a.md)", "");
    }

    #[test]
    fn html_that_continues_on_the_next_line_is_recognized() {
        let check = |line: &str, end: Option<&str>| assert_eq!(unclosed_html(line), end, "{line}");
        check("<img", Some(">"));
        check("<p><img src=\"a.png\"", Some(">"));
        check("<!-- a", Some("-->"));
        check("<STYLE>", Some("</style"));
        check("<style>a {}</style>", None);
        check("<div>", None);
        check("a < b", None);
    }

    #[test]
    fn long_lines_and_deep_markup_are_read_in_time() {
        for text in ["*a ", "[", "[a](", "_a_ ", "<b", "`` ` ", "&"] {
            visible_text(&text.repeat(100_000));
        }
        assert!(!has_heading_tag(&"<b ".repeat(100_000)));
        visible_text(&format!("{}é", "a".repeat(MAX_BYTES - 1)));
    }
}
