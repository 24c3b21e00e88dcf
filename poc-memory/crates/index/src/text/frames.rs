//! Frames: the words around a place in a sentence, as in `who operates … in the north yard?`.
//!
//! A note on the crane in the north yard contains every word of a question about the ferry in the north yard except one.
//! A paraphrase often lacks a word, too, but it seldom repeats the words around it. If a sentence of the note has all
//! other words of the question and something else in the place of the missing one, it is about another thing. English
//! only, because a place is recognised by an article, a pronoun, a preposition or an auxiliary before it.

use super::compounds::{Word, is_variant, words};
use super::tokens::Tokenizer;
use poc_graph::similar;
use poc_graph::time::calendar_names::is_day_or_month;
use rustc_hash::FxHashSet;
use std::ops::Range;

/// The prepositions after which a noun follows. `to` is none of them, because a verb often follows it.
const PREPOSITIONS: [&str; 17] = [
    "about", "across", "around", "as", "at", "between", "by", "during", "for", "from", "in", "into", "near",
    "of", "on", "under", "with",
];

/// The auxiliaries of questions after which the subject follows. Forms of `be` are none of them, because an adjective
/// or a noun often follows the subject.
const AUXILIARIES: [&str; 13] =
    ["do", "does", "did", "will", "would", "can", "could", "should", "has", "have", "had", "may", "might"];

/// The words after which the question names the kind of answer (`which port`). A note rarely contains it.
const QUESTION_WORDS: [&str; 4] = ["what", "which", "how", "whose"];

/// The number of other words that question and sentence must share. With one, `repair the roof` would differ from
/// `repair the ceiling`.
const MIN_SHARED: usize = 2;

/// The maximum number of words in a place.
const MAX_IN_PLACE: usize = 3;

/// The maximum number of words on one side of a place that are compared.
const MAX_CONTEXT: usize = 6;

/// The maximum number of words of a question. Longer texts are prompts, which no sentence repeats.
const MAX_WORDS: usize = 64;

/// One side of a place: the words that adjoin it, nearest first, up to the first content word.
#[derive(Default)]
struct Context<'a> {
    words: Vec<&'a Word>,
    /// Whether the last word is a content word.
    is_anchored: bool,
}

impl<'a> Context<'a> {
    fn before(words: &'a [Word], place: &Range<usize>) -> Context<'a> {
        let mut context = Context::default();
        for at in (0..place.start).rev().take(MAX_CONTEXT) {
            let adjoins = words.get(at + 1).is_some_and(|next| next.adjoins);
            let Some(word) = words.get(at).filter(|_| adjoins && !context.is_anchored) else { break };
            context.push(word);
        }
        context
    }

    fn after(words: &'a [Word], place: &Range<usize>) -> Context<'a> {
        let mut context = Context::default();
        for word in words.iter().skip(place.end).take(MAX_CONTEXT) {
            if !word.adjoins || context.is_anchored {
                break;
            }
            context.push(word);
        }
        context
    }

    fn push(&mut self, word: &'a Word) {
        self.words.push(word);
        self.is_anchored = word.is_part();
    }

    /// The number of nearest words that another context has, too.
    fn shared(&self, other: &Context<'_>) -> usize {
        let pairs = self.words.iter().zip(&other.words);
        pairs.take_while(|(word, other)| !word.term.is_empty() && word.term == other.term).count()
    }

    /// Whether another context has all words of this one, including a content word.
    fn is_in(&self, other: &Context<'_>) -> bool {
        self.is_anchored && self.shared(other) == self.words.len()
    }

    fn nearest(&self) -> Option<&'a Word> {
        self.words.first().copied()
    }
}

/// The words of a question (`ferry`) that a text lacks if one of its sentences has all other words and something else in
/// the same place (`crane`). The place is a noun phrase or its end, or the subject of the question. The words are folded
/// and joined by spaces.
pub(super) fn differing(tokenizer: &Tokenizer, question: &str, text: &str) -> Option<String> {
    if !tokenizer.is_english() {
        return None;
    }
    let question = words(tokenizer, question);
    if question.len() > MAX_WORDS {
        return None;
    }
    let text = words(tokenizer, text);
    let (place, shared) = missing(&question, &text)?;
    let wanted = question.get(place.clone())?;
    let question_terms: FxHashSet<&str> = question.iter().map(|word| word.term.as_str()).collect();
    let has_other = |sentence: &[Word]| {
        let has = |term: &&str| sentence.iter().any(|word| word.term == **term);
        shared.iter().all(has) && is_filled_otherwise(&question, &place, sentence, &question_terms)
    };
    let differs = text.chunk_by(|_, next| !next.begins_sentence).any(has_other);
    differs.then(|| spelled(wanted))
}

/// The place of the content words of a question that a text lacks, and the terms of the others. `None` if nothing is
/// missing, or words in several places, or if too few others remain.
fn missing<'a>(question: &'a [Word], text: &[Word]) -> Option<(Range<usize>, FxHashSet<&'a str>)> {
    let terms: FxHashSet<&str> = text.iter().map(|word| word.term.as_str()).collect();
    let mut missing: Option<Range<usize>> = None;
    let mut shared = FxHashSet::default();
    let mut names_answer = false;
    for (at, word) in question.iter().enumerate() {
        let is_asked_for = std::mem::replace(&mut names_answer, is_question_word(word));
        if !word.is_part() || is_asked_for {
            continue;
        }
        // Days and months are compared on their own.
        if is_day_or_month(&word.folded) || terms.iter().any(|term| is_variant(term, &word.term)) {
            shared.insert(word.term.as_str());
            continue;
        }
        let start = match &missing {
            None => at,
            Some(before) if before.end == at && word.adjoins => before.start,
            Some(_) => return None,
        };
        missing = Some(start..at + 1);
    }
    let place = missing.filter(|place| place.len() <= MAX_IN_PLACE && shared.len() >= MIN_SHARED)?;
    let words = question.get(place.clone())?;
    // The ending of an adjective, an adverb or a participle, or a genitive: another word carries the subject.
    let is_noun = words.last().is_some_and(|head| !head.is_after_noun());
    (is_noun && words.iter().all(|word| !word.folded.contains('\''))).then_some((place, shared))
}

