//! The tokenizer: splits texts into Unicode words, which are folded and stemmed, and handles identifiers.
//!
//! An identifier (`INC-90037`, `store_open`, `parseFrame`, `src/main.rs`, `utf8`) gives one term for the
//! whole and one for each of its parts, so that it is found by its exact spelling and also by its words.

use super::fold::fold;
use super::function_words;
use super::stop_words;
use crate::error::IndexError;
use poc_graph::error::Result;
use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use unicode_segmentation::UnicodeSegmentation;

/// The maximum length of a term in bytes. Longer runs of characters are not indexed.
const MAX_TERM_BYTES: usize = 128;

/// The languages with a Snowball stemmer, by their names in the settings.
const LANGUAGES: &[(&str, Algorithm)] = &[
    ("arabic", Algorithm::Arabic),
    ("danish", Algorithm::Danish),
    ("dutch", Algorithm::Dutch),
    ("english", Algorithm::English),
    ("finnish", Algorithm::Finnish),
    ("french", Algorithm::French),
    ("german", Algorithm::German),
    ("greek", Algorithm::Greek),
    ("hungarian", Algorithm::Hungarian),
    ("italian", Algorithm::Italian),
    ("norwegian", Algorithm::Norwegian),
    ("portuguese", Algorithm::Portuguese),
    ("romanian", Algorithm::Romanian),
    ("russian", Algorithm::Russian),
    ("spanish", Algorithm::Spanish),
    ("swedish", Algorithm::Swedish),
    ("tamil", Algorithm::Tamil),
    ("turkish", Algorithm::Turkish),
];

/// The tokenizer of one language.
pub(super) struct Tokenizer {
    stemmer: Option<Stemmer>,
    is_english: bool,
}

/// The terms of plain words that occurred before, by their spelling; `None` for words that are not indexed. Most words
/// occur many times, and looking one up is much faster than folding and stemming it.
#[derive(Default)]
pub(super) struct TermCache<'a>(FxHashMap<&'a str, Option<Arc<str>>>);

/// A name in a query.
pub(super) struct Name {
    /// The indexed term of the name.
    pub(super) whole: String,
    /// The spelling in the query.
    pub(super) spelling: String,
}

impl Tokenizer {
    /// Creates a tokenizer for a Snowball language, or for `none`, which does not stem.
    pub(super) fn new(language: &str) -> Result<Self> {
        let stemmer = match LANGUAGES.iter().find(|(name, _)| *name == language) {
            Some((_, algorithm)) => Some(Stemmer::create(*algorithm)),
            None if language == "none" => None,
            None => {
                let names: Vec<&str> = LANGUAGES.iter().map(|(name, _)| *name).collect();
                let problem = format!("no stemmer for the language `{language}`");
                let hint = format!("one of {} or none", names.join(", "));
                let field = "text.language".to_owned();
                return Err(IndexError::InvalidSetting { field, problem, hint }.into());
            }
        };
        Ok(Tokenizer { stemmer, is_english: language == "english" })
    }

    /// The terms of a text in order, with repetitions.
    pub(super) fn terms(&self, text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        self.for_each_term(text, &mut |term, _| terms.push(term));
        terms
    }

