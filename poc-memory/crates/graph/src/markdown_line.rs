//! The visible text of lines of Markdown: without images, tags and comments of HTML, targets of links, and emphasis.
//!
//! This is no parser of Markdown. A text may also be speech, code or a table, so only what is certainly markup is
//! removed: `Vec<u8>`, `2 * 3 * 4` and `a[0][1]` stay as they are.

/// Maximum number of bytes of a line that are read; the rest is dropped from its text.
const MAX_LINE_BYTES: usize = 2000;

/// Maximum number of link definitions of a text that are known.
const MAX_LABELS: usize = 1000;

/// Maximum depth of links and emphasis within each other.
const MAX_DEPTH: usize = 4;

/// Maximum length of the name of an entity, in bytes.
const MAX_ENTITY: usize = 10;

/// The characters at which markup may begin.
const SPECIAL: [char; 7] = ['`', '\\', '<', '!', '[', '*', '&'];

/// The characters that a backslash makes ordinary text.
const ESCAPABLE: &str = "\\_*`[]<>#&|~";

/// The characters that may precede emphasis, besides white space.
const BEFORE_EMPHASIS: &str = "([{\"'“‘";

/// The ASCII punctuation with which an emphasised text may begin.
const BEGINNING_OF_EMPHASIS: &str = "`[(\"'_";

/// The beginnings of the target in the definition of a link.
const TARGETS: [&str; 7] = ["http", "<", "/", "./", "../", "#", "mailto:"];

/// The HTML tags within a line of text.
const INLINE_TAGS: [&str; 24] = [
    "a", "abbr", "b", "big", "code", "del", "em", "font", "i", "ins", "kbd", "nobr", "s", "samp", "small",
    "span", "strike", "strong", "sub", "sup", "tt", "u", "var", "mark",
];

/// The HTML tags that separate texts.
const BLOCK_TAGS: [&str; 34] = [
    "blockquote",
    "br",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "img",
    "li",
    "ol",
    "p",
    "picture",
    "pre",
    "source",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
    "video",
    "section",
    "article",
];

/// The entities of HTML that are common in text. Special spaces become ordinary ones.
const ENTITIES: [(&str, char); 25] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("ensp", ' '),
    ("emsp", ' '),
    ("thinsp", ' '),
    ("mdash", '—'),
    ("ndash", '–'),
    ("hellip", '…'),
    ("copy", '©'),
    ("reg", '®'),
    ("trade", '™'),
    ("middot", '·'),
    ("bull", '•'),
    ("rarr", '→'),
    ("larr", '←'),
    ("times", '×'),
    ("laquo", '«'),
    ("raquo", '»'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("deg", '°'),
];

/// A line of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisibleLine<'a> {
    /// The line as it is written, without its line break.
    pub raw: &'a str,
    /// What a reader sees of it, without the markers of headings, quotes and lists in front.
    pub text: String,
    /// Where the next line begins, in bytes.
    pub end: usize,
}

impl VisibleLine<'_> {
    /// Whether there is nothing to read in the line, as in a row of badges or in the underline of a heading.
    pub fn is_blank(&self) -> bool {
        without_marks(&self.text).is_empty()
    }

    /// The line as it is written, unless it has images or HTML.
    pub fn readable(&self) -> &str {
        let has_markup = self.raw.contains("![") || self.raw.contains('<');
        if has_markup && self.raw.len() <= MAX_LINE_BYTES { &self.text } else { self.raw }
    }
}

/// The lines of a text in order. Definitions of links are left out.
pub fn visible_lines(body: &str) -> impl Iterator<Item = VisibleLine<'_>> {
    let mut reader = LineReader { body, until: None, labels: None };
    let mut end = 0;
    body.split_inclusive('\n').filter_map(move |line| {
        end += line.len();
        let raw = line.trim_end_matches(['\n', '\r']);
        if reader.until.is_none() && definition(raw).is_some() {
            return None;
        }
        // Within a tag or a comment, `>` is no quote.
        let line = if reader.until.is_some() { raw.trim() } else { block_text(raw) };
        Some(VisibleLine { raw, text: reader.visible(line), end })
    })
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

