//! Finds the tags of a template without parsing it.

/// The kind of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TagKind {
    /// `{% … %}`
    Block,
    /// `{{ … }}`
    Value,
}

/// One tag.
pub(super) struct Tag<'a> {
    pub(super) kind: TagKind,
    /// Byte offset where it begins.
    pub(super) start: usize,
    /// Its content, without `-` and whitespace at both ends.
    pub(super) inside: &'a str,
}

/// The tags of a text in order, without those in comments and `raw` blocks.
pub(super) fn tags(text: &str) -> Vec<Tag<'_>> {
    let mut found = Vec::new();
    let mut rest = 0;
    while let Some((start, opener)) = next(text, rest) {
        let closer = match opener {
            "{#" => "#}",
            "{{" => "}}",
            _ => "%}",
        };
        let inside = text.get(start + opener.len()..).unwrap_or("");
        let Some(length) = inside.find(closer) else { break };
        rest = start + opener.len() + length + closer.len();
        let inside = inside.get(..length).unwrap_or("").trim_matches(|c: char| c == '-' || c.is_whitespace());
        match opener {
            "{#" => {}
            "{{" => found.push(Tag { kind: TagKind::Value, start, inside }),
            _ => {
                if inside == "raw" {
                    let behind = text.get(rest..).unwrap_or("");
                    rest += behind.find("endraw").unwrap_or(behind.len());
                }
                found.push(Tag { kind: TagKind::Block, start, inside });
            }
        }
    }
    found
}

/// The custom variables (`vars.NAME`) in a tag, outside of quotes, each with its byte offset in the text.
pub(super) fn vars<'t>(text: &'t str, tag: &Tag<'t>) -> Vec<(&'t str, usize)> {
    const VARS: &str = "vars.";
    let Some(start) = text.get(tag.start..).and_then(|rest| Some(tag.start + rest.find(tag.inside)?)) else {
        return Vec::new();
    };
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    let (mut found, mut quote, mut before) = (Vec::new(), None, ' ');
    for (at, char) in tag.inside.char_indices() {
        let rest = tag.inside.get(at..).unwrap_or_default();
        match quote {
            Some(open) if open == char => quote = None,
            Some(_) => {}
            None if matches!(char, '"' | '\'' | '`') => quote = Some(char),
            None if rest.starts_with(VARS) && !is_part(before) && before != '.' => {
                let name = rest.get(VARS.len()..).unwrap_or_default();
                let end = name.find(|char| !is_part(char)).unwrap_or(name.len());
                found.extend(name.get(..end).filter(|name| !name.is_empty()).map(|name| (name, start + at)));
            }
            None => {}
        }
        before = char;
    }
    found
}

/// The text before the first tag of a template.
pub(crate) fn head(text: &str) -> &str {
    text.get(..next(text, 0).map_or(text.len(), |(start, _)| start)).unwrap_or(text)
}

fn next(text: &str, from: usize) -> Option<(usize, &'static str)> {
    let braces = text.get(from..)?.match_indices('{').map(|(found, _)| from + found);
    braces.into_iter().find_map(|at| {
        let opener = match text.as_bytes().get(at + 1)? {
            b'{' => "{{",
            b'%' => "{%",
            b'#' => "{#",
            _ => return None,
        };
        Some((at, opener))
    })
}