    /// Like [`Tokenizer::terms`], for one of many texts.
    pub(super) fn cached_terms<'a>(&self, text: &'a str, cache: &mut TermCache<'a>) -> Vec<Arc<str>> {
        let mut terms: Vec<Arc<str>> = Vec::new();
        for run in runs(text) {
            if is_plain(run) {
                let cached = cache.0.entry(run).or_insert_with(|| {
                    let mut only_term: Option<Arc<str>> = None;
                    self.word(run, true, &mut |term, _| only_term = Some(term.into()));
                    only_term
                });
                terms.extend(cached.clone());
            } else {
                self.for_each_term_of_run(run, &mut |term, _| terms.push(term.into()));
            }
        }
        terms
    }

    /// The distinct terms of a query. Stop words (`what did she`), and function words of a query in another language, are
    /// omitted unless there are no other words.
    pub(super) fn query(&self, text: &str) -> Vec<String> {
        let foreign = function_words::of_foreign(text);
        let foreign: FxHashSet<String> = foreign.iter().map(|word| self.term(word)).collect();
        let (mut content, mut all, mut seen) = (Vec::new(), Vec::new(), FxHashSet::default());
        self.for_each_term(text, &mut |term, is_stop_word| {
            if seen.insert(term.clone()) {
                if !is_stop_word && !foreign.contains(&term) {
                    content.push(term.clone());
                }
                all.push(term);
            }
        });
        if content.is_empty() { all } else { content }
    }

    /// The distinct names in a query: tokens of several parts that contain a digit, `_`, `/`, `::` or a capital
    /// after a small letter. `well-known` is not a name, and neither is a quantity (`2nd`, `7:30pm`).
    pub(super) fn names(&self, text: &str) -> Vec<Name> {
        let mut found: Vec<Name> = Vec::new();
        for run in names(text) {
            self.whole(run, &mut |whole, _| {
                if found.iter().all(|name| name.whole != whole) {
                    found.push(Name { whole, spelling: run.to_owned() });
                }
            });
        }
        found
    }

    /// Whether the language is English, the only one with stop words.
    pub(super) fn is_english(&self) -> bool {
        self.is_english
    }

    /// The term of a plain word; empty if it is not indexed.
    pub(super) fn term(&self, word: &str) -> String {
        let mut term = String::new();
        self.word(word, true, &mut |stemmed, _| term = stemmed);
        term
    }

    /// Calls `emit` with every term and whether it is a stop word.
    fn for_each_term(&self, text: &str, emit: &mut dyn FnMut(String, bool)) {
        runs(text).for_each(|run| self.for_each_term_of_run(run, emit));
    }

    /// Like [`Tokenizer::for_each_term`], for a single token of a text.
    fn for_each_term_of_run(&self, run: &str, emit: &mut dyn FnMut(String, bool)) {
        if is_plain(run) {
            return self.word(run, true, emit);
        }
        match identifier(run) {
            Some(parts) => {
                self.whole(run, emit);
                for part in parts {
                    self.word(part, true, emit);
                }
            }
            None => run.unicode_words().for_each(|word| self.word(word, true, emit)),
        }
    }

    /// Calls `emit` with the term of a whole name. A name with digits or separators is not stemmed.
    fn whole(&self, run: &str, emit: &mut dyn FnMut(String, bool)) {
        self.word(run, run.chars().all(char::is_alphabetic), emit);
    }

    /// Calls `emit` with the folded word, stemmed if `stem` is true, and whether it is a stop word. A word that is too
    /// long is not indexed.
    fn word(&self, word: &str, stem: bool, emit: &mut dyn FnMut(String, bool)) {
        let folded = fold(word);
        if folded.is_empty() || folded.len() > MAX_TERM_BYTES {
            return;
        }
        let is_stop_word = self.is_english && stop_words::is_stop_word(&folded);
        match &self.stemmer {
            Some(stemmer) if stem => emit(stemmer.stem(&folded).into_owned(), is_stop_word),
            _ => emit(folded, is_stop_word),
        }
    }
}

/// The identifiers in a text: tokens of several parts, such as `retry-policy` and `src/main.rs`.
pub(crate) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    runs(text).filter(|run| !is_plain(run) && identifier(run).is_some())
}

/// The identifiers in a text that have the form of a name (see [`is_name`]), such as `INC-90037` and
/// `people/lin`.
pub fn names(text: &str) -> impl Iterator<Item = &str> {
    names_at(text).map(|(_, name)| name)
}

/// Like [`names`], with byte offsets.
pub(crate) fn names_at(text: &str) -> impl Iterator<Item = (usize, &str)> {
    runs_at(text).filter(|(_, run)| is_name(run) && identifier(run).is_some())
}

