//! Saved pipelines: how names are replaced, and the errors of invalid ones.

use super::NAMES;
use super::sample::notes;
use crate::query::{Names, Pipeline, vocabulary};
use poc_config::SavedPipeline;
use poc_graph::error::{Code, Error, ErrorLocation, Result};
use proptest::prelude::*;

fn saved(pipelines: &[(&str, &str)]) -> Names {
    let saved =
        pipelines.iter().map(|(name, text)| ((*name).to_owned(), SavedPipeline::from((*text).to_owned())));
    NAMES.clone().with_saved(saved.collect())
}

/// Valid pipelines.
fn sound() -> Names {
    saved(&[
        ("episodes", "type:episodic"),
        ("due", "@episodes | not-visited:linker,7d | sort:priority"),
        ("near", "match:b-tree | spread"),
        ("three", "limit:3"),
        ("nearest", "@near | @three"),
    ])
}

fn error_text(error: &Error) -> String {
    match &error.hint {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    }
}

#[test]
fn a_name_is_replaced_by_its_stages() {
    let names = sound();
    let check = |text: &str, expected: &str| {
        let pipeline = Pipeline::parse(text, &names).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert_eq!(pipeline.to_string(), expected);
        assert_eq!(Pipeline::parse(expected, &NAMES).unwrap(), pipeline);
    };
    check("@episodes", "all | type:episodic");
    check("all|@due |limit:2", "all | type:episodic | not-visited:linker,7d | sort:priority | limit:2");
    check("@near", "match:b-tree | spread");
    check("@nearest | @episodes", "match:b-tree | spread | limit:3 | type:episodic");
    check("@episodes | @episodes", "all | type:episodic | type:episodic");
    let parts = |terms: &[&str], stages: &[&str]| {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        Pipeline::from_parts(&owned(terms), &owned(stages), &names).unwrap().to_string()
    };
    assert_eq!(parts(&["wal"], &["spread", "@three"]), "hybrid:wal | limit:5 | spread | limit:3");
    assert_eq!(parts(&[], &["@near", "limit:1"]), "match:b-tree | spread | limit:1");
}

#[test]
fn an_error_in_a_saved_pipeline_has_its_position_in_the_settings() {
    let at = ErrorLocation { file: Some("config.toml".into()), line: Some(2), ..ErrorLocation::default() };
    let broken = SavedPipeline { text: "tpye:x".to_owned(), at };
    let names = NAMES.clone().with_saved([("broken".to_owned(), broken)].into());
    let located = |text: &str| names.locate(Pipeline::parse(text, &names).unwrap_err()).to_string();
    assert!(located("@broken").starts_with("config.toml:2: in the saved pipeline `@broken`: unknown stage"));
    assert!(located("tpye:y").starts_with("unknown stage"));
}

#[test]
fn a_pipeline_says_how_time_changes_its_result() {
    let names = sound();
    let parse = |text: &str| Pipeline::parse(text, &names).unwrap();
    for (text, expected) in [
        ("all | type:episodic | not-visited:linker,7d | limit:20", false),
        ("all | content-len:>100 | sort:created asc | state:expired", false),
        ("all | created:>1h | age:<7d", false),
        ("all | created:2026-11-21 | modified:<2026-11-21", false),
        ("all | weight:>0.5", true),
        ("all | sort:weight", true),
        ("@due", true),
        ("match:b-tree", true),
        ("all | diverse", true),
    ] {
        assert_eq!(parse(text).depends_on_clock(), expected, "{text}");
    }
    let ages = |text: &str| parse(text).note_ages().map(|age| age.to_string()).collect::<Vec<_>>();
    assert_eq!(ages("all | created:>1h | !age:<7d | weight:>0.5 | not-visited:a,2d"), ["1h", "1w"]);
    let pipeline = parse("all | !visited:a,2d | not-visited:b | visited:c,3h");
    let ages: Vec<String> = pipeline.visit_ages().map(|(agent, age)| format!("{agent} {age}")).collect();
    assert_eq!(ages, ["a 2d", "c 3h"]);
}

