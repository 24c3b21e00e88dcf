//! Finds the notes that a text names by their key.

use poc_graph::time::CalendarDay;
use poc_graph::{Ix, KEY_MAX_BYTES, NodeId, View, normal_key};
use poc_index::{is_name, names, without_possessive};
use rustc_hash::FxHashSet;
use std::ops::Range;

/// The minimum number of characters of an id that name a note.
const MIN_ID_CHARS: usize = 8;

/// The maximum number of days in a text whose notes are looked up. A text with more is a list or a report.
const MAX_DAYS: usize = 3;

/// A note that a text names by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyMatch<'a> {
    /// The index of the note in the view.
    pub note: Ix,
    /// The key as spelled in the text.
    pub spelling: &'a str,
    /// Whether the key is the whole text.
    pub is_whole_text: bool,
    /// Whether the text names the day that ends the key (`daily/2026-11-05`). A text that asks for something else, too,
    /// may be about another note.
    pub is_day: bool,
}

/// Returns the notes accepted by `is_visible` whose key is the whole text, and those whose key occurs in the text and
/// has the form of a name (`people/lin`, `chat-013`), each note once. A former key of a note counts like its key, and
/// so does another name ([`View::other_names`]) that is no key. Other keys count only as the whole text: keys are
/// derived from titles, and many texts contain words such as `follow-up` or `YouTube`. A key may be spelled with other
/// capitals, in quotes, with `'s`, as a file (`notes/people/lin.md`) or at the end of a URL.
///
/// A note of a day (`daily/2026-11-05`) is also named by the day, however it is written ([`CalendarDay::in_text`]).
pub fn notes_named<'a>(view: &View, text: &'a str, is_visible: &dyn Fn(NodeId) -> bool) -> Vec<KeyMatch<'a>> {
    let is_allowed = |note: Ix, _: &str| view.id(note).is_some_and(is_visible);
    let all = owners_of_any_name(view, text, &is_allowed).into_iter();
    let mut found: Vec<KeyMatch<'a>> =
        all.map(|note| KeyMatch { note, spelling: text, is_whole_text: true, is_day: false }).collect();
    let mut seen: FxHashSet<Ix> = found.iter().map(|owner| owner.note).collect();
    let is_named = |note: Ix, tried: &str| {
        let is_meant = |name: &str| is_name(name) && name.to_lowercase() == tried.to_lowercase();
        is_allowed(note, tried) && view.names(note).chain(view.other_names(note)).any(is_meant)
    };
    for spelling in names(text) {
        for note in owners_of_any_name(view, spelling, &is_named) {
            if seen.insert(note) {
                found.push(KeyMatch { note, spelling, is_whole_text: false, is_day: false });
            }
        }
    }
    let of_days = notes_of_days(view, text).into_iter();
    found.extend(of_days.filter(|matched| is_allowed(matched.note, "") && seen.insert(matched.note)));
    found
}

/// The live notes that were written on one of the days that a text names ([`View::find_written_on`]), ascending.
pub(super) fn notes_written_on_days(view: &View, text: &str) -> Vec<Ix> {
    let days = distinct_days(&CalendarDay::in_text(text));
    let mut found: Vec<Ix> = days.into_iter().flat_map(|day| view.find_written_on(day)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The live notes with one of the days that a text names anywhere in their names ([`View::find_day_in_names`]).
pub(super) fn notes_with_days_in_names(view: &View, text: &str) -> Vec<Ix> {
    let days = distinct_days(&CalendarDay::in_text(text));
    days.into_iter().flat_map(|day| view.find_day_in_names(day)).collect()
}

/// The different days of a text; none if there are too many.
fn distinct_days(days: &[(Range<usize>, CalendarDay)]) -> Vec<CalendarDay> {
    let mut distinct: Vec<CalendarDay> = Vec::new();
    for (_, day) in days {
        if !distinct.contains(day) {
            distinct.push(*day);
        }
    }
    if distinct.len() <= MAX_DAYS { distinct } else { Vec::new() }
}

/// The live notes of the days that a text names: one of their names ends with the day.
fn notes_of_days<'a>(view: &View, text: &'a str) -> Vec<KeyMatch<'a>> {
    let days = CalendarDay::in_text(text);
    if distinct_days(&days).is_empty() {
        return Vec::new();
    }
    let whole = text.trim_matches(is_surrounding);
    let mut found = Vec::new();
    for (range, day) in days {
        let spelling = text.get(range).unwrap_or_default();
        let notes = view.find_day(day).into_iter().filter(|&note| view.is_live(note));
        let is_whole_text = spelling == whole;
        found.extend(notes.map(|note| KeyMatch { note, spelling, is_whole_text, is_day: true }));
    }
    found
}

