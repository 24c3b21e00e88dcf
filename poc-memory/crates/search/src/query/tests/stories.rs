//! The stages in combination.

use super::parse;
use super::sample::{NOW, World, notes};
use crate::query::{Sources, VisitRule, VisitRules};
use poc_graph::error::Code;
use poc_graph::time::{Span, Timestamp};
use poc_graph::{Activity, Delta, EdgeKind, Ix, Node, State, Visit, VisitOutcome, testing};
use std::sync::Arc;

fn put(world: &mut World, number: u64, change: impl Fn(&mut Node)) {
    let mut node = testing::node(number);
    node.key = world.view.key(number as Ix).to_owned();
    change(&mut node);
    world.view.apply(2, &[Delta::Node(Arc::new(node))]);
}

#[test]
fn a_day_is_compared_with_the_day_of_an_instant() {
    let world = notes();
    let count = |pipeline: &str| world.keys(pipeline).len();
    assert_eq!(world.keys("created:2026-11-21"), ["day#2026-11-21"]);
    assert_eq!(world.keys("modified:>2026-11-21"), ["lsm-tree"]);
    assert_eq!(world.keys("modified:>=2026-11-21"), ["lsm-tree", "day#2026-11-21"]);
    assert_eq!(count("created:>2026-11-21"), 0);
    assert_eq!(count("created:<2026-11-21") + 1, count("all"));
    assert_eq!(count("created:<=2026-11-21"), count("all"));
    assert_eq!(count("!created:2026-11-21") + 1, count("all"));
}

