//! Finds the references in the text and properties of a Markdown file: links, embedded notes, paths, and
//! inline tags.

use super::note_link::NoteLink;
use super::wikilinks;
use percent_encoding::percent_decode_str;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream};
use rustc_hash::FxHashSet;
use serde_json::Value;
use std::path::{Component, Path};

/// Extensions of files that are notes.
pub(crate) const NOTE_EXTENSIONS: [&str; 3] = ["md", "markdown", "canvas"];

/// Extensions of files that editors show inside a note.
const ATTACHMENTS: [&str; 24] = [
    "3gp", "avif", "base", "bmp", "csv", "flac", "gif", "jpeg", "jpg", "m4a", "mkv", "mov", "mp3", "mp4",
    "ogg", "ogv", "opus", "pdf", "png", "svg", "wav", "webm", "webp", "zip",
];

/// The references of a text, in order and without duplicates.
#[derive(Debug, Default, PartialEq)]
pub(super) struct References {
    pub(super) links: Vec<NoteLink>,
    /// Tags without `#`.
    pub(super) tags: Vec<String>,
}

/// The references of a body. Code contains none.
pub(super) fn in_body(body: &str) -> References {
    let mut found = References::default();
    // A text without them has neither links nor tags, and need not be parsed. `&num;` is a `#`.
    if !body.contains(['[', '#', '&']) {
        return found;
    }
    // A text of a megabyte may have 100,000 of each.
    let (mut known_links, mut known_tags) = (FxHashSet::default(), FxHashSet::default());
    let (mut code, mut label) = (0u32, 0u32);
    let options = Options::ENABLE_WIKILINKS | Options::ENABLE_TABLES;
    for event in TextMergeStream::new(Parser::new_ext(body, options)) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => code += 1,
            Event::End(TagEnd::CodeBlock) => code = code.saturating_sub(1),
            Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) => {
                label += 1;
                let link = match link_type {
                    LinkType::WikiLink { .. } => wikilink(&dest_url),
                    LinkType::Autolink | LinkType::Email => None,
                    _ => path_link(&dest_url),
                };
                found.links.extend(link.filter(|link| known_links.insert(link.clone())));
            }
            Event::End(TagEnd::Link | TagEnd::Image) => label = label.saturating_sub(1),
            Event::Text(text) if code == 0 && label == 0 => {
                found.tags.extend(tags(&text).into_iter().filter(|tag| known_tags.insert(tag.clone())));
            }
            _ => {}
        }
    }
    found
}

/// The links of a property whose value is a link or a list of links, with the name of the property as the reason.
pub(super) fn in_property(name: &str, value: &Value) -> Vec<NoteLink> {
    let mut texts = Vec::new();
    let is_links = match value {
        // YAML parses an unquoted `[[note]]` as a list within a list.
        Value::Array(items) => items.iter().all(|item| match item {
            Value::Array(inner) => match inner.as_slice() {
                [Value::String(text)] => {
                    texts.push(text.clone());
                    true
                }
                _ => false,
            },
            item => push_link(item, &mut texts),
        }),
        value => push_link(value, &mut texts),
    };
    let texts = if is_links { texts } else { Vec::new() };
    let link =
        |text: &String| NoteLink { reason: name.to_owned(), ..NoteLink::from(wikilinks::target(text)) };
    texts.iter().map(link).filter(|link| is_of_note(&link.target)).collect()
}

/// Adds the text of a value that is one `[[link]]`; false if it is anything else.
fn push_link(value: &Value, texts: &mut Vec<String>) -> bool {
    let Some(text) = value.as_str().map(str::trim) else { return false };
    let is_link = text.starts_with("[[") && text.ends_with("]]") && text.matches("[[").count() == 1;
    if is_link {
        texts.push(text.to_owned());
    }
    is_link
}

fn wikilink(target: &str) -> Option<NoteLink> {
    Some(wikilinks::target(target)).filter(|target| is_of_note(target)).map(NoteLink::from)
}

/// Whether the target of a `[[link]]` is another note.
fn is_of_note(target: &str) -> bool {
    !wikilinks::is_within_note(target) && !is_attachment(target)
}

/// A link of Markdown to another note: a path with the extension of one, without scheme.
fn path_link(url: &str) -> Option<NoteLink> {
    let path = url.split(['#', '?']).next().unwrap_or_default();
    let has_scheme = path.split('/').next().is_some_and(|first| first.contains(':'));
    let path = percent_decode_str(path).decode_utf8().ok()?;
    let extension = Path::new(path.as_ref()).extension()?.to_string_lossy().to_lowercase();
    let is_note = NOTE_EXTENSIONS.contains(&extension.as_str());
    (is_note && !has_scheme && !path.starts_with("//"))
        .then(|| NoteLink { is_path: true, ..NoteLink::from(without_extension(&path).to_owned()) })
}

