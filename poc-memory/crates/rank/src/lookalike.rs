//! Detects look-alikes: notes with the same words but different numbers or names, which are therefore about different
//! things. Embedders hardly distinguish digits, so every decision that relates notes by their cosine also checks for
//! look-alikes.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The minimum Jaccard similarity of the plain words of two texts whose words count as the same.
const MIN_SIMILARITY: f64 = 0.9;

/// The identifiers of a text: numbers, names in code and abbreviations. These are the tokens that contain a digit, or
/// that have a capital letter or a joining character after the first character.
pub fn identifiers(text: &str) -> BTreeSet<&str> {
    tokens(text).filter(|token| is_identifier(token)).collect()
}

/// Whether a token is an identifier.
pub fn is_identifier(token: &str) -> bool {
    // Nearly all tokens are plain words, so this is checked first.
    let after_capital = token.strip_prefix(|first: char| first.is_ascii_uppercase()).unwrap_or(token);
    if is_lower_ascii(after_capital) {
        return false;
    }
    let inner = || token.chars().skip(1);
    token.chars().any(char::is_numeric)
        || inner().any(char::is_uppercase)
        || inner().any(|c| "_/.:@#=\\".contains(c))
}

/// The identifiers and the plain words of a text, for comparison with other texts.
pub struct WordProfile<'a> {
    identifiers: BTreeSet<&'a str>,
    // The plain words in lower case, sorted and without duplicates.
    words: Vec<Cow<'a, str>>,
}

impl<'a> WordProfile<'a> {
    /// The profile of a text.
    pub fn of(text: &'a str) -> WordProfile<'a> {
        let (mut identifiers, mut words) = (BTreeSet::new(), Vec::new());
        for token in tokens(text) {
            if is_identifier(token) {
                identifiers.insert(token);
            } else if !token.is_empty() {
                words.push(lower(token));
            }
        }
        words.sort_unstable();
        words.dedup();
        WordProfile { identifiers, words }
    }

    /// Whether the texts are look-alikes: their identifiers differ, and the Jaccard similarity of their plain words is
    /// at least 0.9. The relation is symmetric, and no text is a look-alike of itself.
    pub fn is_lookalike_of(&self, other: &WordProfile<'_>) -> bool {
        self.identifiers != other.identifiers && self.has_similar_words(other)
    }

    /// Whether two texts are near-duplicates as far as a third text `about` is concerned: the Jaccard similarity of
    /// their words is at least 0.9, and they share the same identifiers with `about`. Identifiers that `about` does not
    /// contain are ignored.
    pub fn is_near_duplicate_about(&self, other: &WordProfile<'_>, about: &WordProfile<'_>) -> bool {
        let known = |of: &WordProfile<'_>| -> BTreeSet<&str> {
            about.identifiers.iter().filter(|name| of.identifiers.contains(*name)).copied().collect()
        };
        self.has_similar_words(other) && known(self) == known(other)
    }

    /// Whether this text repeats the other and adds little: it contains nine of ten words of the other, and has at most
    /// twice as many words. Identifiers are ignored.
    pub fn repeats(&self, other: &WordProfile<'_>) -> bool {
        let both = self.words.iter().filter(|word| other.words.binary_search(word).is_ok()).count();
        !other.words.is_empty()
            && self.words.len() <= 2 * other.words.len()
            && both as f64 >= MIN_SIMILARITY * other.words.len() as f64
    }

    /// Whether the Jaccard similarity of the words is at least 0.9.
    fn has_similar_words(&self, other: &WordProfile<'_>) -> bool {
        let (a, b) = (&self.words, &other.words);
        if !may_be_similar(a.len(), b.len()) {
            return false;
        }
        let both = a.iter().filter(|word| b.binary_search(word).is_ok()).count();
        both as f64 >= MIN_SIMILARITY * (a.len() + b.len() - both) as f64
    }
}

/// A digest of the words of a text. Comparing digests rules out most pairs of texts as look-alikes without reading the
/// texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WordSketch {
    /// The number of distinct plain words.
    words: u32,
    /// The bits that the words hash to.
    bits: u128,
}

