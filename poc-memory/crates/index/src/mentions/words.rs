//! Words as they stand: whole, folded, and what their spelling says.

use crate::text::fold::fold;
use crate::text::tokens::{identifiers, names_at, without_possessive};
use unicode_normalization::char::is_combining_mark;

/// Letters that a title needs to be looked for, or letters and digits that a key needs.
const LEAST_LETTERS: usize = 4;

/// Words that a title may have.
const MOST_WORDS: usize = 16;

/// What follows from how a word is spelt where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spelling {
    /// Whether a name may begin with it: it has a capital, or is an identifier.
    pub(super) begins_name: bool,
    /// Whether that tells a name from a plain word. A capital does not where every word has one: at the head
    /// of a sentence, a line, a value or a quotation, and in a heading; nor where the whole word is in
    /// capitals, as `API` and `TODO` are. And a part of a name that is told by its form (`INC-301`) is not
    /// spelt by itself.
    pub(super) is_evidence: bool,
}

const WITHIN: Spelling = Spelling { begins_name: false, is_evidence: true };
const NAME: Spelling = Spelling { begins_name: true, is_evidence: true };

/// The words of a text, folded, in one piece.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Folded {
    text: String,
    // Where each word ends, and how it is spelt.
    ends: Vec<(u32, Spelling)>,
}

impl Folded {
    /// The words of a text: runs of letters, digits and `_`, with one apostrophe within, without `'s`.
    pub(super) fn words(text: &str) -> Folded {
        let mut folded = Folded::default();
        let mut names = names_at(text).peekable();
        let (mut end, mut before, mut is_heading) = (0, "", false);
        while let Some((start, word)) = next_word(text, end) {
            let between = text.get(end..start).unwrap_or_default();
            if before.is_empty() || between.contains('\n') {
                is_heading = begins_heading(between);
            }
            let is_head = before.is_empty() || is_heading || begins_anew(before, between);
            (end, before) = (start + word.len(), word);
            while names.next_if(|(at, name)| at + name.len() <= start).is_some() {}
            let within_name = names.peek().is_some_and(|(at, name)| *at < end && name.len() > word.len());
            let begins_name = word.starts_with(char::is_uppercase);
            let is_mute = begins_name && (is_head || is_shouted(word));
            folded.add(
                without_possessive(word),
                Spelling { begins_name, is_evidence: !within_name && !is_mute },
            );
        }
        folded
    }

    /// The words of a text and behind them its identifiers, each as one word. An empty word stands in front
    /// of each: they follow on nothing.
    pub(super) fn of(text: &str) -> Folded {
        let mut folded = Folded::words(text);
        for name in identifiers(text) {
            folded.add("", WITHIN);
            folded.add(name, NAME);
        }
        folded
    }

    /// The words that have a capital where not every word has one.
    pub(super) fn capitalized_names(&self) -> impl Iterator<Item = &str> {
        self.iter().filter(|(_, spelling)| spelling.begins_name && spelling.is_evidence).map(|(word, _)| word)
    }

    fn add(&mut self, word: &str, spelling: Spelling) {
        self.text.push_str(&fold(word));
        self.ends.push((u32::try_from(self.text.len()).unwrap_or(u32::MAX), spelling));
    }

    /// Each word, and how it is spelt.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Spelling)> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, spelling)| {
            let word = self.text.get(start..end as usize).unwrap_or_default();
            start = end as usize;
            (word, spelling)
        })
    }

    /// How many words there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }
}

/// The next word of a text from a byte on, and where it begins.
fn next_word(text: &str, from: usize) -> Option<(usize, &str)> {
    let rest = text.get(from..)?;
    let (before, word) = rest.split_at(rest.find(is_part)?);
    Some((from + before.len(), word.get(..length(word))?))
}

/// Whether what stands in front of a word, behind the line before, makes a heading of its line.
fn begins_heading(between: &str) -> bool {
    let line = between.rsplit('\n').next().unwrap_or_default().trim_start();
    let behind = line.trim_start_matches('#');
    behind.len() < line.len() && behind.starts_with(char::is_whitespace)
}

