//! What people are told.

use super::{from_parts, parse};
use crate::error::Code;

fn told(text: &str) -> String {
    let error = parse(text).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
    match error.hint {
        Some(hint) => format!("{}\nhint: {hint}", error.message),
        None => error.message,
    }
}

#[test]
fn one_problem() {
    insta::assert_snapshot!(told("all | tpe:episodic | limit:20"), @r"
    unknown stage `tpe`
      all | tpe:episodic | limit:20
            ^^^
    hint: did you mean `type`?
    ");
}

#[test]
fn all_problems_together() {
    insta::assert_snapshot!(
        told("all | tpe:episodic | age:>7x | limit:0 | !sort:prioritty | match:x"), @r"
    6 problems in this pipeline
      all | tpe:episodic | age:>7x | limit:0 | !sort:prioritty | match:x
            ^^^ unknown stage `tpe`; did you mean `type`?
                               ^^^ `age` takes a duration, as in `>7d` or `<=24h`, not `>7x`
                                           ^ `limit` takes a whole number from 1, not `0`
                                               ^ `!` cannot stand before `sort`, which is a transform; only a filter can be negated
                                                     ^^^^^^^^^ `sort` knows no field `prioritty`; did you mean `priority`?
                                                                 ^^^^^ `match` produces a set and can only be the first stage; put it first, or leave it out
    ");
}

#[test]
fn each_kind_of_problem() {
    let texts = [
        "",
        "all | | limit:5",
        "all |",
        "blargh",
        "priority:>3",
        "age_:>3d",
        "type",
        "type:",
        "type:daily,b",
        "type:episodc",
        "type:saga",
        "limit:1.5",
        "limit:5,5",
        "not-visited:linker,7 days",
        "not-visited:linker,",
        "key:[a",
        "key:a b",
        "state:stael",
        "weight:heavy",
        "weight:>-1",
        "sort:size",
        "sort:visited",
        "sort:priority:x",
        "sort:age",
        "sort:weight up",
        "sort:weight asc desc",
        "!all",
        "!limit:5",
        "limit:5 | all",
        "spread:x",
        "spread,hops=2",
        "spread,max_hop=2",
        "spread,max_hops=99",
        "spread,max_hops=2,max_hops=3",
        "spread,max_hops=",
        "spread,3",
        "similar:\"\"",
        "match:\"open | limit:5",
        "match:\"a\"b",
        "all foo",
        ":x",
        "!",
        "hybrid:\"x\"",
        "Type:daily",
        "!!type:daily",
    ];
    let all: Vec<String> = texts.iter().map(|text| told(text)).collect();
    insta::assert_snapshot!(all.join("\n\n"), @r#"
    the pipeline is empty
    hint: `all | limit:20` is a short one

    a stage is missing here
      all | | limit:5
            ^
    hint: stages stand between single `|`

    a stage is missing here
      all |
           ^
    hint: stages stand between single `|`

    unknown stage `blargh`
      blargh
      ^^^^^^
    hint: `poc-memory search --help` lists every stage

    unknown stage `priority`
      priority:>3
      ^^^^^^^^
    hint: it is a field to sort by: `sort:priority`

    unknown stage `age_`
      age_:>3d
      ^^^^
    hint: did you mean `age`?

    `type` needs a node type
      type
      ^^^^
    hint: write `type:NAME`

    `type` needs a node type
      type:
          ^
    hint: write `type:NAME`

    `type` takes no further `b`
      type:daily,b
                 ^
    hint: write `type:NAME`

    unknown node type `episodc`
      type:episodc
           ^^^^^^^
    hint: did you mean `episodic`?

    unknown node type `saga`
      type:saga
           ^^^^
    hint: types are `episodic`, `daily`, `weekly`, `monthly`, `semantic`; add others under `[nodes] types`

    `limit` takes a whole number from 1, not `1.5`
      limit:1.5
            ^^^

    `limit` takes no further `5`
      limit:5,5
              ^
    hint: write `limit:N`

    `days` does not belong to `not-visited`
      not-visited:linker,7 days
                           ^^^^
    hint: stages are divided by `|`; a value with spaces stands in quotes

    a parameter of `not-visited` is missing behind this `,`
      not-visited:linker,
                        ^
    hint: write `not-visited:AGENT[,DURATION]`

    `[a` is not a glob for `key`: its `[` is never closed by a `]`
      key:[a
          ^^

    `b` does not belong to `key`
      key:a b
            ^
    hint: stages are divided by `|`; a value with spaces stands in quotes

    `state` takes a state: `active`, `stale`, `superseded`, `expired`, not `stael`
      state:stael
            ^^^^^
    hint: did you mean `stale`?

    `weight` takes a number from 0, as in `>0.5`, `<=100` or `7`, not `heavy`
      weight:heavy
             ^^^^^

    `weight` takes a number from 0, as in `>0.5`, `<=100` or `7`, not `>-1`
      weight:>-1
             ^^^

    `sort` knows no field `size`
      sort:size
           ^^^^
    hint: fields are `priority`, `weight`, `timestamp`, `created`, `degree`, `content-len`, `key-len`, `score`, `visited:AGENT`

    `sort` knows no field `visited`
      sort:visited
           ^^^^^^^
    hint: write `sort:visited:AGENT`

    `sort` knows no field `priority:x`
      sort:priority:x
           ^^^^^^^^^^
    hint: write `sort:priority`

    `sort` knows no field `age`
      sort:age
           ^^^
    hint: fields are `priority`, `weight`, `timestamp`, `created`, `degree`, `content-len`, `key-len`, `score`, `visited:AGENT`

    `sort` takes `asc` or `desc`, not `up`
      sort:weight up
                  ^^

    `desc` does not belong to `sort`
      sort:weight asc desc
                      ^^^^
    hint: stages are divided by `|`; a value with spaces stands in quotes

    `!` cannot stand before `all`, which is a generator
      !all
      ^
    hint: only a filter can be negated

    `!` cannot stand before `limit`, which is a transform
      !limit:5
      ^
    hint: only a filter can be negated

    `all` produces a set and can only be the first stage
      limit:5 | all
                ^^^
    hint: put it first, or leave it out

    `spread` takes nothing behind a `:`
      spread:x
            ^^
    hint: write `spread[,max_hops=3][,edge_decay=0.3][,min_activation=0.005]`

    `spread` has no parameter `hops`
      spread,hops=2
             ^^^^^^
    hint: write `spread[,max_hops=3][,edge_decay=0.3][,min_activation=0.005]`

    `spread` has no parameter `max_hop`
      spread,max_hop=2
             ^^^^^^^^^
    hint: did you mean `max_hops`?

    `max_hops` of `spread` takes a whole number from 1 to 16, not `99`
      spread,max_hops=99
             ^^^^^^^^^^^

    `max_hops` of `spread` is given twice
      spread,max_hops=2,max_hops=3
                        ^^^^^^^^^^
    hint: write `spread[,max_hops=3][,edge_decay=0.3][,min_activation=0.005]`

    `max_hops` of `spread` needs a whole number from 1 to 16
      spread,max_hops=
             ^^^^^^^^^

    `spread` takes no further `3`
      spread,3
             ^
    hint: write `spread[,max_hops=3][,edge_decay=0.3][,min_activation=0.005]`

    `similar` needs a text
      similar:""
              ^^

    this `"` is never closed
      match:"open | limit:5
            ^
    hint: close it with another `"`

    text follows a closing quote directly
      match:"a"b
               ^
    hint: put all of the value in quotes; inside, `"` is written `""`

    `foo` does not belong to `all`
      all foo
          ^^^
    hint: stages are divided by `|`; a value with spaces stands in quotes

    a stage starts with its word, as in `type:daily`
      :x
      ^^

    a stage starts with its word, as in `type:daily`
      !
      ^

    unknown stage `hybrid`
      hybrid:"x"
      ^^^^^^
    hint: `poc-memory search --help` lists every stage

    unknown stage `Type`
      Type:daily
      ^^^^
    hint: did you mean `type`?

    a second `!`
      !!type:daily
       ^
    hint: one `!` negates a filter
    "#);
}

#[test]
fn terms_and_a_generator() {
    let error = from_parts(&["btree".into()], &["all".into()]).unwrap_err();
    insta::assert_snapshot!(format!("{}\n{}", error.message, error.hint.unwrap()), @r"
    `all` produces a set and can only be the first stage
      match:btree | all
                    ^^^
    search terms already are the first stage, `match:`
    ");
}

#[test]
fn long_and_many_lined_pipelines() {
    insta::assert_snapshot!(told("all\n| type:daily\n| limt:3\n| limit:x"), @r"
    2 problems in this pipeline
      | limt:3
        ^^^^ unknown stage `limt`; did you mean `limit`?
      | limit:x
              ^ `limit` takes a whole number from 1, not `x`
    ");
    let long = format!("all{} | limti:3", " | type:daily".repeat(30));
    insta::assert_snapshot!(told(&long), @r"
    unknown stage `limti`
      …| type:daily | type:daily | type:daily | type:daily | type:daily | type:daily | limti:3
                                                                                       ^^^^^
    hint: did you mean `limit`?
    ");
    let many = vec!["x"; 70].join("|");
    insta::assert_snapshot!(told(&many), @r"
    65 problems in this pipeline
      x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x|x
      ^ unknown stage `x`; `poc-memory search --help` lists every stage
        ^ unknown stage `x`; `poc-memory search --help` lists every stage
          ^ unknown stage `x`; `poc-memory search --help` lists every stage
            ^ unknown stage `x`; `poc-memory search --help` lists every stage
              ^ unknown stage `x`; `poc-memory search --help` lists every stage
                ^ unknown stage `x`; `poc-memory search --help` lists every stage
                  ^ unknown stage `x`; `poc-memory search --help` lists every stage
                    ^ unknown stage `x`; `poc-memory search --help` lists every stage
                      ^ unknown stage `x`; `poc-memory search --help` lists every stage
                        ^ unknown stage `x`; `poc-memory search --help` lists every stage
      … and 55 more
    ");
    insta::assert_snapshot!(told(&"x".repeat(70_000)), @r"
    a pipeline of 70000 bytes is too long
    hint: at most 65536 bytes are read
    ");
}
