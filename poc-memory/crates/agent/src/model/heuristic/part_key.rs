//! Keys for the parts of a split note. A key is normally made of the first words of the title, which for a part is the
//! title of the note and the heading. If that is too long, the heading is cut off, and all parts get the same words.

use poc_notes::{fits_in_key, key_words};
use std::collections::BTreeSet;

/// What separates the subject at the start of a title from its description.
const SEPARATORS: [char; 4] = [':', '—', '–', '|'];

/// The key of a part, made of the subject of the note's title and the words of the heading. Empty if the key that is
/// made of both is good, or if this key is already `used`.
fn part_key(title: &str, heading: &str, used: &dyn Fn(&str) -> bool) -> String {
    let (plain_title, plain_heading) = (without_entities(title), without_entities(heading));
    let of_heading = key_words(&plain_heading);
    let both = [key_words(&plain_title), of_heading.clone()].concat();
    let has_entities = plain_title != title || plain_heading != heading;
    if of_heading.is_empty() || fits_in_key(&both) && !has_entities {
        return String::new();
    }
    let subject =
        plain_title.split(SEPARATORS).map(key_words).find(|words| !words.is_empty()).unwrap_or_default();
    let mut subject = subject.into_iter();
    let mut key: Vec<String> = subject.next().into_iter().collect();
    let mut subject_words = key.len();
    for word in of_heading {
        key.push(word);
        if !fits_in_key(&key) {
            key.pop();
            break;
        }
    }
    // Without a word of the heading, it would be the key of every part.
    if key.len() == subject_words {
        return String::new();
    }
    for word in subject {
        key.insert(subject_words, word);
        if !fits_in_key(&key) {
            key.remove(subject_words);
            break;
        }
        subject_words += 1;
    }
    let key = key.join("-");
    if used(&key) { String::new() } else { key }
}

/// A text with HTML entities such as `&amp;` and `&#8212;` replaced: dashes by a dash, others by a space.
fn without_entities(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        plain.push_str(before);
        match behind.split_once(';').filter(|(name, _)| is_entity(name)) {
            Some((name, after)) => {
                plain.push(if matches!(name, "mdash" | "ndash" | "#8211" | "#8212") { '—' } else { ' ' });
                rest = after;
            }
            None => {
                plain.push('&');
                rest = behind;
            }
        }
    }
    plain + rest
}

/// Whether the text between `&` and `;` is the name or the number of a character.
fn is_entity(name: &str) -> bool {
    let number = name.strip_prefix('#');
    let letters = number.unwrap_or(name);
    (2..=8).contains(&letters.len())
        && letters.chars().all(|c| c.is_ascii_alphanumeric())
        && (number.is_some() || letters.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// The keys that a reply proposes, all of them different.
#[derive(Default)]
pub(super) struct ProposedKeys(BTreeSet<String>);

impl ProposedKeys {
    /// Like [`part_key`], for a key that no note has and no other part gets.
    pub(super) fn add(&mut self, title: &str, heading: &str, is_taken: &dyn Fn(&str) -> bool) -> String {
        let key = part_key(title, heading, &|key| self.0.contains(key) || is_taken(key));
        if !key.is_empty() {
            self.0.insert(key.clone());
        }
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(title: &str, heading: &str) -> String {
        part_key(title, heading, &|_| false)
    }

    #[test]
    fn a_short_title_and_heading_make_the_key_themselves() {
        assert_eq!(key("Engine", "Checkpoints"), "");
        assert_eq!(key("one two three four", "five six seven"), "");
        assert_eq!(key("Q&A; more", "R&D;"), "");
    }

    #[test]
    fn the_words_of_the_heading_are_in_the_key_of_a_part() {
        assert_eq!(key("CXX &mdash; safe FFI between Rust and C++", "Safety"), "cxx-safety");
        assert_eq!(
            key("CXX &mdash; safe FFI", "Comparison vs bindgen &amp; cbindgen"),
            "cxx-comparison-vs-bindgen-cbindgen"
        );
        assert_eq!(
            key("Maintaining the single executable application support", "Implementation details"),
            "maintaining-the-single-implementation-details"
        );
        assert_eq!(key("Tom &amp; Jerry", "Plot"), "tom-jerry-plot");
        let long = "one two three four five six seven eight";
        assert_eq!(key(long, long), "one-one-two-three-four-five-six");
        assert_eq!(key(&"x".repeat(60), &"y".repeat(60)), "");
    }

    #[test]
    fn a_key_is_proposed_once_and_only_if_it_is_free() {
        let (title, mut keys) = ("CXX &mdash; safe FFI between Rust and C++", ProposedKeys::default());
        assert_eq!(keys.add(title, "Safety", &|_| false), "cxx-safety");
        assert_eq!(keys.add(title, "Safety", &|_| false), "");
        assert_eq!(keys.add(title, "Setup", &|key| key == "cxx-setup"), "");
    }
}
