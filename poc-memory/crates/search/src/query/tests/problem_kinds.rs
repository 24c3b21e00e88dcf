//! The message of each kind of problem.

use super::messages::error_text;
use super::parse;

/// Each correction in a hint is a pipeline that parses.
#[test]
fn corrections_can_be_run() {
    let texts = [
        ("match:a | match:b", "match:\"a b\""),
        ("similar:'one thing' | type:daily | similar:\"the other\"", "similar:\"one thing the other\""),
        ("age:7 days", "age:<7d"),
        ("age:> 2 weeks", "age:>2w"),
        ("age:7days", "age:<7d"),
        ("age < 24 hours", "age:<24h"),
        ("not-visited:linker,7 d", "not-visited:linker,7d"),
        ("!visited:linker,7 days", "!visited:linker,7d"),
        ("spread max_hops=3", "spread,max_hops=3"),
        ("spread max_hops=3 edge_decay=0.5", "spread,max_hops=3,edge_decay=0.5"),
        ("spread:max_hops=3", "spread,max_hops=3"),
        ("limit = 5", "limit:5"),
        ("limit=5", "limit:5"),
        ("limit 5", "limit:5"),
        ("type=daily", "type:daily"),
        ("type = daily", "type:daily"),
        ("weight > 0.5", "weight:>0.5"),
        ("weight>=0.5", "weight:>=0.5"),
        ("sort weight desc", "sort:weight desc"),
        ("similar where it rained", "similar:\"where it rained\""),
        ("tag:rust", "keyword:rust"),
        ("tags=rust", "keyword:rust"),
        ("top:5", "limit:5"),
        ("timestamp:<7d", "age:<7d"),
        ("date:<7d", "age:<7d"),
        ("degree=>2", "degree:>=2"),
        ("degree:=>2", "degree:>=2"),
        ("degree =< 2", "degree:<=2"),
        ("age:=<7d", "age:<=7d"),
        ("age =< 7 days", "age:<=7d"),
        ("since:=<2 days", "age:<=2d"),
        ("since:2 days", "age:<2d"),
        ("updated:2 days", "modified:<2d"),
        ("updated:2026-11-21", "modified:2026-11-21"),
        ("created 2026-11-21", "created:2026-11-21"),
        ("!since:yesterday", "!age:<7d"),
        ("diverse,lambda", "diverse,lambda=0.7"),
        ("limit:0", "limit:1"),
        ("limit:99999999999999999999999", "limit:18446744073709551615"),
        ("limit:-3", "limit:1"),
        ("hybrid:x,k=300", "hybrid:x,k=256"),
        ("diverse,lambda=2", "diverse,lambda=1"),
        ("match:x | spread,max_hops=99,edge_decay=0.5", "spread,max_hops=16,edge_decay=0.5"),
    ];
    for (text, expected) in texts {
        let message = error_text(text);
        let (_, hint) = message.rsplit_once("write `").unwrap_or_else(|| panic!("{text}: {message}"));
        let right = hint.trim_end_matches('`');
        assert_eq!(right, expected, "{message}");
        assert!(parse(right).is_ok(), "{right}");
    }
    // Without a value the syntax is shown.
    assert!(error_text("tag:").ends_with("hint: write `keyword:WORD`"), "{}", error_text("tag:"));
}

