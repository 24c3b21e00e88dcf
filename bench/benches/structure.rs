//! What walks the ties: `spread`, communities and the spectral embedding, beside networkx, scipy and
//! igraph on the same ties.
//!
//! `cargo bench -p poc-bench --bench structure [-- NODES …]`

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench")]

use poc_bench::graph;
use poc_bench::measure::{Bar, Report, asked, by_turns, once};
use poc_bench::peers::{self, Answer, Answers};
use poc_memory::graph::{Communities, Embedding, Ix, View};
use poc_memory::rank::activation::{Spread, spread};
use std::collections::BTreeMap;
use std::hint::black_box;

const SEED: u64 = 7;
const DIMENSIONS: usize = 16;
const RULES: Spread = Spread { max_hops: 3, edge_decay: 0.3, min_activation: 0.005 };

fn main() {
    let mut report = Report::new("structure");
    for nodes in asked().sizes {
        let shape = graph::shape(nodes, SEED);
        let seeds: Vec<Ix> = (1..=5).map(|step| (step * nodes / 6) as Ix).collect();
        let answers = peers::ask(&shape, &seeds).unwrap_or_default();
        let view = graph::view(&shape, SEED);
        spreading(&view, &seeds, &answers, &mut report);
        communities(&view, &answers, &mut report);
        embedding(&view, &answers, &mut report);
    }
    report.save();
}

fn theirs(answers: &Answers, name: &str) -> Option<f64> {
    answers.get(name).map(|answer| answer.seconds)
}

fn spreading(view: &View, seeds: &[Ix], answers: &Answers, report: &mut Report) {
    let sources: Vec<(Ix, f64)> = seeds.iter().map(|&ix| (ix, 1.0)).collect();
    let run = || spread(view, &sources, RULES, |_| true);
    let ours: BTreeMap<Ix, f64> = run().into_iter().collect();
    for (name, Answer { values, .. }) in answers.iter().filter(|(name, _)| name.starts_with("spread/")) {
        for (ix, value) in values.iter().enumerate() {
            let found = ours.get(&(ix as Ix)).copied().unwrap_or(0.0);
            // A sum that lies on the cut may fall on either side of it.
            assert!((found - value).abs() < 0.006, "{name}: node {ix} has {value}, here {found}");
        }
    }
    let [seconds] = by_turns(1.0, [&mut || drop(black_box(run()))]);
    let nodes = view.live_count();
    let work = format!("spread from 5 seeds, {} reached", ours.len());
    report.time(&work, nodes, seconds, "scipy", theirs(answers, "spread/scipy"), Bar::Faster(1.0));
    report.time(&work, nodes, seconds, "networkx", theirs(answers, "spread/networkx"), Bar::Faster(20.0));
}

fn communities(view: &View, answers: &Answers, report: &mut Report) {
    let (seconds, found) = once(|| Communities::compute(view));
    let nodes = view.live_count();
    let ours = modularity(view, &found);
    for (peer, bar) in [("igraph", 1.0), ("networkx", 20.0)] {
        let answer = answers.get(&format!("communities/{peer}"));
        let note = answer.map_or(String::new(), |answer| {
            format!(
                "modularity {ours:.3} in {}, there {:.3} in {}",
                found.count(),
                answer.values[0],
                answer.values[1]
            )
        });
        let theirs = answer.map(|answer| answer.seconds);
        report.add("communities", nodes, seconds, "s", peer, theirs, Bar::Faster(bar), note);
    }
}

fn embedding(view: &View, answers: &Answers, report: &mut Report) {
    let (seconds, found) = once(|| Embedding::compute(view, DIMENSIONS));
    let ours = found.eigenvalues(0);
    let answer = answers.get("embedding/scipy");
    if let Some(answer) = answer {
        // An eigenvalue that occurs several times and does not fit whole is left out here.
        for (ours, theirs) in ours.iter().zip(&answer.values) {
            assert!((ours - theirs).abs() < 1e-3, "eigenvalue {theirs} of scipy, here {ours}");
        }
    }
    let note = format!("{} eigenvalues from {:.3}", ours.len(), ours.first().unwrap_or(&0.0));
    let theirs = answer.map(|answer| answer.seconds);
    let work = format!("spectral embedding, {DIMENSIONS} dimensions");
    report.add(&work, view.live_count(), seconds, "s", "scipy eigsh", theirs, Bar::Faster(1.0), note);
}

/// Newman's modularity over the ties that hold communities together.
fn modularity(view: &View, communities: &Communities) -> f64 {
    let mut within = 0.0;
    let mut total = 0.0;
    let mut sums = vec![0.0; communities.count()];
    for ix in 0..view.slots() {
        let Some(community) = communities.of(ix) else { continue };
        for tie in view.ties(ix).filter(|tie| tie.strength >= Communities::MIN_STRENGTH) {
            total += tie.strength;
            sums[community as usize] += tie.strength;
            if communities.of(tie.ix) == Some(community) {
                within += tie.strength;
            }
        }
    }
    within / total - sums.iter().map(|sum| (sum / total) * (sum / total)).sum::<f64>()
}
