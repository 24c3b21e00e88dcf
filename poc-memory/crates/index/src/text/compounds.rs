//! Compounds: two adjacent words of which the first says which of several things the second means, as in `mail worker`.
//!
//! A note on the invoice worker contains almost every word of a question about the mail worker. No single word says
//! that they are two things, only that the note joins one of the two words with another word. English only, because a
//! compound is recognised by the article, the pronoun or the genitive that begins its noun phrase.

use super::words::{AUXILIARIES, Word, are_synonyms, is_variant, spelled};
use rustc_hash::FxHashSet;

/// The maximum number of compounds of a question that are compared, because a question may be a long prompt.
const MAX_COMPOUNDS: usize = 64;

/// Two adjacent words, the second of which adjoins the first.
struct Compound<'a> {
    /// The modifier and the head.
    words: &'a [Word],
    modifier: &'a Word,
    head: &'a Word,
    /// Whether the word before is a determiner.
    begins_phrase: bool,
    /// The genitive before (`Emma's` of `Emma's music teacher`).
    owner: Option<&'a Word>,
}

/// The compounds of a question of which a text has exactly one word, and joins this word with another one in the same
/// place: `mail worker` if the text has `invoice worker` and no `mail`. After a genitive that begins a noun phrase, the
/// text must have the genitive, too, because most things of one owner have nothing else in common. The words are
/// folded.
pub(super) fn differing(question: &[Word], text: &[Word]) -> Vec<String> {
    let compounds = in_noun_phrases(question);
    if compounds.is_empty() {
        return Vec::new();
    }
    let joined = adjacent(text);
    let terms: FxHashSet<&str> = text.iter().map(|word| word.term.as_str()).collect();
    let question_terms: FxHashSet<&str> = question.iter().map(|word| word.term.as_str()).collect();
    let has = |word: &Word| terms.contains(word.term.as_str());
    let lacks = |word: &Word| !terms.iter().any(|term| is_variant(term, &word.term));
    let is_other = |asked: &Word, found: &Word| {
        found.is_part() && !question_terms.contains(found.term.as_str()) && !are_synonyms(asked, found)
    };
    let has_other_modifier = |asked: &Compound<'_>| {
        let has_owner = |found: &Compound<'_>| {
            asked.owner.is_none_or(|owner| found.owner.is_some_and(|other| other.term == owner.term))
        };
        let is_same = |found: &&Compound<'_>| found.head.term == asked.head.term && has_owner(found);
        joined.iter().filter(is_same).any(|found| is_other(asked.modifier, found.modifier))
    };
    // The word after a noun is often a verb, so that both noun phrases must begin with the modifier.
    let has_other_head = |asked: &Compound<'_>| {
        let is_same =
            |found: &&Compound<'_>| found.begins_phrase && found.modifier.term == asked.modifier.term;
        let mut same = joined.iter().filter(is_same);
        same.any(|found| is_other(asked.head, found.head) && !found.head.is_after_noun())
    };
    let mut differing: Vec<&Compound<'_>> = Vec::new();
    for compound in &compounds {
        let Compound { modifier, head, begins_phrase, .. } = *compound;
        // In `the mail queue server`, `mail queue` already covers `queue server`.
        let continues = differing.last().is_some_and(|last| std::ptr::eq(last.head, modifier));
        let differs = has(head) && lacks(modifier) && has_other_modifier(compound)
            || begins_phrase && has(modifier) && lacks(head) && has_other_head(compound);
        if differs && !continues {
            differing.push(compound);
        }
    }
    differing.into_iter().map(|found| spelled(found.words)).collect()
}

/// All pairs of adjacent words of a text.
fn adjacent(words: &[Word]) -> Vec<Compound<'_>> {
    let mut found = Vec::new();
    let mut before: Option<&Word> = None;
    for pair in words.windows(2) {
        let [modifier, head] = pair else { continue };
        if head.adjoins {
            found.push(Compound {
                words: pair,
                modifier,
                head,
                begins_phrase: before.is_some_and(|word| word.is_determiner),
                owner: before.filter(|word| word.is_genitive && modifier.adjoins),
            });
        }
        before = Some(modifier);
    }
    found
}

