//! Explains syntax errors of templates, whose messages are those of a parser, in terms of the text.

use super::tags::{TagKind, closer, is_part, next, tags};
use poc_graph::diagnostic::FileDiagnostic;
use poc_graph::error::ErrorLocation;

/// Blocks that need an end.
const BLOCKS: [&str; 4] = ["if", "for", "block", "filter"];

/// Replaces the diagnostic of a syntax error by one that names the cause, if it is a common one. Other diagnostics stay
/// as they are.
pub(super) fn explain(diagnostic: FileDiagnostic, text: &str) -> FileDiagnostic {
    let (Some(line), Some(column)) = (diagnostic.line, diagnostic.column) else { return diagnostic };
    let message = diagnostic.message.clone();
    let is_about_quotes = message.starts_with("string opened");
    if !is_about_quotes && !["found ", "unexpected "].iter().any(|start| message.starts_with(start)) {
        return diagnostic;
    }
    let offset = byte_offset(text, line, column);
    let at = |offset| ErrorLocation { file: diagnostic.file.clone(), ..ErrorLocation::offset(text, offset) };
    // An apostrophe in the text after an unclosed tag looks like a quote.
    if let Some((start, opener)) = unclosed(text, offset, !is_about_quotes) {
        return FileDiagnostic::new(format!("`{opener}` is never closed"))
            .hint(format!("write `{}` where the tag ends", closer(opener)))
            .at(at(start));
    }
    if message == "unexpected end of input"
        && let Some((word, start)) = open_block(text)
    {
        return FileDiagnostic::new(format!("`{{% {word} … %}}` is never ended"))
            .hint(format!("write `{{% end{word} %}}` where the block ends"))
            .at(at(start));
    }
    if message == "unexpected character" {
        let (before, after) = text.split_at_checked(offset).unwrap_or((text, ""));
        let start = before.trim_end_matches(is_part).len();
        let end = text.len() - after.trim_start_matches(is_part).len();
        let word = text.get(start..end).unwrap_or_default();
        if !word.is_ascii() {
            return FileDiagnostic::new(format!("`{word}` is not a name"))
                .hint("names have only ASCII letters, digits and `_`")
                .at(at(start));
        }
        let char = after.chars().next().unwrap_or(' ');
        return FileDiagnostic {
            message: format!("the character `{char}` has no meaning in a tag"),
            ..diagnostic
        };
    }
    let found = message.strip_prefix("found ").and_then(|rest| rest.split_once(" but expected "));
    match found {
        Some((token, expected)) if expected.starts_with("one of: integer") => {
            FileDiagnostic { message: format!("found {token} where a value is expected"), ..diagnostic }
        }
        Some((token, "}}")) => FileDiagnostic {
            message: format!("found {token} where `}}}}` is expected"),
            hint: Some("a tag has one value, such as `{{ NODES }}`".to_owned()),
            ..diagnostic
        },
        _ => diagnostic,
    }
}

/// The byte offset of a line and a column in characters, both from 1.
fn byte_offset(text: &str, line: u32, column: u32) -> usize {
    let index = |number: u32| (number as usize).saturating_sub(1);
    let start: usize = text.split_inclusive('\n').take(index(line)).map(str::len).sum();
    let rest = text.get(start..).unwrap_or_default();
    start + rest.char_indices().nth(index(column)).map_or(rest.len(), |(at, _)| at)
}

/// The byte offset and the opener of the first tag that is not closed before the next one begins. Tags after byte `end`
/// are not searched.
fn unclosed(text: &str, end: usize, has_quotes: bool) -> Option<(usize, &'static str)> {
    let mut from = 0;
    loop {
        let (start, opener) = next(text, from).filter(|(start, _)| *start <= end)?;
        let inside_start = start + opener.len();
        let inside = text.get(inside_start..).unwrap_or_default();
        let length = match opener {
            "{#" => inside.find(closer(opener)),
            _ => length(inside, closer(opener), has_quotes),
        };
        let Some(length) = length else { return Some((start, opener)) };
        from = inside_start + length + closer(opener).len();
        let is_around = |char: char| char == '-' || char.is_whitespace();
        if opener == "{%"
            && inside.get(..length).is_some_and(|inside| inside.trim_matches(is_around) == "raw")
        {
            let behind = text.get(from..).unwrap_or_default();
            // The tag that ends the block is closed like any other.
            from += behind.find("endraw").unwrap_or(behind.len());
        }
    }
}

/// The length of the content of a tag in bytes; `None` if the text ends or another tag begins before it is closed.
fn length(inside: &str, closer: &str, has_quotes: bool) -> Option<usize> {
    let mut quote = None;
    for (at, char) in inside.char_indices() {
        let rest = inside.get(at..).unwrap_or_default();
        match quote {
            Some(open) if open == char => quote = None,
            Some(_) => {}
            None if has_quotes && matches!(char, '"' | '\'' | '`') => quote = Some(char),
            None if rest.starts_with(closer) => return Some(at),
            None if ["{{", "{%", "{#"].iter().any(|opener| rest.starts_with(opener)) => return None,
            None => {}
        }
    }
    None
}

/// The word and the byte offset of the innermost block without an end.
fn open_block(text: &str) -> Option<(&str, usize)> {
    let mut open: Vec<(&str, usize)> = Vec::new();
    for tag in tags(text).into_iter().filter(|tag| tag.kind == TagKind::Block) {
        let word = tag.inside.split(|char| !is_part(char)).next().unwrap_or_default();
        if BLOCKS.contains(&word) {
            open.push((word, tag.start));
        } else if open.last().is_some_and(|(last, _)| word.strip_prefix("end") == Some(last)) {
            open.pop();
        }
    }
    open.pop()
}

#[cfg(test)]
mod tests {
    use crate::template::engine;
    use std::collections::BTreeMap;

    #[test]
    fn common_mistakes_are_named_where_they_are() {
        let report = |text: &str| match engine("a.md", text, &BTreeMap::new(), |_| Ok(String::new())) {
            Ok(_) => "valid".to_owned(),
            Err(found) => found.iter().map(|found| found.line()).collect::<Vec<_>>().join("\n"),
        };
        for (text, expected) in [
            ("a\n\n{{ NODES\n{{ DATE }}\n", "a.md:3:1: `{{` is never closed; write `}}` where the tag ends"),
            (
                "a\n{{ NODES\nit doesn't end\n",
                "a.md:2:1: `{{` is never closed; write `}}` where the tag ends",
            ),
            ("a\n{% if NODES\n", "a.md:2:1: `{%` is never closed; write `%}` where the tag ends"),
            (
                "{% if NODES %}\na\n",
                "a.md:1:1: `{% if … %}` is never ended; write `{% endif %}` where the block ends",
            ),
            ("{{ größe }}", "a.md:1:4: `größe` is not a name; names have only ASCII letters, digits and `_`"),
            ("{{ \"{{\" }} {% raw %}{{{% endraw %}", "valid"),
        ] {
            assert_eq!(report(text), expected, "{text}");
        }
    }
}
