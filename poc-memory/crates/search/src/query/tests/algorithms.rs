//! The results of generators and algorithms for the sample notes.

use super::sample::{World, notes};
use poc_graph::{Delta, EdgeKind, State, testing};
use std::sync::Arc;

fn scored<'a>(world: &'a World, pipeline: &str) -> Vec<(&'a str, f64)> {
    world.run(pipeline).0.items.iter().map(|item| (world.view.key(item.ix), item.score)).collect()
}

fn note(world: &World, pipeline: &str, stage: usize) -> String {
    world.run(pipeline).1.stages[stage].note.clone().unwrap_or_default()
}

fn close(found: &[(&str, f64)], expected: &[(&str, f64)]) {
    let keys = |list: &[(&str, f64)]| list.iter().map(|(key, _)| (*key).to_owned()).collect::<Vec<_>>();
    assert_eq!(keys(found), keys(expected));
    for ((key, score), (_, expected)) in found.iter().zip(expected) {
        assert!((score - expected).abs() < 1e-6, "{key}: {score} instead of {expected}");
    }
}

/// The sample notes with an additional edge of strength 0.5 from `crash-notes` to `session#1`.
fn longer() -> World {
    let mut world = notes();
    world.view.apply(2, &[Delta::from(testing::edge(6, 2, EdgeKind::Link, 0.5))]);
    world
}

fn retire(world: &mut World, number: u64) {
    let mut node = testing::node(number);
    node.key = world.view.key(number as u32).to_owned();
    node.state = State::Superseded;
    world.view.apply(3, &[Delta::Node(Arc::new(node))]);
}

#[test]
fn neighbors_score_their_strongest_path() {
    let mut world = longer();
    close(&scored(&world, "neighbors:wal"), &[("b-tree", 0.8), ("crash-notes", 0.7)]);
    close(
        &scored(&world, "neighbors:wal,hops=2"),
        &[("b-tree", 0.8), ("crash-notes", 0.7), ("session#1", 0.35)],
    );
    assert_eq!(world.keys("neighbors:lsm-tree,hops=8"), [""; 0]);
    // A note that is not live is neither returned nor passed through, but its neighbours can be listed.
    retire(&mut world, 6);
    assert_eq!(world.keys("neighbors:wal,hops=3"), ["b-tree"]);
    assert_eq!(world.keys("neighbors:crash-notes"), ["wal", "b-tree", "session#1"]);
    assert_eq!(world.keys("neighbors:past"), [""; 0]);
}

#[test]
fn diverse_with_lambda_one_is_a_sort_by_score() {
    let world = notes();
    let all = "similar:\"slow query index\"";
    assert_eq!(scored(&world, &format!("{all} | diverse,lambda=1")), scored(&world, all));
    // Equal scores are ordered by id.
    assert_eq!(world.keys("sort:weight | diverse,lambda=1"), world.keys("all | sort:score"));
}

#[test]
fn diverse_puts_a_duplicate_last_and_a_limit_keeps_the_order() {
    let world = notes();
    let all = "similar:\"slow query with the missing index\" | diverse,lambda=0.2";
    let order = world.keys(all);
    assert_eq!(order.len(), 8);
    assert_eq!((order[0], order[7]), ("session#1", "session#2"));
    for count in 1..8 {
        assert_eq!(world.keys(&format!("{all} | limit:{count}")), order[..count]);
    }
    assert_eq!(world.keys(&format!("{all} | offset:2 | limit:3")), order[2..5]);
    // Scores do not change.
    let mut came = scored(&world, "similar:\"slow query with the missing index\"");
    let mut gone = scored(&world, all);
    came.sort_by(|a, b| a.0.cmp(b.0));
    gone.sort_by(|a, b| a.0.cmp(b.0));
    assert_eq!(came, gone);
}

