//! The manual: prose with examples, and the tables of words and fields. Every answer on the page is
//! what the language gives when the page is made; the words' own examples must give what they say.

use super::sample::{NOW, World, notes};
use super::{NAMES, from_parts};
use crate::query::{FIELDS, Field, Kind, Names, Param, Pipeline, Presence, StageDef, Unit, vocabulary};
use poc_config::SavedPipeline;
use poc_graph::testing::generated::assert_section;
use poc_graph::time::Span;
use std::fmt::Write;

const SHAPE: &str = "\
# The pipeline language

How notes are found, and how agents choose theirs. The page follows from the program's own tables \
and is written by it: each answer below is what the example gives over [the notes of the \
examples](#the-notes-of-the-examples).

## Shape

A pipeline is a row of stages with `|` between them. Each takes a list of notes with scores and \
hands one on; they run in the order written.

| kind | what it does | where it stands |
|---|---|---|
| generator | produces notes | first; a pipeline that starts with none starts with `all` |
| filter | keeps some, in their order and with their scores; `!` in front keeps the others | anywhere behind |
| transform | orders or cuts, keeps the scores | anywhere behind |
| algorithm | starts from the notes, weighted by their scores, and gives others, best first | anywhere behind |

A word's value stands behind `:`, named parameters behind `,`. On the command line each `-p` is a \
stage or several, and words in front become the text of a first stage that takes one, else `match:`:
";

const LEXICAL: &str = "\
## How it is written

- Words are lower case with `-`. Spaces and line breaks around `|` and `,`, and behind `:` and `!`, do not matter.
- A value stands in `\"…\"` or `'…'` when it holds `|`, `,` or spaces (a text may hold spaces without) or starts with a quote; the quote itself is written twice.
- Durations: `7d`, `24h`, `30m`, `2w`, `45s`; a bare number is seconds.
- Comparisons (`CMP`): `>`, `>=`, `<`, `<=`, `=`; a bare value is `=`.
- Globs: `*` any characters, `?` one, `[a-z]` one of these, `[!a-z]` one of the others.
- What is not said is the default; a note that could stand in two places of an order stands by its id.
- At most 64 stages and 64 KiB.

| written | read as |
|---|---|
";

const SAVED: &str = "\
## Saved pipelines

A pipeline gets a name in `config.toml`, and `@NAME` stands for its stages: in searches, in agents \
and in other saved pipelines. Names are lower case with `-`. A running daemon takes changes over at \
once. One that starts with a generator stands first; one whose first stage lacks its text takes \
the search terms.