/// The names in the path of a URL, such as a ticket number, separated by spaces; `None` if there are none or the text
/// is not a URL.
pub(super) fn names_in_url(url: &str) -> Option<String> {
    let (_, page) = url.split_once("://")?;
    let names: Vec<&str> = page.split(['/', '?', '#', '=']).skip(1).flat_map(names).collect();
    (!names.is_empty()).then(|| names.join(" "))
}

/// Whether a character joins the parts of a name.
fn is_joiner(character: char) -> bool {
    matches!(character, '-' | '_' | '.' | '/' | '\\' | ':' | '#' | '@' | '+' | '\'' | '’')
}

/// The tokens of a text: runs of letters, digits and marks, with single joiners between them.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    runs_at(text).map(|(_, run)| run)
}

/// Like [`runs`], with byte offsets.
fn runs_at(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(char::is_alphanumeric)?;
        rest = rest.get(start..)?;
        let mut end = 0;
        let mut previous_is_joiner = false;
        for (at, character) in rest.char_indices() {
            let is_joiner = is_joiner(character);
            // `https://` and `std::fs` are one name; `wait...what` and `a--b` are two.
            let repeats = is_joiner && previous_is_joiner && !matches!(character, '/' | ':');
            if repeats || !(is_joiner || is_word_character(character)) {
                break;
            }
            if !is_joiner {
                end = at + character.len_utf8();
            }
            previous_is_joiner = is_joiner;
        }
        let at = text.len() - rest.len();
        let (run, tail) = rest.split_at_checked(end)?;
        rest = tail;
        // The `'s` of identifiers is dropped here, as in `INC-301's owner`. For plain words the stemmer does that.
        let stripped = without_possessive(run);
        Some((at, if stripped.len() < run.len() && identifier(stripped).is_some() { stripped } else { run }))
    })
}

