//! The linker's pipeline over a synthetic graph, beside a loop written by hand over the same
//! columns. Both must give the same nodes in the same order; what is compared is the medians.
//!
//! `cargo bench --bench linker_pipeline [-- NODES]` prints a table and, as the last line, JSON.

#![allow(clippy::print_stdout, clippy::indexing_slicing, clippy::unwrap_used, reason = "a bench")]

use poc_memory::chance::{Chance, SeededChance};
use poc_memory::config::Config;
use poc_memory::embed::HashEmbedder;
use poc_memory::graph::metrics::clustering;
use poc_memory::graph::{
    Activity, Category, Delta, Edge, EdgeKind, Ix, Minter, Node, NodeId, NodeType, Origin, State, Tenant,
    Trust, View, Visit, VisitOutcome,
};
use poc_memory::index::{TextIndex, VectorIndex};
use poc_memory::query::{Pipeline, Sources};
use poc_memory::time::{Span, Timestamp};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const PIPELINE: &str = "all | type:episodic | not-visited:linker,7d | sort:priority | limit:20";
const NODES: usize = 13_000;
const EDGES_PER_NODE: usize = 8;
const RUNS: usize = 201;
const SEED: u64 = 7;
const NOW: Timestamp = Timestamp(1_795_348_800_000);

fn main() {
    let nodes = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(NODES);
    let view = graph(nodes);
    let config = Config::defaults().unwrap();
    let embedder = HashEmbedder::new(config.embedder.dimensions).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let text = TextIndex::open(&folder.path().join("text"), &config.text).unwrap();
    let vectors = VectorIndex::open(
        &folder.path().join("vectors"),
        &config.vectors,
        "hash",
        config.embedder.dimensions,
    )
    .unwrap();
    let sources = Sources {
        view: &view,
        text: &text,
        vectors: &vectors,
        embedder: &embedder,
        config: &config,
        now: NOW,
        revisit_on_change: true,
    };
    let pipeline = Pipeline::parse(PIPELINE).unwrap();
    let language = || -> Vec<Ix> {
        let (set, _) = pipeline.run(&sources).unwrap();
        set.items.iter().map(|item| item.ix).collect()
    };
    let by_hand = || by_hand(&view);
    let answer = language();
    assert_eq!(answer, by_hand(), "both sides give the same nodes");
    assert_eq!(answer.len(), 20);

    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..RUNS {
        // By turns, so that what slows the machine slows both.
        times[0].push(time(language));
        times[1].push(time(by_hand));
    }
    let [language, by_hand] = times.map(median);
    let ratio = language / by_hand;
    println!("{}", pipeline.run(&sources).unwrap().1);
    println!("{:<34} {:>10}", format!("{nodes} nodes, {} edges", view.edge_count()), "median");
    println!("{:<34} {language:>7.1} µs", "the pipeline language");
    println!("{:<34} {by_hand:>7.1} µs", "a loop written by hand");
    println!("{:<34} {ratio:>9.2}x", "ratio");
    println!(
        "{{\"bench\":\"linker_pipeline\",\"seed\":{SEED},\"nodes\":{nodes},\"edges\":{},\"runs\":{RUNS},\
         \"pipeline_micros\":{language:.1},\"by_hand_micros\":{by_hand:.1},\"ratio\":{ratio:.3}}}",
        view.edge_count()
    );
}

