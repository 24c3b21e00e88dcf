//! The sample notes of the manual, and a test environment for pipelines.

use super::parse;
use crate::query::{Explanation, Indexes, ResultSet, Sources, VisitRule, VisitRules};
use poc_config::Config;
use poc_embed::{Embedder, HashEmbedder};
use poc_graph::error::Result;
use poc_graph::time::{Span, Timestamp};
use poc_graph::{
    Activity, Category, Delta, EdgeKind, Node, NodeType, State, View, Visit, VisitOutcome, testing,
};
use poc_index::{
    MentionIndex, MentionReader, TextIndex, TextReader, VectorIndex, VectorReader, testing as indexes,
};
use std::sync::Arc;

/// A graph, its indexes, an embedder and settings.
pub(super) struct World {
    pub(super) view: View,
    pub(super) config: Config,
    pub(super) now: Timestamp,
    pub(super) revisit_on_change: bool,
    /// The nodes as stored, by index.
    pub(super) nodes: Vec<Arc<Node>>,
    embedder: HashEmbedder,
    text: TextIndex,
    vectors: VectorIndex,
    mentions: MentionIndex,
    _folder: tempfile::TempDir,
}

impl World {
    pub(super) fn new(now: Timestamp, mut deltas: Vec<Delta>) -> World {
        let config = Config::defaults().unwrap();
        let embedder = HashEmbedder::new(config.embedder.dimensions).unwrap();
        let vectors: Vec<Delta> = deltas
            .iter()
            .filter_map(|delta| if let Delta::Node(node) = delta { Some(node) } else { None })
            .flat_map(|node| {
                [(0, &node.title), (1, &node.body)].map(|(part, text)| {
                    Delta::Vector(node.id, part, embedder.embed_one(text).unwrap().into())
                })
            })
            .collect();
        deltas.extend(vectors);
        World { embedder, ..World::bare(now, deltas) }
    }

    /// A world without vectors.
    pub(super) fn bare(now: Timestamp, deltas: Vec<Delta>) -> World {
        let config = Config::defaults().unwrap();
        let embedder = HashEmbedder::new(config.embedder.dimensions).unwrap();
        let mut view = View::new();
        view.apply(1, &deltas);
        let (folder, text, vectors) = indexes::fed(&config, &embedder, &deltas);
        let mentions = indexes::mentions(&deltas);
        let node = |delta: &Delta| if let Delta::Node(node) = delta { Some(node.clone()) } else { None };
        let nodes = deltas.iter().filter_map(node).collect();
        World {
            view,
            config,
            now,
            revisit_on_change: true,
            nodes,
            embedder,
            text,
            vectors,
            mentions,
            _folder: folder,
        }
    }

    pub(super) fn sources(&self) -> Sources<'_> {
        Sources {
            view: &self.view,
            indexes: self,
            embedder: &self.embedder,
            config: &self.config,
            now: self.now,
            quarantined: true,
            pointers: true,
            visits: match self.revisit_on_change {
                true => {
                    VisitRules::Agent { name: "", rule: VisitRule { only_version: true, only_read: false } }
                }
                false => VisitRules::Search(&[]),
            },
            past: None,
        }
    }

    pub(super) fn run(&self, pipeline: &str) -> (ResultSet, Explanation) {
        let parsed = parse(pipeline).unwrap_or_else(|error| panic!("{pipeline}: {}", error.message));
        parsed.run(&self.sources()).unwrap_or_else(|error| panic!("{pipeline}: {}", error.message))
    }

    pub(super) fn keys(&self, pipeline: &str) -> Vec<&str> {
        self.run(pipeline).0.items.iter().map(|item| self.view.key(item.ix)).collect()
    }
}

impl Indexes for World {
    fn text(&self) -> Result<&dyn TextReader> {
        Ok(&self.text)
    }

    fn vectors(&self) -> Result<&dyn VectorReader> {
        Ok(&self.vectors)
    }

    fn mentions(&self) -> Result<&dyn MentionReader> {
        Ok(&self.mentions)
    }
}

/// Noon of the day after the last note.
pub(super) const NOW: Timestamp = Timestamp(1_795_348_800_000);