/// The notes that a name may refer to, in ascending order; several if the name is ambiguous. The first of these rules
/// that matches any note applies:
///
/// 1. The name is the key or a former key of the note.
/// 2. The key is another spelling of the name, as in [`notes_named`].
/// 3. The note is live, and its key ends with `/` and the name, as `people/lin` for `lin`.
/// 4. Another name of the note ([`View::other_names`]) is the name or another spelling of it. Retired notes count only
///    if no live note has the name.
pub fn notes_of_name(view: &View, name: &str) -> Vec<Ix> {
    let found = owners(view, name, &|_, _| true);
    if !found.is_empty() {
        return found;
    }
    let base = normal_key(plain(name.trim().trim_matches(is_surrounding))).to_lowercase();
    if !base.is_empty() && !base.contains('/') {
        let ends_with_name =
            |key: &str| key.rsplit_once('/').is_some_and(|(_, last)| last.to_lowercase() == base);
        let found: Vec<Ix> =
            (0..view.slots()).filter(|&ix| view.is_live(ix) && view.names(ix).any(ends_with_name)).collect();
        if !found.is_empty() {
            return found;
        }
    }
    owners_of_other_name(view, name, &|_, _| true)
}

/// The notes that a name may refer to ([`notes_of_name`]) or, if there are none, those whose id begins with the name.
pub fn notes_of_name_or_id(view: &View, name: &str) -> Vec<Ix> {
    let found = notes_of_name(view, name);
    if found.is_empty() { notes_with_id_prefix(view, name) } else { found }
}

/// The notes in any state whose id begins with a text of at least 8 hexadecimal digits.
fn notes_with_id_prefix(view: &View, text: &str) -> Vec<Ix> {
    let text = text.to_lowercase();
    if text.len() < MIN_ID_CHARS || !text.chars().all(|c| c.is_ascii_hexdigit()) {
        return Vec::new();
    }
    let has_prefix = |ix: &Ix| view.id(*ix).is_some_and(|id| id.to_string().starts_with(&text));
    // A note that was deleted and restored occurs under several indexes.
    (0..view.slots()).filter(|&ix| view.state(ix).is_some()).filter(has_prefix).collect()
}

/// The notes with this key or, if there are none, with this other name.
fn owners_of_any_name(view: &View, name: &str, may: &dyn Fn(Ix, &str) -> bool) -> Vec<Ix> {
    let found = owners(view, name, may);
    if found.is_empty() { owners_of_other_name(view, name, may) } else { found }
}

/// The notes with this other name, in any of the spellings of a key. Retired notes are returned only if no live note
/// has the name.
fn owners_of_other_name(view: &View, name: &str, may: &dyn Fn(Ix, &str) -> bool) -> Vec<Ix> {
    let found = owners_of_spelling(name, may, &|key| view.find_other_names_any_case(key));
    let live: Vec<Ix> = found.iter().copied().filter(|&ix| view.is_live(ix)).collect();
    if live.is_empty() { found } else { live }
}

/// The note with exactly this key or, if there is none, the notes with one of its other spellings as key. `may` is
/// called with each note and the key that was looked up.
fn owners(view: &View, name: &str, may: &dyn Fn(Ix, &str) -> bool) -> Vec<Ix> {
    let exact = normal_key(name);
    if let Some(owner) = view.find_key(&exact).filter(|owner| may(*owner, &exact)) {
        return vec![owner];
    }
    owners_of_spelling(name, may, &|key| view.find_keys_any_case(key))
}