fn is_question_word(word: &Word) -> bool {
    QUESTION_WORDS.contains(&word.folded.as_str())
}

/// Whether a sentence has words that the question lacks in the place of the question.
fn is_filled_otherwise(
    question: &[Word],
    place: &Range<usize>,
    sentence: &[Word],
    question_terms: &FxHashSet<&str>,
) -> bool {
    let wanted = question.get(place.clone()).unwrap_or_default();
    let (before, after) = (Context::before(question, place), Context::after(question, place));
    let preposition_or_determiner =
        |word: &Word| word.is_determiner || PREPOSITIONS.contains(&word.folded.as_str());
    // `what is the price of the crane` asks for a property, which has many names.
    let is_property = !before.is_anchored && after.nearest().is_some_and(|word| word.folded == "of");
    let in_noun_phrase = before.nearest().is_some_and(preposition_or_determiner) && !is_property;
    let is_subject = before.nearest().is_some_and(|word| AUXILIARIES.contains(&word.folded.as_str()))
        && after.nearest().is_some_and(Word::is_part);
    if !in_noun_phrase && !is_subject {
        return false;
    }
    let is_other = |filler: &[Word]| {
        filler.iter().all(|word| word.is_part() && !question_terms.contains(word.term.as_str()))
            && filler.iter().skip(1).all(|word| word.adjoins)
            && filler.last().is_some_and(|head| !head.is_after_noun())
            && !is_same_name(wanted, filler)
    };
    (0..sentence.len()).flat_map(|start| (1..=MAX_IN_PLACE).map(move |count| start..start + count)).any(
        |found| {
            let Some(filler) = sentence.get(found.clone()) else { return false };
            if !is_other(filler) {
                return false;
            }
            let (left, right) = (Context::before(sentence, &found), Context::after(sentence, &found));
            if in_noun_phrase {
                let adjoins_same =
                    before.shared(&left) > 0 && (after.words.is_empty() || after.shared(&right) > 0);
                return adjoins_same && (before.is_in(&left) || after.is_in(&right));
            }
            // The subject stands before its verb. Two plurals are often two words for the same people.
            filler.len() == 1 && after.shared(&right) > 0 && !(is_plural(wanted) && is_plural(filler))
        },
    )
}

/// Whether one is a misspelling of the other. Names and numbers must be exact.
fn is_same_name(wanted: &[Word], filler: &[Word]) -> bool {
    let is_plain = wanted.iter().all(|word| !word.is_name);
    is_plain && similar::closest(&spelled(wanted), filler.iter().map(|word| word.folded.as_str())).is_some()
}

fn is_plural(words: &[Word]) -> bool {
    words.last().is_some_and(|head| head.folded.ends_with('s'))
}

