//! Relations: a thing and what it belongs to or where it is, as in `the password of the office`, `the key in the hall`
//! and `Ben's visa`.
//!
//! A note on the password of the office has most words of a question about the password of the hotel. If it names the
//! same thing with another owner and the owner in the question nowhere, it is about another thing. The other words of
//! the question need not be in the note, because a paraphrase that repeats the thing seldom has another owner. English
//! only, because a relation is recognised by a preposition or a genitive.

use super::frames::{MAX_IN_PLACE, asks, is_same_name, is_vague_noun};
use super::tokens::without_possessive;
use super::words::{AUXILIARIES, MAX_QUESTION_WORDS, Word, are_synonyms, has_synonyms, is_variant, spelled};
use rustc_hash::FxHashSet;

/// The minimum length in bytes of a word that counts as a part of another one, such as `house` of `farmhouse` and `Mel`
/// of `Melanie`.
const MIN_CONTAINED: usize = 3;

/// A place that has no article (`at home`) and is compared with places that have one.
const BARE_PLACE: &str = "home";

/// What joins a thing and its owner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RelationKind {
    /// `Ben's visa`.
    Genitive,
    /// `of` and `for`.
    Owner,
    /// `in` and `at`.
    Place,
}

impl RelationKind {
    fn of(preposition: &str) -> Option<RelationKind> {
        match preposition {
            "of" | "for" => Some(RelationKind::Owner),
            "in" | "at" => Some(RelationKind::Place),
            _ => None,
        }
    }
}

/// A thing and its owner, which may also be a place or a person.
struct Relation<'a> {
    kind: RelationKind,
    /// Before a preposition, the thing ends with its head (`wifi password`). After a genitive, a verb may follow the
    /// head (`visa expires`).
    thing: &'a [Word],
    /// The first word is not an attribute. A verb may follow.
    owner: &'a [Word],
    /// Whether an article, a pronoun or a genitive is before the owner.
    has_determiner: bool,
}

/// The owner in a question (`hotel` in `the password of the hotel`) that a text lacks, if the text has the same thing
/// with another owner (`the password of the office`). Folded.
pub(super) fn differing(question: &[Word], text: &[Word]) -> Option<String> {
    if question.len() > MAX_QUESTION_WORDS {
        return None;
    }
    let mut asked = relations(question);
    // A place often answers where and when something happens.
    if asks(question, &["where", "when"]) {
        asked.retain(|relation| relation.kind != RelationKind::Place);
    }
    if asked.is_empty() {
        return None;
    }
    let stated = relations(text);
    let terms: FxHashSet<&str> = text.iter().map(|word| word.term.as_str()).collect();
    let question_terms: FxHashSet<&str> = question.iter().map(|word| word.term.as_str()).collect();
    let is_asked = |owner: &Word| question_terms.contains(owner.term.as_str());
    let differs = |relation: &&Relation<'_>| {
        relation.is_missing(&terms)
            && stated
                .iter()
                .any(|other| relation.has_other_owner(other) && !other.first_of_owner().is_some_and(is_asked))
    };
    let has_auxiliary = question.iter().any(|word| AUXILIARIES.contains(&word.folded.as_str()));
    asked.iter().find(differs).map(|relation| relation.spelled_owner(has_auxiliary))
}

