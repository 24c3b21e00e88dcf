//! Proposes to split long notes at their headings.

use super::Nodes;
use super::part_key::ProposedKeys;
use crate::selection::Handle;
use poc_graph::time::calendar_names::is_day_or_month;
use poc_graph::{ChunkRef, NodeType};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// First words of headings whose sections must be read in order, such as steps, if a number follows or if several
/// headings begin with the word. `Step 2` is one of several steps; `Year end` is a subject of its own.
const COUNTED: [&str; 13] = [
    "day", "week", "month", "year", "part", "chapter", "step", "scene", "session", "phase", "act", "round",
    "stage",
];

/// Words that count or order, besides numbers in digits and in Roman numerals.
const COUNTING: [&str; 15] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "before", "after",
];

/// A note and its proposed parts.
pub(super) struct Split<'a> {
    pub(super) whole: &'a Handle,
    /// The remaining text with the titles of the parts.
    pub(super) overview: String,
    pub(super) parts: Vec<Part>,
}

/// One section that becomes a note.
pub(super) struct Part {
    /// Empty if the key is made of the title.
    pub(super) key: String,
    pub(super) title: String,
    pub(super) body: String,
}

impl Split<'_> {
    /// The actions of a reply that insert the parts.
    pub(super) fn insertions(&self) -> impl Iterator<Item = Value> {
        let node = &self.whole.node;
        self.parts.iter().map(move |part| {
            json!({"reason": format!("part of `{}`, along its headings", node.key), "key": part.key,
                   "title": part.title, "body": part.body, "keywords": node.keywords,
                   "sources": [self.whole.name]})
        })
    }

    /// The action of a reply that replaces the note by the overview.
    pub(super) fn supersession(&self) -> Value {
        let node = &self.whole.node;
        let reason = format!("`{}` has headings that divide it", node.key);
        json!({"reason": reason, "node": self.whole.name, "by": "", "key": "", "title": node.title,
               "body": self.overview})
    }
}

/// Splits of selected notes with headings, in their order, within the limit on the number of parts. Episodes and
/// notes that may not be replaced are not split. Parts and overviews have at most `max` characters.
pub(super) fn find<'a>(
    settings: &poc_config::HeuristicConfig,
    nodes: &Nodes<'a>,
    max: usize,
) -> Vec<Split<'a>> {
    let mut room = settings.split_max_parts;
    let mut keys = ProposedKeys::default();
    let mut found = Vec::new();
    for handle in nodes.selection.selected().filter(|handle| handle.is_replaceable()) {
        let node = &handle.node;
        let is_episode = NodeType::is_episodic_kind(&node.node_type.0);
        if is_episode || ChunkRef::from_source(node.source.as_deref()).is_some() {
            continue;
        }
        let Some((overview, mut parts)) = split(&node.body, (settings.split_min_chars, max)) else {
            continue;
        };
        if parts.len() <= room {
            room -= parts.len();
            let is_taken = |key: &str| nodes.selection.view.find_key(key).is_some();
            for part in &mut parts {
                part.key = keys.add(&node.title, &part.title, &is_taken);
                part.title = format!("{}: {}", node.title, part.title);
            }
            found.push(Split { whole: handle, overview, parts });
        }
    }
    found
}

/// A heading and the lines below it.
struct TextSection<'a> {
    heading: &'a str,
    /// The whole line of the heading.
    line: &'a str,
    lines: Vec<&'a str>,
}

/// The overview and the parts of a text, each with at least `min` and at most `max` characters; `None` when
/// the text has no clear sections. Every line of the text is kept.
pub(super) fn split(body: &str, (min, max): (usize, usize)) -> Option<(String, Vec<Part>)> {
    let level = level(body)?;
    let (mut front, mut sections, mut fenced) = (Vec::new(), Vec::<TextSection<'_>>::new(), false);
    for line in body.lines() {
        fenced ^= is_fence(line);
        match heading(line).filter(|_| !fenced) {
            Some((depth, heading)) if depth == level => {
                sections.push(TextSection { heading, line, lines: Vec::new() });
            }
            // A higher heading between the sections means that the sections do not divide the whole text.
            Some((depth, _)) if depth < level && !sections.is_empty() => return None,
            _ => sections.last_mut().map_or(&mut front, |section| &mut section.lines).push(line),
        }
    }
    let (mut names, mut counted) = (BTreeSet::new(), BTreeSet::new());
    let is_divided = sections.iter().all(|section| {
        let words = words(section.heading);
        let counted_word = words.first().filter(|first| COUNTED.contains(&first.as_str()));
        let is_first = counted_word.is_none_or(|word| counted.insert(word.clone()));
        is_first && !is_in_order(&words) && names.insert(section.heading)
    });
    if !is_divided {
        return None;
    }
    let mut overview = front.join("\n").trim_end().to_owned();
    let mut parts = Vec::new();
    for section in sections {
        let text = section.lines.join("\n");
        if !overview.is_empty() {
            overview.push('\n');
        }
        if text.trim().chars().count() < min {
            overview.push_str(&format!("\n{}\n{}", section.line, text.trim_end()));
        } else {
            overview.push_str(&format!("- {}", section.heading));
            parts.push(Part { key: String::new(), title: section.heading.to_owned(), body: text });
        }
    }
    let fits = |text: &str| text.chars().count() <= max;
    (parts.len() >= 2 && fits(&overview) && parts.iter().all(|part| fits(&part.body)))
        .then_some((overview, parts))
}

/// The highest level with at least two headings.
fn level(body: &str) -> Option<usize> {
    let (mut counts, mut fenced) = ([0_usize; 7], false);
    for line in body.lines() {
        fenced ^= is_fence(line);
        if let Some((depth, _)) = heading(line).filter(|_| !fenced)
            && let Some(count) = counts.get_mut(depth)
        {
            *count += 1;
        }
    }
    counts.iter().position(|&count| count >= 2)
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~")
}

/// The depth and the text of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let depth = line.chars().take_while(|&c| c == '#').count();
    let text = line.get(depth..)?.strip_prefix(' ')?.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&depth) && !text.is_empty()).then_some((depth, text))
}

/// The words of a heading in lower case.
fn words(heading: &str) -> Vec<String> {
    let words = heading.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Whether a heading of these words belongs to a narrative or to steps, whose sections depend on the ones before.
fn is_in_order(words: &[String]) -> bool {
    let Some(first) = words.first() else { return true };
    first.chars().all(char::is_numeric)
        || first == "then"
        || COUNTED.contains(&first.as_str()) && words.get(1).is_none_or(|next| counts(next))
        || words
            .iter()
            .any(|word| is_day_or_month(word) || word.len() == 4 && word.chars().all(|c| c.is_ascii_digit()))
}

/// Whether a word in lower case is a number or another word that counts: `2`, `2a`, `iv`, `b`, `two`.
fn counts(word: &str) -> bool {
    word.starts_with(char::is_numeric)
        || word.chars().count() == 1
        || word.chars().all(|c| matches!(c, 'i' | 'v' | 'x'))
        || COUNTING.contains(&word)
}