/// Microseconds one call takes.
fn time(work: impl Fn() -> Vec<Ix>) -> f64 {
    let started = Instant::now();
    black_box(work());
    started.elapsed().as_nanos() as f64 / 1e3
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The same question in plain Rust: one loop over cursors, then the best twenty.
fn by_hand(view: &View) -> Vec<Ix> {
    let episodic = view.type_number("episodic").unwrap();
    let week_ago = NOW.minus(Span(7 * Span::DAY.0));
    let (mut states, mut expiries, mut types) = (view.states(), view.expiries(), view.node_types());
    let mut visits = view.visits_of("linker").unwrap().cursor();
    let (mut versions, mut emotions) = (view.versions(), view.emotions());
    let (mut degrees, mut triangles) = (view.degrees(), view.triangle_counts());
    let (mut intervals, mut replays) = (view.replay_intervals(), view.replays());
    let mut best: Vec<(f64, Ix)> = Vec::with_capacity(21);
    for ix in 0..view.slots() {
        if !states.of(ix, None).is_some_and(State::is_live)
            || expiries.of(ix, None).is_some_and(|at| at <= NOW)
        {
            continue;
        }
        if types.of(ix, u16::MAX) != episodic {
            continue;
        }
        let visit = visits.of(ix, None);
        if visit.is_some_and(|visit| visit.at > week_ago && visit.version >= versions.of(ix, 0)) {
            continue;
        }
        let overdue = match replays.of(ix, None) {
            None => 3.0,
            Some(at) => {
                let days = NOW.seconds_since(at) / 86_400.0;
                (days / f64::from(intervals.of(ix, 0).max(1))).clamp(0.0, 5.0)
            }
        };
        let displacement = 1.0 - clustering(degrees.of(ix, 0), triangles.of(ix, 0));
        let priority = displacement * overdue * (1.0 + f64::from(emotions.of(ix, 0.0)) / 10.0);
        if best.len() == 20 && priority <= best[19].0 {
            continue;
        }
        let place = best.partition_point(|&(other, _)| other >= priority);
        best.insert(place, (priority, ix));
        best.truncate(20);
    }
    best.into_iter().map(|(_, ix)| ix).collect()
}

/// A seeded graph: half the nodes episodic, a third visited, eight edges a node among neighbours
/// in time, so that there are triangles.
fn graph(nodes: usize) -> View {
    let chance = SeededChance::new(SEED);
    let draw = |below: u64| chance.bits() % below;
    let minter = Minter::default();
    let born = |number: usize| NOW.minus(Span((nodes - number) as i64 * 600_000));
    let ids: Vec<NodeId> = (0..nodes).map(|number| minter.node(born(number), &chance)).collect();
    let mut view = View::new();
    for (number, &id) in ids.iter().enumerate() {
        let kind = ["episodic", "semantic", "episodic", "daily"][draw(4) as usize];
        let node = node(id, number, kind, born(number), draw(11) as f32);
        let activity = Activity {
            replay_interval: [0, 1, 3, 7, 14, 30][draw(6) as usize],
            replayed: (draw(2) == 0).then(|| NOW.minus(Span(draw(60) as i64 * Span::DAY.0))),
            ..Activity::born(node.created, 1.0)
        };
        let mut deltas = vec![Delta::Node(Arc::new(node)), Delta::Activity(id, activity)];
        if draw(3) == 0 {
            let at = NOW.minus(Span(draw(14) as i64 * Span::DAY.0));
            let visit = Visit { at, outcome: VisitOutcome::Processed, version: 1 };
            deltas.push(Delta::Visit("linker".into(), id, visit));
        }
        for _ in 0..EDGES_PER_NODE.min(number) {
            let reach = (draw(40) as usize + 1).min(number);
            deltas.push(Delta::Edge(edge(id, ids[number - reach], draw(1000) as f64 / 1000.0)));
        }
        view.apply(number as u64 + 1, &deltas);
    }
    view
}

fn node(id: NodeId, number: usize, kind: &str, created: Timestamp, emotion: f32) -> Node {
    Node {
        id,
        tenant: Tenant::default(),
        key: format!("note-{number}"),
        title: String::new(),
        body: String::new(),
        node_type: NodeType(kind.into()),
        category: Category::General,
        keywords: Vec::new(),
        provenance: "manual".into(),
        trust: Trust::User,
        author: None,
        source: None,
        emotion,
        created,
        modified: created,
        expires: None,
        state: State::Active,
        origin: Origin::Local,
        content_hash: [0; 32],
        version: 1,
    }
}

fn edge(src: NodeId, dst: NodeId, strength: f64) -> Edge {
    Edge {
        src,
        dst,
        kind: EdgeKind::Link,
        strength,
        created: NOW,
        touched: NOW,
        provenance: "manual".into(),
        reason: String::new(),
    }
}