/// Whether a sentence, a line, a cell, a quotation or a value begins between two words.
fn begins_anew(before: &str, between: &str) -> bool {
    let ends = |c: char| "!?…:;\n|“„«‘¿¡([<>–—→•*".contains(c);
    // `J. K.`, `St.` and `Mr.` end none.
    let is_short = before.starts_with(char::is_uppercase) && before.chars().nth(2).is_none();
    let ends_sentence = between.contains('.') && !(is_short && between.starts_with('.'));
    let opens_quotation = between.ends_with('"') && !between.starts_with('"');
    ends_sentence || opens_quotation || between.contains(ends)
}

/// Whether all letters of a word, more than one, are capitals.
fn is_shouted(word: &str) -> bool {
    let mut letters = word.chars().filter(|c| c.is_alphabetic());
    word.chars().nth(1).is_some() && letters.all(char::is_uppercase)
}

/// Bytes of the word that a text begins with.
fn length(text: &str) -> usize {
    let run = |text: &str| text.find(|c| !is_part(c)).unwrap_or(text.len());
    let first = run(text);
    let behind = text.get(first..).unwrap_or_default();
    match behind.strip_prefix(['\'', '’']) {
        Some(tail) if tail.starts_with(is_part) => first + (behind.len() - tail.len()) + run(tail),
        _ => first,
    }
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || is_combining_mark(c)
}

/// What a note is looked for by: the words of its title, and key and title where they are identifiers.
pub(super) fn names(title: &str, key: &str) -> Vec<Folded> {
    let title = without_brackets(title);
    let mut names = vec![of_title(title)];
    for name in [key, title] {
        let mut word = Folded::default();
        if identifiers(name).any(|whole| whole == name)
            && name.chars().filter(|c| c.is_alphanumeric()).count() >= LEAST_LETTERS
        {
            word.add(name, NAME);
        }
        names.push(word);
    }
    names.retain(|name| name.len() > 0);
    let mut different: Vec<Folded> = Vec::new();
    for name in names {
        if !different
            .iter()
            .any(|other| other.iter().map(|(word, _)| word).eq(name.iter().map(|(word, _)| word)))
        {
            different.push(name);
        }
    }
    different
}

/// The words of a title; none when it is too short or too long to be looked for.
fn of_title(title: &str) -> Folded {
    if title.chars().filter(|c| c.is_alphabetic()).count() < LEAST_LETTERS {
        return Folded::default();
    }
    let words = Folded::words(title);
    if words.len() > MOST_WORDS { Folded::default() } else { words }
}

/// A title without what stands in brackets at its end, unless there is nothing else.
fn without_brackets(title: &str) -> &str {
    let title = title.trim();
    let cut = title.strip_suffix(')').and_then(|open| open.rsplit_once('('));
    match cut.map(|(before, _)| before.trim_end()) {
        Some(before) if !before.is_empty() => before,
        _ => title,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(words: &Folded) -> String {
        let word = |(word, spelling): (&str, Spelling)| {
            let begins = if spelling.begins_name { "^" } else { "" };
            let mute = if spelling.is_evidence { "" } else { "~" };
            if word.is_empty() { "|".to_owned() } else { format!("{begins}{mute}{word}") }
        };
        words.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_are_whole_and_folded() {
        let check = |text: &str, expected: &str| assert_eq!(told(&Folded::of(text)), expected, "{text}");
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
    fn a_capital_that_every_word_has_tells_nothing() {
        let check = |text: &str, expected: &str| assert_eq!(told(&Folded::words(text)), expected, "{text}");
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
    fn names_are_titles_long_enough_without_their_brackets() {
        let check = |title: &str, expected: &str| {
            assert_eq!(told(&of_title(without_brackets(title))), expected, "{title}")
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
    fn keys_and_titles_that_are_identifiers_are_names_as_they_stand() {
        let check = |title: &str, key: &str, expected: &[&str]| {
            assert_eq!(names(title, key).iter().map(told).collect::<Vec<_>>(), expected, "{title}, {key}");
        };
        check("Retrying", "retry-policy", &["^~retrying", "^retry-policy"]);
        check("parseFrame", "parse-frame", &["parseframe", "^parse-frame"]);
        check("", "journal", &[]);
        check("", "a-b", &[]);
        check("", "INC-90037", &["^inc-90037"]);
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC{0,60}|[a-zA-Z'’ ]{0,40}") {
            let words = Folded::of(&text);
            prop_assert_eq!(words.iter().count(), words.len());
            names(&text, &text);
        }
    }
}
