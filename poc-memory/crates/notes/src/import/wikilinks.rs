//! `[[links]]` in Markdown.

use poc_graph::normal_key;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};
use rustc_hash::FxHashSet;

/// The targets of the `[[…]]` links of a body to other notes, in order and without duplicates. Links in code are
/// ignored; the target of `[[note|label]]` is `note`.
pub(super) fn targets(body: &str) -> Vec<String> {
    let mut targets: Vec<String> = Vec::new();
    // Most texts have none, and need not be parsed.
    if !body.contains("[[") {
        return targets;
    }
    let mut known = FxHashSet::default();
    for event in Parser::new_ext(body, Options::ENABLE_WIKILINKS | Options::ENABLE_TABLES) {
        if let Event::Start(Tag::Link { link_type: LinkType::WikiLink { .. }, dest_url, .. }) = event {
            let target = target(&dest_url);
            if !is_within_note(&target) && known.insert(target.clone()) {
                targets.push(target);
            }
        }
    }
    targets
}

/// The target of a link, without brackets, label and the extension `.md`.
pub(super) fn target(link: &str) -> String {
    let link = link.trim();
    let link = link.strip_prefix("[[").and_then(|link| link.strip_suffix("]]")).unwrap_or(link);
    let link = link.split('|').next().unwrap_or_default();
    // In a table, the label follows `\|`.
    let link = link.trim_end_matches('\\');
    // The heading stays, because a key may contain `#`: the lookup tries the whole target first.
    let link = link.trim();
    link.strip_suffix(".md").unwrap_or(link).to_owned()
}

/// Whether the target of a link is empty, or a heading or block of the note that contains the link, such as `#Goals`
/// or `#^block`. It refers to no other note then.
pub(super) fn is_within_note(target: &str) -> bool {
    without_heading(target).is_empty()
}

/// A target without its heading.
pub(crate) fn without_heading(target: &str) -> &str {
    target.split('#').next().unwrap_or_default().trim_end()
}

/// The last part of a name or path, without its folder.
pub(crate) fn last_part(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// A name in the form in which names are compared ignoring case.
pub(crate) fn folded(name: &str) -> String {
    normal_key(name).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_code_are_ignored() {
        let check = |body: &str, found: &[&str]| assert_eq!(targets(body), found, "{body}");
        check(
            "See [[btree]] and [[notes/journal|the journal]], [[btree]] again.",
            &["btree", "notes/journal"],
        );
        check("[[journal#Replay]] [[file.md]]", &["journal#Replay", "file"]);
        check("`[[code]]`\n\n```\n[[block]]\n```\n\n    [[indented]]", &[]);
        check("[[]] [x](y) ![[picture.png]]", &[]);
        check("| a | b |\n|---|---|\n| [[btree\\|the tree]] | [[file.md\\|x]] |", &["btree", "file"]);
        check("[[#Goals]] [[#^block]] [[#Goals|the goals]] [[#]] [[other#Goals]]", &["other#Goals"]);
        check("# A heading with [[a link]]\n\n- [[item]]", &["a link", "item"]);
        assert_eq!(without_heading("journal#Replay"), "journal");
    }
}
