//! A graph like that of a memory in use, generated from a seed.
//!
//! Edges follow Holme and Kim 2002 (preferential attachment with triangle steps: degrees follow a
//! power law, neighbours are often linked), within topics whose sizes follow a power law themselves.
//! There are [`EDGES_PER_NODE`] edges for every node. Lengths, types, visits and replays are spread as
//! in a store of a few years.

use poc_graph::rng::{Rng, SeededRng};
use poc_graph::time::{Span, Timestamp};
use poc_graph::{
    Activity, Builder, Category, Delta, Edge, EdgeKind, IdGenerator, Node, NodeId, NodeType, Origin, State,
    Tenant, Trust, View, Visit, VisitOutcome,
};
use std::sync::Arc;

/// The time at which the graph is read.
pub const NOW: Timestamp = Timestamp(1_795_348_800_000);

/// Edges per node: each node gets this many edges to earlier nodes. The first nodes have too few earlier ones, so the
/// next nodes get more. The mean is exact from 17 nodes on.
pub const EDGES_PER_NODE: usize = 8;

/// The percentages of edges that close a triangle and of edges to any topic. The others stay within the topic.
const TRIANGLE_PERCENT: u64 = 20;
const ANY_TOPIC_PERCENT: u64 = 10;

/// The number of draws within the topic, and then among all nodes. If all of them hit known neighbours, the edge goes
/// to the first node that is not a neighbour.
const MAX_DRAWS: usize = 8;

/// The nodes and edges of a graph, with nodes numbered from 0.
#[derive(Debug)]
pub struct Shape {
    /// The number of nodes.
    pub nodes: usize,
    /// Each edge once: two nodes and a strength in 0–1.
    pub edges: Vec<(u32, u32, f32)>,
    /// The topic of each node.
    pub topics: Vec<u32>,
}

/// The shape for a number of nodes and a seed.
pub fn shape(nodes: usize, seed: u64) -> Shape {
    let random = RandomSource(SeededRng::new(seed));
    let topics = topics(nodes, &random);
    let mut growth = Growth::new(&topics, random);
    (0..nodes as u32).for_each(|node| growth.add(node));
    let edges = growth.edges;
    Shape { nodes, edges, topics }
}

/// A graph that grows node by node.
struct Growth<'a> {
    topics: &'a [u32],
    random: RandomSource,
    edges: Vec<(u32, u32, f32)>,
    neighbors: Vec<Vec<u32>>,
    // Contains each node once for itself and once for each edge from a later node, so that draws prefer nodes with many
    // edges (Dorogovtsev, Mendes and Samukhin 2000).
    anywhere: Vec<u32>,
    // The same by topic, also with the edges that start at the node.
    within: Vec<Vec<u32>>,
}

