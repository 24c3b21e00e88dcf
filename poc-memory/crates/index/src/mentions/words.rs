//! Splits texts into whole, folded words, and judges by their spelling whether they are names.

use crate::text::fold::fold_into;
use crate::text::tokens::{identifiers, names_at, without_possessive};
use crate::text::words::MAX_QUESTION_WORDS;
use unicode_normalization::char::is_combining_mark;

/// The minimum number of letters in a title, or of letters and digits in a key, that can be mentioned.
const MIN_LETTERS: usize = 4;

/// The maximum number of words in a title that can be mentioned.
const MAX_WORDS: usize = 16;

/// Words that are written in capitals for emphasis, and abbreviations that do not name a subject, folded.
const NOT_ACRONYMS: [&str; 17] = [
    "all", "any", "asap", "ever", "eur", "fyi", "last", "must", "never", "new", "not", "now", "only", "pdf",
    "todo", "url", "usd",
];

/// What the spelling of a word in its position implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spelling {
    /// Whether a name can begin with the word: it has a capital, or is an identifier.
    pub(super) begins_name: bool,
    /// Whether the spelling is evidence for or against a name. A capital is not evidence where every word has one (in a
    /// heading, and at the start of a sentence, a line, a value or a quotation) or in words that consist of capitals,
    /// such as `API` and `TODO`. The spelling of a part of an identifier (`INC-301`) is not evidence either.
    pub(super) is_evidence: bool,
}

const PLAIN: Spelling = Spelling { begins_name: false, is_evidence: true };
const NAME: Spelling = Spelling { begins_name: true, is_evidence: true };

/// The folded words of a text, in one string.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FoldedWords {
    text: String,
    // The end of each word in `text`, and its spelling.
    ends: Vec<(u32, Spelling)>,
}

impl FoldedWords {
    /// The words of a text: runs of letters, digits and `_`, possibly with one apostrophe inside, without `'s`.
    pub(super) fn words(text: &str) -> FoldedWords {
        let mut folded = FoldedWords::default();
        let mut names = names_at(text).peekable();
        let (mut end, mut before, mut is_heading) = (0, "", false);
        while let Some((start, word)) = next_word(text, end) {
            let between = text.get(end..start).unwrap_or_default();
            if before.is_empty() || between.contains('\n') {
                is_heading = begins_heading(between);
            }
            let is_head = before.is_empty() || is_heading || starts_segment(before, between);
            (end, before) = (start + word.len(), word);
            while names.next_if(|(at, name)| at + name.len() <= start).is_some() {}
            let within_name = names.peek().is_some_and(|(at, name)| *at < end && name.len() > word.len());
            let begins_name = word.starts_with(char::is_uppercase);
            let is_no_evidence = begins_name && (is_head || is_all_caps(word));
            folded.add(
                without_possessive(word),
                Spelling { begins_name, is_evidence: !within_name && !is_no_evidence },
            );
        }
        folded
    }

    /// The words of a text, followed by its identifiers as one word each. An empty word before each identifier
    /// separates it, so that no name spans them.
    pub(super) fn of(text: &str) -> FoldedWords {
        let mut folded = FoldedWords::words(text);
        for name in identifiers(text) {
            folded.add("", PLAIN);
            folded.add(name, NAME);
        }
        folded
    }

    /// The words with a capital in a position where that is evidence for a name.
    pub(super) fn capitalized_names(&self) -> impl Iterator<Item = &str> {
        self.iter().filter(|(_, spelling)| spelling.begins_name && spelling.is_evidence).map(|(word, _)| word)
    }

    fn add(&mut self, word: &str, spelling: Spelling) {
        fold_into(word, &mut self.text);
        self.ends.push((u32::try_from(self.text.len()).unwrap_or(u32::MAX), spelling));
    }

    /// All words with their spelling.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Spelling)> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, spelling)| {
            let word = self.text.get(start..end as usize).unwrap_or_default();
            start = end as usize;
            (word, spelling)
        })
    }

    /// The number of words.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }
}

