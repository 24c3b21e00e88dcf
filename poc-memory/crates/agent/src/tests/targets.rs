//! Targets of an agent, and the trust of its notes.

use super::world::{FnModel, ScriptedModel, World, draft, edit, handle, outcomes, parse};
use crate::definition::Definition;
use crate::ledger::{self, Run, Status};
use crate::model::Request;
use crate::run::{RunOptions, Trigger, run_with};
use poc_graph::{EdgeKind, Trust};
use poc_notes::link::{self, Link};
use poc_notes::{Draft, Memory};
use proptest::prelude::*;
use serde_json::{Value, json};

fn tie(memory: &Memory, from: &str, to: &str) {
    let id = |key: &str| memory.find(key).unwrap().id;
    let link = Link {
        src: id(from),
        dst: id(to),
        kind: EdgeKind::Link,
        strength: 0.6,
        reason: String::new(),
        provenance: "manual".into(),
    };
    let cause = memory.cause("manual", "link");
    memory.store.transact(cause, |tx| link::add(tx, &link, memory.now())).unwrap();
}

/// A result, its neighbour, and a hub that is linked to neither.
fn world() -> World {
    let world = World::new();
    world.note("result", "The b-tree lost its right sibling.");
    let others = [
        ("beside", "Soup was served at noon."),
        ("hub", "Quarterly figures disappointed everybody."),
        ("spoke-1", "Violins are tuned in fifths."),
        ("spoke-2", "The glacier retreats by metres a year."),
    ];
    for (key, body) in others {
        world.draft(draft(key, body));
    }
    tie(&world.memory, "result", "beside");
    ["spoke-1", "spoke-2"].iter().for_each(|spoke| tie(&world.memory, "hub", spoke));
    world
}

fn agent(template: &str, limits: &str) -> Definition {
    let names = ["NODES", "SIBLINGS", "HUBS", "TOPOLOGY", "PAIRS"];
    let used: Vec<String> =
        names.iter().filter(|name| template.contains(*name)).map(|name| format!("\"{name}\"")).collect();
    let text = format!(
        "[query]\npipeline = \"all | type:episodic\"\n[prompt]\ninline = '''{template}'''\nplaceholders = [{}]\n\
         [execution]\nmodel = \"default\"\nactions = [\"link-add\", \"weight\", \"insert\", \"supersede\"]\n\
         [limits]\n{limits}\n[limits.supersede]\nmode = \"apply\"\nmax = 5\n",
        used.join(", ")
    );
    parse(&text).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn weigh(request: &Request<'_>, key: &str) -> Value {
    json!({"reason": "", "node": handle(request, key), "delta": 0.1})
}

fn join(request: &Request<'_>, from: &str, to: &str) -> Value {
    json!({"reason": "", "from": handle(request, from), "to": handle(request, to), "strength": 0.5})
}

fn replace(request: &Request<'_>, old: &str, new: &str) -> Value {
    let (node, by) = (handle(request, old), handle(request, new));
    json!({"reason": "", "node": node, "by": by, "key": "", "title": "", "body": ""})
}

/// The outcome of each action.
fn codes(run: &Run) -> Vec<&str> {
    run.actions.iter().map(|row| row.refusal_code.as_deref().unwrap_or("applied")).collect()
}

#[test]
fn targets_limit_what_may_be_changed() {
    let check = |targets: &str, expected: [&str; 7]| {
        let world = world();
        let definition = agent("{{ SIBLINGS }}{{ HUBS }}{{ NODES }}", &format!("targets = \"{targets}\""));
        let model = FnModel(|asked: &Request<'_>| {
            json!({"notes": "",
                "link-add": [join(asked, "beside", "hub"), join(asked, "result", "hub"),
                    join(asked, "hub", "spoke-1")],
                "weight": [weigh(asked, "result"), weigh(asked, "beside"), weigh(asked, "hub")],
                "insert": [],
                "supersede": [replace(asked, "beside", "result")]})
        });
        let run = world.run(&definition, &model);
        assert_eq!(codes(&run), expected, "{targets}: {:?}", outcomes(&run));
    };
    let unknown = "unknown-handle";
    check("results", [unknown, unknown, unknown, "applied", unknown, unknown, unknown]);
    // Neighbours are shown only by key: they may be re-weighted, but not superseded.
    check("neighborhood", [unknown, unknown, unknown, "applied", "applied", unknown, "out-of-scope"]);
    let any = ["applied", "applied", "already-present", "applied", "applied", "applied", "out-of-scope"];
    check("any", any);
}