impl Relation<'_> {
    fn first_of_owner(&self) -> Option<&Word> {
        self.owner.first()
    }

    /// Whether a text with these terms lacks the owner, and the owner says which thing is meant. A name may consist of
    /// several words, of which the text may have only one (`Mr Smith`).
    fn is_missing(&self, terms: &FxHashSet<&str>) -> bool {
        let is_in_text = |word: &Word| terms.iter().any(|term| is_variant(term, &word.term));
        let mut identifying = self.owner.iter().enumerate().filter(|(at, word)| *at == 0 || word.is_name);
        self.is_specific() && !identifying.any(|(_, word)| is_in_text(word))
    }

    fn is_specific(&self) -> bool {
        self.first_of_owner().is_some_and(|first| !first.is_after_noun() && !is_vague_noun(first))
            && self.owner.last().is_some_and(|last| !is_vague_noun(last))
    }

    /// Whether a text says who or what else owns the same thing.
    fn has_other_owner(&self, other: &Relation<'_>) -> bool {
        self.has_thing_of(other) && self.is_comparable(other) && !self.has_same_owner(other)
    }

    /// Whether both are about the same thing. Before a preposition, its head is the last word. After a genitive, it may
    /// be any word; of two such things, the first words are compared.
    fn has_thing_of(&self, other: &Relation<'_>) -> bool {
        let is_head = |head: Option<&Word>, word: Option<&Word>| {
            head.zip(word).is_some_and(|(head, word)| head.term == word.term)
        };
        match (self.kind == RelationKind::Genitive, other.kind == RelationKind::Genitive) {
            (false, false) => is_head(self.thing.last(), other.thing.last()),
            (true, true) => is_head(self.thing.first(), other.thing.first()),
            (true, false) => self.thing.iter().any(|word| is_head(other.thing.last(), Some(word))),
            (false, true) => other.thing.iter().any(|word| is_head(self.thing.last(), Some(word))),
        }
    }

    /// Whether the owners in a question and in a text are of the same kind: nouns with a determiner, or names. Owners
    /// of different kinds may be the same one, such as a hotel and `Adler`. A name with a determiner is of neither kind.
    /// A genitive without a determiner is a name, also in lower case, because many questions are written without
    /// capitals. Other nouns without a determiner are mostly abstract and have many synonyms (`a sense of peace`). `Dad`
    /// is compared with `Mom`, but not with a name, because Dad has a name, too.
    fn is_comparable(&self, other: &Relation<'_>) -> bool {
        let Some((asked, stated)) = self.first_of_owner().zip(other.first_of_owner()) else { return false };
        if !other.is_specific() || self.has_determiner != other.has_determiner {
            return false;
        }
        match self.has_determiner {
            true => !asked.is_name && !stated.is_name,
            false => {
                stated.is_name
                    && (asked.is_name || self.kind == RelationKind::Genitive)
                    && (self.kind == RelationKind::Place) == (other.kind == RelationKind::Place)
                    && has_synonyms(asked) == has_synonyms(stated)
            }
        }
    }

    /// Whether one owner is a synonym or a misspelling of the other or contains it (`house` and `farmhouse`).
    fn has_same_owner(&self, other: &Relation<'_>) -> bool {
        let Some((asked, stated)) = self.first_of_owner().zip(other.first_of_owner()) else { return false };
        let (a, b) = (without_possessive(&asked.folded), without_possessive(&stated.folded));
        let contains = |word: &str, part: &str| part.len() >= MIN_CONTAINED && word.contains(part);
        // The first letter is rarely misspelt, and `father` is not `mother`.
        let is_misspelling = || {
            a.chars().next() == b.chars().next()
                && is_same_name(std::slice::from_ref(asked), std::slice::from_ref(stated))
        };
        contains(a, b) || contains(b, a) || are_synonyms(asked, stated) || is_misspelling()
    }

    /// The owner, without the verb that follows it in a question with an auxiliary (`does the code of the house
    /// change`), and without a clause (`the title of the book Ann reads`).
    fn spelled_owner(&self, has_auxiliary: bool) -> String {
        let is_name = self.first_of_owner().is_some_and(|first| first.is_name);
        let noun_count = self.owner.iter().take_while(|word| word.is_name == is_name).count();
        let ends_with_verb = has_auxiliary && noun_count == self.owner.len();
        let noun_count = noun_count.saturating_sub(usize::from(ends_with_verb)).max(1);
        let spelling = spelled(self.owner.get(..noun_count).unwrap_or_default());
        without_possessive(&spelling).to_owned()
    }
}

/// All relations of a text, in order.
fn relations(words: &[Word]) -> Vec<Relation<'_>> {
    let relation = |(at, word): (usize, &Word)| match word.is_genitive {
        true => of_genitive(words, at),
        false => of_preposition(words, at, RelationKind::of(&word.folded)?),
    };
    words.iter().enumerate().filter_map(relation).collect()
}

/// The relation whose preposition is at a place.
fn of_preposition(words: &[Word], at: usize, kind: RelationKind) -> Option<Relation<'_>> {
    let thing = phrase_before(words, at);
    let begin = at - thing.len();
    // Otherwise, it may be a verb and its subject (`did Ann work at the office`).
    let begins_phrase = !thing.first()?.adjoins
        || words.get(begin.checked_sub(1)?).is_some_and(|before| {
            before.is_determiner
                || before.is_genitive
                || matches!(before.folded.as_str(), "is" | "are" | "was" | "were" | "what" | "which")
        });
    let is_noun = thing.last().is_some_and(|head| head.is_part() && !head.is_after_noun());
    if !begins_phrase || !is_noun {
        return None;
    }
    let mut from = at + 1;
    let mut has_determiner = false;
    loop {
        let word = words.get(from).filter(|word| word.adjoins)?;
        let is_followed = || words.get(from + 1).is_some_and(|next| next.adjoins && !next.is_stop_word);
        let determines = word.is_determiner || word.is_genitive && is_followed();
        if !determines && (word.is_stop_word || word.is_part()) {
            break;
        }
        has_determiner |= determines;
        from += 1;
    }
    let owner = parts(words.get(from..)?);
    let is_bare_place = owner.first()?.folded == BARE_PLACE && kind == RelationKind::Place;
    has_determiner |= is_bare_place;
    Some(Relation { kind, thing, owner, has_determiner })
}

