//! Notes that are asked for by their key.

use crate::graph::{Ix, View, normal_key};
use crate::index::{is_name, names};
use std::iter::{self, successors};

/// A note that a text asks for by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The note, which may be one that is not to be found.
    pub note: Ix,
    /// The key as it is spelt in the text.
    pub spelt: &'a str,
    /// Whether that is the whole text.
    pub is_all: bool,
}

/// The notes whose key a text is, and those whose keys stand in it as names (`people/lin`, `chat-013`); each
/// once. Other keys count only as the whole text: keys are made of titles, and texts are full of `follow-up` and
/// `end-to-end`. A key may be spelt as people do: with other capitals, in quotes, with `'s`, as a file
/// (`notes/people/lin.md`) or at the end of an address.
pub fn asked<'a>(view: &View, text: &'a str) -> Vec<Asked<'a>> {
    let all = owners(view, text).into_iter().map(|note| Asked { note, spelt: text, is_all: true });
    let mut found: Vec<Asked<'a>> = all.collect();
    for spelt in names(text) {
        for note in owners(view, spelt) {
            if found.iter().all(|other| other.note != note) {
                found.push(Asked { note, spelt, is_all: false });
            }
        }
    }
    found
}

/// The note whose key a name is as it stands, else those that are meant by it.
fn owners(view: &View, name: &str) -> Vec<Ix> {
    if let Some(owner) = view.find_key(&normal_key(name)) {
        return vec![owner];
    }
    let mut meant = spellings(name).into_iter().map(|name| view.find_keys_any_case(&normal_key(name)));
    meant.find(|owners| !owners.is_empty()).unwrap_or_default()
}

/// The keys that a name may mean, the longest first: without what stands around it, and of a path the ends
/// that are names by themselves.
fn spellings(name: &str) -> Vec<&str> {
    let bare = name.trim_matches(stands_around);
    if bare.contains(char::is_whitespace) {
        return vec![bare];
    }
    let ends = successors(bare.split_once('/'), |(_, end)| end.split_once('/')).map(|(_, end)| end);
    let ends = ends.filter(|end| is_name(plain(end)));
    iter::once(bare).chain(ends).flat_map(|name| [name, plain(name)]).collect()
}

/// Quotes, brackets, and what ends a sentence or a part of it.
fn stands_around(c: char) -> bool {
    c.is_whitespace() || "\"'`“”„‘’«»()[]{}<>*.,;:!?…".contains(c)
}

/// A name without the place within a page, `'s` and `.md`.
fn plain(name: &str) -> &str {
    let page = name.split(['#', '?']).next().unwrap_or_default();
    let owner = page.strip_suffix("'s").or_else(|| page.strip_suffix("’s")).unwrap_or(page);
    owner.strip_suffix(".md").unwrap_or(owner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_mean_what_is_in_it() {
        let check = |name: &str, expected: &[&str]| {
            let mut spellings = spellings(name);
            spellings.dedup();
            assert_eq!(spellings, expected, "{name}");
        };
        check("people/lin", &["people/lin"]);
        check("“handbook”?", &["handbook"]);
        check("people/lin's", &["people/lin's", "people/lin"]);
        check(
            "notes/people/lin.md",
            &["notes/people/lin.md", "notes/people/lin", "people/lin.md", "people/lin"],
        );
        check(
            "https://wiki/INC-7#what",
            &[
                "https://wiki/INC-7#what",
                "https://wiki/INC-7",
                "/wiki/INC-7#what",
                "/wiki/INC-7",
                "wiki/INC-7#what",
                "wiki/INC-7",
                "INC-7#what",
                "INC-7",
            ],
        );
        check("what of notes/people/lin?", &["what of notes/people/lin"]);
        check("C#", &["C#", "C"]);
        check("?!", &[""]);
    }
}
