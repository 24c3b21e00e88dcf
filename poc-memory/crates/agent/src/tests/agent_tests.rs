//! `[[tests]]` of agent files: their diagnostics, their results, and recording a run as a test.

use super::world::{ScriptedModel, World, parse, report};
use crate::Catalog;
use crate::definition::Definition;
use crate::model::Model;
use crate::run::RunOptions;
use crate::test_runner;
use poc_graph::time::Span;
use serde_json::json;
use std::sync::Arc;

const HEAD: &str = "[query]\npipeline = \"all | type:episodic | not-visited:tester,7d | sort:created\"\n\
     [prompt]\ninline = \"{{ NODES }}\"\nplaceholders = [\"NODES\"]\n\
     [execution]\nmodel = \"default\"\nactions = [\"link-add\", \"supersede\"]\n";

const NOTES: &str = r#"{"key": "monday", "type": "episodic", "age": "2d", "body": "The page was split."}
{"key": "tuesday", "type": "episodic", "age": "1d", "body": "The split is journaled."}
{"key": "seen", "type": "episodic", "age": "3d", "visits": {"tester": "6d", "other": "1h"}, "body": "Old news."}
"#;

/// A usual agent with these tests.
fn tests(text: &str) -> Definition {
    parse(&format!("{HEAD}{text}")).unwrap_or_else(|errors| panic!("{}", report(&errors)))
}

/// The differences of each test.
fn played(world: &World, definition: &Definition) -> String {
    let line = |difference: &test_runner::TestDifference| {
        let test_runner::TestDifference { what, missing, unexpected, order, .. } = difference;
        format!("  {what}: -{missing:?} +{unexpected:?} {order:?}\n")
    };
    let played = test_runner::run_tests(&world.memory, definition)
        .unwrap_or_else(|errors| panic!("{}", report(&errors)));
    let shown = |one: &test_runner::TestResult| {
        format!("{}: {:?}\n{}", one.test, one.handles, one.differences.iter().map(line).collect::<String>())
    };
    played.iter().map(shown).collect()
}

