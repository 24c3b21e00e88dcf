//! The words of a question and of a text, for the rules that compare their subjects: what kind of word each one is by a
//! list or by its ending, and where phrases and sentences begin. English only.

use super::fold::fold;
use super::stop_words;
use super::tokens::{Tokenizer, without_possessive};
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
wrong such certain different odd usual common popular favorite favourite general personal positive negative lowest \
highest minimum maximum average one two three four five six seven eight nine ten both each every all couple half part \
kind sort type lot way";

static NO_PARTS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| NO_PART.split_ascii_whitespace().collect());

/// Common verbs that are rarely nouns. Other verbs may be nouns as well, such as `work`.
const VERB: &str = "\
say says said tell tells told ask asks think thinks thought know knows knew known want wants mean means meant give \
gives gave given buy buys bought pay pays paid send sends sent bring brings brought keep keeps kept put puts see sees \
saw seen find finds found choose chooses chose chosen decide decides suggest suggests recommend recommends prescribe \
prescribes become becomes became eat eats ate eaten write writes wrote written read reads wear wears \
wore sell sells sold build builds built teach teaches taught come comes came seem seems begin begins began arrive \
arrives went";

static VERBS: LazyLock<FxHashSet<&str>> = LazyLock::new(|| VERB.split_ascii_whitespace().collect());

/// The endings of adverbs, adjectives and participles.
const ATTRIBUTE_ENDINGS: [&str; 5] = ["ly", "able", "ible", "ful", "ed"];

/// Words whose form with `'s` names no owner: it is a contraction (`let's`), or the word is a pronoun.
const NO_OWNERS: [&str; 10] =
    ["let", "here", "everyone", "everybody", "someone", "somebody", "anyone", "anybody", "nobody", "else"];

/// Nouns that often name the same thing or person, one group per line. Singular, except for irregular plurals.
const SYNONYMS: [&str; 46] = [
    "apartment flat home house",
    "aunt auntie",
    "auto automobile car",
    "backyard garden yard",
    "basement cellar",
    "bicycle bike",
    "book novel",
    "boss lead manager supervisor",
    "boy child children kid son",
    "girl child children daughter kid",
    "brother sibling",
    "sister sibling",
    "boyfriend partner",
    "girlfriend partner",
    "husband partner spouse",
    "partner spouse wife",
    "bug crash error failure fault incident issue outage problem",
    "cat kitten kitty",
    "cell cellphone mobile phone smartphone telephone",
    "ceremony marriage wedding",
    "client customer",
    "clinic doctor physician practice",
    "color colour",
    "computer laptop macbook notebook pc",
    "couch sofa",
    "dad daddy father papa",
    "database db",
    "dentist practice",
    "dog pup puppy",
    "door entrance gate",
    "email mail",
    "employee staff",
    "exam quiz test",
    "film movie",
    "fridge refrigerator",
    "grandad granddad grandfather grandpa",
    "grandma grandmother granny nana",
    "holiday journey tour travel trip vacation",
    "lecture presentation talk",
    "licence license",
    "loan mortgage",
    "mama mom mommy mother mum mummy",
    "medication medicine pill tablet",
    "repo repository",
    "shop store supermarket",
    "television tv",
];

/// The auxiliaries of questions after which a name may follow. Forms of `be` are not among them, because an adjective
/// or a noun often follows the name, nor are `do` and `have`, because a plural follows them.
pub(super) const AUXILIARIES: [&str; 11] =
    ["does", "did", "will", "would", "can", "could", "should", "has", "had", "may", "might"];

/// The maximum number of words of a question. Longer texts are prompts, which no sentence repeats.
pub(crate) const MAX_QUESTION_WORDS: usize = 64;

/// The minimum length in bytes of a term that counts as the beginning of another one, such as `mail` of `mailer`.
const MIN_VARIANT: usize = 4;

/// A word of a text.
pub(super) struct Word {
    pub(super) folded: String,
    /// The indexed term; empty if the word is too long to be indexed.
    pub(super) term: String,
    /// Whether it has a capital or a digit. Names and numbers are compared on their own.
    pub(super) is_name: bool,
    pub(super) is_determiner: bool,
    pub(super) is_stop_word: bool,
    /// Whether it ends with `'s` and says who or what something belongs to, as in `Ben's visa`.
    pub(super) is_genitive: bool,
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
    pub(super) fn is_modifier(&self) -> bool {
        self.is_part() && !self.is_name && !self.is_attribute() && !self.folded.contains('\'')
    }