#[test]
fn a_saved_pipeline_behaves_like_its_text() {
    let (names, world) = (sound(), notes());
    let parse = |text: &str| Pipeline::parse(text, &names).unwrap();
    let due = parse("@due | limit:20");
    assert!(due.is_scan() && !parse("@near").is_scan());
    assert!(parse("@episodes").only_filters() && !due.only_filters());
    assert_eq!(due.not_visited("linker").flatten().unwrap().to_string(), "1w");
    assert_eq!(due.saved().collect::<Vec<_>>(), ["due", "episodes"]);
    assert_eq!(due.without_final_order().to_string(), "all | type:episodic | not-visited:linker,7d");
    assert_eq!(due.without_visits_of("linker").to_string(), "all | type:episodic | sort:priority | limit:20");
    assert_eq!(parse("@episodes").filter_nodes(&world.sources(), &[0, 2, 3]).unwrap(), [2, 3]);
    let (set, explanation) = due.run(&world.sources()).unwrap();
    assert_eq!(world.view.key(set.items[0].ix), "session#2");
    let lines: Vec<String> = explanation
        .stages
        .iter()
        .map(|stage| {
            format!("{}: {} of {}", stage.stage, stage.output, stage.saved.as_deref().unwrap_or("-"))
        })
        .collect();
    assert_eq!(
        lines,
        [
            "all: 8 of -",
            "type:episodic: 2 of episodes",
            "not-visited:linker,7d: 1 of due",
            "sort:priority: 1 of due",
            "limit:20: 1 of -",
        ]
    );
    assert!(explanation.to_string().contains("keeps notes of type `episodic` (from `@episodes`)"));
}