#[test]
fn sources_of_new_notes_obey_the_targets_and_limits() {
    let check = |limits: &str, sources: &[&[&str]], expected: &[&str]| {
        let mut world = world();
        world.candidates_from(-1.0);
        let definition = agent("{{ NODES }}", limits);
        let model = FnModel(|asked: &Request<'_>| {
            let note = |(at, keys): (usize, &&[&str])| {
                let sources: Vec<String> = keys.iter().map(|key| handle(asked, key)).collect();
                let word = ["lamp", "boat", "tree"][at];
                json!({"reason": "", "key": "", "title": format!("New {word}"),
                    "body": format!("Of its own, a {word}."), "keywords": [], "sources": sources})
            };
            let notes: Vec<Value> = sources.iter().enumerate().map(note).collect();
            json!({"notes": "", "link-add": [], "weight": [], "insert": notes, "supersede": []})
        });
        let run = world.run(&definition, &model);
        assert_eq!(codes(&run), expected, "{limits}: {:?}", outcomes(&run));
    };
    let sources: [&[&str]; 3] = [&["result"], &["result", "hub"], &["spoke-1"]];
    check("targets = \"results\"", &sources, &["applied", "out-of-scope", "out-of-scope"]);
    check("targets = \"neighborhood\"", &sources, &["applied"; 3]);
    // A note that is named twice counts once.
    let sources: [&[&str]; 3] = [&["result", "result"], &["result", "hub"], &["hub"]];
    let max = "targets = \"any\"\n[limits.insert]\nmax-sources = 1";
    check(max, &sources, &["applied", "over-limit", "applied"]);
    let max = "targets = \"any\"\n[limits.insert]\nmax-per-source = 1";
    check(max, &sources, &["applied", "over-limit", "applied"]);
    let sources: [&[&str]; 3] = [&[], &["result", "result"], &["result", "hub"]];
    check("targets = \"any\"", &sources, &["applied"; 3]);
    let min = "targets = \"any\"\n[limits.insert]\nmin-sources = 2";
    check(min, &sources, &["invalid-value", "invalid-value", "applied"]);
}

#[test]
fn a_hub_linked_to_a_result_is_in_its_neighborhood() {
    let world = world();
    tie(&world.memory, "hub", "result");
    let definition = agent("{{ TOPOLOGY }}{{ NODES }}", "targets = \"neighborhood\"");
    let model = FnModel(|asked: &Request<'_>| {
        json!({"notes": "", "link-add": [], "insert": [], "supersede": [],
            "weight": [weigh(asked, "hub"), weigh(asked, "spoke-1")]})
    });
    assert_eq!(codes(&world.run(&definition, &model)), ["applied", "unknown-handle"]);
}

#[test]
fn a_candidate_is_superseded_only_when_shown_whole() {
    let check = |targets: &str, chars: usize, expected: &str| {
        let mut world = world();
        world.candidates_from(-1.0);
        world.config().agents.candidates = 10;
        world.config().agents.candidate_chars = chars;
        let definition = agent("{{ NODES }}", &format!("targets = \"{targets}\""));
        let model = FnModel(|asked: &Request<'_>| {
            json!({"notes": "", "link-add": [], "weight": [], "insert": [],
                "supersede": [replace(asked, "hub", "result")]})
        });
        let run = world.run(&definition, &model);
        assert_eq!(codes(&run), [expected], "{targets} {chars}: {:?}", run.actions);
    };
    check("neighborhood", 300, "applied");
    check("neighborhood", 10, "out-of-scope");
    check("any", 10, "out-of-scope");
    check("results", 300, "out-of-scope");
}

#[test]
fn a_truncated_result_can_be_reweighted_but_not_superseded() {
    let world = world();
    let mut definition = agent("{{ NODES }}", "");
    definition.prompt.max_node_chars = 5;
    let model = FnModel(|asked: &Request<'_>| {
        json!({"notes": "", "link-add": [], "weight": [weigh(asked, "result")], "insert": [],
            "supersede": [{"reason": "", "node": handle(asked, "result"), "by": "", "key": "renamed", "title": "", "body": ""}]})
    });
    let run = world.run(&definition, &model);
    assert_eq!(codes(&run), ["applied", "out-of-scope"]);
    assert_eq!(run.actions[1].detail.as_deref(), Some("the prompt does not show N1 in full"));
}

