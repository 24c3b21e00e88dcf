//! Folds case and diacritics, so that a search for `angstrom` finds `Ångström`.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Converts a word to lower case and to compatibility form (NFKC), and drops the diacritics of Latin and Greek
/// letters. In other scripts a mark makes a different letter (`й` is not `и`), so it is kept.
pub(crate) fn fold(word: &str) -> String {
    if word.is_ascii() { word.to_ascii_lowercase() } else { fold_unicode(word) }
}

/// Like [`fold`]; appends the folded word to a text.
pub(crate) fn fold_into(word: &str, text: &mut String) {
    if !word.is_ascii() {
        text.push_str(&fold_unicode(word));
        return;
    }
    let start = text.len();
    text.push_str(word);
    if let Some(folded) = text.get_mut(start..) {
        folded.make_ascii_lowercase();
    }
}

fn fold_unicode(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    let mut droppable = false;
    for character in word.nfkd().flat_map(char::to_lowercase) {
        if is_combining_mark(character) {
            if !droppable {
                folded.push(character);
            }
            continue;
        }
        droppable = character.is_ascii() || ('\u{00C0}'..='\u{03FF}').contains(&character);
        match character {
            'ß' => folded.push_str("ss"),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'ø' => folded.push('o'),
            'ł' => folded.push('l'),
            'đ' | 'ð' => folded.push('d'),
            'þ' => folded.push_str("th"),
            'ı' => folded.push('i'),
            'ς' => folded.push('σ'),
            '’' => folded.push('\''),
            other => folded.push(other),
        }
    }
    folded.nfc().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(word: &str, expected: &str) {
        assert_eq!(fold(word), expected);
    }

    #[test]
    fn case_and_diacritics_are_dropped() {
        check("Ångström", "angstrom");
        check("STRASSE", "strasse");
        check("Straße", "strasse");
        check("ﬁne", "fine");
        check("İstanbul", "istanbul");
        check("Ωμέγα", "ωμεγα");
        check("Чай", "чай");
        check("日本", "日本");
    }

    poc_laws::laws! {
        #[test]
        fn folding_twice_changes_nothing(word in "\\w{0,12}") {
            prop_assert_eq!(fold(&fold(&word)), fold(&word));
        }

        #[test]
        fn a_word_is_appended_as_it_is_folded(text in any::<String>(), word in "\\w{0,12}") {
            let mut appended = text.clone();
            fold_into(&word, &mut appended);
            prop_assert_eq!(appended, text + &fold(&word));
        }
    }
}
