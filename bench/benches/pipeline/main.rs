//! The query language: the linker's pipeline, `sort:priority` and each filter alone, compared with loops written by
//! hand over the same columns and with in-memory SQLite with indexes. All must give the same nodes in the same order.
//! Communities and outlier scores are computed beforehand.
//!
//! `cargo bench -p poc-bench --features sqlite --bench pipeline [-- NODES …]`

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench")]

mod filters;

use poc_bench::graph::{self, NOW};
use poc_bench::measure::{Measurement, Report, arguments, interleaved_medians};
use poc_bench::memory;
use poc_bench::sqlite::{LIVE, PRIORITY, Sqlite};
use poc_graph::time::Span;
use poc_graph::{Communities, Ix, Outliers, State, View, clustering};
use poc_notes::Memory;
use poc_search::query::{Pipeline, Sources, VisitRule, VisitRules};
use std::hint::black_box;
use std::sync::Arc;

const SEED: u64 = 7;
const SECONDS: f64 = 2.0;
const LINKER: &str = "all | type:episodic | not-visited:linker,7d | sort:priority | limit:20";

fn main() {
    let mut report = Report::new("pipeline");
    for nodes in arguments().sizes {
        let view = graph::view(&graph::shape(nodes, SEED), SEED);
        let bench = Bench::new(&view);
        bench.linker(&mut report);
        bench.priority(&mut report);
        filters::each_alone(&bench, &mut report);
    }
    report.save();
}

struct Bench<'a> {
    view: &'a View,
    communities: Arc<Communities>,
    outliers: Arc<Outliers>,
    // Settings and indexes; its own store is empty.
    memory: Memory,
    sqlite: Sqlite,
    _folder: tempfile::TempDir,
}

/// The same work in three forms.
struct Implementations<'a> {
    pipeline: String,
    sql: String,
    by_hand: &'a mut dyn FnMut() -> Vec<Ix>,
}

impl<'a> Bench<'a> {
    fn new(view: &'a View) -> Bench<'a> {
        let folder = tempfile::tempdir().unwrap();
        let memory = memory::open(folder.path());
        let options = memory.config.structure.options();
        view.refresh(&options);
        let (communities, _) = view.communities(&options);
        let (outliers, _) = view.outliers(&options).unwrap();
        let sqlite = Sqlite::new(view, &memory.config, &communities, &outliers);
        Bench { view, communities, outliers, memory, sqlite, _folder: folder }
    }

    fn linker(&self, report: &mut Report) {
        let sql = format!(
            "SELECT ix FROM nodes LEFT JOIN visits ON agent = 'linker' AND node = ix
             WHERE {LIVE} AND type = 'episodic'
               AND (at IS NULL OR at <= :now - 7 * 86400000 OR visits.version < nodes.version)
             ORDER BY {PRIORITY} DESC, ix LIMIT 20"
        );
        let episodic = self.view.type_number("episodic").unwrap();
        let mut types = self.view.node_types();
        let mut visits = self.view.visits_of("linker").unwrap().cursor();
        let mut versions = self.view.versions();
        let week_ago = NOW.minus(Span(7 * Span::DAY.0));
        let mut wanted = |ix| {
            types.of(ix, u16::MAX) == episodic
                && !visits
                    .of(ix, None)
                    .is_some_and(|visit| visit.at > week_ago && visit.version >= versions.of(ix, 0))
        };
        let mut by_hand = || best_by_hand(self.view, &self.outliers, &mut wanted);
        let contenders = Implementations { pipeline: LINKER.into(), sql, by_hand: &mut by_hand };
        self.compare_with_bars("linker", contenders, report);
    }

    fn priority(&self, report: &mut Report) {
        let sql = format!("SELECT ix FROM nodes WHERE {LIVE} ORDER BY {PRIORITY} DESC, ix LIMIT 20");
        let mut by_hand = || best_by_hand(self.view, &self.outliers, &mut |_| true);
        let pipeline = "all | sort:priority | limit:20";
        let contenders = Implementations { pipeline: pipeline.into(), sql, by_hand: &mut by_hand };
        self.compare_with_bars(pipeline, contenders, report);
    }

    fn compare_with_bars(&self, work: &str, contenders: Implementations<'_>, report: &mut Report) {
        let ([ours, hand, sqlite], found) = self.race(contenders, SECONDS);
        assert_eq!(found, 20.min(self.view.live_count()));
        let line = Measurement::time(work, self.view.live_count(), ours);
        report.add(line.clone().with_peer("a loop by hand", Some(hand)).at_most(1.5));
        report.add(line.with_peer("SQLite, indexed", Some(sqlite)).faster(10.0));
    }

    /// Checks that the three give the same nodes in the same order; returns their seconds and the number of nodes.
    fn race(&self, contenders: Implementations<'_>, seconds: f64) -> ([f64; 3], usize) {
        let Implementations { pipeline: text, sql, by_hand } = contenders;
        let pipeline = Pipeline::parse(&text, &self.memory.names.load()).unwrap();
        // As in the query of an agent: a visit counts for the version that was visited.
        let rule = VisitRule { only_version: true, only_read: false };
        let visits = VisitRules::Agent { name: "linker", rule };
        let sources = Sources { visits, ..self.memory.sources(self.view) };
        let run = || pipeline.run(&sources).unwrap().0;
        let answer: Vec<Ix> = run().items.iter().map(|item| item.ix).collect();
        assert_eq!(answer, by_hand(), "`{text}` and the loop by hand");
        assert_eq!(answer, self.sqlite.ask(&sql), "`{text}` and SQLite");
        let times = interleaved_medians(
            seconds,
            [&mut || drop(black_box(run())), &mut || drop(black_box(by_hand())), &mut || {
                drop(black_box(self.sqlite.ask(&sql)))
            }],
        );
        (times, answer.len())
    }
}

/// The best twenty by priority in plain Rust: one loop over cursors.
fn best_by_hand(view: &View, outliers: &Outliers, mut wanted: impl FnMut(Ix) -> bool) -> Vec<Ix> {
    let (mut states, mut expiries) = (view.states(), view.expiries());
    let (mut degrees, mut triangles) = (view.degrees(), view.triangle_counts());
    let (mut intervals, mut replays) = (view.replay_intervals(), view.replays());
    let mut emotions = view.emotions();
    let mut best: Vec<(f64, Ix)> = Vec::with_capacity(21);
    for ix in 0..view.slots() {
        if !states.of(ix, None).is_some_and(State::is_live)
            || expiries.of(ix, None).is_some_and(|at| at <= NOW)
            || !wanted(ix)
        {
            continue;
        }
        let displacement = match outliers.of(ix) {
            Some(score) => (score / 3.0).min(3.0),
            None => 1.0 - clustering(degrees.of(ix, 0), triangles.of(ix, 0)),
        };
        let overdue = match replays.of(ix, None) {
            None => 3.0,
            Some(at) => {
                let interval = f64::from(intervals.of(ix, 0).max(1)) * Span::DAY.0 as f64;
                ((NOW.0 - at.0) as f64 / interval).clamp(0.0, 5.0)
            }
        };
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