fn days_ago(days: i64) -> Timestamp {
    NOW.minus(Span(days * Span::DAY.0))
}

/// The sample notes, oldest first:
///
/// | key | type | days old | weight | text |
/// |---|---|---|---|---|
/// | `b-tree` | semantic | 90 | 2.0 | keyword `storage` |
/// | `wal` | semantic | 80 | 1.5 | the write-ahead log |
/// | `session#1` | episodic | 12 | 1 | the linker visited it yesterday |
/// | `session#2` | episodic | 11 | 1 | nearly the same words; visited ten days ago |
/// | `lsm-tree` | semantic | 30, changed today | 1 | keyword `storage` |
/// | `day#2026-11-21` | daily | 1 | 1 | |
/// | `crash-notes` | semantic | 9 | 1 | created by the agent `linker` |
/// | `todo/benchmarks` | semantic | 8 | 1 | the shortest; a task of the project `github.com/ann/journal` |
/// | `old-tree` | semantic | 70 | 1 | superseded |
/// | `past` | semantic | 60 | 1 | expired |
///
/// `b-tree`, `wal` and `crash-notes` are linked to each other.
pub(super) fn notes() -> World {
    let mut deltas = Vec::new();
    let mut note = |key: &str, kind: &str, age: i64, title: &str, body: &str, change: &dyn Fn(&mut Node)| {
        let number = deltas.len() as u64 / 2;
        let mut node = Node {
            key: key.into(),
            node_type: NodeType(kind.into()),
            title: title.into(),
            body: body.into(),
            created: days_ago(age),
            modified: days_ago(age),
            ..testing::node(number)
        };
        change(&mut node);
        let weight = match key {
            "b-tree" => 2.0,
            "wal" => 1.5,
            _ => 1.0,
        };
        deltas.push(Delta::Node(Arc::new(node.clone())));
        deltas.push(Delta::Activity(node.id, Activity::new(NOW, weight)));
    };
    let plain = |_: &mut Node| {};
    let storage = |node: &mut Node| node.keywords = vec!["storage".into()];
    let project = |node: &mut Node| node.keywords = vec!["project:github.com/ann/journal".into()];
    note(
        "b-tree",
        "semantic",
        90,
        "B-tree",
        "Pages split when they are full; lookups are logarithmic",
        &storage,
    );
    note("wal", "semantic", 80, "Write-ahead log", "Changes are appended before pages are touched", &plain);
    note(
        "session#1",
        "episodic",
        12,
        "Monday",
        "We looked for the slow query and found a missing index",
        &plain,
    );
    note(
        "session#2",
        "episodic",
        11,
        "Tuesday",
        "We looked for the slow query and found the missing index",
        &plain,
    );
    note("lsm-tree", "semantic", 30, "LSM tree", "Sorted runs are merged in the background", &|node| {
        storage(node);
        node.modified = NOW;
    });
    note("day#2026-11-21", "daily", 1, "A Saturday", "Rain, tea, and a long walk home", &plain);
    note(
        "crash-notes",
        "semantic",
        9,
        "Crashes",
        "What recovery has to replay after power is lost",
        &|node| {
            node.provenance = "agent:linker".into();
        },
    );
    note("todo/benchmarks", "semantic", 8, "Benchmarks", "Measure twice, then cut", &|node| {
        project(node);
        node.category = Category::Task;
    });
    note("old-tree", "semantic", 70, "Old tree", "An earlier description of trees", &|node| {
        node.state = State::Superseded;
    });
    note("past", "semantic", 60, "Past", "An offer that has run out", &|node| {
        node.expires = Some(days_ago(2));
    });
    let tie = |a, b, strength| Delta::from(testing::edge(a, b, EdgeKind::Link, strength));
    deltas.extend([tie(0, 1, 0.8), tie(1, 6, 0.7), tie(0, 6, 0.6)]);
    let visit = |number, days| {
        let visit = Visit { at: days_ago(days), outcome: VisitOutcome::Processed, version: 1 };
        Delta::Visit("linker".into(), testing::node(number).id, visit)
    };
    deltas.extend([visit(2, 1), visit(3, 10)]);
    World::new(NOW, deltas)
}
