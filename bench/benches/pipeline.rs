//! The language over the columns: the linker's pipeline, `sort:priority` and each filter alone,
//! beside loops written by hand over the same columns and SQLite in memory with indexes. All sides
//! must give the same nodes.
//!
//! `cargo bench -p poc-bench --bench pipeline [-- NODES …]`

#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench")]

use poc_bench::graph::{self, NOW};
use poc_bench::measure::{Bar, Report, asked, by_turns};
use poc_bench::memory;
use poc_bench::sqlite::{LIVE, PRIORITY, Sqlite};
use poc_memory::graph::{Ix, State, View, clustering};
use poc_memory::memory::Memory;
use poc_memory::query::Pipeline;
use poc_memory::time::Span;
use std::hint::black_box;

const SEED: u64 = 7;
const SECONDS: f64 = 2.0;
const LINKER: &str = "all | type:episodic | not-visited:linker,7d | sort:priority | limit:20";

fn main() {
    let mut report = Report::new("pipeline");
    for nodes in asked().sizes {
        let shape = graph::shape(nodes, SEED);
        let view = graph::view(&shape, SEED);
        let bench = Bench::over(&view);
        bench.linker(&mut report);
        bench.priority(&mut report);
        bench.filters(&mut report);
    }
    report.save();
}

struct Bench<'a> {
    view: &'a View,
    // Settings and indexes; its own store is empty.
    memory: Memory,
    sqlite: Sqlite,
    _folder: tempfile::TempDir,
}

