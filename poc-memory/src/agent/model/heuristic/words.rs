//! Words two texts have in common, and marks that tell look-alikes apart.

use crate::agent::selection::{Handle, Selection};
use crate::graph::Node;
use std::collections::{BTreeMap, BTreeSet};
use unicode_segmentation::UnicodeSegmentation;

/// Words of fewer letters rarely name a thing, unless they hold a digit.
const LEAST_LETTERS: usize = 4;
/// A word is rare when at most this part of the texts has it …
const RARE_PART: f64 = 0.1;
/// … or at most this many texts: the two that share it and one more.
const RARE_TEXTS: usize = 3;
/// Function words that would pass for rare among a handful of texts.
const FUNCTION_WORDS: &str = "about above after again against also although always another anything around away \
    back became because been before behind being below best better between both came cannot come comes could does \
    doesn't doing done don't down during each either else even ever every everything first from full gave gets give \
    given goes going gone good have having here however into isn't itself just keep kept know last least less like \
    made make makes many might more most much must need needs never next none nothing once ones only onto other \
    others over quite rather really said same seem seen several shall should since some something soon still such \
    take taken takes than that that's their them then there these they thing things think this those though three \
    through thus time times together took toward under until upon used uses using very want wants well went were \
    what when where which while whole whom whose will with within without would wouldn't year your yours";

/// Which words are rare among the texts of a selection.
pub(super) struct Rarity {
    texts: BTreeMap<String, usize>,
    most: usize,
}

impl Rarity {
    pub(super) fn of(selection: &Selection) -> Rarity {
        let mut texts = BTreeMap::new();
        for handle in &selection.handles {
            for word in telling(&handle.node) {
                *texts.entry(word).or_insert(0) += 1;
            }
        }
        let part = (selection.handles.len() as f64 * RARE_PART) as usize;
        Rarity { texts, most: part.max(RARE_TEXTS) }
    }

    /// Keywords of both nodes, then rare words of both texts, the rarest first.
    pub(super) fn shared(&self, a: &Handle, b: &Handle) -> Vec<String> {
        let mut shared: Vec<String> =
            a.node.keywords.iter().filter(|word| b.node.keywords.contains(word)).cloned().collect();
        let theirs = telling(&b.node);
        let mut rare: Vec<(usize, String)> = telling(&a.node)
            .into_iter()
            .filter(|word| theirs.contains(word) && !shared.contains(word))
            .filter_map(|word| Some((*self.texts.get(&word)?, word)))
            .filter(|(texts, _)| *texts <= self.most)
            .collect();
        rare.sort();
        shared.extend(rare.into_iter().map(|(_, word)| word));
        shared
    }
}

/// The words of title and body that may name a thing, in lower case.
fn telling(node: &Node) -> BTreeSet<String> {
    let words = node.title.unicode_words().chain(node.body.unicode_words()).map(str::to_lowercase);
    words.filter(|word| word.chars().any(|c| c.is_ascii_digit()) || names_a_thing(word)).collect()
}

fn names_a_thing(word: &str) -> bool {
    word.chars().count() >= LEAST_LETTERS && !FUNCTION_WORDS.split_whitespace().any(|common| common == word)
}

/// Numbers, names in code, abbreviations: tokens with a digit, a capital inside or a joint inside.
/// Notes with different ones are different notes, however alike they read.
pub(super) fn identifiers(node: &Node) -> BTreeSet<&str> {
    let tokens = node.title.split_whitespace().chain(node.body.split_whitespace());
    let tokens = tokens.map(|token| token.trim_matches(|c: char| !c.is_alphanumeric()));
    tokens
        .filter(|token| {
            let inner = || token.chars().skip(1);
            token.chars().any(char::is_numeric)
                || inner().any(char::is_uppercase)
                || inner().any(|c| "_/.:@#=\\".contains(c))
        })
        .collect()
}

/// The sentences of a text, without regard to case, spacing, list marks and the final stop.
pub(super) fn sentences(text: &str) -> BTreeSet<String> {
    text.lines()
        .flat_map(|line| line.unicode_sentences())
        .map(|sentence| {
            let words: Vec<&str> = sentence.split_whitespace().collect();
            let sentence = words.join(" ").to_lowercase();
            sentence
                .trim_start_matches(['-', '*', '#', '>', ' '])
                .trim_end_matches(['.', '!', ' '])
                .to_owned()
        })
        .filter(|sentence| !sentence.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::testing::node;

    #[test]
    fn identifiers_are_what_tells_look_alikes_apart() {
        let mut note = node(1);
        note.title = "Error BRK-4021".into();
        note.body = "See `retry_policy`, src/lib.rs and maxRetries (INC). Then rest.".into();
        let expected = ["BRK-4021", "INC", "maxRetries", "retry_policy", "src/lib.rs"];
        assert_eq!(identifiers(&note).into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn sentences_compare_without_case_spacing_and_marks() {
        assert_eq!(sentences("- It  works.\n* Really!"), sentences("it works. Really."));
        assert_ne!(sentences("It works."), sentences("It works?"));
        assert!(sentences(" \n. ").is_empty());
    }
}