/// The relation whose genitive is at a place.
fn of_genitive(words: &[Word], at: usize) -> Option<Relation<'_>> {
    let after = words.get(at + 1..)?;
    let attributes =
        after.iter().take_while(|word| word.adjoins && !word.is_stop_word && !word.is_part()).count();
    let thing = parts(after.get(attributes..)?);
    if thing.is_empty() {
        return None;
    }
    let begin = at - phrase_before(words, at).len();
    let has_determiner = words.get(begin)?.adjoins
        && begin
            .checked_sub(1)
            .and_then(|at| words.get(at))
            .is_some_and(|before| before.is_determiner || before.is_genitive);
    // Without a determiner, the words before it need not belong to it (`does Ann know Ben's visa`).
    let from = if has_determiner { begin } else { at };
    let phrase = words.get(from..=at)?;
    let owner = phrase.get(phrase.iter().position(Word::is_part)?..)?;
    Some(Relation { kind: RelationKind::Genitive, thing, owner, has_determiner })
}

/// The run of adjoining words before a place that are neither stop words nor genitives.
fn phrase_before(words: &[Word], at: usize) -> &[Word] {
    let mut begin = at;
    while words.get(begin).is_some_and(|word| word.adjoins)
        && let Some(before) = begin.checked_sub(1)
        && words.get(before).is_some_and(|word| !word.is_stop_word && !word.is_genitive)
    {
        begin = before;
    }
    words.get(begin..at).unwrap_or_default()
}