/// The words of three to five capitals in a question, folded. A question in which most words are in capitals and a text
/// of more than [`MAX_QUESTION_WORDS`] words, which is a prompt, have none. Parts of identifiers (`INC-301`), Roman
/// numerals below forty and [`NOT_ACRONYMS`] are left out.
pub(super) fn acronyms(question: &str) -> Vec<String> {
    let words: Vec<&str> = question.split_whitespace().take(MAX_QUESTION_WORDS + 1).collect();
    let is_of_capitals =
        |word: &&&str| word.contains(char::is_uppercase) && !word.contains(char::is_lowercase);
    let capitals = words.iter().filter(is_of_capitals).count();
    if words.len() > MAX_QUESTION_WORDS || 2 * capitals > words.len() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for word in words {
        let word = without_possessive(word.trim_matches(|c: char| !c.is_alphanumeric()));
        let is_acronym = (3..=5).contains(&word.chars().count()) && word.chars().all(char::is_uppercase);
        let is_numeral = || word.chars().all(|c| matches!(c, 'I' | 'V' | 'X'));
        let mut folded = String::new();
        fold_into(word, &mut folded);
        if is_acronym && !is_numeral() && !NOT_ACRONYMS.contains(&folded.as_str()) {
            found.push(folded);
        }
    }
    found
}

/// The next word of a text at or after a byte offset, with its own offset.
fn next_word(text: &str, from: usize) -> Option<(usize, &str)> {
    let rest = text.get(from..)?;
    let (before, word) = rest.split_at(rest.find(is_part)?);
    Some((from + before.len(), word.get(..word_length(word))?))
}

/// Whether the text between two words starts a line that is a heading.
fn begins_heading(between: &str) -> bool {
    let line = between.rsplit('\n').next().unwrap_or_default().trim_start();
    let rest = line.trim_start_matches('#');
    rest.len() < line.len() && rest.starts_with(char::is_whitespace)
}

/// Whether a sentence, a line, a cell, a quotation or a value starts between two words.
fn starts_segment(before: &str, between: &str) -> bool {
    let ends = |c: char| "!?…:;\n|“„«‘¿¡([<>–—→•*".contains(c);
    // The dots of `J. K.`, `St.` and `Mr.` do not end a sentence.
    let is_short = before.starts_with(char::is_uppercase) && before.chars().nth(2).is_none();
    let ends_sentence = between.contains('.') && !(is_short && between.starts_with('.'));
    let opens_quotation = between.ends_with('"') && !between.starts_with('"');
    ends_sentence || opens_quotation || between.contains(ends)
}

/// Whether a word has more than one character and all its letters are capitals.
fn is_all_caps(word: &str) -> bool {
    let mut letters = word.chars().filter(|c| c.is_alphabetic());
    word.chars().nth(1).is_some() && letters.all(char::is_uppercase)
}

/// The length in bytes of the word at the start of a text.
fn word_length(text: &str) -> usize {
    let run = |text: &str| text.find(|c| !is_part(c)).unwrap_or(text.len());
    let first = run(text);
    let rest = text.get(first..).unwrap_or_default();
    match rest.strip_prefix(['\'', '’']) {
        Some(tail) if tail.starts_with(is_part) => first + (rest.len() - tail.len()) + run(tail),
        _ => first,
    }
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || !c.is_ascii() && is_combining_mark(c)
}

/// The names of a note: the words of its titles, and its keys (the present and former ones) and titles if they are
/// identifiers.
pub(super) fn names<'a>(
    titles: impl Iterator<Item = &'a str>,
    keys: impl Iterator<Item = &'a str>,
) -> Vec<FoldedWords> {
    let titles: Vec<&str> = titles.map(without_brackets).collect();
    let mut names: Vec<FoldedWords> = titles.iter().map(|title| of_title(title)).collect();
    for name in keys.chain(titles) {
        let mut word = FoldedWords::default();
        if identifiers(name).any(|whole| whole == name)
            && name.chars().filter(|c| c.is_alphanumeric()).count() >= MIN_LETTERS
        {
            word.add(name, NAME);
        }
        names.push(word);
    }
    names.retain(|name| name.len() > 0);
    let mut distinct: Vec<FoldedWords> = Vec::new();
    for name in names {
        if !distinct
            .iter()
            .any(|other| other.iter().map(|(word, _)| word).eq(name.iter().map(|(word, _)| word)))
        {
            distinct.push(name);
        }
    }
    distinct
}

/// The words of a title; empty if it is too short or too long to be mentioned.
fn of_title(title: &str) -> FoldedWords {
    if title.chars().filter(|c| c.is_alphabetic()).count() < MIN_LETTERS {
        return FoldedWords::default();
    }
    let words = FoldedWords::words(title);
    if words.len() > MAX_WORDS { FoldedWords::default() } else { words }
}