impl<'a> Growth<'a> {
    fn new(topics: &'a [u32], random: RandomSource) -> Growth<'a> {
        let nodes = topics.len();
        let count = topics.iter().max().map_or(0, |&last| last as usize + 1);
        Growth {
            topics,
            random,
            edges: Vec::with_capacity(nodes * EDGES_PER_NODE),
            neighbors: vec![Vec::new(); nodes],
            anywhere: Vec::with_capacity(nodes * (EDGES_PER_NODE + 1)),
            within: vec![Vec::new(); count],
        }
    }

    /// Adds a node and as many edges as bring the total to [`EDGES_PER_NODE`] per node, at most one to each earlier
    /// node.
    fn add(&mut self, node: u32) {
        let due = (node as usize + 1) * EDGES_PER_NODE - self.edges.len();
        let mut last = None;
        for _ in 0..due.min(node as usize) {
            let other = self.new_neighbor(node, last);
            self.connect(node, other);
            last = Some(other);
        }
        self.anywhere.push(node);
        self.within[self.topics[node as usize] as usize].push(node);
    }

    /// An earlier node that is not a neighbour yet. One exists.
    fn new_neighbor(&self, node: u32, last: Option<u32>) -> u32 {
        let own = &self.neighbors[node as usize];
        let free = |other: &u32| *other != node && !own.contains(other);
        let same_topic = (0..MAX_DRAWS).filter_map(|_| self.draw(node, last));
        let any = (0..MAX_DRAWS).map(|_| *self.random.pick(&self.anywhere));
        same_topic.chain(any).find(free).unwrap_or_else(|| {
            let from = self.random.below(u64::from(node)) as u32;
            (from..node).chain(0..from).find(free).expect("fewer neighbours than nodes before it")
        })
    }

    fn draw(&self, node: u32, last: Option<u32>) -> Option<u32> {
        let kind = self.random.below(100);
        let within = &self.within[self.topics[node as usize] as usize];
        match last {
            Some(last) if kind < TRIANGLE_PERCENT => Some(*self.random.pick(&self.neighbors[last as usize])),
            _ if kind < TRIANGLE_PERCENT + ANY_TOPIC_PERCENT => Some(*self.random.pick(&self.anywhere)),
            _ if within.is_empty() => None,
            _ => Some(*self.random.pick(within)),
        }
    }

    fn connect(&mut self, node: u32, other: u32) {
        let topic = self.topics[node as usize];
        let same_topic = self.topics[other as usize] == topic;
        let min = if same_topic { 300 } else { 100 };
        let strength = (min + self.random.below(1000 - min)) as f32 / 1000.0;
        self.edges.push((node, other, strength));
        self.neighbors[node as usize].push(other);
        self.neighbors[other as usize].push(node);
        if same_topic {
            self.within[topic as usize].extend([node, other]);
        }
        self.anywhere.push(other);
    }
}

/// A topic for each node. Sizes of topics start at 20 and follow a power law, and no topic has more than about a
/// twentieth of the nodes. The nodes of all topics are shuffled.
fn topics(nodes: usize, random: &RandomSource) -> Vec<u32> {
    let mut topics = Vec::with_capacity(nodes);
    let mut topic = 0;
    while topics.len() < nodes {
        let size = (20.0 * random.unit().powf(-1.0 / 1.2)) as usize;
        let size = size.min(nodes / 20 + 20).min(nodes - topics.len());
        topics.extend(std::iter::repeat_n(topic, size));
        topic += 1;
    }
    for at in (1..nodes).rev() {
        topics.swap(at, random.below(at as u64 + 1) as usize);
    }
    topics
}

/// The number of words in the vocabulary.
const VOCABULARY: usize = 20_000;

/// An invented word. Frequent words are short.
fn word(mut number: usize) -> String {
    let mut text = String::new();
    loop {
        text.push(char::from(b"bdfgklmnprstvz"[number % 14]));
        text.push(char::from(b"aeiou"[number / 14 % 5]));
        number /= 70;
        if number == 0 {
            return text;
        }
    }
}

/// The ids of the nodes, ascending.
pub fn ids(nodes: usize, seed: u64) -> Vec<NodeId> {
    let rng = SeededRng::new(seed);
    let id_generator = IdGenerator::default();
    (0..nodes).map(|number| id_generator.node(creation_time(number, nodes), &rng)).collect()
}

/// The nodes, their activities and the visits of `linker`, by number.
pub fn fields(shape: &Shape, ids: &[NodeId], seed: u64) -> impl Iterator<Item = Vec<Delta>> {
    let random = RandomSource(SeededRng::new(seed ^ 0x5EED));
    let nodes = shape.nodes;
    let words: Vec<String> = (0..VOCABULARY).map(word).collect();
    ids.iter().enumerate().map(move |(number, &id)| {
        let created = creation_time(number, nodes);
        let modified = created.plus(Span(random.below(1 + NOW.0.abs_diff(created.0)) as i64));
        // Log-normal lengths around 60 words.
        let normal = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        let length = (60.0 * (0.9 * normal).exp()) as usize;
        // Zipf's law: the n-th word is as frequent as 1/n.
        let zipf = || (VOCABULARY as f64).powf(random.unit()) as usize - 1;
        let body: Vec<&str> = (0..length.clamp(4, 2000)).map(|_| words[zipf()].as_str()).collect();
        let topic = shape.topics[number];
        let node = Node {
            id,
            tenant: Tenant::default(),
            key: format!("journal#{}-{number}", ["split", "recovery", "meeting", "idea"][number % 4]),
            title: format!("Note {number}"),
            body: body.join(" "),
            node_type: NodeType(random.pick(&["episodic", "semantic", "episodic", "daily"]).to_string()),
            category: *random.pick(Category::ALL),
            keywords: (0..5)
                .map(|_| format!("word-{}-{}", topic % 997, random.below(20)))
                .chain([format!("project:example.org/topic-{}", topic % 31)])
                .collect(),
            provenance: random.pick(&["manual", "import:notes", "linker:insert"]).to_string(),
            trust: Trust::User,
            author: None,
            source: None,
            emotion: random.below(11) as f32,
            created,
            modified,
            expires: (random.below(50) == 0)
                .then(|| NOW.plus(Span(random.below(60) as i64 * Span::DAY.0 - 30))),
            state: if random.below(20) == 0 { State::Stale } else { State::Active },
            origin: Origin::Local,
            content_hash: [0; 32],
            version: 1 + random.below(3) as u32,
            aliases: Vec::new(),
            other_names: Vec::new(),
        };
        let activity = Activity {
            weight: 0.2 + random.unit() * 3.0,
            replay_interval: *random.pick(&[0, 1, 3, 7, 14, 30]),
            replayed: (random.below(2) == 0).then(|| NOW.minus(Span(random.below(60) as i64 * Span::DAY.0))),
            ..Activity::new(modified, 1.0)
        };
        let version = node.version;
        let mut deltas = vec![Delta::Node(Arc::new(node)), Delta::Activity(id, activity)];
        if random.below(3) == 0 {
            let at = NOW.minus(Span(random.below(14) as i64 * Span::DAY.0));
            let visit = Visit { at, outcome: VisitOutcome::Processed, version };
            deltas.push(Delta::Visit("linker".into(), id, visit));
        }
        deltas
    })
}

/// The edges of a shape.
pub fn edges<'a>(shape: &'a Shape, ids: &'a [NodeId]) -> impl Iterator<Item = Edge> + 'a {
    shape.edges.iter().map(|&(a, b, strength)| Edge {
        src: ids[a as usize],
        dst: ids[b as usize],
        kind: if (a + b) % 3 == 0 { EdgeKind::Semantic } else { EdgeKind::Link },
        strength: f64::from(strength),
        created: NOW,
        touched: NOW,
        provenance: "manual".into(),
        reason: String::new(),
    })
}

/// The view of the whole graph.
pub fn view(shape: &Shape, seed: u64) -> View {
    let ids = ids(shape.nodes, seed);
    let mut builder = nodes(shape, &ids, seed);
    edges(shape, &ids).for_each(|edge| builder.edge(&edge));
    builder.finish(1)
}

/// A builder with the nodes only.
pub fn nodes(shape: &Shape, ids: &[NodeId], seed: u64) -> Builder {
    let mut builder = Builder::new();
    for delta in fields(shape, ids, seed).flatten() {
        match delta {
            Delta::Node(node) => builder.node(&node),
            Delta::Activity(id, activity) => builder.activity(id, &activity),
            Delta::Visit(agent, id, visit) => builder.visit(&agent, id, visit),
            _ => unreachable!("fields of nodes only"),
        }
    }
    builder
}

/// Creation times: ten minutes between two notes, the last one ten minutes before [`NOW`].
fn creation_time(number: usize, nodes: usize) -> Timestamp {
    NOW.minus(Span((nodes - number) as i64 * 600_000))
}

struct RandomSource(SeededRng);

impl RandomSource {
    fn below(&self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }

    /// In 0–1, never 0.
    fn unit(&self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }

    fn pick<'a, T>(&self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::PowerLaw;
    use std::collections::BTreeSet;

    #[test]
    fn a_seed_gives_one_graph() {
        let (one, two) = (shape(3000, 7), shape(3000, 7));
        assert_eq!((&one.edges, &one.topics), (&two.edges, &two.topics));
        assert_ne!(one.edges, shape(3000, 8).edges);
    }

    /// There are [`EDGES_PER_NODE`] per node, without duplicates or loops.
    #[test]
    fn the_number_of_edges_is_exact() {
        for nodes in [0, 1, 2, 16, 17, 40, 3000] {
            let shape = shape(nodes, 7);
            let pairs = nodes * nodes.saturating_sub(1) / 2;
            assert_eq!(shape.edges.len(), (nodes * EDGES_PER_NODE).min(pairs), "{nodes} nodes");
            let distinct: BTreeSet<_> = shape.edges.iter().map(|&(a, b, _)| (a.min(b), a.max(b))).collect();
            assert_eq!(distinct.len(), shape.edges.len());
            assert!(shape.edges.iter().all(|&(a, b, strength)| a != b && (0.1..1.0).contains(&strength)));
        }
    }

    #[test]
    fn degrees_follow_a_power_law_and_neighbors_are_clustered() {
        let shape = shape(20_000, 7);
        let view = view(&shape, 7);
        assert_eq!((view.live_count(), view.edge_count()), (20_000, 160_000));
        let mut degrees: Vec<u32> = (0..view.slots()).map(|ix| view.degree(ix)).collect();
        degrees.sort_unstable();
        let law = PowerLaw::fit(&degrees).expect("a tail");
        assert!((2.0..3.5).contains(&law.alpha), "α {}", law.alpha);
        assert!(degrees[10_000] < 16 && degrees[19_999] > 400, "{} {}", degrees[10_000], degrees[19_999]);
        let clustering = (0..view.slots()).map(|ix| view.clustering(ix)).sum::<f64>() / 20_000.0;
        assert!(clustering > 0.05, "a mean clustering of {clustering}");
    }

    /// Most edges stay within a topic, and no topic has too many nodes.
    #[test]
    fn most_edges_stay_within_a_topic() {
        let shape = shape(20_000, 7);
        let same_topic =
            shape.edges.iter().filter(|(a, b, _)| shape.topics[*a as usize] == shape.topics[*b as usize]);
        let share = same_topic.count() as f64 / shape.edges.len() as f64;
        assert!(share > 0.6, "a share of {share}");
        let largest = shape.topics.iter().filter(|&&topic| topic == shape.topics[0]).count();
        assert!(largest <= 20_000 / 20 + 20);
    }
}