/// The path of a file as keys have it: without the extension of Markdown.
pub(crate) fn without_extension(path: &str) -> &str {
    match path.rsplit_once('.') {
        Some((stem, extension)) if is_markdown(extension) => stem,
        _ => path,
    }
}

/// Whether an extension, in any case, is that of Markdown.
pub(super) fn is_markdown(extension: &str) -> bool {
    ["md", "markdown"].iter().any(|markdown| extension.eq_ignore_ascii_case(markdown))
}

/// The path in the vault of a link that is relative to the folder of a file. `None` if it leads out of the vault.
pub(crate) fn joined(file: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = match link.starts_with('/') {
        true => Vec::new(),
        false => file.split('/').collect(),
    };
    // Removes the name of the file, so that its folder remains.
    if !link.starts_with('/') {
        parts.pop();
    }
    for part in Path::new(link).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::ParentDir => drop(parts.pop()?),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Some(parts.join("/"))
}

/// Whether the target of a link is a file that editors show inside a note.
pub(crate) fn is_attachment(target: &str) -> bool {
    let target = wikilinks::without_heading(target);
    target.rsplit_once('.').is_some_and(|(_, end)| ATTACHMENTS.contains(&end.to_lowercase().as_str()))
}

/// The tags of a text, as editors of vaults read them: `#` at the beginning or after a space, then letters, digits,
/// `-`, `_` and `/`, of which at least one is not a digit.
fn tags(text: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut before = None;
    for (at, c) in text.char_indices() {
        let begins = c == '#' && before.is_none_or(|before: char| before.is_whitespace() || before == '(');
        before = Some(c);
        if !begins {
            continue;
        }
        let rest = text.get(at + 1..).unwrap_or_default();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '/')));
        let tag = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default().trim_end_matches('/');
        if tag.chars().any(|c| !c.is_numeric()) {
            tags.push(tag.to_owned());
        }
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_body_refers_to_notes_and_tags() {
        let found = in_body(
            "See [[btree#^block]], ![[diagram]] and ![[picture.png]]; [text](../db/a%20b.md#top \"t\"), \
             [web](https://x.org/a.md), [mail](mailto:a@b.md), [[#Below]].\n\n\
             A #tag, #nested/tag and (#my_tag), not #12, a#b, `#code` or [#label](x.md).\n\n```\n#code [[code]]\n```\n",
        );
        let path = |target: &str| NoteLink { is_path: true, ..NoteLink::from(target.to_owned()) };
        let wiki = |target: &str| NoteLink::from(target.to_owned());
        assert_eq!(found.links, [wiki("btree#^block"), wiki("diagram"), path("../db/a b"), path("x")]);
        assert_eq!(found.tags, ["tag", "nested/tag", "my_tag"]);
        for entity in ["#tag", "&num;tag", "&#35;tag"] {
            assert_eq!(in_body(entity).tags, ["tag"], "{entity}");
        }
    }

    /// Not in time that grows with the square of their number, which would be minutes.
    #[test]
    fn many_links_and_tags_are_found_once_each() {
        let numbers = || 0..40_000;
        let one = |number: usize| format!("[[note{number}]] #tag{number} ");
        let body: String = numbers().chain(numbers()).map(one).collect();
        let found = in_body(&body);
        assert!(found.links.into_iter().eq(numbers().map(|number| NoteLink::from(format!("note{number}")))));
        assert!(found.tags.into_iter().eq(numbers().map(|number| format!("tag{number}"))));
        assert_eq!(wikilinks::targets(&body).len(), numbers().len());
    }

    #[test]
    fn properties_that_are_links_are_links() {
        let targets = |value: Value| -> Vec<String> {
            in_property("up", &value)
                .into_iter()
                .map(|link| format!("{}: {}", link.reason, link.target))
                .collect()
        };
        assert_eq!(targets(json!("[[a|b]]")), ["up: a"]);
        assert_eq!(targets(json!(["[[a]]", "[[b.md]]"])), ["up: a", "up: b"]);
        assert_eq!(targets(json!([["a"]])), ["up: a"], "`up: [[a]]` without quotes");
        for other in
            [json!("see [[a]] and [[b]]"), json!("a"), json!(["[[a]]", "b"]), json!(3), json!("[[x.png]]")]
        {
            assert_eq!(targets(other), [] as [&str; 0]);
        }
        assert_eq!(targets(json!(["[[#Goals]]", "[[a#Goals]]"])), ["up: a#Goals"]);
    }

    #[test]
    fn paths_start_at_the_folder_of_the_file() {
        let check =
            |file: &str, link: &str, path: Option<&str>| assert_eq!(joined(file, link).as_deref(), path);
        check("a/b.md", "c", Some("a/c"));
        check("a/b.md", "./c", Some("a/c"));
        check("a/b.md", "../c", Some("c"));
        check("a/b.md", "/c", Some("c"));
        check("b.md", "../c", None);
    }
}