/// The visible text of a construct of Markdown, and the length of the construct in bytes.
type Construct = (String, usize);

/// Reads the lines of a text in order, because tags and comments may end in a later line.
struct LineReader<'a> {
    body: &'a str,
    /// What ends the tag or the comment that an earlier line has begun.
    until: Option<&'static str>,
    /// The labels of the definitions of links, in lower case, once they are needed.
    labels: Option<Vec<String>>,
}

impl LineReader<'_> {
    fn visible(&mut self, line: &str) -> String {
        let (mut rest, is_cut) = cut(line);
        // A tag has no empty lines.
        if self.until == Some(">") && line.is_empty() {
            self.until = None;
        }
        if let Some(end) = self.until {
            let Some((_, after)) = rest.split_once(end) else { return String::new() };
            self.until = None;
            rest = after;
        }
        let text = self.inline(rest, 0);
        if is_cut {
            // The tag may end in the part that was not read.
            self.until = None;
        }
        text
    }

    fn inline(&mut self, text: &str, depth: usize) -> String {
        let mut visible = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(SPECIAL) {
            let (plain, special) = rest.split_at(at);
            visible.push_str(plain);
            let before = visible.chars().next_back();
            let construct = match special.chars().next() {
                Some('`') => Some(code(special)),
                Some('\\') => escape(special),
                Some('<') => self.html(special),
                Some('!') => self.image(special, before),
                Some('[') => self.link(special, before, depth),
                Some('*') => Some(self.emphasis(special, before, depth)),
                _ => entity(special),
            };
            // All special characters have one byte.
            let (text, length) =
                construct.unwrap_or_else(|| (special.get(..1).unwrap_or_default().to_owned(), 1));
            visible.push_str(&text);
            rest = special.get(length..).unwrap_or_default();
        }
        visible.push_str(rest);
        visible
    }

    /// A comment or a known tag of HTML.
    fn html(&mut self, rest: &str) -> Option<Construct> {
        if rest.starts_with("<!--") {
            let is_comment = rest.contains("-->") || self.body.contains("-->");
            return is_comment.then(|| (String::new(), self.end_of(rest, "-->")));
        }
        let inner = rest.strip_prefix("</").or_else(|| rest.strip_prefix('<'))?;
        let name: String = inner.chars().take_while(char::is_ascii_alphanumeric).collect();
        let after = inner.get(name.len()..).and_then(|after| after.chars().next());
        let name = name.to_ascii_lowercase();
        let is_inline = INLINE_TAGS.contains(&name.as_str());
        let is_known = is_inline || BLOCK_TAGS.contains(&name.as_str());
        let ends = after.is_none_or(|c| c.is_whitespace() || c == '/' || c == '>');
        // A tag within a line ends in it.
        if !is_known || !ends || is_inline && !rest.contains('>') {
            return None;
        }
        let space = if is_inline { "" } else { " " };
        Some((space.to_owned(), self.end_of(rest, ">")))
    }

    /// The length of the text up to an end, which may be in a later line.
    fn end_of(&mut self, rest: &str, end: &'static str) -> usize {
        match rest.find(end) {
            Some(at) => at + end.len(),
            None => {
                self.until = Some(end);
                rest.len()
            }
        }
    }

    /// An image. The macro call `vec![1]` and the embedded note `![[name]]` are none.
    fn image(&mut self, rest: &str, before: Option<char>) -> Option<Construct> {
        let label =
            rest.strip_prefix('!').filter(|after| after.starts_with('[') && !after.starts_with("[["))?;
        if before.is_some_and(char::is_alphanumeric) {
            return None;
        }
        let length = enclosed(label, '[', ']')?;
        let target = target(label.get(length..)?);
        let is_image = target > 0 || self.defines(label.get(1..length - 1)?);
        is_image.then(|| (String::new(), 1 + length + target))
    }

    /// A link: `[text](target)`, or with a label that is defined, `[text][label]` and `[label]`. `[[name]]` stays.
    fn link(&mut self, rest: &str, before: Option<char>, depth: usize) -> Option<Construct> {
        if rest.starts_with("[[") {
            let end = rest.find("]]")? + 2;
            return Some((rest.get(..end)?.to_owned(), end));
        }
        if before == Some('!') || depth >= MAX_DEPTH {
            return None;
        }
        let length = enclosed(rest, '[', ']')?;
        let (text, after) = (rest.get(1..length - 1)?, rest.get(length..)?);
        let target = target(after);
        let is_link = match after.chars().next() {
            Some('(') if target > 0 => true,
            Some('[') if target > 2 => self.defines(after.get(1..target - 1)?),
            _ => self.defines(text),
        };
        // Around a badge, the label need not be defined.
        if !is_link && !(target > 0 && text.contains("![")) {
            return None;
        }
        let visible = self.inline(text, depth + 1);
        (is_link || visible.trim().is_empty()).then_some((visible, length + target))
    }

    /// Emphasis with asterisks, or the asterisks.
    fn emphasis(&mut self, rest: &str, before: Option<char>, depth: usize) -> Construct {
        let stars = run(rest, '*');
        let opens = before.is_none_or(|c| c.is_whitespace() || BEFORE_EMPHASIS.contains(c));
        let begins =
            |c: char| !c.is_whitespace() && (!c.is_ascii_punctuation() || BEGINNING_OF_EMPHASIS.contains(c));
        let next = rest.get(stars..).and_then(|after| after.chars().next());
        let may_be = opens && next.is_some_and(begins) && stars <= 3 && depth < MAX_DEPTH;
        let mut at = stars;
        while may_be && let Some(distance) = rest.get(at..).and_then(|after| after.find('*')) {
            at += distance;
            let length = rest.get(at..).map_or(1, |after| run(after, '*'));
            let inner = rest.get(stars..at).unwrap_or_default();
            let follows = rest.get(at + length..).and_then(|after| after.chars().next());
            let is_end = !inner.ends_with(char::is_whitespace) && !follows.is_some_and(char::is_alphanumeric);
            if length == stars && is_end {
                return (self.inline(inner, depth + 1), at + length);
            }
            at += length;
        }
        ("*".repeat(stars), stars)
    }

    /// Whether the text defines the target of a label.
    fn defines(&mut self, label: &str) -> bool {
        let body = self.body;
        let labels = self.labels.get_or_insert_with(|| {
            body.lines().filter_map(definition).take(MAX_LABELS).map(str::to_lowercase).collect()
        });
        labels.contains(&label.to_lowercase())
    }
}

