//! Every filter of the language alone, with one usual argument.
//!
//! SQLite answers from an index where few nodes pass, and the language has none: it looks at every
//! node. What SQLite must do as well is give the rows.

use super::{Bench, Rivals};
use poc_bench::graph::NOW;
use poc_bench::measure::{Line, Report};
use poc_bench::sqlite::LIVE;
use poc_graph::time::{Span, Timestamp};
use poc_graph::{Category, Ix, State, View};
use poc_rank::decay;
use poc_search::query::{FIELDS, Kind, STAGES};

const SECONDS: f64 = 0.5;
const WEEK: Span = Span(7 * Span::DAY.0);
/// The same for SQLite.
const WEEK_MILLIS: &str = "7 * 86400000";
const AT_HUB: &str = "ix IN (SELECT b FROM ties WHERE a = 0)";
const WITH_WORD: &str = "ix IN (SELECT node FROM keywords WHERE word = 'word-3-1')";
const OF_LINKER: &str = "(provenance IN ('linker', 'agent:linker')
    OR provenance GLOB 'linker:*' OR provenance GLOB 'agent:linker:*')";

/// A filter, the same as a condition of SQL, and the same by hand.
struct Alone<'a> {
    filter: String,
    condition: String,
    by_hand: Box<dyn FnMut() -> Vec<Ix> + 'a>,
}

impl<'a> Alone<'a> {
    fn new(
        filter: impl Into<String>,
        condition: impl Into<String>,
        by_hand: impl FnMut() -> Vec<Ix> + 'a,
    ) -> Self {
        Alone { filter: filter.into(), condition: condition.into(), by_hand: Box::new(by_hand) }
    }
}

/// Races all of them.
pub(super) fn each_alone(bench: &Bench<'_>, report: &mut Report) {
    let all = filters(bench);
    for word in words() {
        assert!(
            all.iter().any(|alone| alone.filter.split([':', ',']).next() == Some(word)),
            "`{word}` is missing"
        );
    }
    for mut alone in all {
        let pipeline = format!("all | {}", alone.filter);
        let sql = format!("SELECT ix FROM nodes WHERE {LIVE} AND {} ORDER BY ix", alone.condition);
        let rivals = Rivals { pipeline, sql, by_hand: &mut alone.by_hand };
        let ([ours, hand, sqlite], kept) = bench.race(rivals, SECONDS);
        assert!(kept > 0, "`{}` keeps something", alone.filter);
        let line = Line::time(alone.filter, bench.view.live_count(), ours);
        report.add(line.clone().beside("a loop by hand", Some(hand)).note(format!("{kept} nodes")));
        report.add(line.beside("SQLite, indexed", Some(sqlite)));
    }
}

/// Every word that filters.
fn words() -> impl Iterator<Item = &'static str> {
    let stages = STAGES.iter().filter(|stage| stage.kind() == Kind::Filter).map(|stage| stage.word);
    stages.chain(FIELDS.iter().filter(|field| field.filter.is_some()).map(|field| field.word))
}

fn filters<'a>(bench: &'a Bench<'_>) -> Vec<Alone<'a>> {
    let view = bench.view;
    let mut all = by_name(view);
    all.extend(by_figure(bench));
    all.extend(by_visit(view));
    let communities = &bench.communities;
    let of_largest = scan(view, move |ix| communities.of(ix) == Some(0));
    all.push(Alone::new("community:0", "community = 0", of_largest));
    all
}