/// Removes a trailing `'s`.
pub fn without_possessive(name: &str) -> &str {
    ["'s", "’s", "'S", "’S"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

fn is_word_character(character: char) -> bool {
    character.is_alphanumeric()
        || !character.is_ascii() && unicode_normalization::char::is_combining_mark(character)
}

/// Whether a token has the form of a name: it contains a digit, `_`, `/`, `::` or a capital after a small
/// letter, and is not a quantity.
pub fn is_name(run: &str) -> bool {
    if is_plain(run) {
        return false;
    }
    let has_inner_capital = || {
        let mut before = run.chars();
        let after = run.chars().skip(1);
        after.into_iter().any(|after| before.next().is_some_and(char::is_lowercase) && after.is_uppercase())
    };
    let is_distinctive = run.contains("::")
        || run.contains(|c: char| c.is_numeric() || matches!(c, '_' | '/'))
        || has_inner_capital();
    is_distinctive && !is_quantity(run)
}

/// Whether a token is a number, a time or an amount, such as `2nd`, `7:30pm`, `3.50` and `90s`.
fn is_quantity(run: &str) -> bool {
    let number = run.trim_end_matches(char::is_lowercase);
    let mut pieces = run.get(..number.len()).unwrap_or_default().split(['.', ':', '/']);
    let numeric = |piece: Option<&str>| {
        piece.is_none_or(|piece| !piece.is_empty() && piece.chars().all(char::is_numeric))
    };
    run.len() - number.len() <= 2
        && numeric(pieces.next())
        && numeric(pieces.next())
        && pieces.next().is_none()
}

/// The parts of an identifier; `None` for plain words.
fn identifier(run: &str) -> Option<Vec<&str>> {
    let mut parts: Vec<&str> = Vec::new();
    let mut is_joined = false;
    for piece in run.split(|character| is_joiner(character) && !matches!(character, '\'' | '’')) {
        is_joined |= piece.len() < run.len();
        parts.extend(split_case(piece));
    }
    if !is_joined && parts.len() < 2 {
        return None;
    }
    // Single letters carry no meaning.
    parts.retain(|part| part.chars().nth(1).is_some() || part.chars().all(char::is_numeric));
    Some(parts)
}

/// Whether a run is a word of lower-case ASCII letters, perhaps with a capital at the beginning. Such a run is not an
/// identifier; this check is fast, and most runs pass it.
fn is_plain(run: &str) -> bool {
    let rest = run.strip_prefix(|first: char| first.is_ascii_uppercase()).unwrap_or(run);
    rest.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// Splits names such as `camelCase`, `HTTPServer` and `utf8` into their parts.
fn split_case(piece: &str) -> Vec<&str> {
    // Keeps the plural of an acronym, such as `PDFs`, in one piece.
    if let Some(stem) = piece.strip_suffix('s')
        && stem.chars().nth(1).is_some()
        && stem.chars().all(char::is_uppercase)
    {
        return vec![piece];
    }
    let mut parts = Vec::new();
    let mut start = 0;
    let characters: Vec<(usize, char)> = piece.char_indices().collect();
    for window in characters.windows(2) {
        let [(_, before), (at, after)] = *window else { continue };
        let next_lower =
            || piece.get(at..).is_some_and(|rest| rest.chars().nth(1).is_some_and(char::is_lowercase));
        let is_boundary = before.is_numeric() && after.is_alphabetic()
            || before.is_alphabetic() && after.is_numeric()
            || before.is_lowercase() && after.is_uppercase()
            || before.is_uppercase() && after.is_uppercase() && next_lower();
        if is_boundary {
            parts.extend(piece.get(start..at));
            start = at;
        }
    }
    parts.extend(piece.get(start..).filter(|part| !part.is_empty()));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: &str) {
        let terms = Tokenizer::new("english").unwrap().terms(text);
        assert_eq!(terms.join(" "), expected, "{text:?}");
    }

    fn query(text: &str) -> String {
        Tokenizer::new("english").unwrap().query(text).join(" ")
    }

    #[test]
    fn words_are_folded_and_stemmed() {
        check("The Trees, and their leaves!", "the tree and their leav");
        check("Résumé — naïve Ångström", "resum naiv angstrom");
        check("Caroline's cat doesn't", "carolin cat doesn't");
        check("don’t DON'T", "don't don't");
        check("", "");
        check("… ?! — ---", "");
    }

    #[test]
    fn identifiers_give_the_whole_and_the_parts() {
        check("INC-90037", "inc-90037 inc 90037");
        check("store_open", "store_open store open");
        check("parseFrame(", "parsefram pars frame");
        check("src/main.rs,", "src/main.rs src main rs");
        check("HTTPServer", "httpserver http server");
        check("utf8", "utf8 utf 8");
        check("std::fs::read", "std::fs::read std fs read");
        check("https://example.com/a?b=1", "https://example.com/a https exampl com b 1");
        check("v1.2.3", "v1.2.3 1 2 3");
        check("E0382", "e0382 0382");
        check("INC-301’s McDonald's", "inc-301 inc 301 mcdonald mc donald");
    }

    #[test]
    fn names_are_recognized_by_their_form() {
        let check = |query: &str, expected: &str| {
            let names = Tokenizer::new("english").unwrap().names(query);
            let names: Vec<String> = names.into_iter().map(|name| name.whole).collect();
            assert_eq!(names.join(" "), expected, "{query:?}");
        };
        check("what's INC-90037? INC-90037!", "inc-90037");
        check("who calls store_open and parseFrame", "store_open parsefram");
        check("src/main.rs, std::fs::read, E0382, v1.2.3", "src/main.rs std::fs::read e0382 v1.2.3");
        check("on 2026-11-21 at 3f9ac2e", "2026-11-21 3f9ac2e");
        check("a well-known e.g. PDFs O'Brien 42 HTTPServer", "");
        check("on the 2nd at 7:30pm, 3.50 for 90s, 24/7, 10km", "");
        check("utf8 s3 1.2.3 4chan h264", "utf8 s3 1.2.3 4chan h264");
    }

    #[test]
    fn a_url_may_have_names_in_its_path() {
        let check = |address: &str, expected: Option<&str>| {
            assert_eq!(names_in_url(address).as_deref(), expected, "{address}");
        };
        check("https://jira.example.com/browse/INC-305?from=INC-306", Some("INC-305 INC-306"));
        check("https://host-1/browse/tickets", None);
        check("browse/INC-305", None);
    }

    #[test]
    fn plain_words_are_not_identifiers() {
        check("PDFs NASA Hello", "pdfs nasa hello");
        check("wait...what yes--no", "wait what yes no");
        check("end. Next", "end next");
    }

    poc_laws::laws! {
        #[test]
        fn a_plain_run_is_one_word(run in "[A-Z]?[a-z]{1,40}") {
            prop_assert!(is_plain(&run));
            prop_assert_eq!(split_case(&run), vec![run.as_str()]);
            prop_assert_eq!(run.unicode_words().collect::<Vec<_>>(), vec![run.as_str()]);
        }
    }

    #[test]
    fn words_of_other_scripts_are_indexed() {
        check("дом 東京", "дом 東 京");
        assert_eq!(Tokenizer::new("russian").unwrap().terms("домами Чай"), ["дом", "ча"]);
        assert_eq!(Tokenizer::new("german").unwrap().terms("Häuser"), ["haus"]);
        assert_eq!(Tokenizer::new("none").unwrap().terms("Running Häuser"), ["running", "hauser"]);
    }

    #[test]
    fn a_query_drops_stop_words() {
        assert_eq!(query("What did she say about the harbour in Lisbon?"), "say harbour lisbon");
        assert_eq!(query("harbour Harbour harbours"), "harbour");
        assert_eq!(query("who are you"), "who are you");
        assert_eq!(query("what's INC-90037?"), "inc-90037 inc 90037");
        assert_eq!(query(""), "");
    }

    #[test]
    fn a_query_drops_function_words_of_its_language() {
        assert_eq!(query("Wie schwer ist das Radar?"), "schwer radar");
        assert_eq!(query("où est le radar"), "radar");
        assert_eq!(query("wer ist das"), "wer ist das");
        assert_eq!(query("das Radar"), "das radar");
        assert_eq!(query("what das Radar ist"), "das radar ist");
    }

    #[test]
    fn an_unknown_language_is_an_error() {
        let error = Tokenizer::new("klingon").err().unwrap();
        insta::assert_snapshot!(error, @"`text.language`: no stemmer for the language `klingon`");
        assert!(error.hint.unwrap().ends_with("tamil, turkish or none"));
    }

    poc_laws::laws! {
        #[test]
        fn any_text_gives_terms_of_bounded_length(text in any::<String>()) {
            for term in Tokenizer::new("english").unwrap().terms(&text) {
                prop_assert!(!term.is_empty() && term.len() <= MAX_TERM_BYTES);
            }
        }

        #[test]
        fn cached_terms_are_the_terms(texts in proptest::collection::vec("([a-zA-Zé0-9'_./-]{1,8} ){0,12}", 0..6)) {
            let (tokenizer, mut cache) = (Tokenizer::new("english").unwrap(), TermCache::default());
            for text in &texts {
                let cached = tokenizer.cached_terms(text, &mut cache);
                prop_assert_eq!(cached.iter().map(|term| &**term).collect::<Vec<_>>(), tokenizer.terms(text));
            }
        }

        #[test]
        fn case_does_not_matter_without_camel_case(text in "[a-z0-9 ._/-]{0,40}") {
            let tokenizer = Tokenizer::new("english").unwrap();
            prop_assert_eq!(tokenizer.terms(&text), tokenizer.terms(&text.to_uppercase()));
        }
    }
}
