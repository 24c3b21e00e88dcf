//! Splits a message into chunks: overlapping windows of whole sentences.

use poc_graph::error::{Error, Result};
use std::ops::Range;

/// The languages with their own rules for sentences, as ISO 639 codes.
const LANGUAGES: [&str; 31] = [
    "am", "ar", "bg", "bn", "ca", "da", "de", "el", "en", "es", "fi", "fr", "gu", "hi", "hy", "it", "ja",
    "kk", "kn", "ml", "mr", "my", "nl", "pa", "pl", "pt", "ru", "sk", "ta", "te", "uk",
];

/// Checks a value of `[write] language`. Messages in a language without rules are split as if they were English.
///
/// # Errors
/// `invalid_config` if neither the language nor one that is related to it has rules.
pub fn check_language(language: &str) -> Result<()> {
    if LANGUAGES.contains(&language) || sentencex::languages::get_fallbacks(language).is_some() {
        return Ok(());
    }
    let known = LANGUAGES.join(", ");
    Err(Error::config(format!("no rules for sentences of the language `{language}`"))
        .hint(format!("give an ISO 639 code: one of {known}, or a language that is related to one of them"))
        .field("write.language"))
}

/// The trimmed chunks of a text, in order: windows of `chunk_window` sentences that start `chunk_stride`
/// sentences apart. Every sentence is in a chunk, and the last window ends the text and contains a sentence
/// that the one before does not. A text of a few sentences is one chunk; a blank text has none.
pub(super) fn chunks<'a>(text: &'a str, config: &poc_config::WriteConfig) -> Vec<&'a str> {
    let sentences = sentences(text, &config.language);
    let within = |window: Range<usize>| {
        let (first, last) = (sentences.get(window.start)?, sentences.get(window.end.checked_sub(1)?)?);
        text.get(first.start..last.end).map(str::trim)
    };
    windows(sentences.len(), config.chunk_window, config.chunk_stride)
        .into_iter()
        .filter_map(within)
        .collect()
}

/// The byte ranges of the sentences of a text, without blank ones.
pub(super) fn sentences(text: &str, language: &str) -> Vec<Range<usize>> {
    // Uses byte ranges, because the splitter drops blank lines of long texts from its sentences.
    let sentences = sentencex::get_sentence_boundaries(language, text).into_iter();
    sentences
        .filter(|sentence| !sentence.text.trim().is_empty())
        .map(|sentence| sentence.start_byte..sentence.end_byte)
        .collect()
}

