//! Each filter of the query language alone, with a typical argument.
//!
//! If few nodes pass, SQLite answers from an index. The query language scans all nodes.

use super::{Bench, Implementations};
use poc_bench::graph::NOW;
use poc_bench::measure::{Measurement, Report};
use poc_bench::sqlite::LIVE;
use poc_graph::time::{Span, Timestamp};
use poc_graph::{Category, Ix, State, View};
use poc_rank::decay;
use poc_search::query::{FIELDS, STAGES, StageKind};

const SECONDS: f64 = 0.5;
const WEEK: Span = Span(7 * Span::DAY.0);
/// [`WEEK`] in SQL.
const WEEK_MILLIS: &str = "7 * 86400000";
const AT_HUB: &str = "ix IN (SELECT b FROM edges WHERE a = 0)";
const WITH_WORD: &str = "ix IN (SELECT node FROM keywords WHERE word = 'word-3-1')";
const OF_PROJECT: &str = "ix IN (SELECT node FROM keywords WHERE word = 'project:example.org/topic-3')";
const OF_LINKER: &str = "(provenance IN ('linker', 'agent:linker')
    OR provenance GLOB 'linker:*' OR provenance GLOB 'agent:linker:*')";

/// A filter, the same condition in SQL, and the same as a loop written by hand.
struct FilterCase<'a> {
    filter: String,
    condition: String,
    by_hand: Box<dyn FnMut() -> Vec<Ix> + 'a>,
}

impl<'a> FilterCase<'a> {
    fn new(
        filter: impl Into<String>,
        condition: impl Into<String>,
        by_hand: impl FnMut() -> Vec<Ix> + 'a,
    ) -> Self {
        FilterCase { filter: filter.into(), condition: condition.into(), by_hand: Box::new(by_hand) }
    }
}

/// Compares each filter alone.
pub(super) fn each_alone(bench: &Bench<'_>, report: &mut Report) {
    let all = filters(bench);
    for word in words() {
        assert!(
            all.iter().any(|case| case.filter.split([':', ',']).next() == Some(word)),
            "`{word}` is missing"
        );
    }
    for mut case in all {
        let pipeline = format!("all | {}", case.filter);
        let sql = format!("SELECT ix FROM nodes WHERE {LIVE} AND {} ORDER BY ix", case.condition);
        let contenders = Implementations { pipeline, sql, by_hand: &mut case.by_hand };
        let ([ours, hand, sqlite], kept) = bench.race(contenders, SECONDS);
        assert!(kept > 0, "`{}` keeps something", case.filter);
        let line = Measurement::time(case.filter, bench.view.live_count(), ours);
        report.add(line.clone().with_peer("a loop by hand", Some(hand)).note(format!("{kept} nodes")));
        report.add(line.with_peer("SQLite, indexed", Some(sqlite)));
    }
}

/// The names of all filters.
fn words() -> impl Iterator<Item = &'static str> {
    let stages = STAGES.iter().filter(|stage| stage.kind() == StageKind::Filter).map(|stage| stage.word);
    stages.chain(FIELDS.iter().filter(|field| field.filter.is_some()).map(|field| field.word))
}

fn filters<'a>(bench: &'a Bench<'_>) -> Vec<FilterCase<'a>> {
    let view = bench.view;
    let mut all = by_name(view);
    all.extend(by_figure(bench));
    all.extend(by_visit(view));
    let communities = &bench.communities;
    let of_largest = scan(view, move |ix| communities.of(ix) == Some(0));
    all.push(FilterCase::new("community:0", "community = 0", of_largest));
    all
}

/// Filters of names, keywords, keys and states.
fn by_name(view: &View) -> Vec<FilterCase<'_>> {
    let mut types = view.node_types();
    let daily = view.type_number("daily").unwrap();
    let is_linker = |name: &str| name == "linker" || name.starts_with("linker:");
    let of_linker: Vec<u32> =
        view.provenances().filter(|(_, name)| is_linker(name)).map(|(number, _)| number).collect();
    let mut provenances = view.provenance_numbers();
    let (mut states, mut categories) = (view.states(), view.categories());
    let word = view.keyword_number("word-3-1").unwrap();
    let project = view.keyword_number("project:example.org/topic-3").unwrap();
    let hub = format!("linked-to:{}", view.key(0));
    // By hand one would follow the edges of the node instead of scanning all nodes.
    let at_hub = move || view.merged_edges(0).map(|edge| edge.ix).filter(|&ix| unexpired(view, ix)).collect();
    vec![
        FilterCase::new(
            "type:daily",
            "type = 'daily'",
            scan(view, move |ix| types.of(ix, u16::MAX) == daily),
        ),
        FilterCase::new(
            "key:journal#idea-1*",
            "key GLOB 'journal#idea-1*'",
            scan(view, move |ix| view.key(ix).starts_with("journal#idea-1")),
        ),
        FilterCase::new(
            "key:*ea-1?",
            "key GLOB '*ea-1?'",
            scan(view, move |ix| {
                let mut key = view.key(ix).chars();
                key.next_back().is_some() && key.as_str().ends_with("ea-1")
            }),
        ),
        // No key of the bench is an id or a placeholder.
        FilterCase::new(
            "generated-key,len=18",
            "key_len >= 18",
            scan(view, move |ix| view.key(ix).chars().count() >= 18),
        ),
        FilterCase::new(
            "keyword:word-3-1",
            WITH_WORD,
            scan(view, move |ix| view.keywords(ix).contains(&word)),
        ),
        FilterCase::new(
            "project:topic-3",
            OF_PROJECT,
            scan(view, move |ix| view.keywords(ix).contains(&project)),
        ),
        FilterCase::new(
            "provenance:linker",
            OF_LINKER,
            scan(view, move |ix| of_linker.contains(&provenances.of(ix, u32::MAX))),
        ),
        FilterCase::new(
            "state:stale",
            "state = 'stale'",
            scan(view, move |ix| states.of(ix, None) == Some(State::Stale)),
        ),
        FilterCase::new(
            "category:task",
            "category = 'task'",
            scan(view, move |ix| categories.of(ix, Category::General) == Category::Task),
        ),
        FilterCase::new(hub, AT_HUB, at_hub),
    ]
}