```toml
[pipelines]
";

const ERRORS: &str = "\
## Errors

Everything is checked before a note is read, and all of it is told together. With `--json` the same \
stands as data in `error.at.pipelines`: the text, and of each problem its offset and length in \
characters, what is wrong and what would be right. The exit status is 2.
";

const EXPLAIN: &str = "\
## Seeing what a pipeline does

`poc-memory search … --explain` adds to the answer what every stage does, how many notes went in and came \
out, how long it took, and where derived structure came from. `poc-memory pipeline explain` tells \
it without running, with all parameters; `pipeline check` says whether pipelines are sound, and \
`pipeline list` shows the saved ones.
";

const PAST: &str = "\
## The past

`--at TIME` asks the memory as it was: after the last change that was made at `TIME` or before. \
`TIME` is an instant (`2026-11-21T08:00:00Z`), a date (its midnight in UTC) or how long ago (`7d`). \
Ages, weights and visits count as of then, and notes deleted since are there. `get --at` shows a \
note as it was. A time in the future, and one before the first change, is an error.
";

#[test]
fn the_reference_is_fresh() {
    let page = format!("{}\n", page());
    assert_section("REFERENCE.md", &page, "# The pipeline language", Some("# Agent files"));
}

/// The whole page.
fn page() -> String {
    let world = notes();
    let mut page = format!("{SHAPE}\n");
    page.push_str(&terms());
    page.push_str(LEXICAL);
    page.push_str(&readings());
    page.push_str(&sample(&world));
    for (kind, heading) in [
        (Kind::Generator, "Generators"),
        (Kind::Filter, "Filters"),
        (Kind::Transform, "Transforms"),
        (Kind::Algorithm, "Algorithms"),
    ] {
        let _ = writeln!(page, "## {heading}\n");
        page.extend(
            vocabulary().iter().filter(|stage| stage.kind() == kind).map(|stage| word(&world, stage)),
        );
    }
    page.push_str(&fields(&world));
    page.push_str(&saved(&world));
    page.push_str(&errors());
    page.push_str(&explained(&world));
    page.push_str(PAST);
    page
}

/// Text for a cell of a table: a bar within one would end it.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn terms() -> String {
    let examples: [(&str, &[&str], &[&str]); 3] = [
        ("btree journal -p spread", &["btree", "journal"], &["spread"]),
        (
            "btree -p hybrid,k=30 -p 'type:daily | limit:5'",
            &["btree"],
            &["hybrid,k=30", "type:daily | limit:5"],
        ),
        ("-p '!type:daily' -p limit:3", &[], &["!type:daily", "limit:3"]),
    ];
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let rows = examples.map(|(line, terms, stages)| {
        let pipeline = from_parts(&owned(terms), &owned(stages)).unwrap();
        format!("| `poc-memory search {}` | `{}` |\n", cell(line), cell(&pipeline.to_string()))
    });
    format!("| command | pipeline |\n|---|---|\n{}\n", rows.concat())
}

fn readings() -> String {
    let texts = [
        "type:episodic",
        " all|! type: daily |limit: 5",
        "weight: > 0.50",
        "age:<86400",
        "degree:=3",
        "match:b-tree splits|spread , max_hops=2",
        "key:'a | b, c'",
        "match:\"say \"\"hi\"\"\"",
        "sort:created   asc",
    ];
    let mut text = String::new();
    for written in texts {
        match Pipeline::parse(written, &NAMES) {
            Ok(pipeline) => {
                let _ = writeln!(text, "| `{}` | `{}` |", cell(written), cell(&pipeline.to_string()));
            }
            // Shown all the same: the rule is what does not hold here.
            Err(error) => panic!("{written}: {error}"),
        }
    }
    text + "\n"
}

/// The sample notes, described from their records.
fn sample(world: &World) -> String {
    let mut text = format!(
        "## The notes of the examples\n\nAges are those at {NOW}, when the examples run.\n\n\
         | key | type | stored | weight | ties | title and text | besides |\n|---|---|---|---|---|---|---|\n",
    );
    let days = |span: f64| match (span / Span::DAY.seconds()).round() {
        1.0 => "1 day".to_owned(),
        days => format!("{days} days"),
    };
    for (ix, node) in (0..).zip(&world.nodes) {
        let ties: Vec<String> = world
            .view
            .merged_edges(ix)
            .map(|tie| format!("`{}` {:.1}", world.view.key(tie.ix), tie.strength))
            .collect();
        let mut besides = Vec::new();
        if node.modified != node.created {
            besides.push("changed now".to_owned());
        }
        besides.extend(node.keywords.iter().map(|word| format!("keyword `{word}`")));
        if node.provenance != "manual" {
            besides.push(format!("made by `{}`", node.provenance));
        }
        if !node.state.is_live() {
            besides.push(node.state.to_string());
        }
        if let Some(at) = node.expires {
            besides.push(format!("out of date since {}", days(NOW.seconds_since(at))));
        }
        for agent in world.view.visitors() {
            if let Some(visit) = world.view.visit(agent, ix) {
                besides.push(format!("`{agent}` was here {} ago", days(NOW.seconds_since(visit.at))));
            }
        }
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | *{}*: {} | {} |",
            node.key,
            node.node_type,
            days(NOW.seconds_since(node.created)) + " ago",
            world.view.stored_weight(ix),
            ties.join(", "),
            cell(&node.title),
            cell(&node.body),
            besides.join("; "),
        );
    }
    text + "\n"
}

/// One word with everything about it.
fn word(world: &World, stage: &StageDef) -> String {
    let mut text = format!("### {}\n\n`{}`\n\n{}.\n", stage.word, stage.signature(), stage.doc);
    if !stage.more.is_empty() {
        let _ = write!(text, "\n{}\n", stage.more.trim());
    }
    if !stage.params.is_empty() {
        text.push_str("\n| parameter | takes | default | meaning |\n|---|---|---|---|\n");
        text.extend(stage.params.iter().map(parameter));
    }
    let scored = matches!(stage.kind(), Kind::Generator | Kind::Algorithm);
    let _ = writeln!(text, "\n{}\n", answer(world, stage.example.pipeline, scored));
    text
}

fn parameter(param: &Param) -> String {
    let default = match param.presence {
        Presence::Required => "must be given".to_owned(),
        Presence::Optional => "none".to_owned(),
        Presence::Default(value) => format!("`{value}`"),
    };
    format!(
        "| `{}` | {} | {default} | {} |\n",
        param.name,
        cell(&param.value_type.description()),
        cell(param.doc)
    )
}

/// A pipeline and the keys it gives over the sample notes, with their scores where it makes them.
fn answer(world: &World, pipeline: &str, scored: bool) -> String {
    let (set, _) = world.run(pipeline);
    let told: Vec<String> = set
        .items
        .iter()
        .map(|item| match scored {
            true => format!("`{}` {:.3}", world.view.key(item.ix), item.score),
            false => format!("`{}`", world.view.key(item.ix)),
        })
        .collect();
    assert!(!told.is_empty(), "`{pipeline}` shows nothing");
    format!("`{pipeline}` gives {}", told.join(", "))
}

fn fields(world: &World) -> String {
    let mut text = String::from(
        "## Fields\n\nThe numbers a note has. `FIELD:CMP` filters, `sort:FIELD` orders.\n\n\
         | field | unit | filter | sort | what it is |\n|---|---|---|---|---|\n",
    );
    for field in FIELDS {
        let filter = if field.filter.is_some() { format!("`{}:CMP`", field.word) } else { String::new() };
        let sort = field.sort.map_or_else(String::new, |sort| format!("`sort:{sort}`"));
        let _ = writeln!(
            text,
            "| `{}` | {} | {filter} | {sort} | {} |",
            field.word,
            unit(field),
            cell(field.doc)
        );
    }
    for field in FIELDS.iter().filter(|field| !field.more.is_empty()) {
        let _ = write!(text, "\n### {}\n\n{}\n", field.word, field.more);
    }
    text.push_str("\n### In order\n\n");
    for field in FIELDS {
        if let Some(sort) = field.sort {
            let first = if field.word == "score" { "match:\"wal tree\" | " } else { "" };
            let pipeline = format!("{first}sort:{} | limit:2", sort.replace("AGENT", "linker"));
            let _ = writeln!(text, "- {}", answer(world, &pipeline, false));
        }
    }
    text + "\n"
}

fn unit(field: &Field) -> &'static str {
    match (field.unit, field.filter.is_some()) {
        (Unit::Characters, _) => "characters",
        (Unit::Neighbors, _) => "notes",
        (Unit::Number, _) => "a number",
        (Unit::Instant, true) => "an instant; a filter compares the time since",
        (Unit::Instant, false) => "an instant",
    }
}

fn saved(world: &World) -> String {
    let saved = [
        ("recent", "age:<10d | sort:timestamp | limit:3"),
        ("unseen", "type:episodic | not-visited:linker,7d"),
        ("around", "hybrid,k=1 | spread | @top"),
        ("top", "limit:2"),
    ];
    let mut text = SAVED.to_owned();
    for (name, pipeline) in saved {
        let _ = writeln!(text, "{name} = \"{pipeline}\"");
    }
    text.push_str("```\n\n| command | pipeline | gives |\n|---|---|---|\n");
    let kept = saved.map(|(name, text)| (name.to_owned(), SavedPipeline::from(text.to_owned())));
    let names = Names::clone(&NAMES).with_saved(kept.into());
    let uses: [(&str, &[&str], &str); 3] = [
        ("-p @recent", &[], "@recent"),
        ("-p '@unseen | limit:1'", &[], "@unseen | limit:1"),
        ("page splits -p @around", &["page", "splits"], "@around"),
    ];
    for (line, terms, stages) in uses {
        let terms: Vec<String> = terms.iter().map(|term| (*term).to_owned()).collect();
        let pipeline = Pipeline::from_parts(&terms, &[stages.to_owned()], &names).unwrap();
        let (set, _) = pipeline.run(&world.sources()).unwrap();
        let keys: Vec<String> =
            set.items.iter().map(|item| format!("`{}`", world.view.key(item.ix))).collect();
        let (line, pipeline) = (cell(line), cell(&pipeline.to_string()));
        let _ = writeln!(text, "| `poc-memory search {line}` | `{pipeline}` | {} |", keys.join(", "));
    }
    text.push('\n');
    text
}

