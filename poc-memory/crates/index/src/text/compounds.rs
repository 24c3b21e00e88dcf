//! Compounds: two adjacent words of which the first says which of several things the second means, as in `mail worker`.
//!
//! A note on the invoice worker contains almost every word of a question about the mail worker. No single word says
//! that they are two things, only that the note joins one of the two words with another word. English only, because a
//! compound is recognised by the article or pronoun that begins its noun phrase.

use super::fold::fold;
use super::stop_words;
use super::tokens::{Tokenizer, without_possessive};
use rustc_hash::FxHashSet;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// The words that begin a noun phrase.
const DETERMINERS: [&str; 14] =
    ["the", "a", "an", "this", "these", "those", "my", "our", "your", "his", "her", "its", "their", "whose"];

/// Words that are no part of a compound: prepositions, adverbs and auxiliaries that are no stop words, and adjectives
/// and numbers that say nothing lasting about a thing.
const NO_PART: &str = "\
after before during through under over between against because since until within without across around near \
not just still also even only ever never already again then than need needs make makes use uses using get gets go \
goes take takes new old same other another next last latest recent previous current upcoming first second third \
final main whole own good great best better big large small little many much more most few several full real right \
wrong such certain different one two three four five six seven eight nine ten both each every all";

static NO_PARTS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| NO_PART.split_ascii_whitespace().collect());

/// The minimum length in bytes of a term that counts as contained in another one, such as `mail` in `email`.
const MIN_VARIANT: usize = 4;

/// A word of a text.
struct Word<'a> {
    spelling: &'a str,
    /// The indexed term.
    term: String,
    begins_noun_phrase: bool,
    is_stop_word: bool,
    /// Whether it may be a part of a compound.
    is_part: bool,
    /// Whether only a space, a hyphen or an underscore is between it and the word before.
    adjoins: bool,
}

impl Word<'_> {
    /// Whether it may be a part of a compound that no other rule covers: names and numbers are compared on their own.
    fn is_common(&self) -> bool {
        self.is_part
            && !self.spelling.starts_with(char::is_uppercase)
            && !self.spelling.contains(|c: char| c.is_numeric())
    }
}

/// The compounds of a question of which a text has exactly one word, and joins this word with another one in the same
/// place: `mail worker` if the text has `invoice worker` and no `mail`. The words are folded.
pub(super) fn differing(tokenizer: &Tokenizer, question: &str, text: &str) -> Vec<String> {
    if !tokenizer.is_english() {
        return Vec::new();
    }
    let question = words(tokenizer, question);
    let asked = compounds(&question);
    if asked.is_empty() {
        return Vec::new();
    }
    let text = words(tokenizer, text);
    let terms: FxHashSet<&str> = text.iter().map(|word| word.term.as_str()).collect();
    let asked_terms: FxHashSet<&str> = question.iter().map(|word| word.term.as_str()).collect();
    let has = |word: &Word<'_>| terms.contains(word.term.as_str());
    let lacks = |word: &Word<'_>| !terms.iter().any(|term| is_variant(term, &word.term));
    let is_other = |word: &Word<'_>| word.is_part && !asked_terms.contains(word.term.as_str());
    let joined = || text.windows(2).filter_map(|pair| if let [a, b] = pair { Some((a, b)) } else { None });
    let adjoining = || joined().filter(|(_, head)| head.adjoins);
    let differs = |modifier: &Word<'_>, head: &Word<'_>| {
        (has(head)
            && lacks(modifier)
            && adjoining().any(|(other, same)| same.term == head.term && is_other(other)))
            || (has(modifier)
                && lacks(head)
                && adjoining().any(|(same, other)| same.term == modifier.term && is_other(other)))
    };
    let mut differing: Vec<(&Word<'_>, &Word<'_>)> = Vec::new();
    for (modifier, head) in asked {
        // In `the mail queue listens`, the first two words already say it.
        let continues = differing.last().is_some_and(|(_, head)| std::ptr::eq(*head, modifier));
        if !continues && differs(modifier, head) {
            differing.push((modifier, head));
        }
    }
    let spelled = |word: &Word<'_>| fold(word.spelling);
    differing.into_iter().map(|(modifier, head)| format!("{} {}", spelled(modifier), spelled(head))).collect()
}