#[test]
fn diverse_chooses_from_a_pool_and_leaves_the_rest_by_score() {
    let world = notes();
    let plain = world.keys("similar:\"slow query with the missing index\"");
    let pooled = "similar:\"slow query with the missing index\" | diverse,lambda=0,pool=2";
    assert_eq!(world.keys(pooled), plain);
    insta::assert_snapshot!(note(&world, pooled, 1), @r"chose from the 2 best scores");
    // Without vectors no notes are similar, so the order is by score.
    let bare = World::bare(world.now, (0..4).map(|n| Delta::Node(Arc::new(testing::node(n)))).collect());
    assert_eq!(bare.keys("sort:created | diverse,lambda=0"), ["n0", "n1", "n2", "n3"]);
}

#[test]
fn confluence_of_one_note_is_spread() {
    let world = longer();
    for rules in ["", ",max_hops=1", ",edge_decay=0.9,max_hops=4", ",min_activation=0.2"] {
        let spread = scored(&world, &format!("match:wal | spread{rules}"));
        assert_eq!(scored(&world, &format!("match:wal | confluence,min_sources=1{rules}")), spread);
        assert!(!spread.is_empty());
    }
}

#[test]
fn confluence_keeps_nodes_that_several_reach() {
    let world = longer();
    // One hop, half passed on. From wal: b-tree 0.4, crash-notes 0.35; from session#1: crash-notes
    // 0.25. Only crash-notes is reached from both.
    let pipeline = "match:\"wal session#1\" | confluence,max_hops=1,edge_decay=0.5";
    close(&scored(&world, pipeline), &[("crash-notes", 0.35 + 0.25)]);
    assert_eq!(world.keys(&format!("{pipeline},min_sources=3")), [""; 0]);
    insta::assert_snapshot!(note(&world, "match:wal | confluence", 1), @r"1 in the set, 2 must reach a note");
}

#[test]
fn hybrid_is_ordered_and_reports_the_size_of_each_list() {
    let mut world = notes();
    let found = scored(&world, "hybrid:\"recovery after power is lost\"");
    assert_eq!(found[0].0, "crash-notes");
    assert!(found.windows(2).all(|pair| pair[0].1 >= pair[1].1));
    assert_eq!(world.keys("hybrid:\"recovery after power is lost\",k=1"), ["crash-notes"]);
    insta::assert_snapshot!(note(&world, "hybrid:\"recovery after power is lost\"", 0), @r"8 by meaning, 1 by words");
    insta::assert_snapshot!(note(&world, "hybrid:tuesday", 0), @r"8 by meaning, 1 by words");
    assert_eq!(world.keys("hybrid:…"), [""; 0]);
    retire(&mut world, 6);
    let keys = world.keys("hybrid:\"recovery offer earlier\"");
    assert!(["crash-notes", "past", "old-tree"].iter().all(|key| !keys.contains(key)), "{keys:?}");
}

/// The volume of the triangle is 4.2. From wal to b-tree there are two paths, 0.8 directly and 0.7, 0.6 in a row; to
/// crash-notes 0.7 directly and 0.8, 0.6 in a row. A distance is √(volume × resistance), divided by the strength.
#[test]
fn spectral_neighbors_of_a_triangle() {
    let world = notes();
    let distance = |direct: f64, a: f64, b: f64| (4.2 / (direct + a * b / (a + b))).sqrt() / direct;
    let score = |distance: f64| 1.0 / (1.0 + distance);
    close(
        &scored(&world, "match:wal | spectral"),
        &[("b-tree", score(distance(0.8, 0.7, 0.6))), ("crash-notes", score(distance(0.7, 0.8, 0.6)))],
    );
    assert_eq!(world.keys("match:wal | spectral,k=1"), ["b-tree"]);
    // The set itself is not returned, and notes without edges have no neighbours.
    assert_eq!(world.keys("match:\"wal b-tree lsm-tree\" | spectral"), ["crash-notes"]);
    let note = note(&world, "match:\"wal b-tree lsm-tree\" | spectral", 1);
    insta::assert_snapshot!(note.split_once("; ").unwrap().1, @"2 of 3 in the set have edges and a score above 0");
    assert_eq!(world.keys("match:lsm-tree | spectral"), [""; 0]);
}