#[test]
fn search_terms_complete_a_saved_pipeline() {
    let names =
        saved(&[("deep", "hybrid,k=100 | spread"), ("deeper", "@deep | limit:3"), ("due", "age:<7d")]);
    let with = |terms: &[&str], stages: &[&str]| {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        Pipeline::from_parts(&owned(terms), &owned(stages), &names).map(|pipeline| pipeline.to_string())
    };
    let deeper = Ok("hybrid:\"a | b\",k=100 | spread | limit:3 | age:<7d".to_owned());
    assert_eq!(with(&["a", "|", "b"], &["@deeper | @due"]), deeper);
    assert_eq!(with(&["a"], &["@due"]), Ok("hybrid:a | age:<7d".into()));
    assert_eq!(names.check("deeper").unwrap().to_string(), "hybrid:TERMS,k=100 | spread | limit:3");
    insta::assert_snapshot!(error_text(&Pipeline::parse("@deeper", &names).unwrap_err()), @r"
    in the saved pipeline `@deep`: `hybrid` needs a text
      hybrid,k=100 | spread
      ^^^^^^
    hint: write `hybrid:TEXT[,k=50][,derived=0]`; search terms in front serve as its text
    ");
    insta::assert_snapshot!(error_text(&with(&["a"], &["limit:3 | @deep"]).unwrap_err()), @r"
    2 problems in this pipeline
      hybrid:a | limit:3 | @deep
                           ^^^^^ `@deep` starts with `hybrid` and can only be the first stage; search terms already are the first stage, `hybrid:`
      in the saved pipeline `@deep`:
      hybrid,k=100 | spread
      ^^^^^^ `hybrid` needs a text; write `hybrid:TEXT[,k=50][,derived=0]`; search terms in front serve as its text
    ");
}

#[test]
fn each_kind_of_problem_has_its_own_message() {
    let names = saved(&[
        ("episodes", "type:episodic"),
        ("near", "match:b-tree | spread"),
        ("typo", "all | tpye:episodic"),
        ("wrapped", "@typo | limit:5"),
        ("many", "tpye:x | limit:no"),
        ("late", "type:daily | match:x"),
        ("empty", "  "),
        ("one", "type:daily | @two"),
        ("two", "@three"),
        ("three", "@one | limit:2"),
        ("self", "@self"),
        ("Capital", "all"),
    ]);
    let texts = [
        "@episods",
        "all | @nothing-like-it",
        "@",
        "@ episodes",
        "!@episodes",
        "@episodes:x | @episodes,y | @episodes z",
        "limit:5 | @near",
        "match:wal | @near",
        "@typo",
        "@wrapped | limt:5",
        "@typo | @typo | @many",
        "@many",
        "@late",
        "@empty",
        "@one",
        "@self",
        "@Capital",
        "episodes",
    ];
    let all: Vec<String> =
        texts.iter().map(|text| error_text(&Pipeline::parse(text, &names).unwrap_err())).collect();
    insta::assert_snapshot!(all.join("\n\n"), @r#"
    there is no saved pipeline `@episods`
      @episods
      ^^^^^^^^
    hint: did you mean `@episodes`?

    there is no saved pipeline `@nothing-like-it`
      all | @nothing-like-it
            ^^^^^^^^^^^^^^^^
    hint: saved are `@empty`, `@episodes`, `@late`, `@many`, `@near`, `@one`, `@self`, `@three`, `@two`, `@typo`; save one in config.toml under `[pipelines]`: `recent = "age:<7d | limit:20"`

    a name is missing after this `@`
      @
      ^
    hint: `@NAME` is the pipeline saved as NAME

    a name is missing after this `@`
      @ episodes
      ^
    hint: `@NAME` is the pipeline saved as NAME

    `!` cannot come before `@episodes`, a saved pipeline
      !@episodes
      ^
    hint: only a filter can be negated

    3 problems in this pipeline
      @episodes:x | @episodes,y | @episodes z
               ^^ `@episodes` takes no arguments; write further stages after a `|`
                             ^^ `@episodes` takes no arguments; write further stages after a `|`
                                           ^^ `@episodes` takes no arguments; write further stages after a `|`

    `@near` starts with `match` and can only be the first stage
      limit:5 | @near
                ^^^^^
    hint: put it first, or leave it out

    `@near` starts with `match` and can only be the first stage
      match:wal | @near
                  ^^^^^
    hint: put it first, or leave it out

    in the saved pipeline `@typo`: unknown stage `tpye`
      all | tpye:episodic
            ^^^^
    hint: did you mean `type`?

    2 problems in this pipeline
      @wrapped | limt:5
                 ^^^^ unknown stage `limt`; did you mean `limit`?
      in the saved pipeline `@typo`:
      all | tpye:episodic
            ^^^^ unknown stage `tpye`; did you mean `type`?

    3 problems in this pipeline
      in the saved pipeline `@typo`:
      all | tpye:episodic
            ^^^^ unknown stage `tpye`; did you mean `type`?
      in the saved pipeline `@many`:
      tpye:x | limit:no
      ^^^^ unknown stage `tpye`; did you mean `type`?
                     ^^ `limit` takes a whole number from 1, not `no`

    2 problems in the saved pipeline `@many`
      tpye:x | limit:no
      ^^^^ unknown stage `tpye`; did you mean `type`?
                     ^^ `limit` takes a whole number from 1, not `no`

    in the saved pipeline `@late`: `match` produces a set and can only be the first stage
      type:daily | match:x
                   ^^^^^
    hint: put it first, or leave it out

    in the saved pipeline `@empty`: the pipeline is empty
    hint: `all | limit:20` is a short one

    in the saved pipeline `@three`: `@one` contains itself: `@one` → `@two` → `@three` → `@one`
      @one | limit:2
      ^^^^
    hint: remove one of these references

    in the saved pipeline `@self`: `@self` contains itself: `@self` → `@self`
      @self
      ^^^^^
    hint: remove one of these references

    `Capital` is not a valid name for a saved pipeline
      @Capital
      ^^^^^^^^
    hint: write lower-case words with `-` between them: `recent-sessions`

    unknown stage `episodes`
      episodes
      ^^^^^^^^
    hint: the saved pipeline is `@episodes`
    "#);
    let without = error_text(&Pipeline::parse("@recent", &NAMES).unwrap_err());
    insta::assert_snapshot!(without, @r#"
    there is no saved pipeline `@recent`
      @recent
      ^^^^^^^
    hint: save one in config.toml under `[pipelines]`: `recent = "age:<7d | limit:20"`
    "#);
}

#[test]
fn an_error_contains_the_problems_as_data() {
    let names = saved(&[("typo", "all | tpye:épisodic")]);
    let error = Pipeline::parse("@typo | key:é* | limit:0", &names).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
    insta::assert_snapshot!(serde_json::to_string_pretty(&error.at).unwrap(), @r#"
    {
      "pipelines": [
        {
          "text": "@typo | key:é* | limit:0",
          "problems": [
            {
              "offset": 23,
              "length": 1,
              "message": "`limit` takes a whole number from 1, not `0`",
              "hint": "write `limit:1`"
            }
          ]
        },
        {
          "text": "all | tpye:épisodic",
          "saved": "typo",
          "problems": [
            {
              "offset": 6,
              "length": 4,
              "message": "unknown stage `tpye`",
              "hint": "did you mean `type`?"
            }
          ]
        }
      ]
    }
    "#);
    assert_eq!(
        error.line(),
        "2 problems in this pipeline: `limit` takes a whole number from 1, not `0`; unknown stage `tpye`"
    );
}

#[test]
fn saved_pipelines_are_checked_in_the_settings() {
    let file = "# mine\n[pipelines]\nrecent = \"age:<7d\"\ntypo = \"all | tpye:x\"\n\"My Own\" = \"all\"\n";
    let variables = [("POC_MEMORY__PIPELINES__FROM_OUTSIDE".to_owned(), "limit:none".to_owned())];
    let config = poc_config::Config::layered(Some(("config.toml", file)), variables.into_iter()).unwrap();
    let names = Names::of(&config);
    assert_eq!(names.check("recent").unwrap().to_string(), "all | age:<7d");
    let problems: Vec<String> = names.problems().iter().map(error_text).collect();
    insta::assert_snapshot!(problems.join("\n\n"), @r"
    config.toml:5:1: `My Own` is not a valid name for a saved pipeline
    hint: write lower-case words with `-` between them: `recent-sessions`

    `POC_MEMORY__PIPELINES__FROM_OUTSIDE`: in the saved pipeline `@from-outside`: `limit` takes a whole number from 1, not `none`
      limit:none
            ^^^^

    config.toml:4:1: in the saved pipeline `@typo`: unknown stage `tpye`
      all | tpye:x
            ^^^^
    hint: did you mean `type`?
    ");
    assert!(names.problems().iter().all(|error| error.code == Code::InvalidConfig));
    assert_eq!(names.check("nobody").unwrap_err().code, Code::NotFound);
}

#[test]
fn a_hundred_broken_pipelines_are_listed() {
    let lines = (0..4_000).map(|number| format!("broken-{number:04} = \"all | tpye:x\"\n"));
    let file = format!("[pipelines]\nsound = \"all\"\n{}", lines.collect::<String>());
    let config = poc_config::Config::layered(Some(("config.toml", &file)), std::iter::empty()).unwrap();
    assert_eq!(config.pipelines["broken-3999"].at.line, Some(4_002));
    let names = Names::of(&config);
    assert_eq!(names.all_problems().count(), 4_000);
    let problems: Vec<String> = names.problems().iter().map(Error::line).collect();
    assert_eq!(problems.len(), 101);
    assert!(problems[99].starts_with("config.toml:102:1: "), "{}", problems[99]);
    assert_eq!(problems[100], "more than 100 saved pipelines are broken; the others are not listed");
}

#[test]
fn saved_pipelines_are_bounded() {
    let levels = |count: usize, text: &dyn Fn(usize) -> String| {
        let level = |at: usize| (format!("l{at}"), SavedPipeline::from(text(at)));
        NAMES.clone().with_saved((0..count).map(level).collect())
    };
    let parse = |names: &Names| Pipeline::parse("@l0", names).map(|pipeline| pipeline.calls.len());
    let chain = |count: usize| {
        levels(count, &|at| if at + 1 == count { "limit:1".into() } else { format!("@l{}", at + 1) })
    };
    assert_eq!(parse(&chain(16)), Ok(2));
    insta::assert_snapshot!(error_text(&parse(&chain(17)).unwrap_err()), @r"
    in the saved pipeline `@l15`: saved pipelines are nested more than 16 deep
      @l16
      ^^^^
    hint: write the stages of some of them instead of their names
    ");
    // Each level uses the next one several times, so the full expansion would be enormous.
    for last in ["limit:1", "limt:1"] {
        let bomb = levels(16, &|at| match at {
            15 => last.to_owned(),
            at => vec![format!("@l{}", at + 1); 60].join(" | "),
        });
        assert!(parse(&bomb).unwrap_err().message.len() < 10_000);
    }
    let wide = saved(&[("wide", &["limit:1"; 64].join("|"))]);
    insta::assert_snapshot!(error_text(&Pipeline::parse("@wide", &wide).unwrap_err()), @r"
    the pipeline has 65 stages, including those of its saved pipelines and the implicit `all`
    hint: at most 64 stages are allowed
    ");
    let fits = saved(&[("wide", &["limit:1"; 63].join("|"))]);
    assert_eq!(Pipeline::parse("@wide", &fits).unwrap().calls.len(), 64);
    let long = format!("key:'{}'", "a".repeat(40_000));
    let long = saved(&[("long", &long)]);
    insta::assert_snapshot!(error_text(&Pipeline::parse("@long | @long", &long).unwrap_err()), @r"
    the pipeline has 80017 bytes, including its saved pipelines and values
    hint: at most 65536 bytes are allowed
    ");
}

const NAMED: &[&str] = &["@a", "@b", "@c", "@d", "!@a", "@b:x", "@"];

/// A text that may be saved: words of the language, names and other text.
fn text(names: &'static [&'static str], min: usize) -> impl Strategy<Value = String> {
    let words: Vec<&'static str> = vocabulary().iter().map(|stage| stage.word).collect();
    let stage = prop_oneof![
        3 => proptest::sample::select(vec!["type:daily", "limit:3", "!key:a*", "spread", "match:x", "sort:created asc"])
            .prop_map(str::to_owned),
        3 => proptest::sample::select(names).prop_map(str::to_owned),
        1 => proptest::sample::select(words).prop_map(str::to_owned),
    ];
    proptest::collection::vec(stage, min..4).prop_map(|stages| stages.join(" | "))
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    /// Any saved text is either rejected or parsed. A parsed pipeline prints with its saved
    /// pipelines expanded, and the printed text parses to the same pipeline without saved ones.
    #[test]
    fn a_parsed_pipeline_prints_its_stages(texts in proptest::collection::vec(text(NAMED, 0), 4), own in text(NAMED, 0)) {
        let pairs: Vec<(&str, &str)> = ["a", "b", "c", "d"].into_iter().zip(texts.iter().map(String::as_str)).collect();
        let names = saved(&pairs);
        match Pipeline::parse(&own, &names) {
            Ok(pipeline) => prop_assert_eq!(Pipeline::parse(&pipeline.to_string(), &NAMES), Ok(pipeline)),
            Err(error) => {
                let at = error.at.unwrap();
                prop_assert!(at.pipelines.iter().all(|pipeline| !pipeline.problems.is_empty()));
            }
        }
        let broken = names.problems().len();
        prop_assert_eq!(broken, pairs.iter().filter(|(name, _)| names.check(name).is_err()).count());
    }

    /// Replacing names by their texts gives the same pipeline.
    #[test]
    fn a_name_equals_its_text(inner in text(&["limit:1"], 1), before in text(&["limit:1"], 0), after in text(&["limit:1"], 0)) {
        let names = saved(&[("inner", &inner)]);
        let joined = |middle: &str| -> Result<Pipeline> {
            let parts: Vec<String> =
                [&before, middle, &after].into_iter().filter(|part| !part.is_empty()).map(|part| part.to_owned()).collect();
            Pipeline::from_parts(&[], &parts, &names)
        };
        let (named, written) = (joined("@inner"), joined(&inner));
        prop_assert_eq!(named.is_ok(), written.is_ok());
        if let (Ok(named), Ok(written)) = (named, written) {
            prop_assert_eq!(named, written);
        }
    }
}
