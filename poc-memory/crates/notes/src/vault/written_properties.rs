//! The properties that write-back adds to the front matter of a file.
//!
//! They are on their own lines, so removing them restores the person's file byte for byte.

use crate::front_matter::{self, BOM};
use serde::{Deserialize, Serialize};

/// The links that agents and people added to the note.
pub(super) const LINKS: &str = "memory-links";
/// The note that replaced the note of the file.
pub(super) const REPLACED_BY: &str = "memory-replaced-by";

/// The first line of front matter that write-back added to a file without any.
const MARK: &str = "# Added by poc-memory";

/// The properties that write-back adds to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WrittenProperties {
    /// Names of the linked notes, without brackets.
    pub(super) links: Vec<String>,
    /// The name of the note that replaced the note of the file.
    pub(super) replaced_by: Option<String>,
}

impl WrittenProperties {
    fn lines(&self) -> Vec<String> {
        let quoted = |name: &String| serde_json::Value::from(format!("[[{name}]]")).to_string();
        let mut lines = Vec::new();
        if !self.links.is_empty() {
            let links: Vec<String> = self.links.iter().map(quoted).collect();
            lines.push(format!("{LINKS}: [{}]", links.join(", ")));
        }
        lines.extend(self.replaced_by.as_ref().map(|name| format!("{REPLACED_BY}: {}", quoted(name))));
        lines
    }
}

/// The text of the file with these properties instead of those that were written before.
pub(super) fn set(file: &str, properties: &WrittenProperties) -> String {
    let own = remove(file);
    let lines = properties.lines();
    if lines.is_empty() {
        return own;
    }
    let end = match own.find('\n').map(|at| own.get(..at).unwrap_or_default().ends_with('\r')) {
        Some(true) => "\r\n",
        _ => "\n",
    };
    let added: String = lines.iter().map(|line| format!("{line}{end}")).collect();
    match front_matter::front_range(&own) {
        Some(front) => {
            let (before, after) = own.split_at_checked(front.end).unwrap_or((&own, ""));
            format!("{before}{added}{after}")
        }
        None => {
            let (bom, text) = match own.strip_prefix(BOM) {
                Some(text) => (BOM, text),
                None => ("", own.as_str()),
            };
            format!("{bom}---{end}{MARK}{end}{added}---{end}{text}")
        }
    }
}

/// The text of the file as the person wrote it.
pub(super) fn remove(file: &str) -> String {
    let Some(range) = front_matter::front_range(file) else { return file.to_owned() };
    let front = file.get(range.clone()).unwrap_or_default();
    let kept: String = blocks(front)
        .into_iter()
        .filter(|block| reserved_property(block).is_none_or(|(_, value)| !is_links(value)))
        .collect();
    let (before, after) =
        (file.get(..range.start).unwrap_or_default(), file.get(range.end..).unwrap_or_default());
    if kept.trim_end() == MARK {
        // The front matter was added with the properties.
        let bom = if before.starts_with(BOM) { BOM } else { "" };
        let text = after.split_once('\n').map_or("", |(_, text)| text);
        return format!("{bom}{text}");
    }
    format!("{before}{kept}{after}")
}

/// The name of a property that is reserved for write-back, if the file has it with a value other than links.
pub(super) fn property_of_person(file: &str) -> Option<&'static str> {
    let front = file.get(front_matter::front_range(file)?)?;
    let blocks = blocks(front);
    blocks
        .iter()
        .filter_map(|block| reserved_property(block))
        .find(|(_, value)| !is_links(value))
        .map(|(name, _)| name)
}

/// The properties of front matter, each with the lines of its value.
fn blocks(front: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    for line in front.split_inclusive('\n') {
        let is_item = line.starts_with([' ', '\t']) || line.starts_with("- ");
        match blocks.last_mut().filter(|_| is_item) {
            Some(block) => block.push_str(line),
            None => blocks.push(line.to_owned()),
        }
    }
    blocks
}

/// The name and the value of a property that is reserved for write-back; `None` for other properties.
fn reserved_property(block: &str) -> Option<(&'static str, &str)> {
    [LINKS, REPLACED_BY]
        .into_iter()
        .find_map(|name| Some((name, block.strip_prefix(name)?.strip_prefix(':')?)))
}