impl WordSketch {
    /// The digest of the plain words of a text, which are those of its [`WordProfile`].
    pub fn of(text: &str) -> WordSketch {
        let words = tokens(text).filter(|token| !token.is_empty() && !is_identifier(token)).map(lower);
        // Hashes are faster to sort than words.
        let mut words: Vec<(u64, Cow<'_, str>)> = words.map(|word| (fnv1a(&word), word)).collect();
        words.sort_unstable();
        words.dedup();
        let bits = words.iter().fold(0, |bits, (hash, _)| bits | sketch_bit(*hash));
        WordSketch { words: words.len() as u32, bits }
    }

    /// Whether [`WordProfile::is_lookalike_of`] may hold for the texts. `false` means that it certainly does not;
    /// `true` may be wrong.
    ///
    /// If the Jaccard similarity of two sets is at least 0.9, at most one in nineteen of their elements, counted in
    /// both, is in only one of them. Each such element changes at most one bit. Nearly all bits of long texts are set,
    /// so the numbers of words are compared, too.
    pub fn may_be_lookalike_of(&self, other: &WordSketch) -> bool {
        if !may_be_similar(self.words as usize, other.words as usize) {
            return false;
        }
        let different = u64::from((self.bits ^ other.bits).count_ones());
        19 * different <= u64::from(self.words) + u64::from(other.words)
    }
}

/// Whether the Jaccard similarity of two sets with these numbers of elements can be at least 0.9.
fn may_be_similar(a: usize, b: usize) -> bool {
    a.min(b) as f64 >= MIN_SIMILARITY * a.max(b) as f64
}

/// The FNV-1a hash of a word (Fowler, Noll and Vo 1991).
fn fnv1a(word: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    word.bytes().fold(0xCBF2_9CE4_8422_2325, step)
}

/// The bit of a word, from its hash. Digests are stored, so neither must ever change.
fn sketch_bit(hash: u64) -> u128 {
    1 << ((hash ^ (hash >> 32)) & 127)
}

/// [`WordProfile::is_lookalike_of`] for two texts.
pub fn are_lookalikes(a: &str, b: &str) -> bool {
    WordProfile::of(a).is_lookalike_of(&WordProfile::of(b))
}

/// Whether two texts have the same identifiers and words in the same order; the case of words and the punctuation of
/// sentences are ignored. A single other word, such as "not", may reverse the meaning of a text, and so may another order
/// of names or the sign of a number.
pub fn have_same_words(a: &str, b: &str) -> bool {
    words_in_order(a).eq(words_in_order(b))
}

/// The identifiers of a text, and its plain words in lower case.
fn words_in_order(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let word = |token| if is_identifier(token) { Cow::Borrowed(token) } else { lower(token) };
    let tokens = text.split_whitespace().map(|token| token.trim_matches(is_sentence_mark));
    tokens.filter(|token| !token.is_empty()).map(word)
}

fn is_sentence_mark(c: char) -> bool {
    ".,;:!?\"'`()[]*_“”‘’„…".contains(c)
}

fn lower(word: &str) -> Cow<'_, str> {
    match is_lower_ascii(word) || word.chars().all(char::is_lowercase) {
        true => word.into(),
        false => word.to_lowercase().into(),
    }
}