/// The beginning of a long line, and whether it was cut.
fn cut(line: &str) -> (&str, bool) {
    if line.len() <= MAX_LINE_BYTES {
        return (line, false);
    }
    let end = (0..=MAX_LINE_BYTES).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
    (line.get(..end).unwrap_or_default(), true)
}

/// The text of a line behind the markers of headings, quotes and list items.
fn block_text(line: &str) -> &str {
    let mut rest = line.trim_start();
    loop {
        let marker = match rest.chars().next() {
            Some('#') => run(rest, '#'),
            Some('-' | '+' | '*' | '>') => 1,
            _ => return rest,
        };
        let after = rest.get(marker..).unwrap_or_default();
        let is_marker = after.is_empty() || after.starts_with(char::is_whitespace) || rest.starts_with('>');
        if !is_marker {
            return rest;
        }
        rest = after.trim_start();
    }
}

/// The label of the definition of a link, such as `[label]: https://example.org`.
fn definition(line: &str) -> Option<&str> {
    let (label, target) = line.trim_start().strip_prefix('[')?.split_once("]: ")?;
    let target = target.trim_start();
    TARGETS.iter().any(|start| target.starts_with(*start)).then_some(label)
}

/// The length of the run of an ASCII character at the start of a text.
fn run(text: &str, c: char) -> usize {
    text.len() - text.trim_start_matches(c).len()
}