#[test]
fn problems_in_a_test_are_reported_with_exact_positions() {
    let wrong = |text: &str| report(&parse(&format!("{HEAD}{text}")).unwrap_err());
    insta::assert_snapshot!(wrong("[[tests]]\nfixtures = \"\"\nnow = \"soon\"\nexpect.select = []\n"), @r#"
    agents/tester.toml:9:1: `tests.name` is missing
      add `name = "finds nothing to do"` under `[[tests]]`
    agents/tester.toml:9:1: `tests.fixture` is missing
      add `fixture = "tests/notes.jsonl"` under `[[tests]]`
    agents/tester.toml:10:1: unknown key `tests.fixtures`
      did you mean `fixture`?
    agents/tester.toml:11:7: `soon` is not a time
      write `2026-11-21` or `2026-11-21T08:00:00Z`
    agents/tester.toml:12:8: unknown key `tests.expect.select`
      did you mean `selected`?
    "#);
    insta::assert_snapshot!(
        wrong("[[tests]]\nname = \"a\"\nfixture = \"\"\n[[tests]]\nname = \"a\"\nfixture = 1\nexpect = 2\n"), @r#"
    agents/tester.toml:9:1: the test expects nothing, so it cannot fail
      add `expect.selected = ["KEY"]` or `expect.applied = []` to it
    agents/tester.toml:13:8: two tests have the name `a`
      give each test its own name
    agents/tester.toml:14:11: `tests.fixture` is an integer
      give text in quotes
    agents/tester.toml:15:1: the test expects nothing, so it cannot fail
      add `expect.selected = ["KEY"]` or `expect.applied = []` to it
    agents/tester.toml:15:10: `tests.expect` is an integer
      give a table: a line `[…]` with keys below it
    "#);
    insta::assert_snapshot!(wrong("[tests]\nname = \"a\"\n"), @r#"
    agents/tester.toml:9:1: `tests` is a table
      give a list of tables: lines `[[…]]` with keys below each
    "#);
}

#[test]
fn a_refusal_explains_a_missing_action() {
    let world = World::new();
    let head = HEAD.replace("\"link-add\"", "\"weight\"");
    let definition = parse(&format!(
        "{head}[limits.weight]\nmax-delta = 0.1\n[[tests]]\nname = \"raises\"\nfixture = '''\n{NOTES}'''\n\
         response = '''{{\"notes\": \"\", \"supersede\": [], \"weight\": [{{\"node\": \"N1\", \"delta\": 0.5, \"reason\": \"w\"}}]}}'''\n\
         expect.applied = [\"move the weight of `monday` by 0.5\"]\n"
    ))
    .unwrap_or_else(|errors| panic!("{}", report(&errors)));
    let played = test_runner::run_tests(&world.memory, &definition);
    let played = played.unwrap_or_else(|errors| panic!("{}", report(&errors)));
    let [difference] = &played[0].differences[..] else { panic!("{:?}", played[0]) };
    assert_eq!((difference.what.as_str(), difference.missing.len()), ("applied", 1));
    let [refused] = &difference.refused[..] else { panic!("{difference:?}") };
    assert!(refused.contains("the weight of") && refused.contains("0.1"), "{refused}");
}

#[test]
fn a_broken_test_file_is_reported_and_does_not_stop_the_agent() {
    let world = World::new();
    world.file(
        "agents/tests/notes.jsonl",
        "{\"key\": \"a\"}\n\n{\"key\": \"a\"}\n{\"titel\": 1, \"key\": \"b\"}\n[]\n",
    );
    world.file(
        "agents/tests/day.jsonl",
        "{\"key\": \"monday\", \"age\": 3}\n{\"body\": \"x\"}\n{\"key\": \"c\", \"visits\": 1}\n",
    );
    let expect = "expect.applied = []\n";
    world.file(
        "agents/tester.toml",
        &format!(
            "{HEAD}[[tests]]\nname = \"1\"\nfixture = \"far/away.jsonl\"\nresponse = \"../x.json\"\n{expect}\
             [[tests]]\nname = \"2\"\nfixture = \"tests/notes.jsonl\"\n{expect}\
             [[tests]]\nname = \"3\"\nfixture = \"tests/day.jsonl\"\n{expect}\
             [[tests]]\nname = \"4\"\nfixture = '''\n{NOTES}{{'''\n{expect}\
             [[tests]]\nname = \"5\"\nfixture = '''\n{NOTES}'''\nexpect.selected = [\"mondy\", \"sunshine\"]\n"
        ),
    );
    let catalog = Catalog::load(&world.memory).unwrap();
    let tester = &catalog.agents["tester"];
    assert!(tester.errors.is_empty(), "{}", report(&tester.errors));
    let definition = tester.definition.as_ref().unwrap();
    let wrong = report(&test_runner::check_tests(&world.memory, definition))
        .replace(&world.home.path().display().to_string(), "~");
    insta::assert_snapshot!(wrong, @r#"
    agents/tester.toml:11:11: the file `far/away.jsonl` is missing
      put a file `far/away.jsonl` into `~/agents`
    agents/tester.toml:12:12: the file `../x.json` is outside the `agents` folder
      name a file in that folder, such as `tests/notes.jsonl`
    agents/tests/notes.jsonl:3: two notes have the key `a`
      give each note its own key
    agents/tests/notes.jsonl:4: unknown field `titel`
      did you mean `title`?
    agents/tests/notes.jsonl:5: not a JSON object
      write one note per line: {"key": "…"}
    agents/tests/day.jsonl:1: `age`: 3 is not a duration
      write "3d", "12h" or "0s"
    agents/tests/day.jsonl:2: the note has no `key`
      give each note a key, which the test can name
    agents/tests/day.jsonl:3: `visits` is not an object
      write {"linker": "2d"}
    agents/tester.toml:24:11: invalid JSON: EOF while parsing an object at line 1 column 1 (line 4 of the fixture)
      write one note per line: {"key": "…"}
    agents/tester.toml:37:20: the fixture has no note `mondy`
      did you mean `monday`?
    agents/tester.toml:37:29: the fixture has no note `sunshine`
      name a `key` of the fixture
    "#);
    assert_eq!(
        report(&test_runner::run_tests(&world.memory, definition).unwrap_err()).lines().count(),
        wrong.lines().count()
    );
}

#[test]
fn tests_run_with_their_own_clock_and_reply() {
    let world = World::new();
    let definition = tests(&format!(
        r#"
[[tests]]
name = "ties the two days"
fixture = '''
{NOTES}'''
response = '''{{"notes": "", "link-add": [
  {{"reason": "one story", "from": "N1", "to": "N2", "strength": 0.9}},
  {{"reason": "again", "from": "N2", "to": "N1", "strength": 0.9}}],
  "supersede": [{{"reason": "said again", "node": "N1", "by": "N2", "key": "", "title": "", "body": ""}}]}}'''
expect.selected = ["tuesday", "monday"]
expect.applied = ["link `tuesday` to `monday` at 0.6"]
expect.proposed = ["supersede `tuesday` by `monday`"]
expect.rejected = ["link `monday` to `tuesday` at 0.6: already-present"]
expect.prompt-contains = ["The split is journaled.", "created: 2026-11-19"]

[[tests]]
name = "two days later the third is due"
now = "2026-11-23T08:00:00Z"
fixture = '{{"key": "seen", "type": "episodic", "created": "2026-11-01", "modified": "2026-11-01", "body": "Old news.", "visits": {{"tester": "8d"}}}}'
expect.selected = ["seen"]
expect.applied = []

[[tests]]
name = "nothing"
fixture = ""
expect.selected = []
"#
    ));
    insta::assert_snapshot!(played(&world, &definition), @r#"
    ties the two days: ["tuesday", "monday"]
    two days later the third is due: ["seen"]
    nothing: []
    "#);
    assert_eq!(world.memory.store.view().live_count(), 0);
    assert!(crate::ledger::state(&world.memory, "tester").unwrap().last().is_none());
}

#[test]
fn differences_from_the_expectation_are_reported() {
    let world = World::new();
    let definition = tests(&format!(
        r#"
[[tests]]
name = "hopes"
fixture = '''
{NOTES}'''
response = '''{{"notes": "", "link-add": [{{"reason": "", "from": "N1", "to": "N1", "strength": 1}}], "supersede": []}}'''
expect.selected = ["monday", "tuesday"]
expect.applied = ["link `monday` to `tuesday` at 1"]
expect.rejected = []
expect.prompt-contains = ["monday", "sunshine"]

[[tests]]
name = "prose"
fixture = '''
{NOTES}'''
response = '''I would rather not {{say}}.'''
expect.applied = []
"#
    ));
    insta::assert_snapshot!(played(&world, &definition), @r#"
    hopes: ["tuesday", "monday"]
      selected: -[] +[] Some(["tuesday", "monday"])
      applied: -["link `monday` to `tuesday` at 1"] +[] None
      rejected: -[] +["link `tuesday` to `tuesday` at 0.6: self-link"] None
      prompt-contains: -["sunshine"] +[] None
    prose: ["tuesday", "monday"]
      run: -[] +["the reply is invalid: the reply is not a single JSON object"] None
    "#);
}

#[test]
fn every_bundled_agent_passes_its_tests() {
    let world = World::new();
    let catalog = Catalog::load(&world.memory).unwrap();
    let mut agents = Vec::new();
    for (name, entry) in &catalog.agents {
        let definition = entry.definition.as_ref().unwrap();
        agents.push((name.as_str(), definition.tests.len()));
        let wrong = test_runner::run_tests(&world.memory, definition)
            .unwrap_or_else(|errors| panic!("{}", report(&errors)));
        let wrong: Vec<_> = wrong.into_iter().filter(|played| !played.differences.is_empty()).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    }
    assert_eq!(
        agents,
        [
            ("facts", 4),
            ("linker", 4),
            ("quotations", 4),
            ("rename", 6),
            ("replay", 5),
            ("separator", 5),
            ("split", 5),
            ("transfer", 5)
        ]
    );
}

/// A recorded run is a test that passes, also after other tests in the file.
#[test]
fn a_recorded_run_passes_as_a_test() {
    let world = World::new();
    world.note("monday", "The B-tree split of the storage engine lost a key in the crash test.");
    world.clock.advance(Span::HOUR);
    world.note(
        "tuesday",
        "The journal has the B-tree split of the storage engine as one entry, so the crash test passes.",
    );
    let before = world.graph();
    let definition = tests("");
    let reply = json!({"notes": "It isn't much: '''", "supersede": [
        {"reason": "", "node": "N2", "by": "N1", "key": "", "title": "", "body": ""}],
        "link-add": [{"reason": "a \"quote\"", "from": "N1", "to": "N2", "strength": 0.5},
                     {"reason": "", "from": "N1", "to": "N7", "strength": 0.5}]});
    let model: Arc<dyn Model> = Arc::new(ScriptedModel::replying(reply));
    let options = RunOptions { dry_run: true, ..RunOptions::default() };
    let (run, entry) =
        test_runner::record_among(&world.memory, &definition, vec![("default", model)], &options).unwrap();
    assert_eq!(run.actions.len(), 3);
    assert_eq!(world.graph(), before);

    let entry = entry.unwrap();
    let recorded = tests(&format!("# mine{entry}{entry}").replacen("recorded 2026", "recorded in 2026", 1));
    assert_eq!(recorded.tests.len(), 2);
    assert_eq!(recorded.tests[0].expect.rejected.as_ref().unwrap().len(), 1, "{entry}");
    let shown = played(&world, &recorded);
    assert!(!shown.contains("+["), "{shown}\n{entry}");
    let keys: Vec<&str> =
        recorded.tests[0].expect.selected.iter().flatten().map(|key| key.text.as_str()).collect();
    assert_eq!(keys, ["tuesday", "monday"]);
}

#[test]
fn a_run_without_a_reply_cannot_be_recorded() {
    let world = World::new();
    let (run, entry) = test_runner::record(&world.memory, &tests(""), &RunOptions::default()).unwrap();
    assert_eq!(run.status.name(), "skipped");
    insta::assert_snapshot!(entry.unwrap_err(), @"no model answered, so there is nothing to record");
}