#[test]
fn each_kind_of_problem_has_its_own_message() {
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
        "hybrid",
        "hybrid:x,k=300",
        "hybird:x",
        "similar,k=5",
        "neighbors",
        "neighbors:b-tree,hops=0",
        "neighbors:b-tree,hop=2",
        "neighbors:a b",
        "diverse:x",
        "diverse,lambda=2",
        "diverse,lamda=0.5",
        "diverse,0.5",
        "!diverse",
        "confluence,min_sources=0",
        "confluence,sources=2",
        "all | neighbors:b-tree",
        "spectral,k=0",
        "spectral,n=5",
        "spectrl",
        "geodesic,max_path=99",
        "geodesic,max_hops=3",
        "manifold:x",
        "!manifold",
        "Type:daily",
        "!!type:daily",
    ];
    let all: Vec<String> = texts.iter().map(|text| error_text(text)).collect();
    insta::assert_snapshot!(all.join("\n\n"), @r#"
    the pipeline is empty
    hint: `all | limit:20` is a short one

    a stage is missing here
      all | | limit:5
            ^
    hint: write stages between single `|`

    a stage is missing here
      all |
           ^
    hint: write stages between single `|`

    unknown stage `blargh`
      blargh
      ^^^^^^
    hint: common stages are `all`, `match`, `key`, `keyword`, `type`, `age`, `sort` and `limit`; `poc-memory help search` lists all

    unknown stage `priority`
      priority:>3
      ^^^^^^^^
    hint: it is a field to sort by: `sort:priority`

    unknown stage `age_`
      age_:>3d
      ^^^^
    hint: did you mean `age`?

    `type` needs a note type
      type
      ^^^^
    hint: write `type:NAME`

    `type` needs a note type
      type:
          ^
    hint: write `type:NAME`

    `type` takes no further `b`
      type:daily,b
                 ^
    hint: write `type:NAME`

    unknown note type `episodc`
      type:episodc
           ^^^^^^^
    hint: did you mean `episodic`?

    unknown note type `saga`
      type:saga
           ^^^^
    hint: types are `episodic`, `daily`, `weekly`, `monthly`, `semantic`, `question`; add others under `[nodes] types`

    `limit` takes a whole number from 1, not `1.5`
      limit:1.5
            ^^^
    hint: write `limit:1`

    `limit` takes no further `5`
      limit:5,5
              ^
    hint: write `limit:N`

    `not-visited` takes a duration such as `7d`, `24h`, `30m`, not `7 days`
      not-visited:linker,7 days
                         ^^^^^^
    hint: write `not-visited:linker,7d`

    a parameter of `not-visited` is missing after this `,`
      not-visited:linker,
                        ^
    hint: write `not-visited:AGENT[,DURATION]`

    `[a` is not a glob for `key`: its `[` is never closed by a `]`
      key:[a
          ^^

    `b` does not belong to `key`
      key:a b
            ^
    hint: stages are divided by `|`; write a value with spaces in quotes

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

    `sort` has no field `size`
      sort:size
           ^^^^
    hint: fields are `priority`, `weight`, `timestamp`, `created`, `degree`, `content-len`, `key-len`, `score`, `visited:AGENT`

    `sort` has no field `visited`
      sort:visited
           ^^^^^^^
    hint: write `sort:visited:AGENT`

    `sort` has no field `priority:x`
      sort:priority:x
           ^^^^^^^^^^
    hint: write `sort:priority`

    `sort` has no field `age`
      sort:age
           ^^^
    hint: fields are `priority`, `weight`, `timestamp`, `created`, `degree`, `content-len`, `key-len`, `score`, `visited:AGENT`

    `sort` takes `asc` or `desc`, not `up`
      sort:weight up
                  ^^

    `desc` does not belong to `sort`
      sort:weight asc desc
                      ^^^^
    hint: stages are divided by `|`; write a value with spaces in quotes

    `!` cannot come before `all`, which is a generator
      !all
      ^
    hint: only a filter can be negated

    `!` cannot come before `limit`, which is a transform
      !limit:5
      ^
    hint: only a filter can be negated

    `all` produces a set and can only be the first stage
      limit:5 | all
                ^^^
    hint: put it first, or leave it out

    `spread` takes no argument after a `:`
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
    hint: write `spread,max_hops=16`

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
    hint: stages are divided by `|`; write a value with spaces in quotes

    a stage starts with its word, as in `type:daily`
      :x
      ^^

    a stage starts with its word, as in `type:daily`
      !
      ^

    `hybrid` needs a text
      hybrid
      ^^^^^^
    hint: write `hybrid:TEXT[,k=50][,derived=0]`; search terms in front serve as its text

    `k` of `hybrid` takes a whole number from 1 to 256, not `300`
      hybrid:x,k=300
               ^^^^^
    hint: write `hybrid:x,k=256`

    unknown stage `hybird`
      hybird:x
      ^^^^^^
    hint: did you mean `hybrid`?

    `similar` needs a text
      similar,k=5
      ^^^^^^^
    hint: write `similar:TEXT[,k=50]`; search terms in front serve as its text

    `neighbors` needs a key
      neighbors
      ^^^^^^^^^
    hint: write `neighbors:KEY[,hops=1]`

    `hops` of `neighbors` takes a whole number from 1 to 8, not `0`
      neighbors:b-tree,hops=0
                       ^^^^^^
    hint: write `neighbors:b-tree,hops=1`

    `neighbors` has no parameter `hop`
      neighbors:b-tree,hop=2
                       ^^^^^
    hint: did you mean `hops`?

    `b` does not belong to `neighbors`
      neighbors:a b
                  ^
    hint: stages are divided by `|`; write a value with spaces in quotes

    `diverse` takes no argument after a `:`
      diverse:x
             ^^
    hint: write `diverse[,lambda=0.7][,pool=1000]`

    `lambda` of `diverse` takes a number from 0 to 1, not `2`
      diverse,lambda=2
              ^^^^^^^^
    hint: write `diverse,lambda=1`

    `diverse` has no parameter `lamda`
      diverse,lamda=0.5
              ^^^^^^^^^
    hint: did you mean `lambda`?

    `diverse` takes no further `0.5`
      diverse,0.5
              ^^^
    hint: write `diverse[,lambda=0.7][,pool=1000]`

    `!` cannot come before `diverse`, which is a transform
      !diverse
      ^
    hint: only a filter can be negated

    `min_sources` of `confluence` takes a whole number from 1 to 10000, not `0`
      confluence,min_sources=0
                 ^^^^^^^^^^^^^
    hint: write `confluence,min_sources=1`

    `confluence` has no parameter `sources`
      confluence,sources=2
                 ^^^^^^^^^
    hint: did you mean `min_sources`?

    `neighbors` produces a set and can only be the first stage
      all | neighbors:b-tree
            ^^^^^^^^^
    hint: put it first, or leave it out

    `k` of `spectral` takes a whole number from 1 to 10000, not `0`
      spectral,k=0
               ^^^
    hint: write `spectral,k=1`

    `spectral` has no parameter `n`
      spectral,n=5
               ^^^
    hint: write `spectral[,k=20]`

    unknown stage `spectrl`
      spectrl
      ^^^^^^^
    hint: did you mean `spectral`?

    `max_path` of `geodesic` takes a whole number from 1 to 64, not `99`
      geodesic,max_path=99
               ^^^^^^^^^^^
    hint: write `geodesic,max_path=64`

    `geodesic` has no parameter `max_hops`
      geodesic,max_hops=3
               ^^^^^^^^^^
    hint: write `geodesic[,max_path=6][,k=20]`

    `manifold` takes no argument after a `:`
      manifold:x
              ^^
    hint: write `manifold[,k=20]`

    `!` cannot come before `manifold`, which is an algorithm
      !manifold
      ^
    hint: only a filter can be negated

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