/// A title without its bracketed suffix, unless there is nothing else.
fn without_brackets(title: &str) -> &str {
    let title = title.trim();
    let suffix = title.strip_suffix(')').and_then(|open| open.rsplit_once('('));
    match suffix.map(|(before, _)| before.trim_end()) {
        Some(before) if !before.is_empty() => before,
        _ => title,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn acronyms_are_words_of_capitals_in_a_question() {
        let check =
            |question: &str, expected: &[&str]| assert_eq!(acronyms(question), expected, "{question}");
        check("How do I center a div in CSS?", &["css"]);
        check("the \"VAT\" of the EU's NGO's bill, INC-301, HTML5 and README.md", &["vat", "ngo"]);
        check("HOW DO I CENTER A DIV IN CSS", &[]);
        check("WHERE IS MY KEY FOR THE SHED? thanks", &[]);
        check("How do I center a div in css, IMPORTANT", &[]);
        check("Is Henry VIII in the PDF, or did I NEVER save it?", &[]);
        check(&format!("a div in CSS {}", "please ".repeat(MAX_QUESTION_WORDS)), &[]);
    }

    fn describe(words: &FoldedWords) -> String {
        let word = |(word, spelling): (&str, Spelling)| {
            let begins = if spelling.begins_name { "^" } else { "" };
            let mute = if spelling.is_evidence { "" } else { "~" };
            if word.is_empty() { "|".to_owned() } else { format!("{begins}{mute}{word}") }
        };
        words.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_are_whole_and_folded() {
        let check =
            |text: &str, expected: &str| assert_eq!(describe(&FoldedWords::of(text)), expected, "{text}");
        check("The Ångström — it's Bob’s, “O'Brien's'” no!", "^~the ^angstrom it ^bob ^~o'brien s no");
        check("snake_case v1.2 São", "snake_case ~v1 ~2 ^sao | ^snake_case | ^v1.2");
        check(
            "the Retry-Policy of src/main.rs",
            "the ^retry ^policy of ~src ~main ~rs | ^retry-policy | ^src/main.rs",
        );
        check("'' ’", "");
        check("", "");
    }

    #[test]
    fn a_capital_where_every_word_has_one_is_no_evidence() {
        let check =
            |text: &str, expected: &str| assert_eq!(describe(&FoldedWords::words(text)), expected, "{text}");
        check("They met Ann. However, Bob went.", "^~they met ^ann ^~however ^bob went");
        check("Really? Yes! iPhones of Ann’s", "^~really ^~yes iphones of ^ann");
        check("## Next Steps\n\nOwner: Ann, the Lead", "^~next ^~steps ^~owner ^~ann the ^lead");
        check("- Call Ann\n- call Bob\nwith Cid", "^~call ^ann call ^bob with ^cid");
        check("##  **Big \"Plans\"**\n\"Yes,\" Ann said", "^~big ^~plans ^~yes ^ann said");
        check("in St. Louis by J. K. Ann. Then Bob", "in ^st ^louis by ^j ^k ^ann ^~then ^bob");
        check("the \"big\" Ann, “Cid” and Bob's", "the big ^ann ^~cid and ^bob");
        check(
            "the API of NASA (Probably) – Maybe [Board](x)",
            "the ^~api of ^~nasa ^~probably ^~maybe ^~board x",
        );
        check("of INC-301 and McDonald by GitHub/Ann_B", "of ^~inc ~301 and ^mcdonald by ^~github ^~ann_b");
    }

    #[test]
    fn titles_of_sufficient_length_are_names_without_their_brackets() {
        let check = |title: &str, expected: &str| {
            assert_eq!(describe(&of_title(without_brackets(title))), expected, "{title}")
        };
        check("Mercury (planet)", "^~mercury");
        check("Mercury (planet) I", "^~mercury planet ^i");
        check("(What) it is", "^~what it is");
        check("(Untitled)", "^~untitled");
        check("Ann", "");
        check("1984", "");
        check("Anna", "^~anna");
        check(&"word ".repeat(17), "");
    }

    #[test]
    fn keys_and_titles_that_are_identifiers_are_names() {
        let check = |title: &str, key: &str, expected: &[&str]| {
            assert_eq!(
                names(std::iter::once(title), std::iter::once(key)).iter().map(describe).collect::<Vec<_>>(),
                expected,
                "{title}, {key}"
            );
        };
        check("Retrying", "retry-policy", &["^~retrying", "^retry-policy"]);
        check("parseFrame", "parse-frame", &["parseframe", "^parse-frame"]);
        check("", "journal", &[]);
        check("", "a-b", &[]);
        check("", "INC-90037", &["^inc-90037"]);
    }

    poc_laws::laws! {
        #[test]
        fn any_text_can_be_split(text in "\\PC{0,60}|[a-zA-Z'’ ]{0,40}") {
            let words = FoldedWords::of(&text);
            prop_assert_eq!(words.iter().count(), words.len());
            names(std::iter::once(text.as_str()), std::iter::once(text.as_str()));
        }
    }
}