/// The adjoining words at the beginning that may be parts of a noun phrase, up to a genitive or before a number.
fn parts(words: &[Word]) -> &[Word] {
    let is_part = |word: &&Word| word.adjoins && word.is_part() && !word.is_number();
    let count = words.iter().take(MAX_IN_PLACE).take_while(is_part).count();
    let parts = words.get(..count).unwrap_or_default();
    let end = parts.iter().position(|word| word.is_genitive).map_or(count, |at| at + 1);
    parts.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::words::english_words;
    use proptest::prelude::*;

    fn compare(question: &str, text: &str) -> Option<String> {
        differing(&english_words(question), &english_words(text))
    }

    fn check(question: &str, text: &str, expected: Option<&str>) {
        assert_eq!(compare(question, text).as_deref(), expected, "{question} | {text}");
    }

    const WIFI: &str = "The wifi password of the office is sunflower7.";

    #[test]
    fn the_same_thing_of_another_owner_is_another_subject() {
        for question in [
            "what is the wifi password of the hotel?",
            "what's the password of the hotel?",
            "wifi password of the hotel",
            "what is the wifi password at the hotel?",
            "what is the wifi password for our hotel?",
            "what is the hotel's wifi password?",
            "which wifi password of the new hotel does Ann want?",
            "when did Ann change the wifi password of the hotel?",
        ] {
            check(question, WIFI, Some("hotel"));
        }
        check("alarm code of the house", "Alarm code of the office: 4711", Some("house"));
        check(
            "does the alarm code of the house change?",
            "The alarm code of the office is 4.",
            Some("house"),
        );
        check(
            "where is the spare key of the cellar?",
            "The spare key of the garage is in the hall.",
            Some("cellar"),
        );
        check(
            "what is the key in the cellar for?",
            "The key in the garage opens the bicycle.",
            Some("cellar"),
        );
        check("what is the title of the book Ann reads?", "The title of the song is Dune.", Some("book"));
        let at_home = "The wifi password at home is tulip4.";
        check("wifi password at the studio", at_home, Some("studio"));
        check("what is the wifi password at home?", WIFI, Some("home"));
        check("what is the wifi password at the apartment?", at_home, None);
        check("what is the rent of the mail room?", "The office's rent is 900.", Some("mail room"));
        check("when is my father's birthday?", "My mother's birthday is in June.", Some("father"));
    }

    #[test]
    fn the_same_thing_of_another_person_is_another_subject() {
        let note = "Ben's visa expires in March.";
        check("when does Anna's visa expire?", note, Some("anna"));
        check("when does anna's visa run out?", note, Some("anna"));
        check("Anna's visa", note, Some("anna"));
        check("the visa of Anna", note, Some("anna"));
        check("what is the visa number of Anna Smith?", "Ben's visa number is 4.", Some("anna smith"));
        check("what is mom's blood type?", "Dad's blood type is A.", Some("mom"));
        check("who is Emma's music teacher?", "Tom's music teacher is Mr Brown.", Some("emma"));
        check("what does the school of Emma cost?", "The school of Tom costs 90.", Some("emma"));
    }

    #[test]
    fn a_note_that_may_mean_the_owner_is_about_the_subject() {
        for question in ["what is the wifi password?", "what is the wifi password of the office?"] {
            check(question, WIFI, None);
        }
        let question = "what is the wifi password of the hotel?";
        for note in [
            // No owner, or the owner elsewhere, in another form or as a part of a word.
            "The wifi password is sunflower7.",
            "Hotel\nThe wifi password of the office is sunflower7.",
            "The hotel is by the office. The wifi password of the office works there.",
            "The wifi password of the hotels is sunflower7.",
            "The wifi password of the hotel Adler is sunflower7.",
            "The wifi password of the parkhotel is sunflower7.",
            "The wifi password of the hotal is sunflower7.",
            // A name or a noun that may be the hotel.
            "The wifi password of Adler is sunflower7.",
            "The wifi password of the Adler is sunflower7.",
            "The wifi password of this place is sunflower7.",
            // Another thing.
            "The alarm code of the office is 4711.",
            "The wifi in the office has no password.",
        ] {
            check(question, note, None);
        }
        for (question, note) in [
            ("what is the wifi password of Adler?", WIFI),
            ("what is the wifi password of this place?", WIFI),
            // Synonyms, short forms of a name, a name of several words, and somebody who has a name.
            ("when is my mom's birthday?", "My mother's birthday is in June."),
            ("what is the rent of the apartment?", "The rent of the flat is 900."),
            ("what is Melanie's visa number?", "Mel's visa number is 4711."),
            ("what is the email of Mr Smith?", "Bob's email is b@x.org. He is the elder Smith."),
            ("what is John's blood type?", "Dad's blood type is A."),
            ("what is Ann's blood type?", "User's blood type is A."),
            // Abstract nouns have many synonyms.
            ("what gave Ann a sense of calm?", "Painting gives Ann a sense of peace."),
            // A verb and its subject.
            ("did Ann work at the hotel?", "Ann's work at the office was hard."),
            // A place may be the answer.
            ("where is the key in the house?", "The key in the garage hangs on a nail."),
            ("where did Ann put the red car in the city?", "Ann put the red car in the garage."),
            // Contractions, and times.
            ("what's the visa for?", "Ben's visa is for Norway."),
            ("what was Friday's dinner?", "Tuesday's dinner was soup."),
            ("what is the plan for the week?", "The plan for the office is to paint it."),
            ("", WIFI),
            (question, ""),
        ] {
            check(question, note, None);
        }
        check(&format!("{question} {}", "please ".repeat(MAX_QUESTION_WORDS)), WIFI, None);
    }

    const THINGS: [&str; 4] = ["key", "alarm code", "spare key", "new wifi password"];

    const OWNERS: [&str; 6] = ["hotel", "office", "garage", "cellar", "school", "kitchen"];

    poc_laws::laws! {
        #[test]
        fn a_text_never_differs_from_itself(
            text in "((the|my|key|code|hotel|office|Ben's|anna's|Emma|of|in|for|is|new)[ .,-]){0,14}"
        ) {
            prop_assert_eq!(compare(&text, &text), None::<String>);
        }

        #[test]
        fn only_the_owner_decides(
            asked in proptest::sample::select(&OWNERS[..]),
            stated in proptest::sample::select(&OWNERS[..]),
            thing in proptest::sample::select(&THINGS[..]),
            by_genitive in any::<[bool; 2]>(),
        ) {
            let phrase = |owner: &str, by_genitive| match by_genitive {
                true => format!("the {owner}'s {thing}"),
                false => format!("the {thing} of the {owner}"),
            };
            let question = format!("what is {}?", phrase(asked, by_genitive[0]));
            let note = format!("Noted: {} is 4711.", phrase(stated, by_genitive[1]));
            prop_assert_eq!(compare(&question, &note), (asked != stated).then(|| asked.to_owned()));
            // A note that has the owner, too, is about it.
            prop_assert_eq!(compare(&question, &format!("{note} It is for the {asked}.")), None::<String>);
        }
    }
}
