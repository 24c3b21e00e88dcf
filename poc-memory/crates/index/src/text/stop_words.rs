//! English stop words, which queries ignore: question words, pronouns, auxiliaries, articles, the most common
//! prepositions, and `happen`, because `what happened` says nothing about the subject. The list is deliberately short,
//! because words such as `not`, `new` or `over` may matter.

use rustc_hash::FxHashSet;
use std::sync::LazyLock;

const WORDS: &str = "\
a about am an and any are as at be been being both but by can could did do does doing for from had happen happened \
happening happens has have having he her hers him his how i if in into is it its itself me my mine of on or our ours \
shall she should some such than that the their theirs them then there these they this those to us was we \
were what when where which while who whom whose why will with would you your yours";

static STOP: LazyLock<FxHashSet<&str>> = LazyLock::new(|| WORDS.split_ascii_whitespace().collect());

/// Whether a folded word is a stop word, possibly contracted (`what's`, `didn't`, `they'd`).
pub(crate) fn is_stop_word(folded: &str) -> bool {
    let Some((stem, end)) = folded.split_once('\'') else { return STOP.contains(folded) };
    // The `n` of `Ben's` and `Ann's` is no negation.
    STOP.contains(stem) || end == "t" && stem.strip_suffix('n').is_some_and(|verb| STOP.contains(verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contractions_are_stop_words_and_content_words_are_not() {
        for word in ["what", "what's", "i've", "didn't", "they'll", "the", "happened"] {
            assert!(is_stop_word(word), "{word}");
        }
        for word in ["harbour", "not", "caroline's", "ben's", "ann's", "o'brien", "iran", "den"] {
            assert!(!is_stop_word(word), "{word}");
        }
    }
}
