//! Keys, the names of nodes: validation, slugs and unique keys.

use poc_graph::error::{Error, Result};
use poc_graph::{KEY_MAX_BYTES, MAX_ALIASES, normal_key, one_line};
use poc_store::Transaction;
use unicode_normalization::UnicodeNormalization;

const SLUG_WORDS: usize = 7;
const SLUG_CHARS: usize = 48;

/// The key in its stored form (trimmed, NFC), or an error that says what is wrong with it.
pub(super) fn checked(key: &str) -> Result<String> {
    let key = normal_key(key).into_owned();
    let wrong = if key.is_empty() {
        "the key is empty".to_owned()
    } else if key.len() > KEY_MAX_BYTES {
        format!("the key has {} bytes, more than the maximum of {KEY_MAX_BYTES}", key.len())
    } else if key.contains(char::is_control) {
        format!("the key {key:?} has a control character in it")
    } else {
        return Ok(key);
    };
    Err(Error::invalid(wrong).hint("give a short name such as `journal-btree-split`").field("key"))
}

/// Other names of a note in their stored form, which is that of keys, each once. Names that could not be keys are left
/// out, and so are those after the first [`MAX_ALIASES`].
pub(super) fn other_names<'a>(names: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for name in names {
        if kept.len() == MAX_ALIASES {
            break;
        }
        if let Ok(name) = checked(&one_line(name))
            && !kept.contains(&name)
        {
            kept.push(name);
        }
    }
    kept
}

/// The words of a title in the form that they have in a key.
pub fn key_words(title: &str) -> Vec<String> {
    let text: String =
        title.nfc().flat_map(char::to_lowercase).filter(|c| !matches!(c, '\'' | '’')).collect();
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Whether a key that is made of a title has room for all these words.
pub fn fits_in_key(words: &[String]) -> bool {
    let chars: usize = words.iter().map(|word| word.chars().count() + 1).sum();
    words.len() <= SLUG_WORDS && chars <= SLUG_CHARS + 1
}

/// A free key for a note that gives up the key `key`.
pub(super) fn of_retired(tx: &Transaction<'_>, key: &str) -> Result<String> {
    unique(&with_ending(key, "-old"), |key| Ok(tx.find_key(key)?.is_some()))
}

/// A readable key made of the first words of a title; `note` if the title has no words.
pub(super) fn slug(title: &str) -> String {
    let mut slug = String::new();
    let mut chars = 0;
    for word in key_words(title).iter().take(SLUG_WORDS) {
        let more = word.chars().count();
        if slug.is_empty() {
            slug = word.chars().take(SLUG_CHARS).collect();
            chars = more;
        } else if chars + 1 + more <= SLUG_CHARS {
            slug.push('-');
            slug.push_str(word);
            chars += 1 + more;
        } else {
            break;
        }
    }
    if slug.is_empty() { "note".into() } else { slug }
}

/// A key with an ending. If both together are longer than a key may be, the end of the key is cut off.
fn with_ending(key: &str, ending: &str) -> String {
    let end = key.floor_char_boundary(KEY_MAX_BYTES.saturating_sub(ending.len()));
    format!("{}{ending}", key.get(..end).unwrap_or_default().trim_end())
}

/// `key` if it is free, else `key-2`, `key-3` and so on; the end of a very long key is cut off. Finds a free number by
/// exponential and binary search, so it calls `taken` O(log n) times and may skip free numbers.
pub(super) fn unique(key: &str, taken: impl Fn(&str) -> Result<bool>) -> Result<String> {
    let whole = with_ending(key, "");
    if !taken(&whole)? {
        return Ok(whole);
    }
    let numbered = |number: u64| with_ending(key, &format!("-{number}"));
    let (mut last_taken, mut free) = (1, 2);
    while taken(&numbered(free))? {
        last_taken = free;
        free *= 2;
    }
    while free - last_taken > 1 {
        let middle = last_taken + (free - last_taken) / 2;
        if taken(&numbered(middle))? {
            last_taken = middle;
        } else {
            free = middle;
        }
    }
    Ok(numbered(free))
}

/// Whether [`unique`] may have made `name` of the taken key `key`.
pub(super) fn is_numbered(name: &str, key: &str) -> bool {
    let number = name.rsplit_once('-').and_then(|(_, number)| number.parse::<u64>().ok());
    number.is_some_and(|number| with_ending(key, &format!("-{number}")) == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn slugs_read_like_their_titles() {
        let check = |title: &str, key: &str| assert_eq!(slug(title), key);
        check("The B-tree doesn't split", "the-b-tree-doesnt-split");
        check("Café: größer!", "café-größer");
        check("one two three four five six seven eight", "one-two-three-four-five-six-seven");
        check(" — ", "note");
        check(&"x".repeat(100), &"x".repeat(SLUG_CHARS));
    }

    #[test]
    fn equal_titles_are_numbered() {
        let mut taken = BTreeSet::new();
        for number in 1..200 {
            let key = unique("note", |key| Ok(taken.contains(key))).unwrap();
            let expected = if number == 1 { "note".to_owned() } else { format!("note-{number}") };
            assert_eq!(key, expected);
            taken.insert(key);
        }
    }

    #[test]
    fn the_end_of_a_long_key_makes_room_for_a_number() {
        let long = "é".repeat(KEY_MAX_BYTES / 2);
        let key = unique(&long, |key| Ok(key == long)).unwrap();
        assert!(key.ends_with("é-2"), "{key}");
        assert_eq!(checked(&key).unwrap(), key);
        assert!(is_numbered(&key, &long) && !is_numbered(&long, &long));
        let retired = with_ending(&long, "-old");
        assert_eq!((retired.len(), checked(&retired).unwrap()), (KEY_MAX_BYTES, retired));
        let longer = format!("vault/{long}");
        assert!(unique(&longer, |_| Ok(false)).unwrap().len() <= KEY_MAX_BYTES);
    }

    poc_laws::laws! {
        #[test]
        fn a_unique_key_is_free_whatever_is_taken(taken in proptest::collection::btree_set(1u64..60, 0..60)) {
            let taken: BTreeSet<String> =
                taken.iter().map(|&n| if n == 1 { "k".into() } else { format!("k-{n}") }).collect();
            let key = unique("k", |key| Ok(taken.contains(key))).unwrap();
            prop_assert!(!taken.contains(&key));
            prop_assert_eq!(is_numbered(&key, "k"), key != "k");
        }

        #[test]
        fn a_slug_is_a_valid_key(title in "\\PC{0,80}") {
            let key = slug(&title);
            prop_assert_eq!(checked(&key).unwrap(), key);
        }
    }
}
