//! Graph algorithms: `spread`, `spectral`, communities and the spectral embedding, compared with networkx, scipy, numpy
//! and igraph on the same edges.
//!
//! `cargo bench -p poc-bench --bench structure [-- NODES …]`

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench")]

use poc_bench::graph;
use poc_bench::measure::{Measurement, Report, arguments, interleaved_medians, median, timed};
use poc_bench::memory;
use poc_bench::peers::{self, PeerInput, PeerResult, PeerResults};
use poc_graph::{Communities, Ix, SpectralEmbedding, View};
use poc_rank::activation::{SpreadOptions, spread};
use poc_rank::spectral::nearest;
use poc_search::query::Pipeline;
use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;

const SEED: u64 = 7;
const DIMENSIONS: usize = 16;
const NEAREST: usize = 20;
const PAIRS: usize = 1000;
const MIXED_NODES: usize = 1000;
const OPTIONS: SpreadOptions = SpreadOptions { max_hops: 3, edge_decay: 0.3, min_activation: 0.005 };

fn main() {
    let mut report = Report::new("structure");
    mixed(&mut report);
    for nodes in arguments().sizes {
        let shape = graph::shape(nodes, SEED);
        let view = graph::view(&shape, SEED);
        let seeds: Vec<Ix> = (1..=5).map(|step| (step * nodes / 6) as Ix).collect();
        // The golden ratio spreads the nodes evenly over all ages.
        let far = |number: usize| ((number as f64 * 0.618_034).fract() * nodes as f64) as Ix;
        let pairs: Vec<(Ix, Ix)> = (1..=PAIRS).map(|number| (far(number), far(number + PAIRS))).collect();

        let communities = Communities::compute(&view);
        let [communities_took] =
            interleaved_medians(0.5, [&mut || drop(black_box(Communities::compute(&view)))]);
        let (embedding_took, embedding) = timed(|| SpectralEmbedding::compute(&view, DIMENSIONS));
        assert_eq!(embedding.members(0).len(), nodes, "one component");
        let input = PeerInput {
            shape: &shape,
            seeds: &seeds,
            communities: &communities,
            embedding: &embedding,
            pairs: &pairs,
        };
        let answers = peers::ask(input).unwrap_or_default();

        spreading(&view, &seeds, &answers, &mut report);
        spreading_from_hits(&view, &mut report);
        near(&view, &embedding, &seeds, &answers, &mut report);
        let peer = answers.get("communities/igraph");
        grouped("communities", &communities, nodes, communities_took, peer, &mut report);
        embedded(&embedding, &pairs, nodes, embedding_took, &answers, &mut report);
    }
    report.save();
}

fn theirs(answers: &PeerResults, name: &str) -> Option<f64> {
    answers.get(name).map(|answer| answer.seconds)
}

/// Checks that all nodes have the same activation.
fn spreading(view: &View, seeds: &[Ix], answers: &PeerResults, report: &mut Report) {
    let sources: Vec<(Ix, f64)> = seeds.iter().map(|&ix| (ix, 1.0)).collect();
    let run = || spread(view, &sources, OPTIONS, |_| true);
    let ours: BTreeMap<Ix, f64> = run().into_iter().collect();
    for (name, PeerResult { values, .. }) in answers.iter().filter(|(name, _)| name.starts_with("spread/")) {
        for (ix, value) in values.iter().enumerate() {
            let found = ours.get(&(ix as Ix)).copied().unwrap_or(0.0);
            assert!((found - value).abs() < 1e-9, "{name}: node {ix} has {value}, here {found}");
        }
    }
    let [seconds] = interleaved_medians(1.0, [&mut || drop(black_box(run()))]);
    let line = Measurement::time("spread from 5 seeds", view.live_count(), seconds);
    let reached = format!("{} nodes reached", ours.len());
    report.add(line.clone().with_peer("scipy", theirs(answers, "spread/scipy")).faster(1.0).note(reached));
    report.add(line.with_peer("networkx", theirs(answers, "spread/networkx")).faster(20.0));
}

/// The stage `spread` of a pipeline that starts with as many hits as a search has, and shows the best twenty.
fn spreading_from_hits(view: &View, report: &mut Report) {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory::open(folder.path());
    let bound = if view.live_count() <= 13_000 { 1.5e-3 } else { 8e-3 };
    for hits in [50, 500] {
        let text = format!("all | sort:weight | limit:{hits} | spread | limit:20");
        let pipeline = Pipeline::parse(&text, &memory.names.load()).unwrap();
        let stage = || {
            let (_, explanation) = pipeline.run(&memory.sources(view)).unwrap();
            explanation.stages.into_iter().find(|stage| stage.stage.starts_with("spread")).unwrap()
        };
        let reached = stage().output;
        let seconds = median((0..25).map(|_| stage().micros / 1e6).collect());
        let line = Measurement::time(format!("stage `spread` from {hits} hits"), view.live_count(), seconds);
        report.add(line.within(bound).note(format!("{reached} nodes reached")));
    }
}