/// Inline code as it is written, or the backticks that begin none.
fn code(rest: &str) -> Construct {
    let ticks = run(rest, '`');
    let mut at = ticks;
    while let Some(distance) = rest.get(at..).and_then(|after| after.find('`')) {
        at += distance;
        let length = rest.get(at..).map_or(1, |after| run(after, '`'));
        if length == ticks {
            return (rest.get(..at + length).unwrap_or(rest).to_owned(), at + length);
        }
        at += length;
    }
    ("`".repeat(ticks), ticks)
}

/// A character that a backslash makes ordinary text.
fn escape(rest: &str) -> Option<Construct> {
    let escaped = rest.chars().nth(1).filter(|c| ESCAPABLE.contains(*c))?;
    Some((escaped.to_string(), 2))
}

/// An entity of HTML.
fn entity(rest: &str) -> Option<Construct> {
    let end = rest.find(';').filter(|end| *end <= MAX_ENTITY)?;
    let name = rest.get(1..end)?;
    let character = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?).filter(|c| !c.is_control())?
        }
        None => ENTITIES.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((character.to_string(), end + 1))
}

/// The length of the text between two brackets at the start of a text, with the brackets.
fn enclosed(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(at + 1);
            }
        }
    }
    None
}

/// The length of the target or the label behind the text of a link; 0 if there is none.
fn target(after: &str) -> usize {
    let length = match after.chars().next() {
        Some('(') => enclosed(after, '(', ')'),
        Some('[') => enclosed(after, '[', ']'),
        _ => None,
    };
    length.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn visible(body: &str) -> Vec<String> {
        visible_lines(body).filter(|line| !line.is_blank()).map(|line| line.text.trim().to_owned()).collect()
    }

    #[test]
    fn markup_is_removed() {
        let check = |line: &str, text: &str| assert_eq!(visible(line).concat(), text);
        check("# The **journal**", "The journal");
        check("<h1 align=\"center\">USearch</h1>", "USearch");
        check("Serde &emsp; [![Build](https://x/b.svg)](https://x) [![a][b]][c]", "Serde");
        check("> - [hyper](https://hyper.rs) &mdash; *fast* &#38; small", "hyper — fast & small");
        check("serde\\_bytes<br>for bytes", "serde_bytes for bytes");
        check("***all*** of (**it**)", "all of (it)");
        check("[Chrono][docs]\n\n[docs]: https://docs.rs", "Chrono");
        check("[WIP]: x\n[wip]: https://docs.rs", "WIP: x");
        check("[![Build Status]][ci]\n[Build Status]: https://x/b.svg", "");
        check("<!-- a\n  b --> After\n<img\n  src=\"x\"\n>", "After");
        check("========\n---\n***", "");
    }

    #[test]
    fn other_text_stays() {
        for line in [
            "Vec<u8> and a < b > c, I <3 it, <https://example.org>",
            "2 * 3 * 4, x ** y ** z, cosines.*.*, */* and 5*6*7",
            "a[0][1] = vec![1, 2](3); [ ] call Ann; [x] and [done][ly]",
            "`**code** <b>`, ``a ` [b](c)`` and [[wiki|link]] with ![[embedded]]",
            "R&D, &unknown; C:\\data, 50 % & more; **unclosed",
            "if a <b then c; a comment begins with <!-- and has an end",
        ] {
            assert_eq!(visible(line).concat(), line);
        }
    }

    #[test]
    fn a_tag_in_a_long_line_ends_with_it() {
        let line = format!("{}<div {}>", "word ".repeat(390), "x".repeat(200));
        assert_eq!(visible(&format!("{line}\nNext")).last().unwrap(), "Next");
    }

    proptest! {
        #[test]
        fn text_without_markup_stays(body in "[a-zé語 .,:;()]{0,200}") {
            prop_assert_eq!(visible(&body).concat(), body.trim());
        }

        #[test]
        fn every_line_is_read(body in "[a-b<>!\\[\\]()*`&;\\\\ \né-]{0,120}") {
            let mut end = 0;
            for line in visible_lines(&body) {
                prop_assert!(body.get(..line.end).unwrap().trim_end_matches(['\n', '\r']).ends_with(line.raw));
                prop_assert!(line.end > end && line.text.len() <= line.raw.len());
                end = line.end;
            }
        }
    }
}
