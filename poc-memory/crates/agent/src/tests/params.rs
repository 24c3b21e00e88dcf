//! Parameters of an agent's pipeline: the file's values, and those of one run.

use super::world::{ScriptedModel, World, draft, parse, report};
use crate::Catalog;
use crate::ledger::Status;
use crate::run::{RunOptions, Trigger, run_with};
use poc_graph::error::Code;
use poc_graph::time::Span;
use poc_notes::Draft;
use std::collections::BTreeMap;

const FILE: &str = "[query]\npipeline = \"all | type:${kind} | age:<${span}\"\nparams = { kind = \"episodic\", span = \"7d\" }\n\
    [prompt]\ninline = \"{{ NODES }}\"\nplaceholders = [\"NODES\"]\n\
    [execution]\nmodel = \"default\"\nactions = [\"link-add\"]\n";

fn set(values: &[(&str, &str)]) -> BTreeMap<String, String> {
    values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn parameters_of_the_file_apply_unless_overridden() {
    let world = World::new();
    let names = world.memory.names.load();
    let agent = parse(FILE).unwrap();
    assert_eq!(agent.query.pipeline.to_string(), "all | type:episodic | age:<7d");
    let other = agent.with(&set(&[("kind", "semantic")]), &names).unwrap();
    assert_eq!(other.query.pipeline.to_string(), "all | type:semantic | age:<7d");
    assert_eq!(other.query.params, set(&[("kind", "semantic"), ("span", "7d")]));
    assert_eq!(other.fingerprint, agent.fingerprint, "it is the same agent");

    for (name, value) in [("knd", "daily"), ("other", "x"), ("kind", "x | all"), ("span", "soon")] {
        let error = agent.with(&set(&[(name, value)]), &names).unwrap_err();
        let at = error.at.clone().unwrap();
        assert_eq!((error.code, at.field.as_deref()), (Code::InvalidArgument, Some("set")), "{error}");
        assert!(error.hint.is_some() || error.message.contains(value), "{error}");
    }
    let error = agent.with(&set(&[("knd", "daily")]), &names).unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean `kind`?"));
}

#[test]
fn a_run_records_its_parameter_values() {
    let world = World::new();
    world.note("one", "A note.");
    let agent = parse(FILE).unwrap();
    let agent = agent.with(&set(&[("span", "2d")]), &world.memory.names.load()).unwrap();
    let model = ScriptedModel::doing_nothing(&["link-add"]);
    let row = run_with(&world.memory, &agent, &model, Trigger::Manual, &RunOptions::default()).unwrap();
    assert_eq!(row.selected.len(), 1);
    let kept = crate::ledger::find(&world.memory, &row.id.to_string()).unwrap();
    assert_eq!(kept.set, set(&[("kind", "episodic"), ("span", "2d")]));
}

#[test]
fn transfer_reads_older_sessions_on_request() {
    let world = World::new();
    let now = world.memory.now();
    for days in 40..80 {
        let session = draft(&format!("session-{days}"), &format!("Remark {days} about the harbour."));
        let created = Some(now.minus(Span(Span::DAY.0 * days)));
        world.draft(Draft { node_type: Some("episodic".into()), created, ..session });
    }
    let catalog = Catalog::load(&world.memory).unwrap();
    let transfer = catalog.get("transfer").unwrap();
    assert_eq!(
        transfer.query.pipeline.to_string(),
        "all | type:episodic | created:<30d | not-visited:transfer,6d | sort:created | limit:30"
    );
    let nothing = ScriptedModel::new(Vec::new());
    let skipped = world.run(transfer, &nothing);
    assert_eq!(skipped.status, Status::Skipped);
    let why = skipped.message.unwrap();
    assert!(why.starts_with("`created:<30d` left 0 of 40 notes"), "{why}");
    assert!(
        why.ends_with("; `poc-memory agent run transfer --set age=VALUE` uses another value once"),
        "{why}"
    );
    let older = transfer.with(&set(&[("age", "1000d")]), &world.memory.names.load()).unwrap();
    let read = || {
        let model = ScriptedModel::doing_nothing(&["link-add", "insert"]);
        let keys = world.run(&older, &model).visited.into_iter();
        keys.map(|id| world.memory.store.node(id).unwrap().unwrap().key).collect::<Vec<_>>()
    };
    let sessions = |days: std::ops::Range<i32>| days.map(|day| format!("session-{day}")).collect::<Vec<_>>();
    assert_eq!(read(), sessions(40..70));
    assert_eq!(read(), sessions(70..80));
    assert_eq!(world.run(&older, &nothing).status, Status::Skipped);
}

#[test]
fn unknown_parameters_are_reported_with_their_position() {
    let broken = [
        FILE.replace("${kind}", "${knd}"),
        FILE.replace("${kind}", "episodic"),
        FILE.replace("params = { kind = \"episodic\", span = \"7d\" }\n", ""),
        FILE.replace("\"7d\"", "\"soon\""),
        FILE.replace("\"7d\"", "[1]"),
        FILE.replace("span =", "\"the span\" ="),
        FILE.replace("params = { kind = \"episodic\", span = \"7d\" }", "params = \"kind\""),
    ];
    let all: Vec<String> = broken.iter().map(|text| report(&parse(text).unwrap_err())).collect();
    insta::assert_snapshot!(all.join("---\n"), @r#"
    agents/tester.toml:2:24: there is no parameter `knd`
      all | type:${knd} | age:<${span}
                 ^^^^^^
      did you mean `${kind}`?
    agents/tester.toml:3:12: the pipeline does not use the parameter `kind`
      write `${kind}` in the pipeline or remove it here
    ---
    agents/tester.toml:3:12: the pipeline does not use the parameter `kind`
      write `${kind}` in the pipeline or remove it here
    ---
    agents/tester.toml:2:24: 2 problems in this pipeline
      all | type:${kind} | age:<${span}
                 ^^^^^^^ there is no parameter `kind`; add `kind = "…"` under `[query.params]`
                                ^^^^^^^ there is no parameter `span`; add `span = "…"` under `[query.params]`
    ---
    agents/tester.toml:2:38: `age` takes a duration, as in `>7d` or `<=24h`, not `<soon`
      all | type:${kind} | age:<${span}
                               ^^^^^^^^
    ---
    agents/tester.toml:2:39: there is no parameter `span`
      all | type:${kind} | age:<${span}
                                ^^^^^^^
      add `span = "…"` under `[query.params]`
    agents/tester.toml:3:38: `query.params.span` is an array
      give text in quotes
    ---
    agents/tester.toml:2:39: there is no parameter `span`
      all | type:${kind} | age:<${span}
                                ^^^^^^^
      add `span = "…"` under `[query.params]`
    agents/tester.toml:3:31: `the span` is not a name under `[query.params]`
      a name has letters, digits, `-` and `_`
    ---
    agents/tester.toml:2:24: 2 problems in this pipeline
      all | type:${kind} | age:<${span}
                 ^^^^^^^ there is no parameter `kind`; add `kind = "…"` under `[query.params]`
                                ^^^^^^^ there is no parameter `span`; add `span = "…"` under `[query.params]`
    agents/tester.toml:3:10: `query.params` is a string
      give a table of values: `NAME = "…"`
    "#);
}