    /// Whether it may be the second word.
    pub(super) fn is_head(&self) -> bool {
        self.is_modifier() && !self.is_after_noun()
    }

    /// Without a genitive and the `s` of a plural.
    pub(super) fn singular(&self) -> &str {
        let noun = without_possessive(&self.folded);
        noun.strip_suffix('s').unwrap_or(noun)
    }

    /// Whether it begins with a digit.
    pub(super) fn is_number(&self) -> bool {
        self.folded.starts_with(|first: char| first.is_ascii_digit())
    }

    fn is_attribute(&self) -> bool {
        ATTRIBUTE_ENDINGS.iter().any(|end| self.folded.ends_with(end))
    }

    /// Whether it mostly follows a noun phrase: a verb, or a word with the ending of one that describes the noun before
    /// it, as in `the worker using`.
    pub(super) fn is_after_noun(&self) -> bool {
        self.is_attribute() || self.folded.ends_with("ing") || VERBS.contains(self.folded.as_str())
    }
}

/// Whether two terms are equal or one begins with the other.
pub(super) fn is_variant(a: &str, b: &str) -> bool {
    a == b || (a.len() >= MIN_VARIANT && b.starts_with(a)) || (b.len() >= MIN_VARIANT && a.starts_with(b))
}

/// Whether two nouns may mean the same.
pub(super) fn are_synonyms(a: &Word, b: &Word) -> bool {
    SYNONYMS.iter().any(|group| is_in_group(group, a) && is_in_group(group, b))
}

/// Whether a noun is one of those that may mean the same as another one.
pub(super) fn has_synonyms(noun: &Word) -> bool {
    SYNONYMS.iter().any(|group| is_in_group(group, noun))
}

fn is_in_group(group: &str, noun: &Word) -> bool {
    let forms = [without_possessive(&noun.folded), noun.singular()];
    group.split_ascii_whitespace().any(|word| forms.contains(&word))
}

/// The folded words, joined by spaces.
pub(super) fn spelled(words: &[Word]) -> String {
    let folded: Vec<&str> = words.iter().map(|word| word.folded.as_str()).collect();
    folded.join(" ")
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
                let is_stop_word = stop_words::is_stop_word(&folded);
                words.push(Word {
                    term: tokenizer.term(spelling),
                    is_name: spelling.starts_with(char::is_uppercase) || spelling.contains(char::is_numeric),
                    is_determiner: DETERMINERS.contains(&folded.as_str()),
                    is_stop_word,
                    is_genitive: !is_stop_word && is_genitive(&folded),
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

fn is_genitive(folded: &str) -> bool {
    let owner = without_possessive(folded);
    owner.len() < folded.len() && !NO_OWNERS.contains(&owner) && !NO_PARTS.contains(owner)
}

/// The words of an English text, for the tests of the rules.
#[cfg(test)]
pub(super) fn english_words(text: &str) -> Vec<Word> {
    words(&Tokenizer::new("english").unwrap(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn genitives_are_told_from_contractions() {
        let genitives = |text: &str| -> Vec<String> {
            english_words(text).into_iter().filter(|word| word.is_genitive).map(|word| word.folded).collect()
        };
        assert_eq!(genitives("Ben's visa, Ann’s keys, the hotel's pool"), ["ben's", "ann's", "hotel's"]);
        // Contractions, times and pronouns.
        assert_eq!(genitives("What's up? Let's go: it's today's soup, everyone's choice"), [""; 0]);
    }

    #[test]
    fn synonyms_are_found_in_any_form() {
        let check = |pair: &str, expected: bool| {
            let pair = english_words(pair);
            assert_eq!(are_synonyms(&pair[0], &pair[1]), expected, "{}", spelled(&pair));
        };
        for pair in ["flat apartments", "Mom’s mother", "boss's manager", "children's kid", "holidays trip"]
        {
            check(pair, true);
        }
        for pair in ["son daughter", "mother father", "flat office"] {
            check(pair, false);
        }
    }
}