/// Windows over `count` items, each of `size` items except for the last, which ends at `count`.
fn windows(count: usize, size: usize, stride: usize) -> Vec<Range<usize>> {
    let (size, stride) = (size.max(1), stride.max(1));
    let mut windows = Vec::new();
    let mut start = 0;
    while start < count {
        windows.push(start..count.min(start + size));
        if start + size >= count {
            break;
        }
        start += stride;
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_config::Config;
    use poc_graph::error::Code;
    use proptest::prelude::*;

    fn cut(text: &str) -> Vec<String> {
        let config = Config::defaults().unwrap().write;
        chunks(text, &config).into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn a_language_without_rules_is_an_error() {
        for known in ["en", "uk", "gsw"] {
            check_language(known).unwrap();
        }
        for unknown in ["", "EN", "english", "tlh"] {
            assert_eq!(check_language(unknown).unwrap_err().code, Code::InvalidConfig, "{unknown}");
        }
    }

    #[test]
    fn windows_of_three_by_two() {
        let of = |count| windows(count, 3, 2).into_iter().map(|w| (w.start, w.end)).collect::<Vec<_>>();
        assert_eq!(of(0), []);
        assert_eq!(of(1), [(0, 1)]);
        assert_eq!(of(3), [(0, 3)]);
        assert_eq!(of(4), [(0, 3), (2, 4)]);
        assert_eq!(of(5), [(0, 3), (2, 5)]);
        assert_eq!(of(6), [(0, 3), (2, 5), (4, 6)]);
        assert_eq!(of(7), [(0, 3), (2, 5), (4, 7)]);
    }

    #[test]
    fn abbreviations_do_not_end_a_sentence() {
        let reported = |text: &str| {
            let ranges = sentences(text, "en");
            ranges.into_iter().map(|range| text[range].trim().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            reported(
                "Dr. Smith lives in the U.S. Army base, e.g. on Mondays. He costs $3.50, i.e. little! Does he?\n\nMr. and Mrs. Jones do not"
            ),
            [
                "Dr. Smith lives in the U.S. Army base, e.g. on Mondays.",
                "He costs $3.50, i.e. little!",
                "Does he?",
                "Mr. and Mrs. Jones do not"
            ]
        );
        assert_eq!(
            reported("これは文です。もう一つの文です。 Was ist z.B. ein Baum? Ein Ding."),
            ["これは文です。", "もう一つの文です。", "Was ist z.B. ein Baum?", "Ein Ding."]
        );
    }

    #[test]
    fn chunks_overlap_by_a_sentence() {
        assert_eq!(
            cut("One is. Two is.\nThree is. Four is. Five is.  Six is."),
            ["One is. Two is.\nThree is.", "Three is. Four is. Five is.", "Five is.  Six is."]
        );
        assert_eq!(cut(" \n "), Vec::<String>::new());
        assert_eq!(cut("no end"), ["no end"]);
        assert_eq!(cut("..."), ["..."]);
    }

    poc_laws::laws! {
        #[test]
        fn windows_cover_everything_and_none_is_within_another(
            count in 0usize..200, size in 1usize..9, stride in 1usize..9,
        ) {
            let stride = stride.min(size);
            let windows = windows(count, size, stride);
            let covered: std::collections::BTreeSet<usize> = windows.iter().cloned().flatten().collect();
            prop_assert_eq!(covered.len(), count);
            for pair in windows.windows(2) {
                prop_assert_eq!(pair[1].start, pair[0].start + stride);
                prop_assert!(pair[1].end > pair[0].end);
            }
            prop_assert_eq!(windows.last().map_or(0, |last| last.end), count);
        }

        /// For any text, no sentence is lost, and the splitter neither panics nor changes a byte.
        #[test]
        fn every_sentence_is_in_a_chunk(text in "([A-Za-zé。 .!?\n\"()']|Dr\\. |e\\.g\\. |\\PC){0,120}") {
            let ranges = sentences(&text, "en");
            prop_assert_eq!(lost(&text, &ranges), "");
            let chunks = cut(&text);
            for range in ranges {
                let sentence = text[range].trim();
                prop_assert!(chunks.iter().any(|chunk| chunk.contains(sentence)), "{:?} {:?}", sentence, chunks);
            }
        }
    }

    /// The parts of a text, except white space, that no sentence or several sentences contain.
    fn lost(text: &str, ranges: &[Range<usize>]) -> String {
        let covering = |at: usize| ranges.iter().filter(|range| range.contains(&at)).count();
        text.char_indices()
            .filter(|(at, c)| !c.is_whitespace() && covering(*at) != 1)
            .map(|(_, c)| c)
            .collect()
    }

    poc_laws::laws! {
        #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]
        /// The splitter first splits long texts at blank lines.
        #[test]
        fn chunks_cover_all_of_a_long_text(
            paragraphs in proptest::collection::vec("([A-Za-zéß文字。🦀 ]{1,40}[.!?。] ?){1,6}", 30..60),
            gaps in proptest::collection::vec("\n{1,4}|\n\r\n| \n \n", 60),
        ) {
            let mut text = String::new();
            while text.len() <= 11_000 {
                for (paragraph, gap) in paragraphs.iter().zip(&gaps) {
                    text.push_str(paragraph);
                    text.push_str(gap);
                }
            }
            let ranges = sentences(&text, "en");
            prop_assert_eq!(lost(&text, &ranges), "");
            let config = Config::defaults().unwrap().write;
            let expected: Vec<&str> = windows(ranges.len(), config.chunk_window, config.chunk_stride)
                .into_iter()
                .map(|window| text[ranges[window.start].start..ranges[window.end - 1].end].trim())
                .collect();
            prop_assert_eq!(chunks(&text, &config), expected);
        }
    }

    #[test]
    fn a_paragraph_after_ten_kilobytes_is_not_split() {
        let paragraph =
            "Die Flut kommt um sechs Uhr früh. Das Wasser steht am höchsten Punkt. Es fällt wieder.";
        let text = [paragraph; 200].join("\n\n");
        let ranges = sentences(&text, "de");
        assert_eq!(ranges.len(), 600);
        let reported: Vec<&str> = ranges[597..].iter().map(|range| text[range.clone()].trim()).collect();
        assert_eq!(reported.join(" "), paragraph);
        assert_eq!(lost(&text, &ranges), "");
    }
}
