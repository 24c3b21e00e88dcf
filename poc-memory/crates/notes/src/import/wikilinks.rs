//! `[[links]]` in Markdown.

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

/// What the `[[…]]` of a body name, in order, each once. Links in code do not count; `[[note|label]]`
/// and `[[note#heading]]` name `note`.
pub(super) fn targets(body: &str) -> Vec<String> {
    let mut targets: Vec<String> = Vec::new();
    for event in Parser::new_ext(body, Options::ENABLE_WIKILINKS | Options::ENABLE_TABLES) {
        if let Event::Start(Tag::Link { link_type: LinkType::WikiLink { .. }, dest_url, .. }) = event {
            let target = target(&dest_url);
            if !target.is_empty() && !targets.contains(&target) {
                targets.push(target);
            }
        }
    }
    targets
}

/// The note a link names: without brackets, label, heading and the extension of a Markdown file.
pub(super) fn target(link: &str) -> String {
    let link = link.trim();
    let link = link.strip_prefix("[[").and_then(|link| link.strip_suffix("]]")).unwrap_or(link);
    let link = link.split('|').next().unwrap_or_default();
    // A key may start with `#` or hold it: only what follows the last one can be a heading, and
    // whoever looks the name up tries it whole first.
    let link = link.trim();
    link.strip_suffix(".md").unwrap_or(link).to_owned()
}

/// The same without a heading.
pub(super) fn without_heading(target: &str) -> &str {
    target.split('#').next().unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_and_code_is_not() {
        let check = |body: &str, found: &[&str]| assert_eq!(targets(body), found, "{body}");
        check(
            "See [[btree]] and [[notes/journal|the journal]], [[btree]] again.",
            &["btree", "notes/journal"],
        );
        check("[[journal#Replay]] [[file.md]]", &["journal#Replay", "file"]);
        check("`[[code]]`\n\n```\n[[block]]\n```\n\n    [[indented]]", &[]);
        check("[[]] [x](y) ![[picture.png]]", &[]);
        check("# A heading with [[a link]]\n\n- [[item]]", &["a link", "item"]);
        assert_eq!(without_heading("journal#Replay"), "journal");
    }
}
