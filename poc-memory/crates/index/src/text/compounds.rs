//! Compounds: two adjacent words of which the first says which of several things the second means, as in `mail worker`.
//!
//! A note on the invoice worker contains almost every word of a question about the mail worker. No single word says
//! that they are two things, only that the note joins one of the two words with another word. English only, because a
//! compound is recognised by the article or pronoun that begins its noun phrase.

use super::fold::fold;
use super::stop_words;
use super::tokens::Tokenizer;
use rustc_hash::FxHashSet;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// The words that begin a noun phrase.
const DETERMINERS: [&str; 14] =
    ["the", "a", "an", "this", "these", "those", "my", "our", "your", "his", "her", "its", "their", "whose"];

/// Words that are not part of a compound: prepositions, adverbs and auxiliaries that are not stop words, and
/// adjectives, numbers and nouns that do not say which thing is meant.
const NO_PART: &str = "\
after before during through under over between against because since until within without across around near \
not just still also even only ever never already again then than must may might need needs make makes use uses using \
get gets go goes take takes due out off up down back away today yesterday tomorrow tonight soon later early late fast \
new old same other another next last latest recent previous current upcoming existing first second third final main \
whole own extra spare good great best better big large small little many much more most few several full real right \
wrong such certain different odd usual common popular general personal positive negative lowest highest minimum \
maximum average one two three four five six seven eight nine ten both each every all couple half part kind sort type \
lot way";

static NO_PARTS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| NO_PART.split_ascii_whitespace().collect());

/// The endings of adverbs, adjectives and participles.
const ATTRIBUTE_ENDINGS: [&str; 5] = ["ly", "able", "ible", "ful", "ed"];

/// The minimum length in bytes of a term that counts as the beginning of another one, such as `mail` of `mailer`.
const MIN_VARIANT: usize = 4;

/// The maximum number of compounds of a question that are compared, because a question may be a long prompt.
const MAX_COMPOUNDS: usize = 64;

/// A word of a text.
pub(super) struct Word {
    pub(super) folded: String,
    /// The indexed term; empty if the word is too long to be indexed.
    pub(super) term: String,
    /// Whether it has a capital or a digit. Names and numbers are compared on their own.
    pub(super) is_name: bool,
    pub(super) is_determiner: bool,
    is_stop_word: bool,
    /// Whether only a space, a hyphen or an underscore is between it and the word before.
    pub(super) adjoins: bool,
    /// Whether it is the first word, or a full stop, a question mark, an exclamation mark or the end of a line is
    /// between it and the word before.
    pub(super) begins_sentence: bool,
}

impl Word {
    /// Whether it may be a part of a compound.
    pub(super) fn is_part(&self) -> bool {
        !self.is_stop_word && !self.term.is_empty() && !NO_PARTS.contains(self.folded.as_str())
    }

    /// Whether it may be the first word of a compound in a question.
    fn is_modifier(&self) -> bool {
        self.is_part() && !self.is_name && !self.is_attribute() && !self.folded.contains('\'')
    }

    /// Whether it may be the second word.
    fn is_head(&self) -> bool {
        self.is_modifier() && !self.is_after_noun()
    }

    fn is_attribute(&self) -> bool {
        ATTRIBUTE_ENDINGS.iter().any(|end| self.folded.ends_with(end))
    }

    /// Whether its ending is that of a word that mostly describes a noun before it, as in `the worker using`.
    pub(super) fn is_after_noun(&self) -> bool {
        self.is_attribute() || self.folded.ends_with("ing")
    }
}

/// Two adjacent words, the second of which adjoins the first.
struct Compound<'a> {
    modifier: &'a Word,
    head: &'a Word,
    /// Whether the word before is a determiner.
    begins_phrase: bool,
}

/// The compounds of a question of which a text has exactly one word, and joins this word with another one in the same
/// place: `mail worker` if the text has `invoice worker` and no `mail`. The words are folded.
pub(super) fn differing(tokenizer: &Tokenizer, question: &str, text: &str) -> Vec<String> {
    if !tokenizer.is_english() {
        return Vec::new();
    }
    let question = words(tokenizer, question);
    let compounds = in_noun_phrases(&question);
    if compounds.is_empty() {
        return Vec::new();
    }
    let text = words(tokenizer, text);
    let joined = adjacent(&text);
    let terms: FxHashSet<&str> = text.iter().map(|word| word.term.as_str()).collect();
    let question_terms: FxHashSet<&str> = question.iter().map(|word| word.term.as_str()).collect();
    let has = |word: &Word| terms.contains(word.term.as_str());
    let lacks = |word: &Word| !terms.iter().any(|term| is_variant(term, &word.term));
    let is_other = |word: &Word| word.is_part() && !question_terms.contains(word.term.as_str());
    let has_other_modifier =
        |head: &Word| joined.iter().any(|found| found.head.term == head.term && is_other(found.modifier));
    // The word after a noun is often a verb, so that both noun phrases must begin with the modifier.
    let has_other_head = |modifier: &Word| {
        let is_same = |found: &&Compound<'_>| found.begins_phrase && found.modifier.term == modifier.term;
        joined.iter().filter(is_same).any(|found| is_other(found.head) && !found.head.is_after_noun())
    };
    let mut differing: Vec<&Compound<'_>> = Vec::new();
    for compound in &compounds {
        let Compound { modifier, head, begins_phrase } = *compound;
        // In `the mail queue server`, `mail queue` already covers `queue server`.
        let continues = differing.last().is_some_and(|last| std::ptr::eq(last.head, modifier));
        let differs = has(head) && lacks(modifier) && has_other_modifier(head)
            || begins_phrase && has(modifier) && lacks(head) && has_other_head(modifier);
        if differs && !continues {
            differing.push(compound);
        }
    }
    let spelled = |found: &Compound<'_>| format!("{} {}", found.modifier.folded, found.head.folded);
    differing.into_iter().map(spelled).collect()
}