#[test]
fn geodesic_counts_the_walks_over_a_note() {
    let world = longer();
    // session#1 has an edge only to crash-notes, so the walks to wal and b-tree pass through that note; the walk
    // between those two is their edge. There are six walks: crash-notes is on four of them, and so is each end.
    let pipeline = "match:\"wal b-tree session#1\" | geodesic";
    let share = 4.0 / 6.0;
    let expected = [("b-tree", share), ("wal", share), ("session#1", share), ("crash-notes", share)];
    close(&scored(&world, pipeline), &expected);
    let stage_note = note(&world, pipeline, 1);
    assert!(stage_note.ends_with("; 6 of 6 walks arrive"), "{stage_note}");
    // One hop is not enough for the walks to session#1.
    close(&scored(&world, &format!("{pipeline},max_path=1")), &[("b-tree", 1.0), ("wal", 1.0)]);
    assert_eq!(world.keys(&format!("{pipeline},k=1")), ["b-tree"]);
    assert_eq!(world.keys("match:wal | geodesic"), [""; 0]);
    assert_eq!(world.keys("match:\"wal lsm-tree\" | geodesic"), [""; 0]);
}

#[test]
fn manifold_leads_towards_the_first_of_the_set() {
    // The notes form a path: b-tree, wal, crash-notes and session#1.
    let mut world = longer();
    let cut = Delta::EdgeDeleted(testing::edge(0, 6, EdgeKind::Link, 1.0).id());
    world.view.apply(4, &[cut]);
    let along = |first: &str| {
        let sorted = format!("match:\"wal crash-notes\" | sort:created {first} | manifold");
        scored(&world, &sorted)
    };
    // wal is the older of the two. If it comes first, the axis points away from session#1.
    let (to_wal, to_crash) = (along("asc"), along("desc"));
    assert_eq!(to_wal.iter().map(|found| found.0).collect::<Vec<_>>(), ["b-tree", "session#1"]);
    assert_eq!(to_crash.iter().map(|found| found.0).collect::<Vec<_>>(), ["session#1", "b-tree"]);
    // Edges of a tree are at right angles, so a note is half an edge along the axis and its next edge away from it.
    let volume: f64 = 2.0 * (0.8 + 0.7 + 0.5);
    let long = |strength: f64| (volume / strength).sqrt();
    let half = long(0.7) / 2.0;
    close(&to_wal, &[("b-tree", half - long(0.8)), ("session#1", -half - long(0.5))]);
    let alone = note(&world, "match:wal | manifold", 1);
    assert!(
        alone.ends_with(
            "; the set has only one position, which gives no direction: the nearest notes are best"
        ),
        "{alone}"
    );
    assert_eq!(world.keys("match:wal | manifold"), ["b-tree", "crash-notes", "session#1"]);
}

#[test]
fn an_expired_note_is_in_no_result_and_on_no_path() {
    let mut world = longer();
    let mut crash = testing::node(6);
    (crash.key, crash.expires) = ("crash-notes".into(), Some(world.now));
    world.view.apply(4, &[Delta::Node(Arc::new(crash))]);
    for pipeline in [
        "match:wal | spread",
        "match:wal | confluence,min_sources=1",
        "match:wal | spectral",
        "match:\"wal b-tree\" | manifold",
        "neighbors:wal,hops=3",
        "hybrid:\"what recovery has to replay\"",
    ] {
        let keys = world.keys(pipeline);
        assert!(!keys.contains(&"crash-notes"), "{pipeline}: {keys:?}");
        assert!(pipeline.contains("manifold") || !keys.is_empty(), "{pipeline}");
    }
    // The only path leads through the excluded note.
    assert_eq!(world.keys("match:\"wal session#1\" | geodesic"), [""; 0]);
}

#[test]
fn an_empty_set_gives_an_empty_set() {
    let world = notes();
    for stage in crate::query::vocabulary() {
        if stage.kind() == crate::query::StageKind::Algorithm {
            assert_eq!(world.keys(&format!("key:nowhere | {}", stage.word)), [""; 0], "{}", stage.word);
            // A note that is not live emits nothing and is not returned.
            assert_eq!(world.keys(&format!("state:superseded | {}", stage.word)), [""; 0], "{}", stage.word);
            assert_eq!(world.keys(&format!("state:expired | {}", stage.word)), [""; 0], "{}", stage.word);
        }
    }
}