impl<'a> Bench<'a> {
    fn over(view: &'a View) -> Bench<'a> {
        let folder = tempfile::tempdir().unwrap();
        let memory = memory::open(folder.path());
        let (communities, _) = view.communities(&memory.config.structure.rules());
        let community: Vec<Option<u32>> = (0..view.slots()).map(|ix| communities.of(ix)).collect();
        let displacement: Vec<f64> = (0..view.slots()).map(|ix| 1.0 - view.clustering(ix)).collect();
        let sqlite = Sqlite::of(view, &memory.config, &displacement, &community);
        Bench { view, memory, sqlite, _folder: folder }
    }

    fn run(&self, pipeline: &Pipeline) -> Vec<Ix> {
        let (set, _) = pipeline.run(&self.memory.sources(self.view)).unwrap();
        set.items.iter().map(|item| item.ix).collect()
    }

    fn linker(&self, report: &mut Report) {
        let sql = format!(
            "SELECT ix FROM nodes LEFT JOIN visits ON agent = 'linker' AND node = ix
             WHERE {LIVE} AND type = 'episodic'
               AND (at IS NULL OR at <= :now - 7 * 86400000 OR visits.version < nodes.version)
             ORDER BY {PRIORITY} DESC, ix LIMIT 20"
        );
        let mut visits = self.view.visits_of("linker").unwrap().cursor();
        let mut versions = self.view.versions();
        let week_ago = NOW.minus(Span(7 * Span::DAY.0));
        let mut wanted = |ix| {
            let visit = visits.of(ix, None);
            !visit.is_some_and(|visit| visit.at > week_ago && visit.version >= versions.of(ix, 0))
        };
        let mut by_hand = || best_by_hand(self.view, true, &mut wanted);
        self.compare(report, "linker", LINKER, &sql, &mut by_hand);
    }

    fn priority(&self, report: &mut Report) {
        let sql = format!("SELECT ix FROM nodes WHERE {LIVE} ORDER BY {PRIORITY} DESC, ix LIMIT 20");
        let mut by_hand = || best_by_hand(self.view, false, &mut |_| true);
        let pipeline = "all | sort:priority | limit:20";
        self.compare(report, pipeline, pipeline, &sql, &mut by_hand);
    }

    /// One pipeline against a loop by hand and SQLite.
    fn compare(
        &self,
        report: &mut Report,
        name: &str,
        text: &str,
        sql: &str,
        by_hand: &mut dyn FnMut() -> Vec<Ix>,
    ) {
        let pipeline = Pipeline::parse(text, &self.memory.names.load()).unwrap();
        let answer = self.run(&pipeline);
        assert_eq!(answer, by_hand(), "`{text}` and the loop by hand");
        assert_eq!(answer, self.sqlite.ask(sql), "`{text}` and SQLite");
        let [ours, hand, sqlite] = by_turns(
            SECONDS,
            [&mut || drop(black_box(self.run(&pipeline))), &mut || drop(black_box(by_hand())), &mut || {
                drop(black_box(self.sqlite.ask(sql)))
            }],
        );
        let nodes = self.view.live_count();
        report.time(name, nodes, ours, "a loop by hand", Some(hand), Bar::AtMost(1.5));
        report.time(name, nodes, ours, "SQLite, indexed", Some(sqlite), Bar::Faster(10.0));
    }

    /// Every filter alone. SQLite may answer from an index where few nodes pass; what it must then
    /// do as well is give the rows.
    fn filters(&self, report: &mut Report) {
        let (hub, day) = (self.view.key(0).to_owned(), 86_400_000);
        let visited = "EXISTS (SELECT 1 FROM visits WHERE agent = 'linker' AND node = ix AND ";
        let unseen = format!("NOT {visited} at > :now - 7 * {day} AND visits.version >= nodes.version)");
        let filters = [
            ("type:daily".to_owned(), "type = 'daily'".to_owned()),
            ("key:journal#idea-1*".into(), "key GLOB 'journal#idea-1*'".into()),
            ("key-len:>=18".into(), "key_len >= 18".into()),
            ("content-len:>1000".into(), "body_len > 1000".into()),
            ("weight:>1".into(), "weight > 1".into()),
            ("age:<7d".into(), format!(":now - modified < 7 * {day}")),
            ("created:<7d".into(), format!(":now - created < 7 * {day}")),
            ("provenance:linker".into(), "(provenance = 'linker' OR provenance GLOB 'linker:*')".into()),
            ("not-visited:linker,7d".into(), unseen),
            ("visited:linker,7d".into(), format!("{visited} at > :now - 7 * {day})")),
            ("community:0".into(), "community = 0".into()),
            ("degree:>30".into(), "degree > 30".into()),
            ("keyword:word-3-1".into(), "ix IN (SELECT node FROM keywords WHERE word = 'word-3-1')".into()),
            ("state:stale".into(), "state = 'stale'".into()),
            (format!("linked-to:{hub}"), "ix IN (SELECT b FROM ties WHERE a = 0)".into()),
        ];
        for (filter, condition) in filters {
            let text = format!("all | {filter}");
            let sql = format!("SELECT ix FROM nodes WHERE {LIVE} AND {condition} ORDER BY ix");
            let pipeline = Pipeline::parse(&text, &self.memory.names.load()).unwrap();
            let answer = self.run(&pipeline);
            assert_eq!(answer, self.sqlite.ask(&sql), "`{text}` and SQLite");
            assert!(!answer.is_empty(), "`{text}` keeps something");
            let [ours, sqlite] = by_turns(
                SECONDS / 4.0,
                [&mut || drop(black_box(self.run(&pipeline))), &mut || {
                    drop(black_box(self.sqlite.ask(&sql)))
                }],
            );
            let note = format!("{} nodes", answer.len());
            let nodes = self.view.live_count();
            report.add(&text, nodes, ours, "s", "SQLite, indexed", Some(sqlite), Bar::None, note);
        }
    }
}

/// The best twenty by priority in plain Rust: one loop over cursors.
fn best_by_hand(view: &View, only_episodic: bool, wanted: &mut dyn FnMut(Ix) -> bool) -> Vec<Ix> {
    let episodic = view.type_number("episodic").unwrap();
    let (mut states, mut expiries, mut types) = (view.states(), view.expiries(), view.node_types());
    let (mut degrees, mut triangles) = (view.degrees(), view.triangle_counts());
    let (mut intervals, mut replays) = (view.replay_intervals(), view.replays());
    let mut emotions = view.emotions();
    let mut best: Vec<(f64, Ix)> = Vec::with_capacity(21);
    for ix in 0..view.slots() {
        if !states.of(ix, None).is_some_and(State::is_live)
            || expiries.of(ix, None).is_some_and(|at| at <= NOW)
            || only_episodic && types.of(ix, u16::MAX) != episodic
            || !wanted(ix)
        {
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