#[test]
fn explain_reports_every_stage() {
    let world = notes();
    let (_, explanation) = world
        .run("all | type:semantic | !provenance:linker | weight:>=1 | sort:priority | offset:1 | limit:2");
    let lines: Vec<String> = explanation
        .stages
        .iter()
        .map(|stage| {
            format!("{} [{}] {} → {}: {}", stage.stage, stage.kind, stage.input, stage.output, stage.does)
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    all [generator] 0 → 8: every live note, by id
    type:semantic [filter] 8 → 5: keeps notes of type `semantic`
    !provenance:linker [filter] 5 → 4: drops notes made by `linker`
    weight:>=1 [filter] 4 → 4: keeps notes whose weight is >= 1
    sort:priority [transform] 4 → 4: orders by priority, greatest first
    offset:1 [transform] 4 → 3: all but the first 1
    limit:2 [transform] 3 → 2: the first 2
    ");
    assert!(explanation.total_micros >= explanation.stages.iter().map(|stage| stage.micros).sum());
}

#[test]
fn explain_reports_the_origin_of_communities() {
    let world = notes();
    let note = || world.run("all | community:0").1.stages[1].note.clone().unwrap();
    assert!(note().starts_with("communities computed now"), "{}", note());
    assert_eq!(note(), "communities fresh");
}

#[test]
fn a_state_filter_widens_all() {
    let world = notes();
    assert_eq!(world.keys("state:superseded"), ["old-tree"]);
    assert_eq!(world.keys("all | key:*tree | sort:created | state:superseded"), ["old-tree"]);
    // A node past its `expires` counts as expired before consolidation records it.
    assert_eq!(world.keys("state:expired"), ["past"]);
    assert_eq!(world.keys("key:past"), [""; 0]);
    assert_eq!(world.keys("!state:active"), [""; 0]);
    let widened = world.run("state:superseded").1.stages.remove(0);
    assert_eq!((widened.output, widened.note.as_deref()), (9, Some("widened by `state:`")));
    assert_eq!(world.run("!state:superseded").1.stages[0].output, 8);
}

#[test]
fn notes_are_found_by_all_of_their_names() {
    let mut world = notes();
    put(&mut world, 0, |node| {
        node.aliases = vec!["balanced-tree".into()];
        node.other_names = vec!["Page Index".into(), "btree".into()];
    });
    put(&mut world, 1, |node| node.other_names = vec!["journal/redo".into(), "page index".into()]);
    // A name finds the same notes as in commands, and a glob compares keys.
    for name in ["b-tree", "B-Tree", "balanced-tree", "btree"] {
        assert_eq!(world.keys(&format!("key:{name}")), ["b-tree"], "{name}");
    }
    assert_eq!(world.keys("key:benchmarks"), ["todo/benchmarks"]);
    assert_eq!(world.keys("key:\"page index\" | sort:created"), ["wal", "b-tree"]);
    assert_eq!(world.keys("key:btre?"), [""; 0]);
    assert_eq!(world.keys("type:semantic | !key:btree | key:b*"), [""; 0]);
    // A stage that starts from a note also takes its id, whose beginning must be unique.
    let id = testing::node(1).id;
    assert_eq!(world.keys(&format!("neighbors:{id}")), world.keys("neighbors:wal"));
    let ambiguous = parse("neighbors:00000000").unwrap().run(&world.sources()).unwrap_err();
    assert_eq!(ambiguous.code, Code::InvalidArgument, "{ambiguous}");
    // Terms are looked up in all names.
    assert_eq!(world.keys("match:btree"), ["b-tree"]);
    assert_eq!(world.keys("match:balanced"), ["b-tree"]);
    let found = world.run("match:redo").0;
    assert_eq!((found.items.len(), found.items[0].score), (1, 0.5));
}

#[test]
fn a_visit_counts_for_the_visited_version() {
    let mut world = notes();
    let query = "type:episodic | not-visited:linker,7d";
    assert_eq!(world.keys(query), ["session#2"]);
    put(&mut world, 2, |node| {
        node.node_type.0 = "episodic".into();
        node.version = 2;
    });
    assert_eq!(world.keys(query), ["session#1", "session#2"]);
    assert_eq!(world.keys("visited:linker"), ["session#2"]);
    world.revisit_on_change = false;
    assert_eq!(world.keys(query), ["session#2"]);
    assert_eq!(world.keys("visited:linker"), ["session#1", "session#2"]);
    assert_eq!(world.keys("not-visited:nobody | limit:1"), ["b-tree"]);
}

#[test]
fn in_a_search_visits_count_for_not_visited_as_for_the_agent_that_it_names() {
    let mut world = notes();
    put(&mut world, 2, |node| {
        node.node_type.0 = "episodic".into();
        node.version = 2;
    });
    let compared = Visit { at: NOW, outcome: VisitOutcome::Compared, version: 1 };
    world.view.apply(4, &[Delta::Visit("linker".into(), testing::node(3).id, compared)]);
    let found = |pipeline: &str, rules: &[(String, VisitRule)]| -> Vec<String> {
        let sources = Sources { visits: VisitRules::Search(rules), ..world.sources() };
        let set = parse(&format!("type:episodic | {pipeline}")).unwrap().run(&sources).unwrap().0;
        set.items.iter().map(|item| world.view.key(item.ix).to_owned()).collect()
    };
    let rule = |only_version, only_read| [("linker".to_owned(), VisitRule { only_version, only_read })];
    let none: [&str; 0] = [];
    assert_eq!(found("not-visited:linker", &[]), none);
    assert_eq!(found("not-visited:linker", &rule(false, false)), none);
    assert_eq!(found("not-visited:linker", &rule(true, false)), ["session#1"]);
    assert_eq!(found("not-visited:linker", &rule(false, true)), ["session#2"]);
    assert_eq!(found("not-visited:linker", &rule(true, true)), ["session#1", "session#2"]);
    assert_eq!(found("!not-visited:linker", &rule(true, false)), ["session#2"]);
    // The rule of another agent, and a filter for notes that were visited at all.
    assert_eq!(found("not-visited:replay", &rule(false, false)), ["session#1", "session#2"]);
    assert_eq!(found("visited:linker", &rule(true, true)), ["session#1", "session#2"]);
}

#[test]
fn sorting_by_visits_with_asc_takes_the_least_recent_first() {
    let world = notes();
    assert_eq!(world.keys("type:episodic | sort:visited:linker asc"), ["session#2", "session#1"]);
    assert_eq!(world.keys("sort:visited:linker asc | limit:1"), ["b-tree"]);
    assert_eq!(world.keys("sort:visited:linker | limit:2"), ["session#1", "session#2"]);
}

#[test]
fn priority_puts_overdue_and_unclustered_nodes_first() {
    let mut world = notes();
    // A note that was never replayed has overdue 3. session#1 was replayed two days ago with an
    // interval of one day: 2. lsm-tree has emotion: 3 × 1.5. b-tree, wal and crash-notes are a
    // community. A typical distance from its centre counts a third, and crash-notes is the farthest
    // because its edges are the weakest.
    let replayed = Activity {
        replay_interval: 1,
        replayed: Some(Timestamp(NOW.0 - 2 * Span::DAY.0)),
        ..Activity::new(NOW, 1.0)
    };
    world.view.apply(2, &[Delta::Activity(testing::node(2).id, replayed)]);
    put(&mut world, 4, |node| node.emotion = 5.0);
    let order = [
        "lsm-tree",
        "session#2",
        "day#2026-11-21",
        "todo/benchmarks",
        "session#1",
        "crash-notes",
        "b-tree",
        "wal",
    ];
    assert_eq!(world.keys("sort:priority"), order);
    assert_eq!(world.keys("sort:priority | limit:3"), order[..3]);
}

#[test]
fn terms_found_in_no_key_are_searched_in_the_text_index() {
    let world = notes();
    let (set, _) = world.run("match:\"tree recovery\"");
    let found: Vec<(&str, f64)> =
        set.items.iter().map(|item| (world.view.key(item.ix), item.score)).collect();
    assert_eq!(found, [("b-tree", 0.5), ("lsm-tree", 0.5), ("crash-notes", 0.2)]);
    // `tree` was found in keys, so texts are not searched for it.
    assert_eq!(world.keys("match:xyzzy"), [""; 0]);
    // These are not live, by state or by `expires`.
    assert!(!world.keys("match:old-tree").contains(&"old-tree"));
    assert_eq!(world.keys("match:past"), [""; 0]);
}

#[test]
fn pairs_stay_with_the_set() {
    let world = notes();
    let named = |pipeline: &str| {
        let (set, _) = world.run(pipeline);
        let name = |ix| world.view.key(ix);
        set.pairs.iter().map(|pair| (name(pair.a), name(pair.b))).collect::<Vec<_>>()
    };
    assert_eq!(named("interference-pairs,min_sim=0.9 | sort:created"), [("session#1", "session#2")]);
    assert_eq!(named("interference-pairs,min_sim=0.9 | limit:1"), []);
    // Pairs that a cut separated are known, unless a filter removes one of their notes.
    let cut =
        |stages: &str| world.run(&format!("interference-pairs,min_sim=0.9 | {stages}")).0.cut_pairs.len();
    assert_eq!((cut("limit:1"), cut("sort:created | limit:1"), cut("offset:1")), (1, 1, 1));
    assert_eq!((cut("limit:2"), cut("limit:1 | type:daily"), cut("type:daily | limit:1")), (0, 0, 0));
    let (set, _) = world.run("interference-pairs,min_sim=0.9");
    assert!(set.items.iter().all(|item| item.score == set.pairs[0].similarity && item.score > 0.9));
    // b-tree and wal are in the same community.
    let (set, _) = world.run("interference-pairs,min_sim=0");
    assert!(!set.pairs.is_empty());
    let communities = world.view.communities(&world.config.structure.options()).0;
    assert!(set.pairs.iter().all(|pair| communities.of(pair.a) != communities.of(pair.b)));
    // With one probe, every pair contains the most recently changed node.
    let (few, explanation) = world.run("interference-pairs,min_sim=0,probes=1");
    assert!(!few.pairs.is_empty() && few.pairs.len() < set.pairs.len());
    let last = world.view.find_key("lsm-tree").unwrap();
    assert!(few.pairs.iter().all(|pair| pair.a == last || pair.b == last), "{:?}", few.pairs);
    assert!(explanation.stages[0].note.as_ref().is_some_and(|note| note.contains("the 1 note changed last")));
}

#[test]
fn near_duplicates_form_pairs_in_any_community() {
    let says =
        |number: u64, body: &str| Delta::Node(Arc::new(Node { body: body.into(), ..testing::node(number) }));
    let same = "the index reads pages of the log twice";
    let other = "the index reads pages of the log backwards";
    let mut deltas = vec![says(0, same), says(1, same), says(2, other), says(3, "soup for lunch")];
    deltas.extend((1..4).map(|number| Delta::from(testing::edge(0, number, EdgeKind::Link, 0.9))));
    let world = World::new(NOW, deltas);
    for min in ["", ",min_sim=0.1", ",min_sim=0.99"] {
        let (set, _) = world.run(&format!("interference-pairs{min}"));
        let pairs: Vec<(&str, &str)> =
            set.pairs.iter().map(|pair| (world.view.key(pair.a), world.view.key(pair.b))).collect();
        assert_eq!(pairs, [("n0", "n1")], "{min}");
    }
}

#[test]
fn notes_of_different_days_form_no_pair() {
    let body = "rain, tea and a long walk home";
    let says = |number: u64, key: &str| {
        Delta::Node(Arc::new(Node { key: key.into(), body: body.into(), ..testing::node(number) }))
    };
    let pairs = |one: &str, other: &str| {
        let world = World::new(NOW, vec![says(0, one), says(1, other)]);
        world.run("interference-pairs").0.pairs.len()
    };
    assert_eq!(pairs("day/2026-11-05", "day/2026-11-06"), 0);
    assert_eq!(pairs("day/2026-11-05", "walk"), 1);
}

/// Fifty notes of the same community have the same text, and so has one note of another community.
#[test]
fn a_pair_is_found_despite_similar_nodes_in_the_same_community() {
    let says = |number: u64, body: &str| Node { body: body.into(), ..testing::node(number) };
    let mut deltas: Vec<Delta> =
        (0..50).map(|number| Delta::Node(Arc::new(says(number, "the slow query")))).collect();
    deltas.push(Delta::Node(Arc::new(says(50, "the slow query of Monday"))));
    deltas.extend((1..50).map(|number| Delta::from(testing::edge(0, number, EdgeKind::Link, 0.9))));
    let mut world = World::new(NOW, deltas);
    // This excludes near-duplicates.
    world.config.cosines.values_mut().for_each(|cosines| cosines.twin = 2.0);
    let (set, _) = world.run("interference-pairs,min_sim=0.5,k=1");
    assert_eq!(set.items.len(), 51);
    assert!(set.pairs.iter().all(|pair| world.view.key(pair.b) == "n50"));
    assert_eq!(world.run("interference-pairs,min_sim=0.999").0.pairs, []);
}

#[test]
fn activation_is_multiplied_by_the_weight_once() {
    let world = notes();
    let (set, _) = world.run("match:wal | spread,max_hops=1,edge_decay=0.5");
    let found: Vec<(&str, f64)> =
        set.items.iter().map(|item| (world.view.key(item.ix), item.score)).collect();
    let expected = [("wal", 1.0 * 1.5), ("b-tree", 0.5 * 0.8 * 2.0), ("crash-notes", 0.5 * 0.7)];
    for ((key, score), (expected_key, expected)) in found.iter().zip(expected) {
        assert_eq!(*key, expected_key);
        assert!((score - expected).abs() < 1e-6, "{key}: {score} instead of {expected}");
    }
    assert_eq!(found.len(), 3);
}

#[test]
fn unknown_keys_are_errors_of_the_run() {
    let world = notes();
    let run = |text: &str| parse(text).unwrap().run(&world.sources()).unwrap_err();
    let error = run("linked-to:btree");
    assert_eq!(error.hint.as_deref(), Some("did you mean `b-tree`?"));
    let error = run("neighbors:crashnotes,hops=2");
    insta::assert_snapshot!(format!("{}\n{}", error.message, error.hint.unwrap()), @r"
    `neighbors` refers to `crashnotes`, but no note has this key
    did you mean `crash-notes`?
    ");
    assert_eq!(error.code, Code::NotFound);
    let error = run("linked-to:nowhere");
    insta::assert_snapshot!(format!("{}\n{}", error.message, error.hint.unwrap()), @r"
    `linked-to` refers to `nowhere`, but no note has this key
    `poc-memory search TEXT` shows keys
    ");
    assert_eq!(error.code, Code::NotFound);
}

#[test]
fn filter_nodes_applies_only_the_filters() {
    let world = notes();
    let pipeline = parse("provenance:manual | !type:daily").unwrap();
    assert!(pipeline.only_filters());
    let passing = pipeline.filter_nodes(&world.sources(), &[0, 5, 6, 8]).unwrap();
    assert_eq!(passing, [0, 8]);
    assert!(!parse("type:daily | limit:3").unwrap().only_filters());
}

#[test]
fn a_deleted_node_is_not_found() {
    let mut world = notes();
    put(&mut world, 7, |node| node.state = State::Superseded);
    assert!(!world.keys("all").contains(&"todo/benchmarks"));
    world.view.apply(3, &[Delta::NodeDeleted(testing::node(1).id)]);
    assert_eq!(world.keys("match:b-tree | spread"), ["b-tree", "crash-notes"]);
    assert!(!world.keys("similar:\"write-ahead log\"").contains(&"wal"));
    let visit = Visit { at: NOW, outcome: VisitOutcome::Processed, version: 1 };
    world.view.apply(4, &[Delta::Visit("linker".into(), testing::node(0).id, visit)]);
    assert_eq!(world.keys("visited:linker,1h"), ["b-tree"]);
}

#[test]
fn visits_without_a_language_model_do_not_count_for_an_agent_that_has_one() {
    let mut world = notes();
    let visit = Visit { at: NOW, outcome: VisitOutcome::Compared, version: 1 };
    world.view.apply(4, &[Delta::Visit("linker".into(), testing::node(0).id, visit)]);
    let pipeline = parse("visited:linker,1h").unwrap();
    let found = |reader: Option<&str>| {
        let rule = VisitRule { only_version: true, only_read: true };
        let visits = reader.map_or(world.sources().visits, |name| VisitRules::Agent { name, rule });
        let sources = Sources { visits, ..world.sources() };
        let items = pipeline.run(&sources).unwrap().0.items;
        items.into_iter().map(|item| world.view.key(item.ix)).collect::<Vec<_>>()
    };
    assert_eq!(found(None), ["b-tree"]);
    assert_eq!(found(Some("replay")), ["b-tree"]);
    assert!(found(Some("linker")).is_empty());
}
