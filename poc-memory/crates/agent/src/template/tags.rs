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
    /// Byte offset of the content.
    inside_start: usize,
}

/// The tags of a text in order, without those in comments and `raw` blocks.
pub(super) fn tags(text: &str) -> Vec<Tag<'_>> {
    let mut found = Vec::new();
    let mut rest = 0;
    while let Some((start, opener)) = next(text, rest) {
        let closer = closer(opener);
        let inside = text.get(start + opener.len()..).unwrap_or("");
        let Some(length) = inside.find(closer) else { break };
        rest = start + opener.len() + length + closer.len();
        let is_around = |c: char| c == '-' || c.is_whitespace();
        let inside = inside.get(..length).unwrap_or("").trim_start_matches(is_around);
        let inside_start = start + opener.len() + length - inside.len();
        let inside = inside.trim_end_matches(is_around);
        match opener {
            "{#" => {}
            "{{" => found.push(Tag { kind: TagKind::Value, start, inside, inside_start }),
            _ => {
                if inside == "raw" {
                    let behind = text.get(rest..).unwrap_or("");
                    rest += behind.find("endraw").unwrap_or(behind.len());
                }
                found.push(Tag { kind: TagKind::Block, start, inside, inside_start });
            }
        }
    }
    found
}

/// The words in a tag, each with its byte offset in the text, without those that follow a `.`.
pub(super) fn words<'t>(tag: &Tag<'t>) -> Vec<(&'t str, usize)> {
    let (mut rest, mut offset, mut found) = (tag.inside, tag.inside_start, Vec::new());
    while let Some((before, word)) = rest.find(is_part).and_then(|start| rest.split_at_checked(start)) {
        let length = word.find(|char| !is_part(char)).unwrap_or(word.len());
        let Some((word, behind)) = word.split_at_checked(length) else { break };
        if !before.ends_with('.') {
            found.push((word, offset + before.len()));
        }
        offset += before.len() + word.len();
        rest = behind;
    }
    found
}

/// Whether a character can be part of a word.
pub(super) fn is_part(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// The custom variables (`vars.NAME`) in a tag, outside of quotes, each with its byte offset in the text.
pub(super) fn vars<'t>(tag: &Tag<'t>) -> Vec<(&'t str, usize)> {
    const VARS: &str = "vars.";
    let start = tag.inside_start;
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

/// What ends a tag that begins with `opener`.
pub(super) fn closer(opener: &str) -> &'static str {
    match opener {
        "{#" => "#}",
        "{{" => "}}",
        _ => "%}",
    }
}

/// The byte offset and the opener of the next tag from byte `from` on.
pub(super) fn next(text: &str, from: usize) -> Option<(usize, &'static str)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_custom_variables_have_their_offset_in_the_text() {
        let text = "a b.{{- b.c ~ ä_1 -}}{# d #}{%if vars.e%}vars.f{{}}";
        let tags = tags(text);
        for (word, offset) in tags.iter().flat_map(words) {
            assert!(text[offset..].starts_with(word), "{word}");
        }
        let words: Vec<&str> = tags.iter().flat_map(words).map(|(word, _)| word).collect();
        assert_eq!(words, ["b", "ä_1", "if", "vars"]);
        let vars: Vec<(&str, usize)> = tags.iter().flat_map(vars).collect();
        assert_eq!(vars, [("e", text.find("vars.e").unwrap())]);
    }
}
