//! The messages of errors.

use super::{from_parts, parse};
use poc_graph::error::Code;

pub(super) fn error_text(text: &str) -> String {
    let error = parse(text).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
    match error.hint {
        Some(hint) => format!("{}\nhint: {hint}", error.message),
        None => error.message,
    }
}

#[test]
fn a_single_problem_is_shown_with_carets() {
    insta::assert_snapshot!(error_text("all | tpe:episodic | limit:20"), @r"
    unknown stage `tpe`
      all | tpe:episodic | limit:20
            ^^^
    hint: did you mean `type`?
    ");
}

#[test]
fn a_field_without_a_filter_has_a_hint() {
    insta::assert_snapshot!(error_text("source:rfc | limit:5"), @r"
    unknown stage `source`
      source:rfc | limit:5
      ^^^^^^
    hint: no stage filters by source: `provenance:NAME` filters by who or what stored a note
    ");
}

#[test]
fn all_problems_are_reported_together() {
    insta::assert_snapshot!(
        error_text("all | tpe:episodic | age:>7x | limit:0 | !sort:prioritty | match:x"), @r"
    6 problems in this pipeline
      all | tpe:episodic | age:>7x | limit:0 | !sort:prioritty | match:x
            ^^^ unknown stage `tpe`; did you mean `type`?
                               ^^^ `age` takes a duration, as in `>7d` or `<=24h`, not `>7x`
                                           ^ `limit` takes a whole number from 1, not `0`; write `limit:1`
                                               ^ `!` cannot come before `sort`, which is a transform; only a filter can be negated
                                                     ^^^^^^^^^ `sort` has no field `prioritty`; did you mean `priority`?
                                                                 ^^^^^ `match` produces a set and can only be the first stage; put it first, or leave it out
    ");
}

#[test]
fn terms_before_a_generator_are_an_error() {
    let error = from_parts(&["btree".into()], &["all".into()]).unwrap_err();
    insta::assert_snapshot!(format!("{}\n{}", error.message, error.hint.unwrap()), @r"
    `all` produces a set and can only be the first stage
      hybrid:btree | all
                     ^^^
    search terms already are the first stage, `hybrid:`
    ");
}

#[test]
fn a_missing_text_is_an_error() {
    let error_text = |terms: &[&str], stages: &[&str]| {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let error = from_parts(&owned(terms), &owned(stages)).unwrap_err();
        format!("{}\n{}", error.message, error.hint.unwrap_or_default())
    };
    insta::assert_snapshot!(error_text(&[], &["hybrid | limit:20"]), @r"
    `hybrid` needs a text
      hybrid | limit:20
      ^^^^^^
    write `hybrid:TEXT[,k=50][,derived=0]`; search terms in front serve as its text
    ");
    insta::assert_snapshot!(error_text(&["btree"], &["hybrid:x"]), @r#"
    `hybrid` produces a set and can only be the first stage
      hybrid:btree | hybrid:x
                     ^^^^^^
    one stage takes the words of both: write `hybrid:"btree x"`
    "#);
    insta::assert_snapshot!(error_text(&["btree"], &["hybrid x"]), @r"
    2 problems in this pipeline
      hybrid:btree | hybrid x
                     ^^^^^^ `hybrid` produces a set and can only be the first stage; search terms already are the first stage, `hybrid:`
                            ^ `hybrid` takes a text after a `:`; write `hybrid:x`
    ");
}

#[test]
fn carets_are_under_characters_not_bytes() {
    insta::assert_snapshot!(error_text("key:\"größe 日本\" | tpe:x | key:é[a"), @r#"
    2 problems in this pipeline
      key:"größe 日本" | tpe:x | key:é[a
                         ^^^ unknown stage `tpe`; did you mean `type`?
                                     ^^^ `é[a` is not a glob for `key`: its `[` is never closed by a `]`
    "#);
    insta::assert_snapshot!(error_text("größe:日本"), @r"
    unknown stage `größe`
      größe:日本
      ^^^^^
    hint: common stages are `all`, `match`, `key`, `keyword`, `type`, `age`, `sort` and `limit`; `poc-memory help search` lists all
    ");
}

#[test]
fn long_and_multi_line_pipelines_are_shown_in_part() {
    insta::assert_snapshot!(error_text("all\n| type:daily\n| limt:3\n| limit:x"), @r"
    2 problems in this pipeline
      | limt:3
        ^^^^ unknown stage `limt`; did you mean `limit`?
      | limit:x
              ^ `limit` takes a whole number from 1, not `x`
    ");
    let long = format!("all{} | limti:3", " | type:daily".repeat(30));
    insta::assert_snapshot!(error_text(&long), @r"
    unknown stage `limti`
      …| type:daily | type:daily | type:daily | type:daily | type:daily | type:daily | limti:3
                                                                                       ^^^^^
    hint: did you mean `limit`?
    ");
    let many = vec!["x"; 70].join("|");
    insta::assert_snapshot!(error_text(&many), @r"
    65 problems in this pipeline
      x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x
      ^ unknown stage `x`; common stages are `all`, `match`, `key`, `keyword`, `type`, `age`, `sort` and `limit`; `poc-memory help search` lists all
        ^ unknown stage `x`; common stages are `all`, `match`, `key`, `keyword`, `type`, `age`, `sort` and `limit`; `poc-memory help search` lists all
          ^ unknown stage `x`; common stages are `all`, `match`, `key`, `keyword`, `type`, `age`, `sort` and `limit`; `poc-memory help search` lists all
            ^ unknown stage `x`; common stages are `all`, `match`, `key`, `keyword`, `type`, `age`, `sort` and `limit`; `poc-memory help search` lists all
              ^ unknown stage `x`; common stages are `all`, `match`, `key`, `keyword`, `type`, `age`, `sort` and `limit`; `poc-memory help search` lists all
                ^ unknown stage `x`; common stages are `all`, `match`, `key`, `keyword`, `type`, `age`, `sort` and `limit`; `poc-memory help search` lists all
                  ^ unknown stage `x`; common stages are `all`, `match`, `key`, `keyword`, `type`, `age`, `sort` and `limit`; `poc-memory help search` lists all
                    ^ unknown stage `x`; common stages are `all`, `match`, `key`, `keyword`, `type`, `age`, `sort` and `limit`; `poc-memory help search` lists all
                      ^ unknown stage `x`; common stages are `all`, `match`, `key`, `keyword`, `type`, `age`, `sort` and `limit`; `poc-memory help search` lists all
                        ^ unknown stage `x`; common stages are `all`, `match`, `key`, `keyword`, `type`, `age`, `sort` and `limit`; `poc-memory help search` lists all
      … and 55 more
    ");
    insta::assert_snapshot!(error_text(&"x".repeat(70_000)), @r"
    a pipeline of 70000 bytes is too long
    hint: at most 65536 bytes are allowed
    ");
}
