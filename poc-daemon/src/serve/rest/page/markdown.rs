//! The text of a note as HTML. Notes are untrusted input: HTML in them is shown as text, and only links with
//! allowed targets are kept.

use maud::{Markup, PreEscaped};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use pulldown_cmark::{Alignment, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

/// Characters of a key that need no encoding in an address.
const KEY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Maximum length of a text that is parsed, in bytes. A longer text is shown as plain text.
const MAX_BYTES: usize = 1 << 20;

/// Renders Markdown. Links between notes, `[[KEY]]` and `[[KEY|text]]`, lead to their screens.
pub(super) fn render(text: &str) -> Markup {
    if text.len() > MAX_BYTES {
        return maud::html! { pre { (text) } };
    }
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_WIKILINKS;
    let mut written = String::new();
    html::push_html(&mut written, Parser::new_ext(text, options).map(safe));
    PreEscaped(written)
}

/// Replaces events that could produce active content.
fn safe(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(markup) | Event::InlineHtml(markup) => Event::Text(markup),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        // Loading an image would send a request to another server, so an image becomes a link with its
        // description and address.
        Event::Start(Tag::Link { link_type, dest_url, title, id })
        | Event::Start(Tag::Image { link_type, dest_url, title, id }) => Event::Start(Tag::Link {
            link_type: plain(link_type),
            dest_url: target(link_type, &dest_url),
            title,
            id,
        }),
        Event::End(TagEnd::Image) => Event::End(TagEnd::Link),
        // Column alignments would become inline styles, which the policy of the page forbids.
        Event::Start(Tag::Table(columns)) => Event::Start(Tag::Table(vec![Alignment::None; columns.len()])),
        event => event,
    }
}

/// The type of a link whose target is complete. The renderer itself would add `mailto:` to an e-mail address.
fn plain(link_type: LinkType) -> LinkType {
    match link_type {
        LinkType::WikiLink { .. } | LinkType::Email => LinkType::Inline,
        other => other,
    }
}

/// The target of a link; `#` if it is not allowed.
fn target(link_type: LinkType, url: &str) -> CowStr<'static> {
    if matches!(link_type, LinkType::WikiLink { .. }) {
        let key = url.split('#').next().unwrap_or_default();
        return note_path(key).into();
    }
    if matches!(link_type, LinkType::Email) {
        return format!("mailto:{url}").into();
    }
    let scheme = url.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    let is_absolute = matches!(scheme.as_deref(), Some("http" | "https" | "mailto"));
    let is_anchor = url.starts_with('#');
    CowStr::from(if is_absolute || is_anchor { url.to_owned() } else { "#".to_owned() })
}

/// The path of a note's screen.
fn note_path(key: &str) -> String {
    let parts: Vec<String> = key.split('/').map(|part| utf8_percent_encode(part, KEY).to_string()).collect();
    format!("/notes/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        render(text).0.trim_end().to_owned()
    }

    #[test]
    fn markdown_is_rendered() {
        insta::assert_snapshot!(shown("# A *b*\n\n- [x] c `d`\n\n| e |\n|--:|\n| f |\n\n[[a/b|c]] and [[d e#f]]"), @r#"
        <h1>A <em>b</em></h1>
        <ul>
        <li><input disabled="" type="checkbox" checked=""/>
        c <code>d</code></li>
        </ul>
        <table><thead><tr><th>e</th></tr></thead><tbody>
        <tr><td>f</td></tr>
        </tbody></table>
        <p><a href="/notes/a/b">c</a> and <a href="/notes/d%20e">d e#f</a></p>
        "#);
    }

    #[test]
    fn markup_and_foreign_targets_are_text() {
        let texts = [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "[a](javascript:alert(1))",
            "[a](JaVaScRiPt:alert(1))",
            "[a](data:text/html,x)",
            "[a](/v1/stats)",
            "[a](//evil.example)",
            "![a](https://evil.example/x.png)",
            "[a](https://example.org \"x\\\" onclick=\\\"y\")",
            "<a@example.org>",
            "[[\"><script>|x]]",
        ];
        let all: Vec<String> = texts.iter().map(|text| shown(text)).collect();
        insta::assert_snapshot!(all.join("\n"), @r##"
        <p>&lt;script&gt;alert(1)&lt;/script&gt;</p>
        <p>a &lt;img src=x onerror=alert(1)&gt; b</p>
        <p><a href="#">a</a></p>
        <p><a href="#">a</a></p>
        <p><a href="#">a</a></p>
        <p><a href="#">a</a></p>
        <p><a href="#">a</a></p>
        <p><a href="https://evil.example/x.png">a</a></p>
        <p><a href="https://example.org" title="x&quot; onclick=&quot;y">a</a></p>
        <p><a href="mailto:a@example.org">a@example.org</a></p>
        <p><a href="/notes/%22%3E%3Cscript%3E">x</a></p>
        "##);
    }

    /// The tags of a document that a parser of HTML would see, with their attributes.
    fn tags(html: &str) -> Vec<&str> {
        let parts = html.split('<').skip(1);
        parts.map(|part| part.split('>').next().unwrap_or_default()).collect()
    }

    poc_laws::laws! {
        #[test]
        fn only_known_tags_and_attributes_are_written(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "<script>", "</p>", "<b onclick=x>", "[", "](", ")", "javascript:x", "!", "\"", "'", "`", "```", "\n",
                    "<!--", "-->", "<?x", "&lt;", "&#x3c;", "|", "---", "- ", "1. ", "> ", "# ", "[[", "]]", "\\", "x", " ",
                    "<https://e.org/\">", "<![CDATA[", "    ", "*", "~~", "- [ ] ", "\u{202e}", "http:", "\t",
                ]),
                0..40,
            ),
        ) {
            let html = shown(&pieces.concat());
            for tag in tags(&html) {
                let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
                let known = [
                    "p", "a", "code", "pre", "em", "strong", "del", "ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6",
                    "blockquote", "hr", "br", "table", "thead", "tbody", "tr", "th", "td", "input",
                ];
                prop_assert!(known.contains(&name), "{tag} in {html}");
                for attribute in tag.split('"').step_by(2).filter_map(|part| part.trim().strip_suffix('=')) {
                    let attribute = attribute.rsplit(' ').next().unwrap_or_default();
                    let known = ["href", "title", "class", "start", "type", "disabled", "checked"];
                    prop_assert!(known.contains(&attribute), "{attribute} in {html}");
                }
                if let Some(target) = tag.strip_prefix("a href=\"") {
                    let ok = ["#", "/notes/", "http:", "https:", "mailto:"];
                    prop_assert!(ok.iter().any(|start| target.to_lowercase().starts_with(start)), "{tag}");
                }
            }
        }
    }
}