/// Checks that the nearest nodes and their distances are equal.
fn near(
    view: &View,
    embedding: &SpectralEmbedding,
    seeds: &[Ix],
    answers: &PeerResults,
    report: &mut Report,
) {
    let sources: Vec<(Ix, f64)> = seeds.iter().map(|&ix| (ix, 1.0)).collect();
    let run = || nearest(view, embedding, &sources, NEAREST, |ix| !seeds.contains(&ix));
    if let Some(PeerResult { values, .. }) = answers.get("spectral/numpy") {
        let (nodes, distances) = values.split_at(NEAREST);
        let found = run();
        // Distances are rounded here, so that equally near nodes come by id.
        for ((_, distance), expected) in found.iter().zip(distances) {
            assert!((distance - expected).abs() < 1e-5 * expected, "{distance} instead of {expected}");
        }
        let found: BTreeSet<Ix> = found.into_iter().map(|(ix, _)| ix).collect();
        assert_eq!(found, nodes.iter().map(|&node| node as Ix).collect());
    }
    let [seconds] = interleaved_medians(1.0, [&mut || drop(black_box(run()))]);
    let line = Measurement::time("spectral,k=20 from 5 seeds", view.live_count(), seconds);
    let peer = theirs(answers, "spectral/numpy");
    report.add(line.with_peer("numpy, brute force", peer).note("over the same embedding"));
}

/// Compares communities with those of igraph's Leiden algorithm. igraph computes the modularity of both: ours must be
/// at least 98 % of igraph's, in at most twice the time.
fn grouped(
    work: &str,
    found: &Communities,
    nodes: usize,
    seconds: f64,
    peer: Option<&PeerResult>,
    report: &mut Report,
) {
    let note = peer.map_or(String::new(), |PeerResult { values, .. }| {
        let (theirs, ours) = (values[0], values[2]);
        assert!(ours >= 0.98 * theirs, "{work}: a modularity of {ours}, igraph has {theirs}");
        format!("modularity {ours:.3} in {}, there {theirs:.3} in {}", found.count(), values[1])
    });
    let line =
        Measurement::time(work, nodes, seconds).with_peer("igraph, Leiden", peer.map(|peer| peer.seconds));
    report.add(line.at_most(2.0).note(note));
}

/// Graphs with known communities and a growing share of edges between communities.
fn mixed(report: &mut Report) {
    for mixing in [0.4, 0.5, 0.6] {
        let Some(shape) = peers::mixed_graph(MIXED_NODES, mixing, SEED) else { return };
        let view = graph::view(&shape, SEED);
        let communities = Communities::compute(&view);
        let [seconds] = interleaved_medians(0.2, [&mut || drop(black_box(Communities::compute(&view)))]);
        let peer = peers::compare_communities(&shape, &communities);
        let work = format!("communities, {:.0} % of edges between them", 100.0 * mixing);
        grouped(&work, &communities, shape.nodes, seconds, peer.as_ref(), report);
    }
}

/// Checks that the eigenvalues and the distances between nodes are equal; the sign of an eigenvector is arbitrary.
fn embedded(
    found: &SpectralEmbedding,
    pairs: &[(Ix, Ix)],
    nodes: usize,
    seconds: f64,
    answers: &PeerResults,
    report: &mut Report,
) {
    let ours = found.eigenvalues(0);
    let mut note = format!("{} eigenvalues from {:.4}", ours.len(), ours.first().unwrap_or(&0.0));
    let answer = answers.get("embedding/scipy");
    if let Some(PeerResult { values, .. }) = answer {
        let (eigenvalues, distances) = values.split_at(ours.len());
        for (ours, theirs) in ours.iter().zip(eigenvalues) {
            assert!((ours - theirs).abs() < 1e-6, "eigenvalue {theirs} of scipy, here {ours}");
        }
        let apart = pairs.iter().map(|&(a, b)| found.distance(a, b).unwrap());
        let off = apart.zip(distances).map(|(ours, theirs)| (ours - theirs).abs() / theirs.max(1e-9));
        let max = off.fold(0.0, f64::max);
        assert!(max < 1e-2, "distances differ by up to {max}");
        note += &format!("; distances differ by at most {max:.0e}");
    }
    let line = Measurement::time(format!("spectral embedding, {DIMENSIONS} dimensions"), nodes, seconds);
    report.add(line.with_peer("scipy eigsh", answer.map(|answer| answer.seconds)).faster(1.0).note(note));
}
