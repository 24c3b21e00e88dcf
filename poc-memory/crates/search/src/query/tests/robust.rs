//! Any input gives either an error or a pipeline, and the printed text of a pipeline parses to the same pipeline.

use super::{from_parts, parse};
use crate::query::vocabulary;
use proptest::prelude::*;

/// Pieces of the grammar, well- and ill-formed.
fn fragment() -> impl Strategy<Value = String> {
    let words: Vec<&'static str> = vocabulary().iter().map(|stage| stage.word).collect();
    let pieces = vec![
        "|",
        " | ",
        ":",
        ",",
        "=",
        "!",
        " ",
        "\"",
        "'",
        "\"\"",
        "asc",
        "desc",
        "priority",
        "visited:a",
        "max_hops=2",
        "k=5",
        "hops=2",
        "lambda=0.5",
        "max_path=3",
        "min_sources=1",
        "min_sim=0.5",
        ">",
        "<=",
        "7d",
        "24h",
        "1.5",
        "0",
        "20",
        "episodic",
        "linker",
        "*",
        "[a-z]",
        "[",
        "]",
        "superseded",
        "\n",
        "\t",
        "é",
        "日本",
        "\u{202e}",
        "a b",
        "'a | b'",
        "\"c, d\"",
        "99999999999999999999",
    ];
    prop_oneof![
        3 => proptest::sample::select(words).prop_map(str::to_owned),
        4 => proptest::sample::select(pieces).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ]
}

fn input() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::collection::vec(fragment(), 0..14).prop_map(|pieces| pieces.concat()),
        1 => proptest::collection::vec(any::<char>(), 0..40).prop_map(|chars| chars.into_iter().collect()),
    ]
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig { cases: 100_000, ..ProptestConfig::default() })]
    #[test]
    fn any_input_parses_or_is_an_error(text in input()) {
        match parse(&text) {
            Ok(pipeline) => {
                let printed = pipeline.to_string();
                let again = parse(&printed);
                prop_assert_eq!(again.as_ref().map(ToString::to_string), Ok(printed));
                prop_assert_eq!(again, Ok(pipeline));
            }
            Err(error) => prop_assert!(!error.message.is_empty()),
        }
    }
}

poc_laws::laws! {
    /// Terms are always searched for literally.
    #[test]
    fn terms_are_searched_for_literally(terms in proptest::collection::vec("\\PC{1,8}", 1..4)) {
        prop_assume!(terms.iter().any(|term| !term.trim().is_empty()));
        let pipeline = from_parts(&terms, &["limit:3".into()]).unwrap();
        prop_assert_eq!(parse(&pipeline.to_string()), Ok(pipeline));
    }
}

/// Not in time that grows with the square of their number, which would be minutes.
#[test]
fn a_mistake_at_each_character_is_reported() {
    let at = parse(&"!".repeat(60_000)).unwrap_err().at.unwrap();
    let problems = &at.pipelines[0].problems;
    assert_eq!(problems.len(), 60_000);
    assert_eq!(problems.iter().map(|problem| problem.offset).max(), Some(59_999));
}