#[test]
fn changes_to_neighbors_during_the_call_are_detected_too() {
    let world = world();
    let definition = agent("{{ SIBLINGS }}{{ HUBS }}{{ NODES }}", "targets = \"any\"");
    let model = FnModel(|asked: &Request<'_>| {
        edit(&world.memory, "beside", "Edited during the call.");
        json!({"notes": "", "link-add": [join(asked, "beside", "hub")], "insert": [], "supersede": [],
            "weight": [weigh(asked, "beside"), weigh(asked, "hub")]})
    });
    let run = world.run(&definition, &model);
    assert_eq!(codes(&run), ["changed-since-read", "changed-since-read", "applied"]);
}

#[test]
fn every_permitted_handle_appears_in_the_prompt() {
    let mut world = World::new();
    world.candidates_from(-1.0);
    for number in 0..8 {
        world.note(&format!("result-{number}"), &format!("{number} {}", "lorem ipsum ".repeat(60)));
        world.draft(draft(&format!("beside-{number}"), &format!("Something else, {number} times over.")));
        tie(&world.memory, &format!("result-{number}"), &format!("beside-{number}"));
    }
    for targets in ["results", "neighborhood", "any"] {
        for tokens in [3300, 4500, 60_000] {
            let mut definition =
                agent("{{ SIBLINGS }}{{ HUBS }}{{ NODES }}", &format!("targets = \"{targets}\""));
            definition.prompt.max_tokens = tokens;
            let model = FnModel(|asked: &Request<'_>| {
                let selection = asked.selection;
                let words: Vec<&str> = asked.prompt.split(|char: char| !char.is_alphanumeric()).collect();
                for handle in &selection.handles {
                    assert!(words.contains(&handle.name.as_str()), "{targets} {tokens}: {}", handle.name);
                }
                json!({"notes": "", "link-add": [], "weight": [], "insert": [], "supersede": []})
            });
            let options = RunOptions { dry_run: true, force: true, ..RunOptions::default() };
            let run = run_with(&world.memory, &definition, &model, Trigger::Manual, &options).unwrap();
            assert!(
                run.message.is_none() && !run.selected.is_empty(),
                "{targets} {tokens}: {:?}",
                run.message
            );
        }
    }
}

/// The trust of a new note when some untrusted note was in the prompt.
fn written(template: &str, place: &str, meanwhile: Option<Trust>) -> (Trust, Trust) {
    let mut world = world();
    world.candidates_from(if template == "candidates" { -1.0 } else { 1.1 });
    world.config().agents.candidates = 10;
    let template = if template == "candidates" { "{{ NODES }}" } else { template };
    let lower = |trust: Trust| {
        let id = world.memory.find(place).unwrap().id;
        let cause = world.memory.cause("manual", "test");
        let set = |tx: &mut poc_store::Transaction<'_>| {
            let mut node = tx.node(id)?.unwrap();
            node.trust = trust;
            tx.put_node(&node)
        };
        world.memory.store.transact(cause, set).unwrap();
    };
    lower(Trust::External);
    let definition = agent(template, "");
    let model = FnModel(|asked: &Request<'_>| {
        meanwhile.into_iter().for_each(lower);
        json!({"notes": "", "link-add": [], "weight": [],
            "insert": [{"reason": "", "key": "new", "title": "New", "body": "Of its own.", "keywords": [], "sources": []}],
            "supersede": [{"reason": "", "node": handle(asked, "result"), "by": "", "key": "renamed",
                "title": "", "body": "In other words."}]})
    });
    let run = world.run(&definition, &model);
    let trust = |key: &str| world.memory.find(key).map(|node| node.trust);
    (
        trust("new").unwrap_or_else(|_| panic!("{run:?}")),
        trust("renamed").unwrap_or_else(|_| panic!("{run:?}")),
    )
}