fn is_lower_ascii(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().map(|token| token.trim_matches(|c: char| !c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn identifiers_are_numbers_names_in_code_and_abbreviations() {
        let found =
            identifiers("Error BRK-4021\nSee `retry_policy`, src/lib.rs and maxRetries (INC). Then rest.");
        let expected = ["BRK-4021", "INC", "maxRetries", "retry_policy", "src/lib.rs"];
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn texts_that_differ_only_in_digits_are_look_alikes() {
        for (a, b, expected) in [
            ("The disk of node 12 is full", "The disk of node 17 is full", true),
            ("INC-90037: payment refused", "INC-90041: payment refused", true),
            ("INC-90037: payment refused", "INC-90037: Payment refused!", false),
            ("The disk of node 12 is full", "Node 17 was replaced because its disk had died", false),
            ("The disk is full", "The disk is full", false),
            ("12", "13", true),
            ("", "", false),
        ] {
            assert_eq!(are_lookalikes(a, b), expected, "{a} / {b}");
        }
    }

    /// Nearly all bits of the sketch of a long text are set.
    #[test]
    fn a_short_text_is_no_look_alike_of_a_long_one() {
        let letters = || (b'a'..=b'z').map(char::from);
        let words =
            letters().flat_map(|a| letters().flat_map(move |b| letters().map(move |c| format!("{a}{b}{c}"))));
        let words: Vec<String> = words.take(3000).collect();
        let (short, long) = (WordSketch::of(&words[..60].join(" ")), WordSketch::of(&words.join(" ")));
        assert!(!short.may_be_lookalike_of(&long) && !long.may_be_lookalike_of(&short));
        assert!(long.may_be_lookalike_of(&WordSketch::of(&words[..2750].join(" "))));
    }

    #[test]
    fn a_text_repeats_another_if_it_has_its_words_and_few_more() {
        let repeats = |a: &str, b: &str| WordProfile::of(a).repeats(&WordProfile::of(b));
        assert!(repeats("The disk is full, really, says everybody (7)", "The disk is full"));
        assert!(!repeats("The disk is full", "The disk is full, really, says everybody"));
        assert!(!repeats("Ann moved to Lisbon in May", "I moved there with the dog in May"));
        // A digest that quotes three notes repeats none of them.
        assert!(!repeats("The disk is full. A pump broke. Nobody saw them. Lin came.", "The disk is full"));
        assert!(!repeats("The disk is full", "12"));
    }

    #[test]
    fn invented_identifiers_do_not_make_two_texts_about_a_third_different() {
        let about = WordProfile::of("Node 12 and node 17 ran out of disk space (INC-90037).");
        let check = |a: &str, b: &str, expected: bool| {
            let (a, b) = (WordProfile::of(a), WordProfile::of(b));
            assert_eq!(a.is_near_duplicate_about(&b, &about), expected);
            assert_eq!(b.is_near_duplicate_about(&a, &about), expected);
        };
        check("The disk of node 12 is full (1)", "The disk of node 12 is full (2)", true);
        check("The disk of node 12 is full", "The disk of node 17 is full", false);
        check("The disk of node 12 is full", "Node 12 was replaced because its disk had died", false);
    }

    #[test]
    fn one_other_word_or_another_order_makes_texts_different() {
        let fact = "Ann told Lin in May that the flat with the view of the river and all the books is hers.";
        for (text, expected) in [
            (fact.to_owned(), true),
            (fact.replace(" that", ", that").replace("hers.", "hers!\n"), true),
            (fact.replace("is hers", "is not hers"), false),
            (fact.replace("May", "June"), false),
            (fact.replace("May", "2026"), false),
            (fact.replace("Ann told Lin", "Lin told Ann"), false),
            (format!("{fact} Since 2026."), false),
        ] {
            assert_eq!(have_same_words(&text, fact), expected, "{text}");
        }
        assert!(!have_same_words("It is INC-90037", "It is INC-90041"));
        assert!(!have_same_words("It has 5 degrees", "It has -5 degrees"));
    }

    poc_laws::laws! {
        #[test]
        fn punctuation_and_capitals_make_no_other_words(
            words in proptest::collection::vec("[a-cé]{1,5}", 1..20),
        ) {
            let plain = words.join(" ");
            let capital = |word: &String| {
                let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
                first.to_uppercase() + rest
            };
            let other = words.iter().map(capital).collect::<Vec<String>>().join(",\n") + "!";
            prop_assert!(have_same_words(&plain, &other));
            prop_assert!(!have_same_words(&plain, &words[1..].join(" ")));
        }

        /// Most words are in both texts, so that many pairs are look-alikes.
        #[test]
        fn a_sketch_rules_out_no_look_alike(
            words in proptest::collection::vec(("[a-z]{1,5}", 0u8..40), 1..60), a in 0u32..3, b in 0u32..3,
        ) {
            let text = |number: u32, without: u8| {
                let words = words.iter().filter(|(_, drawn)| *drawn != without);
                words.map(|(word, _)| word.as_str()).chain([number.to_string().as_str()]).collect::<Vec<_>>().join(" ")
            };
            let (a, b) = (text(a, 0), text(b, 1));
            let (sketch_a, sketch_b) = (WordSketch::of(&a), WordSketch::of(&b));
            prop_assert!(!are_lookalikes(&a, &b) || sketch_a.may_be_lookalike_of(&sketch_b));
        }

        #[test]
        fn a_sketch_is_that_of_the_words(text in "([a-cA-C0-1'é_]{0,3}[ \\n.]){0,40}") {
            let words = WordProfile::of(&text).words;
            let bits = words.iter().fold(0, |bits, word| bits | sketch_bit(fnv1a(word)));
            prop_assert_eq!(WordSketch::of(&text), WordSketch { words: words.len() as u32, bits });
        }

        #[test]
        fn a_sketch_rules_out_unrelated_texts(a in proptest::collection::btree_set("[a-m]{6}", 40), b in proptest::collection::btree_set("[n-z]{6}", 40)) {
            let text = |words: BTreeSet<String>| words.into_iter().collect::<Vec<_>>().join(" ");
            let (a, b) = (text(a), text(b));
            let (a, b) = (WordSketch::of(&a), WordSketch::of(&b));
            prop_assert!(!a.may_be_lookalike_of(&b));
            prop_assert!(a.may_be_lookalike_of(&a));
        }

        #[test]
        fn the_same_words_with_another_number_are_a_look_alike(words in "[a-z]{1,8}( [a-z]{1,8}){0,20}", a in 0u32..9999, b in 0u32..9999) {
            let text = |number: u32| format!("{words} {number}");
            prop_assert_eq!(are_lookalikes(&text(a), &text(b)), a != b);
            prop_assert_eq!(are_lookalikes(&text(b), &text(a)), a != b);
        }
    }
}
