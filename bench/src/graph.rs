//! A graph like that of a memory in use, made from a seed.
//!
//! Ties follow Holme and Kim 2002 (preferential attachment with triangle steps: degrees follow a
//! power law, neighbours know each other), within topics whose sizes follow a power law themselves.
//! Every node but the first few makes [`TIES_PER_NODE`] ties. Lengths, types, visits and replays are
//! spread as in a store of a few years.

use poc_memory::chance::{Chance, SeededChance};
use poc_memory::graph::{
    Activity, Builder, Category, Delta, Edge, EdgeKind, Minter, Node, NodeId, NodeType, Origin, State,
    Tenant, Trust, View, Visit, VisitOutcome,
};
use poc_memory::time::{Span, Timestamp};
use std::sync::Arc;

/// The instant the graph is looked at.
pub const NOW: Timestamp = Timestamp(1_795_348_800_000);

/// Ties every new node makes.
pub const TIES_PER_NODE: usize = 8;

/// Of a hundred ties: those that close a triangle, and those to any topic. The others stay within
/// the topic.
const CLOSING: u64 = 20;
const ANYWHERE: u64 = 10;

/// Nodes and ties of a graph, by number from 0.
pub struct Shape {
    /// How many nodes.
    pub nodes: usize,
    /// Each tie once: two nodes and a strength in 0–1.
    pub ties: Vec<(u32, u32, f32)>,
    /// The topic of each node.
    pub topics: Vec<u32>,
}

/// The shape that belongs to a number of nodes and a seed.
pub fn shape(nodes: usize, seed: u64) -> Shape {
    let dice = Dice(SeededChance::new(seed));
    let topics = topics(nodes, &dice);
    let count = topics.iter().max().map_or(0, |&last| last as usize + 1);
    // Each node stands here once for itself and once for each of its ties, so that a draw from it is
    // a draw by degree.
    let mut anywhere: Vec<u32> = Vec::with_capacity(nodes * (TIES_PER_NODE + 1));
    let mut within: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut neighbors: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    let mut ties = Vec::with_capacity(nodes * TIES_PER_NODE);
    for node in 0..nodes as u32 {
        let topic = topics[node as usize] as usize;
        let mut last: Option<u32> = None;
        for _ in 0..TIES_PER_NODE {
            let kind = dice.below(100);
            let known = last.map(|last| &neighbors[last as usize]).filter(|known| !known.is_empty());
            let other = match known {
                Some(known) if kind < CLOSING => Some(*dice.pick(known)),
                _ if kind >= CLOSING + ANYWHERE && !within[topic].is_empty() => {
                    Some(*dice.pick(&within[topic]))
                }
                _ if !anywhere.is_empty() => Some(*dice.pick(&anywhere)),
                _ => None,
            };
            let Some(other) = other.filter(|&other| other != node) else { continue };
            if neighbors[node as usize].contains(&other) {
                continue;
            }
            let near = topics[other as usize] as usize == topic;
            let least = if near { 300 } else { 100 };
            let strength = (least + dice.below(1000 - least)) as f32 / 1000.0;
            ties.push((node, other, strength));
            for (a, b) in [(node, other), (other, node)] {
                neighbors[a as usize].push(b);
                if near {
                    within[topic].push(a);
                }
            }
            anywhere.push(other);
            last = Some(other);
        }
        anywhere.push(node);
        within[topic].push(node);
    }
    Shape { nodes, ties, topics }
}

/// Topics of 20 notes and more; sizes follow a power law, and no topic has more than a twentieth of
/// the nodes. Topics come and go in time, but any two are mixed.
fn topics(nodes: usize, dice: &Dice) -> Vec<u32> {
    let mut topics = Vec::with_capacity(nodes);
    let mut topic = 0;
    while topics.len() < nodes {
        let size = (20.0 * dice.unit().powf(-1.0 / 1.2)) as usize;
        let size = size.min(nodes / 20 + 20).min(nodes - topics.len());
        topics.extend(std::iter::repeat_n(topic, size));
        topic += 1;
    }
    for at in (1..nodes).rev() {
        topics.swap(at, dice.below(at as u64 + 1) as usize);
    }
    topics
}

/// Words the notes are made of.
const VOCABULARY: usize = 20_000;

/// A made-up word; frequent ones are short.
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
    let chance = SeededChance::new(seed);
    let minter = Minter::default();
    (0..nodes).map(|number| minter.node(born(number, nodes), &chance)).collect()
}