/// The notes that `find` returns for a spelling of a name and that `may` accepts. The first spelling with such notes
/// counts.
fn owners_of_spelling(name: &str, may: &dyn Fn(Ix, &str) -> bool, find: &dyn Fn(&str) -> Vec<Ix>) -> Vec<Ix> {
    let owners = |spelling: &str| -> Vec<Ix> {
        let key = normal_key(spelling);
        find(&key).into_iter().filter(|owner| may(*owner, &key)).collect()
    };
    spellings(name).into_iter().map(owners).find(|owners| !owners.is_empty()).unwrap_or_default()
}

/// The keys that a name may stand for, longest first: the name without surrounding punctuation, then the endings of its
/// path. Unless the path is a web page or a Markdown file, only endings with the form of a name count.
fn spellings(name: &str) -> Vec<&str> {
    let whole = name.trim();
    let bare = whole.trim_matches(is_surrounding);
    let page = plain(bare);
    let mut spellings = vec![whole, bare, page];
    if !bare.contains(char::is_whitespace) {
        let from = page.len().saturating_sub(KEY_MAX_BYTES);
        let ends = page.rmatch_indices('/').map(|(at, slash)| at + slash.len()).take_while(|at| *at >= from);
        // `people/lin` does not stand for `lin`, but `https://wiki/lin` and `notes/lin.md` do.
        let is_page = bare.contains("://") || bare.to_lowercase().ends_with(".md");
        let ends = ends.filter_map(|at| page.get(at..)).filter(|end| is_page || is_name(end));
        let mut ends: Vec<&str> = ends.collect();
        ends.reverse();
        spellings.extend(ends);
    }
    spellings.retain(|spelling| (1..=KEY_MAX_BYTES).contains(&spelling.len()));
    spellings.dedup();
    spellings
}

/// Whether a character is a space, a quote, a bracket or sentence punctuation.
fn is_surrounding(c: char) -> bool {
    c.is_whitespace() || "\"'`“”„‘’«»()[]{}<>*.,;:!?…".contains(c)
}

/// A name without a URL fragment or query, `'s` and `.md`.
fn plain(name: &str) -> &str {
    let page = name.split_once(['#', '?']).map(|(page, _)| page).filter(|page| page.contains('/'));
    let owner = without_possessive(page.unwrap_or(name));
    owner.strip_suffix(".md").or_else(|| owner.strip_suffix(".MD")).unwrap_or(owner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings_leave_out_punctuation_and_path_prefixes() {
        let check = |name: &str, expected: &[&str]| assert_eq!(spellings(name), expected, "{name}");
        check(" people/lin", &["people/lin"]);
        check("“handbook”?", &["“handbook”?", "handbook"]);
        check("Mercury (Planet)", &["Mercury (Planet)", "Mercury (Planet"]);
        check("people/lin'S", &["people/lin'S", "people/lin"]);
        check("notes/people/lin.md", &["notes/people/lin.md", "notes/people/lin", "people/lin", "lin"]);
        check("meeting notes.md", &["meeting notes.md", "meeting notes"]);
        check(
            "https://wiki/INC-7#what",
            &["https://wiki/INC-7#what", "https://wiki/INC-7", "/wiki/INC-7", "wiki/INC-7", "INC-7"],
        );
        check("what of notes/people/lin?", &["what of notes/people/lin?", "what of notes/people/lin"]);
        check("C#", &["C#"]);
        check("#x", &["#x"]);
        check("?!", &["?!"]);
        let long = "a/".repeat(40_000);
        assert!(spellings(&long).len() <= KEY_MAX_BYTES / 2 + 1);
    }

    poc_laws::laws! {
        #[test]
        fn every_spelling_is_part_of_the_name(name in "\\PC{0,40}|[a-zé/#?'’.]{0,20}(\\.md)?") {
            for spelling in spellings(&name) {
                prop_assert!(name.contains(spelling) && !spelling.is_empty());
            }
        }
    }
}
