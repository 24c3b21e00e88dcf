//! Compares combined passes with a naive evaluator for random pipelines over random graphs. The evaluator reads only
//! the records and runs one stage after the other.

use super::sample::World;
use poc_graph::time::Timestamp;
use poc_graph::{
    Activity, Category, Delta, EdgeKind, Node, NodeType, Outliers, State, Visit, VisitOutcome, testing,
};
use proptest::prelude::*;
use std::sync::Arc;

const NOW: Timestamp = Timestamp(1_000_000_000);

#[derive(Clone, Debug)]
pub(super) struct Record {
    node: Node,
    activity: Activity,
    visit: Option<Visit>,
}

#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub(super) records: Vec<Record>,
    edges: Vec<(usize, usize)>,
}

/// A stage as data, with its text.
#[derive(Clone, Debug)]
enum Step {
    Filter(bool, Test),
    Sort(&'static str, bool),
    Limit(usize),
    Offset(usize),
}

#[derive(Clone, Debug)]
enum Test {
    Type(&'static str),
    Key(&'static str),
    Keyword(&'static str),
    Project(&'static str),
    Provenance(&'static str),
    State(State),
    Category(Category),
    Visited(bool, Option<i64>),
    LinkedTo(usize),
    Number(&'static str, &'static str, f64),
    Time(&'static str, &'static str, i64),
}

impl Step {
    fn text(&self) -> String {
        match self {
            Step::Filter(negated, test) => format!("{}{}", if *negated { "!" } else { "" }, test.text()),
            Step::Sort(field, asc) => format!("sort:{field}{}", if *asc { " asc" } else { "" }),
            Step::Limit(count) => format!("limit:{count}"),
            Step::Offset(count) => format!("offset:{count}"),
        }
    }
}

impl Test {
    fn text(&self) -> String {
        match self {
            Test::Type(name) => format!("type:{name}"),
            Test::Key(prefix) => format!("key:{prefix}*"),
            Test::Keyword(word) => format!("keyword:{word}"),
            Test::Project(name) => format!("project:{name}"),
            Test::Provenance(name) => format!("provenance:{name}"),
            Test::State(state) => format!("state:{state}"),
            Test::Category(category) => format!("category:{category}"),
            Test::Visited(yes, within) => {
                let within = within.map_or_else(String::new, |seconds| format!(",{seconds}s"));
                format!("{}visited:linker{within}", if *yes { "" } else { "not-" })
            }
            Test::LinkedTo(number) => format!("linked-to:n{number}"),
            Test::Number(field, sign, bound) => format!("{field}:{sign}{bound}"),
            Test::Time(field, sign, seconds) => format!("{field}:{sign}{seconds}s"),
        }
    }
}

/// The state of a record, with `expires` taken into account.
pub(super) fn state(record: &Record) -> State {
    let over = record.node.expires.is_some_and(|at| at <= NOW);
    match record.node.state {
        State::Active | State::Stale if over => State::Expired,
        other => other,
    }
}

impl Graph {
    fn neighbors(&self, at: usize) -> Vec<usize> {
        let in_use = |n: &usize| matches!(self.records[*n].node.state, State::Active | State::Stale);
        let edges = self.edges.iter();
        let mut all: Vec<usize> = edges
            .filter_map(|&(a, b)| {
                if a == at {
                    Some(b)
                } else if b == at {
                    Some(a)
                } else {
                    None
                }
            })
            .filter(|other| *other != at)
            .filter(in_use)
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn linked(&self, a: usize, b: usize) -> bool {
        a != b && self.edges.iter().any(|&edge| edge == (a, b) || edge == (b, a))
    }

    fn number(&self, field: &str, at: usize, outliers: &Outliers) -> f64 {
        let record = &self.records[at];
        match field {
            "weight" => {
                let lambda = match record.node.category {
                    Category::Core => 0.0,
                    Category::General => 8.0e-8,
                    Category::Technical => 4.0e-8,
                    Category::Observation => 16.0e-8,
                    Category::Task => 12.0e-8,
                };
                let seconds = (NOW.0 - record.activity.touched.0).max(0) as f64 / 1000.0;
                (record.activity.weight * (-lambda * seconds).exp()).max(0.01)
            }
            "degree" => self.neighbors(at).len() as f64,
            "content-len" => record.node.body.chars().count() as f64,
            "key-len" => record.node.key.chars().count() as f64,
            "timestamp" => record.node.modified.0 as f64,
            "created" => record.node.created.0 as f64,
            "visited:linker" => record.visit.map_or(f64::MIN, |visit| visit.at.0 as f64),
            "score" => 1.0,
            "priority" => {
                let around = self.neighbors(at);
                let mut joined = 0;
                for (position, &a) in around.iter().enumerate() {
                    joined += around[position + 1..].iter().filter(|&&b| self.linked(a, b)).count();
                }
                let possible = around.len() * around.len().saturating_sub(1) / 2;
                let clustering = if possible == 0 { 0.0 } else { joined as f64 / possible as f64 };
                let interval = f64::from(record.activity.replay_interval.max(1));
                let overdue = record.activity.replayed.map_or(3.0, |at| {
                    // There is a single division, so that equal shares of different intervals are exactly equal.
                    ((NOW.0 - at.0) as f64 / (86_400_000.0 * interval)).clamp(0.0, 5.0)
                });
                let displacement = match outliers.of(at as u32) {
                    Some(score) => (score / 3.0).min(3.0),
                    None => 1.0 - clustering,
                };
                displacement * overdue * (1.0 + f64::from(record.node.emotion) / 10.0)
            }
            other => panic!("{other}"),
        }
    }

    fn passes(&self, test: &Test, at: usize, by_version: bool, outliers: &Outliers) -> bool {
        let record = &self.records[at];
        let compare = |value: f64, sign: &str, bound: f64| match sign {
            ">" => value > bound,
            ">=" => value >= bound,
            "<" => value < bound,
            "<=" => value <= bound,
            _ => value == bound,
        };
        match test {
            Test::Type(name) => record.node.node_type.0 == *name,
            Test::Key(prefix) => record.node.key.starts_with(prefix),
            Test::Keyword(word) => record.node.keywords.iter().any(|own| own == word),
            Test::Project(name) => record.node.keywords.iter().any(|own| {
                own.strip_prefix("project:")
                    .is_some_and(|own| *name == "*" || own == *name || own.ends_with(&format!("/{name}")))
            }),
            Test::Provenance(name) => {
                let own = record.node.provenance.as_str();
                own == *name || own.split(':').next() == Some(name) || own == format!("agent:{name}")
            }
            Test::State(wanted) => state(record) == *wanted,
            Test::Category(wanted) => record.node.category == *wanted,
            Test::Visited(yes, within) => {
                let visited = record.visit.is_some_and(|visit| {
                    within.is_none_or(|seconds| NOW.0 - visit.at.0 < seconds * 1000)
                        && (!by_version || visit.version >= record.node.version)
                });
                visited == *yes
            }
            Test::LinkedTo(number) => self.linked(*number, at),
            // Weights are compared in hundredths.
            Test::Number("weight", sign, bound) => {
                let rounded = |number: f64| (number * 100.0).round();
                compare(rounded(self.number("weight", at, outliers)), sign, rounded(*bound))
            }
            Test::Number(field, sign, bound) => compare(self.number(field, at, outliers), sign, *bound),
            Test::Time(field, sign, seconds) => {
                let at = if *field == "created" { record.node.created } else { record.node.modified };
                compare((NOW.0 - at.0) as f64 / 1000.0, sign, *seconds as f64)
            }
        }
    }

    /// The result, and the number of nodes in the output of each stage.
    fn answer(&self, steps: &[Step], by_version: bool, outliers: &Outliers) -> (Vec<usize>, Vec<usize>) {
        let widened: Vec<State> = steps
            .iter()
            .filter_map(
                |step| if let Step::Filter(false, Test::State(state)) = step { Some(*state) } else { None },
            )
            .collect();
        let mut set: Vec<usize> = (0..self.records.len())
            .filter(|&at| {
                let state = state(&self.records[at]);
                matches!(state, State::Active | State::Stale) || widened.contains(&state)
            })
            .collect();
        set.sort_by_key(|&at| self.records[at].node.id);
        let mut counts = vec![set.len()];
        for step in steps {
            match step {
                Step::Filter(negated, test) => {
                    set.retain(|&at| self.passes(test, at, by_version, outliers) != *negated)
                }
                Step::Sort(field, asc) => set.sort_by(|&a, &b| {
                    let order = self
                        .number(field, a, outliers)
                        .partial_cmp(&self.number(field, b, outliers))
                        .unwrap();
                    let order = if *asc { order } else { order.reverse() };
                    order.then(self.records[a].node.id.cmp(&self.records[b].node.id))
                }),
                Step::Limit(count) => set.truncate(*count),
                Step::Offset(count) => drop(set.drain(..set.len().min(*count))),
            }
            counts.push(set.len());
        }
        (set, counts)
    }

    pub(super) fn world(&self) -> World {
        let mut deltas = Vec::new();
        for record in &self.records {
            deltas.push(Delta::Node(Arc::new(record.node.clone())));
            deltas.push(Delta::Activity(record.node.id, record.activity));
            if let Some(visit) = record.visit {
                deltas.push(Delta::Visit("linker".into(), record.node.id, visit));
            }
        }
        for &(a, b) in &self.edges {
            deltas.push(Delta::from(poc_graph::Edge {
                src: self.records[a].node.id,
                dst: self.records[b].node.id,
                ..testing::edge(0, 1, EdgeKind::Link, 0.5)
            }));
        }
        World::new(NOW, deltas)
    }
}

fn record() -> impl Strategy<Value = Record> {
    let instant = || (0i64..1_000).prop_map(|back| Timestamp(NOW.0 - back * 1_000_000));
    let texts = (
        proptest::sample::select(vec!["episodic", "daily", "semantic"]),
        proptest::sample::select(vec!["manual", "import:a", "agent:linker", "linker:link"]),
        proptest::sample::select(State::ALL.to_vec()),
        proptest::sample::select(Category::ALL.to_vec()),
        0usize..4,
        proptest::sample::subsequence(vec!["word", "project:a.b/c", "project:c"], 0..3),
    );
    let numbers = (0u32..11, 1u32..3, 0.01f64..3.0, proptest::sample::select(vec![0u16, 1, 3, 7, 14, 30]));
    let times = (
        instant(),
        instant(),
        instant(),
        proptest::option::weighted(0.3, (-500i64..500).prop_map(|by| Timestamp(NOW.0 + by * 1000))),
        proptest::option::of(instant()),
        proptest::option::of((instant(), 1u32..3)),
    );
    (texts, numbers, times).prop_map(|(texts, numbers, times)| {
        let (kind, provenance, state, category, length, keywords) = texts;
        let (emotion, version, weight, replay_interval) = numbers;
        let (created, modified, touched, expires, replayed, visit) = times;
        let node = Node {
            node_type: NodeType(kind.into()),
            provenance: provenance.into(),
            state,
            category,
            body: "é".repeat(length),
            keywords: keywords.into_iter().map(str::to_owned).collect(),
            emotion: emotion as f32,
            version,
            created,
            modified,
            expires,
            ..testing::node(0)
        };
        let activity = Activity { weight, touched, accesses: 0, replay_interval, replayed, judged: None };
        let visit = visit.map(|(at, version)| Visit { at, outcome: VisitOutcome::Processed, version });
        Record { node, activity, visit }
    })
}

/// A graph whose nodes may or may not be added in the order of their ids.
pub(super) fn graph(nodes: usize) -> impl Strategy<Value = Graph> {
    (1..=nodes, any::<bool>()).prop_flat_map(|(nodes, shuffled)| {
        let numbers: Vec<usize> = (0..nodes).collect();
        let order = if shuffled { Just(numbers).prop_shuffle().boxed() } else { Just(numbers).boxed() };
        (
            proptest::collection::vec(record(), nodes),
            order,
            proptest::collection::vec((0..nodes, 0..nodes), 0..=nodes * 3),
        )
            .prop_map(|(mut records, order, edges)| {
                for (position, (record, number)) in records.iter_mut().zip(order).enumerate() {
                    record.node.id = testing::node(number as u64).id;
                    record.node.key = format!("n{position}");
                }
                Graph { records, edges }
            })
    })
}

fn test() -> impl Strategy<Value = Test> {
    let sign = || proptest::sample::select(vec![">", ">=", "<", "<=", "="]);
    prop_oneof![
        2 => proptest::sample::select(vec!["episodic", "daily", "weekly"]).prop_map(Test::Type),
        1 => proptest::sample::select(vec!["n1", "n", "x"]).prop_map(Test::Key),
        1 => proptest::sample::select(vec!["word", "other"]).prop_map(Test::Keyword),
        1 => proptest::sample::select(vec!["a.b/c", "c", "*", "x"]).prop_map(Test::Project),
        1 => proptest::sample::select(vec!["manual", "import", "import:a", "agent", "linker"]).prop_map(Test::Provenance),
        1 => proptest::sample::select(State::ALL.to_vec()).prop_map(Test::State),
        1 => proptest::sample::select(Category::ALL.to_vec()).prop_map(Test::Category),
        3 => (any::<bool>(), proptest::option::of((0i64..1000).prop_map(|s| s * 1000))).prop_map(|(yes, within)| Test::Visited(yes, within)),
        1 => Just(Test::LinkedTo(0)),
        2 => (proptest::sample::select(vec!["weight", "degree", "content-len", "key-len"]), sign(), 0u8..5)
            .prop_map(|(field, sign, bound)| Test::Number(field, sign, f64::from(bound) / 2.0)),
        2 => (proptest::sample::select(vec!["age", "modified", "created"]), sign(), 0i64..1000)
            .prop_map(|(field, sign, seconds)| Test::Time(field, sign, seconds * 1000)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let fields = vec![
        "priority",
        "weight",
        "timestamp",
        "created",
        "degree",
        "content-len",
        "key-len",
        "score",
        "visited:linker",
    ];
    prop_oneof![
        5 => (any::<bool>(), test()).prop_map(|(negated, test)| Step::Filter(negated, test)),
        2 => (proptest::sample::select(fields), any::<bool>()).prop_map(|(field, asc)| Step::Sort(field, asc)),
        1 => (1usize..12).prop_map(Step::Limit),
        1 => (0usize..5).prop_map(Step::Offset),
    ]
}

fn check(graph: &Graph, pipelines: &[Vec<Step>], by_version: bool) -> Result<(), TestCaseError> {
    let mut world = graph.world();
    world.revisit_on_change = by_version;
    // Outlier scores have their own tests. This test checks that the priority uses them.
    let (outliers, _) = world.view.outliers(&world.config.structure.options()).unwrap();
    for steps in pipelines {
        let text: Vec<String> =
            std::iter::once("all".to_owned()).chain(steps.iter().map(Step::text)).collect();
        let (set, explanation) = world.run(&text.join(" | "));
        let (expected, counts) = graph.answer(steps, by_version, &outliers);
        let found: Vec<usize> = set.items.iter().map(|item| item.ix as usize).collect();
        prop_assert_eq!(found, expected, "{}", text.join(" | "));
        let given: Vec<usize> = explanation.stages.iter().map(|stage| stage.output).collect();
        prop_assert_eq!(&given, &counts, "{}", text.join(" | "));
        let taken: Vec<usize> = explanation.stages.iter().skip(1).map(|stage| stage.input).collect();
        prop_assert_eq!(taken.as_slice(), &counts[..counts.len() - 1], "{}", text.join(" | "));
    }
    Ok(())
}

poc_laws::laws! {
    #[test]
    fn passes_agree_with_a_naive_run(
        graph in graph(14),
        pipelines in proptest::collection::vec(proptest::collection::vec(step(), 0..6), 1..6),
        by_version in any::<bool>(),
    ) {
        check(&graph, &pipelines, by_version)?;
    }
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig { cases: 3, ..ProptestConfig::default() })]
    /// The same test with more nodes than fit into one block.
    #[test]
    fn passes_over_many_blocks_agree_with_a_naive_run(
        graph in proptest::collection::vec(record(), 2300),
        pipelines in proptest::collection::vec(proptest::collection::vec(step(), 0..6), 12),
    ) {
        let mut records = graph;
        for (number, record) in records.iter_mut().enumerate() {
            record.node.id = testing::node(number as u64).id;
            record.node.key = format!("n{number}");
        }
        check(&Graph { records, edges: Vec::new() }, &pipelines, true)?;
    }
}