/// The first compounds in the noun phrases of a question that begin with a determiner or a genitive. A phrase ends at a
/// stop word or at punctuation, and after an auxiliary (`did the dentist say`) before its last word, which is the verb.
fn in_noun_phrases(words: &[Word]) -> Vec<Compound<'_>> {
    let verbs = verbs(words);
    let mut in_phrase = false;
    let mut found = adjacent(words);
    found.retain_mut(|Compound { modifier, head, begins_phrase, owner, .. }| {
        in_phrase = (*begins_phrase || in_phrase && modifier.adjoins) && !modifier.is_stop_word;
        if in_phrase {
            *owner = None;
        }
        (in_phrase || owner.is_some())
            && modifier.is_modifier()
            && head.is_head()
            && !verbs.iter().any(|verb| std::ptr::eq(*verb, *head))
    });
    found.truncate(MAX_COMPOUNDS);
    found
}

/// The last words of the noun phrases after auxiliaries, unless a verb that is a stop word follows (`does the mail
/// worker do`).
fn verbs(words: &[Word]) -> Vec<&Word> {
    let is_verb = |word: &Word| matches!(word.folded.as_str(), "do" | "have" | "be");
    let is_auxiliary = |word: &Word| {
        AUXILIARIES.contains(&word.folded.as_str()) || matches!(word.folded.as_str(), "do" | "have")
    };
    let mut verbs = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let begins_phrase = word.is_determiner || word.is_genitive;
        if !begins_phrase || !at.checked_sub(1).and_then(|at| words.get(at)).is_some_and(is_auxiliary) {
            continue;
        }
        let phrase = words.get(at + 1..).unwrap_or_default();
        let count = phrase.iter().take_while(|word| word.adjoins && !word.is_stop_word).count();
        let next = phrase.get(count).filter(|next| next.adjoins && is_verb(next));
        if next.is_none() {
            verbs.extend(count.checked_sub(1).and_then(|last| phrase.get(last)));
        }
    }
    verbs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::words::english_words;
    use proptest::prelude::*;

    fn compare(question: &str, text: &str) -> Vec<String> {
        differing(&english_words(question), &english_words(text))
    }

    fn check(question: &str, text: &str, expected: &[&str]) {
        assert_eq!(compare(question, text), expected, "{question} | {text}");
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
    fn a_genitive_begins_a_noun_phrase() {
        let note = "Emma's maths teacher is Ms Brown. Tom's football teacher is Mr Reed.";
        check("who is Emma's music teacher?", note, &["music teacher"]);
        check("who is emma’s music teacher?", note, &["music teacher"]);
        // The teacher of another owner, of none, and a teacher who is not described by a noun.
        check("who is Ann's music teacher?", note, &[]);
        check("who is Emma's music teacher?", "The maths teacher is Ms Brown.", &[]);
        check("who is Emma's favourite teacher?", note, &[]);
        check("what is Emma's phone number?", "Emma's mobile number is 555.", &[]);
        check("who is Emma's music teacher?", "Emma's new teacher of music is Ms Brown.", &[]);
        check("who is Emma's music teacher?", "Emma's new teacher is Ms Brown.", &[]);
        check("what's the music teacher's name?", "What's the maths result?", &[]);
    }

    #[test]
    fn a_verb_is_no_part_of_a_compound() {
        let note = "The dentist appointment is on Monday. The invoice worker listens on port 7443.";
        for question in [
            "what did the dentist say?",
            "what did the dentist recommend for Tom?",
            "when does the dentist open?",
            "does the invoice listen?",
        ] {
            check(question, note, &[]);
        }
        check("what did the dentist assistant say?", note, &["dentist assistant"]);
        check("what does the mail worker do?", note, &["mail worker"]);
        check("what is the dentist assistant?", "The dentist said that it hurts.", &[]);
    }

    poc_laws::laws! {
        #[test]
        fn a_text_never_differs_from_itself(text in "((the|a|mail|invoice|worker|queue|listens|of)[ -]){0,12}") {
            prop_assert_eq!(compare(&text, &text), Vec::<String>::new());
        }
    }
}