/// The nodes, their activities and the visits of `linker`, by number.
pub fn fields(shape: &Shape, ids: &[NodeId], seed: u64) -> impl Iterator<Item = Vec<Delta>> {
    let dice = Dice(SeededChance::new(seed ^ 0x5EED));
    let nodes = shape.nodes;
    let words: Vec<String> = (0..VOCABULARY).map(word).collect();
    ids.iter().enumerate().map(move |(number, &id)| {
        let created = born(number, nodes);
        let modified = created.plus(Span(dice.below(1 + NOW.0.abs_diff(created.0)) as i64));
        // Log-normal lengths around 60 words.
        let normal = (0..12).map(|_| dice.unit()).sum::<f64>() - 6.0;
        let length = (60.0 * (0.9 * normal).exp()) as usize;
        // Zipf's law: the n-th word is as frequent as 1/n.
        let zipf = || (VOCABULARY as f64).powf(dice.unit()) as usize - 1;
        let body: Vec<&str> = (0..length.clamp(4, 2000)).map(|_| words[zipf()].as_str()).collect();
        let topic = shape.topics[number];
        let node = Node {
            id,
            tenant: Tenant::default(),
            key: format!("journal#{}-{number}", ["split", "recovery", "meeting", "idea"][number % 4]),
            title: format!("Note {number}"),
            body: body.join(" "),
            node_type: NodeType(dice.pick(&["episodic", "semantic", "episodic", "daily"]).to_string()),
            category: *dice.pick(Category::ALL),
            keywords: (0..5).map(|_| format!("word-{}-{}", topic % 997, dice.below(20))).collect(),
            provenance: dice.pick(&["manual", "import:notes", "linker:insert"]).to_string(),
            trust: Trust::User,
            author: None,
            source: None,
            emotion: dice.below(11) as f32,
            created,
            modified,
            expires: (dice.below(50) == 0).then(|| NOW.plus(Span(dice.below(60) as i64 * Span::DAY.0 - 30))),
            state: if dice.below(20) == 0 { State::Stale } else { State::Active },
            origin: Origin::Local,
            content_hash: [0; 32],
            version: 1 + dice.below(3) as u32,
        };
        let activity = Activity {
            weight: 0.2 + dice.unit() * 3.0,
            replay_interval: *dice.pick(&[0, 1, 3, 7, 14, 30]),
            replayed: (dice.below(2) == 0).then(|| NOW.minus(Span(dice.below(60) as i64 * Span::DAY.0))),
            ..Activity::born(modified, 1.0)
        };
        let version = node.version;
        let mut deltas = vec![Delta::Node(Arc::new(node)), Delta::Activity(id, activity)];
        if dice.below(3) == 0 {
            let at = NOW.minus(Span(dice.below(14) as i64 * Span::DAY.0));
            let visit = Visit { at, outcome: VisitOutcome::Processed, version };
            deltas.push(Delta::Visit("linker".into(), id, visit));
        }
        deltas
    })
}

/// The edges of a shape.
pub fn edges<'a>(shape: &'a Shape, ids: &'a [NodeId]) -> impl Iterator<Item = Edge> + 'a {
    shape.ties.iter().map(|&(a, b, strength)| Edge {
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

/// The view of all that.
pub fn view(shape: &Shape, seed: u64) -> View {
    let ids = ids(shape.nodes, seed);
    let mut builder = Builder::new();
    for delta in fields(shape, &ids, seed).flatten() {
        match delta {
            Delta::Node(node) => builder.node(&node),
            Delta::Activity(id, activity) => builder.activity(id, &activity),
            Delta::Visit(agent, id, visit) => builder.visit(&agent, id, visit),
            _ => unreachable!("fields of nodes only"),
        }
    }
    edges(shape, &ids).for_each(|edge| builder.edge(&edge));
    builder.finish(1)
}

/// Ten minutes between two notes.
fn born(number: usize, nodes: usize) -> Timestamp {
    NOW.minus(Span((nodes - number) as i64 * 600_000))
}

struct Dice(SeededChance);

impl Dice {
    fn below(&self, bound: u64) -> u64 {
        self.0.bits() % bound
    }

    /// In 0–1, never 0.
    fn unit(&self) -> f64 {
        ((self.0.bits() >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }

    fn pick<'a, T>(&self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_graph_with_hubs_and_triangles() {
        let (one, two) = (shape(3000, 7), shape(3000, 7));
        assert_eq!(one.ties, two.ties);
        assert_ne!(one.ties, shape(3000, 8).ties);
        let view = view(&one, 7);
        assert_eq!((view.live_count(), view.edge_count()), (3000, one.ties.len()));
        assert!(one.ties.len() > 3000 * 6, "{} ties, nearly {TIES_PER_NODE} a node", one.ties.len());
        let greatest = (0..view.slots()).map(|ix| view.degree(ix)).max().unwrap();
        assert!(greatest > 100, "the greatest hub has {greatest} neighbours");
        let clustering = (0..view.slots()).map(|ix| view.clustering(ix)).sum::<f64>() / 3000.0;
        assert!(clustering > 0.05, "a mean clustering of {clustering}");
    }
}