#[test]
fn written_notes_have_at_most_the_lowest_trust_read() {
    let min = (Trust::External, Trust::External);
    for (template, place) in [
        ("{{ NODES }}", "result"),
        ("{{ HUBS }}{{ NODES }}", "hub"),
        ("{{ TOPOLOGY }}{{ NODES }}", "spoke-2"),
        ("{{ SIBLINGS }}{{ NODES }}", "beside"),
        ("{{ node(key=\"hub\") }}{{ NODES }}", "hub"),
        ("candidates", "spoke-1"),
    ] {
        assert_eq!(written(template, place, None), min, "{template}");
    }
    // Notes outside the prompt do not lower the trust.
    for (template, place) in [("{{ NODES }}", "hub"), ("{{ SIBLINGS }}{{ NODES }}", "spoke-1")] {
        assert_eq!(written(template, place, None), (Trust::Agent, Trust::Agent), "{template}");
    }
}

#[test]
fn trust_lost_during_the_call_lowers_the_written_notes() {
    let found = written("{{ HUBS }}{{ NODES }}", "hub", Some(Trust::Quarantined));
    assert_eq!(found, (Trust::Quarantined, Trust::Quarantined));
    // Trust that is raised during the call does not count.
    let found = written("{{ HUBS }}{{ NODES }}", "hub", Some(Trust::User));
    assert_eq!(found, (Trust::External, Trust::External));
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    /// Every note whose key or title occurs in the prompt counts as read.
    #[test]
    fn no_note_read_is_trusted_less_than_the_notes_written(
        ties in prop::collection::vec((0usize..6, 0usize..6), 0..10),
        trusts in prop::collection::vec(0usize..3, 6),
        shown in prop::sample::subsequence(vec!["{{ SIBLINGS }}", "{{ HUBS }}", "{{ TOPOLOGY }}"], 0..=3),
        targets in prop::sample::select(vec!["results", "neighborhood", "any"]),
    ) {
        let levels = [Trust::External, Trust::Agent, Trust::User];
        let world = World::new();
        for (number, &level) in trusts.iter().enumerate() {
            let note = Draft { trust: levels[level], ..draft(&format!("key-of-{number}"), &format!("{number}, and then some.")) };
            let kind = if number == 0 { "episodic" } else { "semantic" };
            world.draft(Draft { node_type: Some(kind.into()), ..note });
        }
        for (from, to) in ties.into_iter().filter(|(from, to)| from != to) {
            tie(&world.memory, &format!("key-of-{from}"), &format!("key-of-{to}"));
        }
        let template = format!("{}{{{{ NODES }}}}", shown.concat());
        let definition = agent(&template, &format!("targets = \"{targets}\""));
        let model = ScriptedModel::replying(json!({"notes": "", "link-add": [], "weight": [], "supersede": [],
            "insert": [{"reason": "", "key": "new", "title": "New", "body": "Of its own.", "keywords": [], "sources": []}]}));
        world.run(&definition, &model);
        let prompt = model.prompts.lock().pop().unwrap();
        let shows = |number: &usize| {
            prompt.contains(&format!("key-of-{number}")) || prompt.contains(&format!("key of {number}"))
        };
        let read = (0..6).filter(shows);
        let min = read.map(|number| levels[trusts[number]]).min().unwrap();
        prop_assert_eq!(world.memory.find("new").unwrap().trust, min.min(Trust::Agent), "{}", prompt);
    }
}

#[test]
fn a_permit_that_fails_to_build_applies_nothing() {
    let world = world();
    let definition = agent("{{ NODES }}", "protect = [\"linked-to:beside\"]");
    let model = FnModel(|asked: &Request<'_>| {
        let id = world.memory.find("beside").unwrap().id;
        world.memory.store.transact(world.memory.cause("manual", "delete"), |tx| tx.delete_node(id)).unwrap();
        json!({"notes": "", "link-add": [], "weight": [weigh(asked, "result")], "insert": [], "supersede": []})
    });
    let run = run_with(&world.memory, &definition, &model, Trigger::Manual, &RunOptions::default());
    assert!(run.is_err_and(|error| error.line().contains("beside")));
    let [row] = ledger::rows(&world.memory, Some("tester"), 10).unwrap().try_into().unwrap();
    assert_eq!((row.status, row.visited.len(), row.applied_actions().count()), (Status::Failed, 0, 0));
    let result = world.memory.find("result").unwrap().id;
    assert!(
        (world.weight(result) - 1.0).abs() < 1e-9 && world.memory.store.visits(result).unwrap().is_empty()
    );
}