fn errors() -> String {
    let names = Names::clone(&NAMES)
        .with_saved([("recent".to_owned(), SavedPipeline::from("age:<7x".to_owned()))].into());
    let mut text = format!("{ERRORS}\n```text\n");
    for (at, pipeline) in
        ["all | tpye:episodic", "limit:0 | all | sort:size", "@recent", "@rcent"].iter().enumerate()
    {
        let error = Pipeline::parse(pipeline, &names).unwrap_err();
        let hint = error.hint.as_ref().map_or_else(String::new, |hint| format!("hint: {hint}\n"));
        let _ = write!(text, "{}error: {error}\n{hint}", if at > 0 { "\n" } else { "" });
    }
    text + "```\n\n"
}

fn explained(world: &World) -> String {
    let pipeline = "all | type:episodic | not-visited:linker,7d | sort:priority | limit:20";
    let (_, mut explanation) = world.run(pipeline);
    // Times would differ from page to page.
    explanation.total_micros = 0.0;
    explanation.stages.iter_mut().for_each(|stage| stage.micros = 0.0);
    let outline = Pipeline::parse("match:b-tree | spread,max_hops=2", &NAMES).unwrap().outline();
    let outline: String = outline.iter().map(ToString::to_string).collect();
    format!(
        "{EXPLAIN}\nOf `{pipeline}`, with the times left out:\n\n```text\n{explanation}```\n\n\
         And what `pipeline explain` says of `match:b-tree | spread,max_hops=2`:\n\n```text\n{outline}```\n\n"
    )
}