fn spelled(words: &[Word]) -> String {
    let folded: Vec<&str> = words.iter().map(|word| word.folded.as_str()).collect();
    folded.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(question: &str, text: &str, expected: Option<&str>) {
        let tokenizer = Tokenizer::new("english").unwrap();
        assert_eq!(differing(&tokenizer, question, text).as_deref(), expected, "{question} | {text}");
    }

    const CRANE: &str = "Marta operates the crane in the north yard.";

    #[test]
    fn another_thing_in_the_same_place_is_another_subject() {
        check("who operates the ferry in the north yard?", CRANE, Some("ferry"));
        check("who operates the lathe in the north yard?", CRANE, Some("lathe"));
        check("who operates the cargo ferry in the north yard?", CRANE, Some("cargo ferry"));
        check("the ferry in the north yard", CRANE, Some("ferry"));
        check("who in the north yard operates the ferry?", CRANE, Some("ferry"));
        check(
            "who operates the crane in lisbon?",
            "Marta operates the crane in Porto on workdays.",
            Some("lisbon"),
        );
        check("does Ann park in Lisbon on workdays?", "Ann parks in Porto on workdays.", Some("lisbon"));
        check(
            "who sends the letter to Ann at the harbour?",
            "Bob sends the parcel to Ann at the harbour.",
            Some("letter"),
        );
    }

    #[test]
    fn another_subject_of_the_same_verb_is_another_subject() {
        check("when did jonas operate the crane in the north yard?", CRANE, Some("jonas"));
        check("does jonas operate the crane?", CRANE, Some("jonas"));
        check("does uncle jonas operate the crane?", CRANE, Some("uncle jonas"));
        // A pronoun may mean the asked-for person, and an article belongs to a description of the person.
        check("does jonas operate the crane?", "She operates the crane.", None);
        check("does the welder operate the crane?", CRANE, None);
        check("do visitors operate the crane?", "Guests operate the crane.", None);
    }

    #[test]
    fn paraphrases_are_not_other_subjects() {
        for (question, text) in [
            ("what does Ann do to relax?", "Ann paints to relax after work."),
            ("who runs the crane in the north yard?", CRANE),
            ("where is Marta employed?", "Marta works at the harbour in Lisbon."),
            ("where did Ann buy the lamp for the hall?", "Ann purchased the lamp for the hall in Porto."),
            ("which machine does Marta operate in the north yard?", CRANE),
            ("who is in charge of the machine that lifts containers?", CRANE),
            (
                "what is the price of the crane in the north yard?",
                "The cost of the crane in the north yard is 5.",
            ),
            ("when did Ann begin painting in the garden?", "Ann started painting in the garden in spring."),
            ("what did Ann cook for the guests?", "For the guests, Ann made dumplings."),
            ("who looks after the crane in the yard to the north?", CRANE),
            ("who takes care of the children on workdays?", "On workdays, Bob looks after the children."),
            ("when did Ann bake a desert with lemon?", "Ann: I baked a dessert with lemon."),
            ("is the crane in the north yard operational?", CRANE),
        ] {
            check(question, text, None);
        }
    }

    #[test]
    fn the_rest_of_the_question_must_be_in_the_same_sentence() {
        check("who operates the ferry in the north yard on weekends?", CRANE, None);
        check(
            "who operates the ferry in the north yard?",
            "Marta operates the crane. Bob sweeps the north yard.",
            None,
        );
        // The note has the word elsewhere, or a form of it.
        check("who operates the ferry in the north yard?", &format!("{CRANE} Bob runs the ferries."), None);
        check("who operates the ferry?", CRANE, None);
        check("", CRANE, None);
        check("who operates the ferry in the north yard?", "", None);
        let long = format!("who operates the ferry in the north yard? {}", "north ".repeat(MAX_WORDS));
        check(&long, CRANE, None);
    }

    #[test]
    fn other_languages_have_no_frames() {
        let tokenizer = Tokenizer::new("german").unwrap();
        assert_eq!(differing(&tokenizer, "who operates the ferry in the north yard?", CRANE), None);
    }

    poc_laws::laws! {
        #[test]
        fn a_text_never_differs_from_itself(
            text in "((who|the|ferry|crane|marta|operates|in|north|yard|of|did|to)[ .,-]){0,14}"
        ) {
            let tokenizer = Tokenizer::new("english").unwrap();
            prop_assert_eq!(differing(&tokenizer, &text, &text), None::<String>);
        }

        #[test]
        fn what_differs_is_not_in_the_text(
            question in "((who|the|ferry|crane|marta|operates|in|north|yard|of|did|to) ){0,12}",
            text in "((The|the|lathe|crane|marta|operates|in|north|yard|of)[ .] ?){0,14}",
        ) {
            let tokenizer = Tokenizer::new("english").unwrap();
            if let Some(words) = differing(&tokenizer, &question, &text) {
                let terms = tokenizer.terms(&text);
                prop_assert!(tokenizer.terms(&words).iter().all(|term| !terms.contains(term)), "{}", words);
            }
        }
    }
}