/// Filters that compare numbers.
fn by_figure<'a>(bench: &'a Bench<'_>) -> Vec<FilterCase<'a>> {
    let view = bench.view;
    let (mut key_lens, mut body_lens, mut degrees) = (view.key_lens(), view.body_lens(), view.degrees());
    let (mut modified, mut created) = (view.modifications(), view.creations());
    let (mut weights, mut touches, mut categories) =
        (view.stored_weights(), view.touches(), view.categories());
    let config = &bench.memory.config.weight;
    let lambdas: Vec<f64> = Category::ALL.iter().map(|&category| decay::lambda(config, category)).collect();
    let week_ago = NOW.minus(WEEK);
    vec![
        FilterCase::new("key-len:>=18", "key_len >= 18", scan(view, move |ix| key_lens.of(ix, 0) >= 18)),
        FilterCase::new(
            "content-len:>1000",
            "body_len > 1000",
            scan(view, move |ix| body_lens.of(ix, 0) > 1000),
        ),
        FilterCase::new("degree:>30", "degree > 30", scan(view, move |ix| degrees.of(ix, 0) > 30)),
        FilterCase::new(
            "age:<7d",
            format!("modified > :now - {WEEK_MILLIS}"),
            scan(view, move |ix| modified.of(ix, Timestamp(0)) > week_ago),
        ),
        FilterCase::new(
            "created:<7d",
            format!("created > :now - {WEEK_MILLIS}"),
            scan(view, move |ix| created.of(ix, Timestamp(0)) > week_ago),
        ),
        FilterCase::new(
            "weight:>1",
            "round(weight * 100) > 100",
            scan(view, move |ix| {
                let lambda = lambdas[categories.of(ix, Category::General) as usize];
                let seconds = NOW.seconds_since(touches.of(ix, NOW));
                (decay::decayed(weights.of(ix, 0.0), lambda, seconds).max(config.floor) * 100.0).round()
                    > 100.0
            }),
        ),
    ]
}

/// Filters of what the linker has visited within a week in the present version.
fn by_visit(view: &View) -> Vec<FilterCase<'_>> {
    let seen = format!(
        "EXISTS (SELECT 1 FROM visits WHERE agent = 'linker' AND node = ix
         AND at > :now - {WEEK_MILLIS} AND visits.version >= nodes.version)"
    );
    let visited = || {
        let (mut visits, mut versions) = (view.visits_of("linker").unwrap().cursor(), view.versions());
        let week_ago = NOW.minus(WEEK);
        move |ix| {
            let visit = visits.of(ix, None);
            visit.is_some_and(|visit| visit.at > week_ago && visit.version >= versions.of(ix, 0))
        }
    };
    let (mut not_again, visited) = (visited(), visited());
    vec![
        FilterCase::new("not-visited:linker,7d", format!("NOT {seen}"), scan(view, move |ix| !not_again(ix))),
        FilterCase::new("visited:linker,7d", seen, scan(view, visited)),
    ]
}

/// The live nodes a test accepts: one loop over cursors.
fn scan<'a>(view: &'a View, mut wanted: impl FnMut(Ix) -> bool + 'a) -> impl FnMut() -> Vec<Ix> + 'a {
    let (mut states, mut expiries) = (view.states(), view.expiries());
    move || {
        let mut kept = Vec::new();
        for ix in 0..view.slots() {
            if states.of(ix, None).is_some_and(State::is_live)
                && expiries.of(ix, None).is_none_or(|at| at > NOW)
                && wanted(ix)
            {
                kept.push(ix);
            }
        }
        kept
    }
}

fn unexpired(view: &View, ix: Ix) -> bool {
    view.expires(ix).is_none_or(|at| at > NOW)
}