/// Names, words, keys and states.
fn by_name(view: &View) -> Vec<Alone<'_>> {
    let mut types = view.node_types();
    let daily = view.type_number("daily").unwrap();
    let goes_by = |name: &str| name == "linker" || name.starts_with("linker:");
    let of_linker: Vec<u32> =
        view.provenances().filter(|(_, name)| goes_by(name)).map(|(number, _)| number).collect();
    let mut provenances = view.provenance_numbers();
    let mut states = view.states();
    let word = view.keyword_number("word-3-1").unwrap();
    let hub = format!("linked-to:{}", view.key(0));
    // By hand nobody would look at every node, but along the ties of the one.
    let at_hub = move || view.merged_edges(0).map(|tie| tie.ix).filter(|&ix| unexpired(view, ix)).collect();
    vec![
        Alone::new("type:daily", "type = 'daily'", scan(view, move |ix| types.of(ix, u16::MAX) == daily)),
        Alone::new(
            "key:journal#idea-1*",
            "key GLOB 'journal#idea-1*'",
            scan(view, move |ix| view.key(ix).starts_with("journal#idea-1")),
        ),
        Alone::new(
            "key:*ea-1?",
            "key GLOB '*ea-1?'",
            scan(view, move |ix| {
                let mut key = view.key(ix).chars();
                key.next_back().is_some() && key.as_str().ends_with("ea-1")
            }),
        ),
        // No key of the bench is an id or a placeholder.
        Alone::new(
            "generated-key,len=18",
            "key_len >= 18",
            scan(view, move |ix| view.key(ix).chars().count() >= 18),
        ),
        Alone::new("keyword:word-3-1", WITH_WORD, scan(view, move |ix| view.keywords(ix).contains(&word))),
        Alone::new(
            "provenance:linker",
            OF_LINKER,
            scan(view, move |ix| of_linker.contains(&provenances.of(ix, u32::MAX))),
        ),
        Alone::new(
            "state:stale",
            "state = 'stale'",
            scan(view, move |ix| states.of(ix, None) == Some(State::Stale)),
        ),
        Alone::new(hub, AT_HUB, at_hub),
    ]
}

/// Comparisons of figures.
fn by_figure<'a>(bench: &'a Bench<'_>) -> Vec<Alone<'a>> {
    let view = bench.view;
    let (mut key_lens, mut body_lens, mut degrees) = (view.key_lens(), view.body_lens(), view.degrees());
    let (mut modified, mut created) = (view.modifications(), view.creations());
    let (mut weights, mut touches, mut categories) =
        (view.stored_weights(), view.touches(), view.categories());
    let config = &bench.memory.config.weight;
    let lambdas: Vec<f64> = Category::ALL.iter().map(|&category| decay::lambda(config, category)).collect();
    let week_ago = NOW.minus(WEEK);
    vec![
        Alone::new("key-len:>=18", "key_len >= 18", scan(view, move |ix| key_lens.of(ix, 0) >= 18)),
        Alone::new("content-len:>1000", "body_len > 1000", scan(view, move |ix| body_lens.of(ix, 0) > 1000)),
        Alone::new("degree:>30", "degree > 30", scan(view, move |ix| degrees.of(ix, 0) > 30)),
        Alone::new(
            "age:<7d",
            format!("modified > :now - {WEEK_MILLIS}"),
            scan(view, move |ix| modified.of(ix, Timestamp(0)) > week_ago),
        ),
        Alone::new(
            "created:<7d",
            format!("created > :now - {WEEK_MILLIS}"),
            scan(view, move |ix| created.of(ix, Timestamp(0)) > week_ago),
        ),
        Alone::new(
            "weight:>1",
            "weight > 1",
            scan(view, move |ix| {
                let lambda = lambdas[categories.of(ix, Category::General) as usize];
                let seconds = NOW.seconds_since(touches.of(ix, NOW));
                decay::decayed(weights.of(ix, 0.0), lambda, seconds).max(config.floor) > 1.0
            }),
        ),
    ]
}

/// What the linker has visited within a week, in the version there is.
fn by_visit(view: &View) -> Vec<Alone<'_>> {
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
        Alone::new("not-visited:linker,7d", format!("NOT {seen}"), scan(view, move |ix| !not_again(ix))),
        Alone::new("visited:linker,7d", seen, scan(view, visited)),
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