/// All pairs of adjacent words of a text.
fn adjacent(words: &[Word]) -> Vec<Compound<'_>> {
    let mut found = Vec::new();
    let mut begins_phrase = false;
    for pair in words.windows(2) {
        let [modifier, head] = pair else { continue };
        if head.adjoins {
            found.push(Compound { modifier, head, begins_phrase });
        }
        begins_phrase = modifier.is_determiner;
    }
    found
}

/// The first compounds in the noun phrases of a question that begin with a determiner. A phrase ends at a stop word or
/// at punctuation.
fn in_noun_phrases(words: &[Word]) -> Vec<Compound<'_>> {
    let mut in_phrase = false;
    let mut found = adjacent(words);
    found.retain(|Compound { modifier, head, begins_phrase }| {
        in_phrase = (*begins_phrase || in_phrase && modifier.adjoins) && !modifier.is_stop_word;
        in_phrase && modifier.is_modifier() && head.is_head()
    });
    found.truncate(MAX_COMPOUNDS);
    found
}

/// Whether two terms are equal or one begins with the other.
pub(super) fn is_variant(a: &str, b: &str) -> bool {
    a == b || (a.len() >= MIN_VARIANT && b.starts_with(a)) || (b.len() >= MIN_VARIANT && a.starts_with(b))
}

/// The words of a text in order.
pub(super) fn words(tokenizer: &Tokenizer, text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut end = 0;
    for (at, run) in text.unicode_word_indices() {
        let mut start = at;
        for spelling in run.split('_') {
            if !spelling.is_empty() {
                let gap = text.get(end..start).unwrap_or_default();
                let folded = fold(spelling);
                words.push(Word {
                    term: tokenizer.term(spelling),
                    is_name: spelling.starts_with(char::is_uppercase) || spelling.contains(char::is_numeric),
                    is_determiner: DETERMINERS.contains(&folded.as_str()),
                    is_stop_word: stop_words::is_stop_word(&folded),
                    adjoins: !words.is_empty() && matches!(gap, " " | "-" | "_"),
                    begins_sentence: words.is_empty() || gap.contains(['.', '!', '?', '\n']),
                    folded,
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
        let question = |subject: &str| format!("which port does the {subject} listen on?");
        check(&question("mail worker"), note, &["mail worker"]);
        check(&question("invoice queue"), note, &["invoice queue"]);
        check(&question("mail worker"), "invoice-worker: port 7443", &["mail worker"]);
        check(&question("mail-worker"), "The invoice_worker listens.", &["mail worker"]);
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
            "which port does the big, mail worker listen on?",
            // Adjectives, adverbs and verbs after a noun.
            "which port is the worker usable on?",
        ] {
            check(question, note, &[]);
        }
        // The note has the word without another one in front, or in another form.
        check("what does the mail worker do?", "The worker sends what is in the queue.", &[]);
        check("what does the mail worker do?", "The mailer worker sends letters.", &[]);
        // Without a determiner, the second word may be a verb.
        check("what does the pottery workshop cost?", "I made it in pottery class.", &[]);
        check("what does the mail worker do?", "The new worker sends letters.", &[]);
        // Words that are too long to be indexed are not the same word.
        let (blob, other) = ("x".repeat(2000), "y".repeat(2000));
        check(&format!("what does the mail {blob} do?"), &format!("The invoice {other} sends letters."), &[]);
        check("", note, &[]);
        check("what does the mail worker do?", "", &[]);
    }

    #[test]
    fn other_languages_have_no_determiners_that_are_known() {
        let tokenizer = Tokenizer::new("german").unwrap();
        let found = differing(&tokenizer, "the mail worker", "the invoice worker");
        assert_eq!(found, [""; 0]);
    }

    poc_laws::laws! {
        #[test]
        fn a_text_never_differs_from_itself(text in "((the|a|mail|invoice|worker|queue|listens|of)[ -]){0,12}") {
            let tokenizer = Tokenizer::new("english").unwrap();
            prop_assert_eq!(differing(&tokenizer, &text, &text), Vec::<String>::new());
        }
    }
}
