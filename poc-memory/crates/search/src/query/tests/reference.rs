//! The section of REFERENCE.md on the pipeline language: text with examples, and the tables of stages and fields. All
//! results in it are computed when it is generated. Another test checks that the examples of the stages return what
//! their definitions say.

use super::sample::{NOW, World, notes};
use super::{NAMES, from_parts};
use crate::query::{FIELDS, Field, Names, Param, Pipeline, Presence, StageDef, StageKind, Unit, vocabulary};
use poc_config::SavedPipeline;
use poc_graph::testing::generated::assert_section;
use poc_graph::time::Span;
use std::fmt::Write;

const SHAPE: &str = "\
# The pipeline language

Pipelines find notes, in searches and in the queries of agents. This page is generated from the \
definitions in the program. Each result below is what the example returns for [the notes of the \
examples](#the-notes-of-the-examples).

## Shape

A pipeline is a sequence of stages separated by `|`. Each stage takes a list of scored notes and \
returns one. Stages run in the order written.

| kind | what it does | position |
|---|---|---|
| generator | produces notes | first; a pipeline without a generator starts with `all` |
| filter | keeps some notes, with their order and scores; with `!` before it, it keeps the others | anywhere after the first |
| transform | sorts or truncates the list, and keeps the scores | anywhere after the first |
| algorithm | starts from the notes, weighted by their scores, and returns a new list, best first | anywhere after the first |

The value of a stage follows its `:`, and named parameters follow a `,`. On the command line each `-p` \
holds one or more stages. Search terms before them become the text of the first stage if it takes one, \
otherwise the text of a `hybrid:` stage, and an algorithm directly after that starts from its best 5 notes:
";

const LEXICAL: &str = "\
## How it is written

- Stage words are lower case with `-`. Spaces and line breaks around `|` and `,`, and after `:` and `!`, are ignored.
- A value needs quotes (`\"…\"` or `'…'`) if it contains `|` or `,` or starts with a quote, and also if it contains spaces, unless the parameter is of type text or a comparison. Inside quotes, the quote itself is doubled.
- Durations: `7d`, `24h`, `30m`, `2w`, `45s`. A number without a unit means seconds.
- Comparisons (`CMP`): `>`, `>=`, `<`, `<=`, `=`. A value without a sign means `=`.
- Globs: `*` matches any characters, `?` one character, `[a-z]` one of a set, `[!a-z]` one outside it.
- Parameters that are left out have their default. Ties are broken by id.
- A pipeline has at most 64 stages and 64 KiB.

| written | parsed as |
|---|---|
";

const SAVED: &str = "\
## Saved pipelines

A pipeline saved under a name in `config.toml` can be used as `@NAME`: in searches, in agents and in \
other saved pipelines. Names are lower case with `-`. A running daemon applies changes at once. A saved \
pipeline that starts with a generator can only come first. If its first stage takes a text and has none, \
the search terms become that text.

```toml
[pipelines]
";

const ERRORS: &str = "\
## Errors

A pipeline is checked before any note is read, and all problems are reported together. With `--json`, \
`error.at.pipelines` contains them as data: the text, and for each problem its offset and length in \
characters, the message and a hint. The exit status is 2.
";

const EXPLAIN: &str = "\
## Seeing what a pipeline does

`poc-memory search … --explain` adds a report of every stage: what it does, the number of notes in its \
input and output, the time it took, and the origin of derived data. `poc-memory pipeline explain` \
describes the stages and all parameters without running them, `pipeline check` checks pipelines, and \
`pipeline list` lists the saved ones.
";

const PAST: &str = "\
## The past

`--at TIME` searches the memory in a past state: after the last change made at or before `TIME`. \
`TIME` is an instant (`2026-11-21T08:00:00Z`), a date (midnight UTC) or a duration before now (`7d`). \
`--at SEQ` does so for the state after a change, given by its number (`1042`), at the time of that change. \
Ages, weights and visits are those at that time, and notes deleted since then are included. `get --at` \
shows a past version of a note. A time in the future or before the first change is an error, and so is the \
number of a change that was not made yet.
";

#[test]
fn the_reference_is_up_to_date() {
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
        (StageKind::Generator, "Generators"),
        (StageKind::Filter, "Filters"),
        (StageKind::Transform, "Transforms"),
        (StageKind::Algorithm, "Algorithms"),
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

/// Escapes a text for a table cell, where `|` would end the cell.
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
            Err(error) => panic!("{written}: {error}"),
        }
    }
    text + "\n"
}

/// The sample notes, described from their records.
fn sample(world: &World) -> String {
    let mut text = format!(
        "## The notes of the examples\n\nAges are those at {NOW}, when the examples run.\n\n\
         | key | type | stored | weight | edges | title and text | other |\n|---|---|---|---|---|---|---|\n",
    );
    let days = |span: f64| match (span / Span::DAY.seconds()).round() {
        1.0 => "1 day".to_owned(),
        days => format!("{days} days"),
    };
    for (ix, node) in (0..).zip(&world.nodes) {
        let edges: Vec<String> = world
            .view
            .merged_edges(ix)
            .map(|edge| format!("`{}` {:.1}", world.view.key(edge.ix), edge.strength))
            .collect();
        let mut other = Vec::new();
        if node.modified != node.created {
            other.push("changed just now".to_owned());
        }
        other.extend(node.keywords.iter().map(|word| format!("keyword `{word}`")));
        if node.provenance != "manual" {
            other.push(format!("created by `{}`", node.provenance));
        }
        if !node.state.is_live() {
            other.push(node.state.to_string());
        }
        if let Some(at) = node.expires {
            other.push(format!("expired {} ago", days(NOW.seconds_since(at))));
        }
        if let Some(visit) = world.view.visit("linker", ix) {
            other.push(format!("visited by `linker` {} ago", days(NOW.seconds_since(visit.at))));
        }
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | *{}*: {} | {} |",
            node.key,
            node.node_type,
            days(NOW.seconds_since(node.created)) + " ago",
            world.view.stored_weight(ix),
            edges.join(", "),
            cell(&node.title),
            cell(&node.body),
            other.join("; "),
        );
    }
    text + "\n"
}

/// The section of one stage.
fn word(world: &World, stage: &StageDef) -> String {
    let mut text = format!("### {}\n\n`{}`\n\n{}.\n", stage.word, stage.signature(), stage.doc);
    if !stage.more.is_empty() {
        let _ = write!(text, "\n{}\n", stage.more.trim());
    }
    if !stage.params.is_empty() {
        text.push_str("\n| parameter | type | default | meaning |\n|---|---|---|---|\n");
        text.extend(stage.params.iter().map(parameter));
    }
    let scored = matches!(stage.kind(), StageKind::Generator | StageKind::Algorithm);
    let _ = writeln!(text, "\n{}\n", answer(world, stage.example.pipeline, scored));
    text
}

fn parameter(param: &Param) -> String {
    let default = match param.presence {
        Presence::Required => "required".to_owned(),
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

/// A pipeline and the keys it returns for the sample notes, with scores if the pipeline computes them.
fn answer(world: &World, pipeline: &str, scored: bool) -> String {
    let (set, _) = world.run(pipeline);
    let keys: Vec<String> = set
        .items
        .iter()
        .map(|item| match scored {
            true => format!("`{}` {:.3}", world.view.key(item.ix), item.score),
            false => format!("`{}`", world.view.key(item.ix)),
        })
        .collect();
    assert!(!keys.is_empty(), "`{pipeline}` returns nothing");
    format!("`{pipeline}` returns {}", keys.join(", "))
}

fn fields(world: &World) -> String {
    let mut text = String::from(
        "## Fields\n\nThe numeric fields of notes. `FIELD:CMP` filters by a field, `sort:FIELD` sorts by it.\n\n\
         | field | unit | filter | sort | meaning |\n|---|---|---|---|---|\n",
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
    text.push_str("\n### Sorting\n\n");
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
        (Unit::Hundredths, _) => "a number; a filter compares in hundredths",
        (Unit::Age, _) => "a duration",
        (Unit::Instant, true) => "an instant; a filter compares the time since then, or the day",
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
    text.push_str("```\n\n| command | pipeline | result |\n|---|---|---|\n");
    let saved_pipelines = saved.map(|(name, text)| (name.to_owned(), SavedPipeline::from(text.to_owned())));
    let names = Names::clone(&NAMES).with_saved(saved_pipelines.into());
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
    // Times differ between runs.
    explanation.total_micros = 0.0;
    explanation.stages.iter_mut().for_each(|stage| stage.micros = 0.0);
    let outline = Pipeline::parse("match:b-tree | spread,max_hops=2", &NAMES).unwrap().outline();
    let outline: String = outline.iter().map(ToString::to_string).collect();
    format!(
        "{EXPLAIN}\nOf `{pipeline}`, with the times left out:\n\n```text\n{explanation}```\n\n\
         And what `pipeline explain` says of `match:b-tree | spread,max_hops=2`:\n\n```text\n{outline}```\n\n"
    )
}