/// The pairs of adjacent common words in the noun phrases of a text that begin with a determiner.
fn compounds<'w, 'a>(words: &'w [Word<'a>]) -> Vec<(&'w Word<'a>, &'w Word<'a>)> {
    let (mut found, mut in_phrase, mut before): (_, _, Option<&Word<'a>>) = (Vec::new(), false, None);
    for word in words {
        // A phrase ends at a stop word or at punctuation.
        in_phrase = match before {
            _ if word.is_stop_word => word.begins_noun_phrase,
            Some(before) => in_phrase && (word.adjoins || before.is_stop_word),
            None => false,
        };
        if let Some(before) = before.filter(|before| !before.is_stop_word && word.adjoins && in_phrase)
            && before.is_common()
            && word.is_common()
            && without_possessive(before.spelling).len() == before.spelling.len()
        {
            found.push((before, word));
        }
        before = Some(word);
    }
    found
}

/// Whether two terms are equal or one contains the other.
fn is_variant(a: &str, b: &str) -> bool {
    a == b || (a.len() >= MIN_VARIANT && b.contains(a)) || (b.len() >= MIN_VARIANT && a.contains(b))
}

fn words<'a>(tokenizer: &Tokenizer, text: &'a str) -> Vec<Word<'a>> {
    let mut words: Vec<Word<'a>> = Vec::new();
    let mut end = 0;
    for (at, run) in text.unicode_word_indices() {
        let mut start = at;
        for spelling in run.split('_') {
            if !spelling.is_empty() {
                let gap = text.get(end..start).unwrap_or_default();
                let folded = fold(spelling);
                let is_stop_word = stop_words::is_stop_word(&folded);
                words.push(Word {
                    spelling,
                    term: tokenizer.term(spelling),
                    begins_noun_phrase: DETERMINERS.contains(&folded.as_str()),
                    is_stop_word,
                    is_part: !is_stop_word && !NO_PARTS.contains(folded.as_str()),
                    adjoins: !words.is_empty() && matches!(gap, " " | "-" | "_"),
                });
                end = start + spelling.len();
            }
            start += spelling.len() + 1;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(question: &str, text: &str, expected: &[&str]) {
        let tokenizer = Tokenizer::new("english").unwrap();
        assert_eq!(differing(&tokenizer, question, text), expected, "{question} | {text}");
    }

    #[test]
    fn another_word_in_the_place_of_one_of_two_is_another_subject() {
        let note = "The invoice worker listens on port 7443. Restart the worker after a change.";
        let asked = |subject: &str| format!("which port does the {subject} listen on?");
        check(&asked("mail worker"), note, &["mail worker"]);
        check(&asked("invoice queue"), note, &["invoice queue"]);
        check(&asked("mail worker"), "invoice-worker: port 7443", &["mail worker"]);
        check(&asked("mail-worker"), "The invoice_worker listens.", &["mail worker"]);
        check("who owns our nightly mail worker?", note, &["mail worker"]);
    }

    #[test]
    fn the_same_subject_in_other_words_is_not_another_one() {
        let note = "The invoice worker listens on port 7443. Restart the worker after a change.";
        for question in [
            "which port does the invoice worker listen on?",
            "which port does the worker for invoices listen on?",
            // Both words, apart from each other, and a form of one.
            "which ports do the invoices workers use?",
            "what is the port?",
            // Neither word is in the note, so nothing takes the place of one.
            "who owns the search index?",
            // Common adjectives, names and numbers are no part of a compound.
            "which port does the new worker listen on?",
            "which port does the Berlin worker listen on?",
            // Without a determiner, two adjacent words may belong to two phrases.
            "when workers listen, mail worker or not?",
            "which port does Ann's mail, worker and all, use?",
        ] {
            check(question, note, &[]);
        }
        // The note has the word without another one in front, or in another form.
        check("what does the mail worker do?", "The worker sends what is in the queue.", &[]);
        check("what does the mail worker do?", "The email worker sends letters.", &[]);
        check("what does the mail worker do?", "The new worker sends letters.", &[]);
        check("", note, &[]);
        check("what does the mail worker do?", "", &[]);
    }

    #[test]
    fn other_languages_have_no_determiners_that_are_known() {
        let tokenizer = Tokenizer::new("german").unwrap();
        let found = differing(&tokenizer, "the mail worker", "the invoice worker");
        assert_eq!(found, [""; 0]);
    }

    proptest! {
        #[test]
        fn a_text_never_differs_from_itself(text in "((the|a|mail|invoice|worker|queue|listens|of)[ -]){0,12}") {
            let tokenizer = Tokenizer::new("english").unwrap();
            prop_assert_eq!(differing(&tokenizer, &text, &text), Vec::<String>::new());
        }
    }
}