/// Whether a value consists of links, or is empty because a person has removed them.
fn is_links(value: &str) -> bool {
    let is_empty = |c: char| c.is_whitespace() || matches!(c, '[' | ']' | '-' | '"' | '\'' | ',');
    let mut rest = value;
    while let Some((before, link)) = rest.split_once("[[") {
        if !before.chars().all(is_empty) {
            return false;
        }
        rest = link.split_once("]]").map_or(link, |(_, after)| after);
    }
    rest.chars().all(is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn properties(links: &[&str], replaced_by: Option<&str>) -> WrittenProperties {
        let links = links.iter().map(|link| (*link).to_owned()).collect();
        WrittenProperties { links, replaced_by: replaced_by.map(str::to_owned) }
    }

    #[test]
    fn properties_are_lines_at_the_end_of_the_front_matter() {
        let check = |file: &str, expected: &str| {
            assert_eq!(set(file, &properties(&["a", "b \"c\""], None)), expected);
        };
        check(
            "Text\n",
            "---\n# Added by poc-memory\nmemory-links: [\"[[a]]\", \"[[b \\\"c\\\"]]\"]\n---\nText\n",
        );
        check(
            "---\ntitle: x # mine\n---\nText",
            "---\ntitle: x # mine\nmemory-links: [\"[[a]]\", \"[[b \\\"c\\\"]]\"]\n---\nText",
        );
        let rewritten = "---\nmemory-links:\n  - \"[[old]]\"\n  - \"[[older]]\"\ntitle: x\n---\nText\n";
        check(rewritten, "---\ntitle: x\nmemory-links: [\"[[a]]\", \"[[b \\\"c\\\"]]\"]\n---\nText\n");
        assert_eq!(remove(rewritten), "---\ntitle: x\n---\nText\n");
    }

    #[test]
    fn a_property_of_a_person_with_the_same_name_stays() {
        let check = |front: &str, name: Option<&str>| {
            let file = format!("---\ntitle: x\n{front}---\nText\n");
            assert_eq!(property_of_person(&file), name, "{front}");
            let own = if name.is_some() { file.clone() } else { "---\ntitle: x\n---\nText\n".to_owned() };
            assert_eq!(remove(&file), own, "{front}");
        };
        check("memory-links: mine\n", Some(LINKS));
        check("memory-links:\n  - mine\n", Some(LINKS));
        check("memory-links: see [[x]], ask Ann\n", Some(LINKS));
        check("memory-links: [[x]] # mine\n", Some(LINKS));
        check("memory-links: \"[[x\"\n", Some(LINKS));
        check("memory-replaced-by: nobody\n", Some(REPLACED_BY));
        check("memory-links: [\"[[a]]\"]\n", None);
        check("memory-links: []\n", None);
        check("memory-links:\n  - \"[[a]]\"\n", None);
        check("memory-links:\nmemory-replaced-by: \"[[a]]\"\n", None);
    }

    poc_laws::laws! {
        /// Writing properties, however often, never changes what a person wrote.
        #[test]
        fn a_file_without_the_properties_is_what_the_person_wrote(
            front in proptest::option::of("([a-z]{1,5}:( [a-z\\[\\], é#]{0,9})?\n|  - [a-z]{1,4}\n){0,4}"),
            body in "(---|[a-z#é \\[\\]-]{0,9}\n){0,5}[a-z]{0,9}\n{0,2}",
            (bom, windows) in any::<(bool, bool)>(),
            writes in proptest::collection::vec((proptest::collection::vec("[a-zé/ \"]{1,8}", 0..3), proptest::option::of("[a-z]{1,5}")), 1..4),
        ) {
            let front = front.map(|front| format!("---\n{front}---\n")).unwrap_or_default();
            let file = format!("{}{front}{body}", if bom { BOM } else { "" });
            let file = if windows { file.replace('\n', "\r\n") } else { file };
            let mut written = file.clone();
            for (links, replaced_by) in writes {
                let properties = WrittenProperties { links, replaced_by };
                written = set(&written, &properties);
                prop_assert_eq!(remove(&written), file.clone());
                let range = front_matter::front_range(&written);
                let lines = properties.lines();
                let front = range.and_then(|range| written.get(range)).unwrap_or_default();
                prop_assert!(lines.iter().all(|line| front.lines().any(|own| own == line)), "{:?}", written);
            }
        }
    }
}
