//! Tests of the retriever. Their notes are in memory, with the `hash` embedder.

mod identifiers;
mod rank_fusion;
mod score_fusion;
mod score_propagation;
mod visibility;

use super::*;
use poc_config::{Config, Fusion};
use poc_embed::{Embedder, HashEmbedder};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Delta, EdgeKind, Node, NodeId, State, Trust, View, Visibility, testing};
use poc_index::{MentionIndex, TextIndex, VectorIndex, testing as indexes};
use std::sync::Arc;

/// The `hash` embedder, optionally presented as a contextual embedder.
struct Hashed {
    inner: HashEmbedder,
    contextual: bool,
}

impl Embedder for Hashed {
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }
    fn contextual(&self) -> bool {
        self.contextual
    }
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.inner.embed(texts)
    }
}

struct World {
    config: Config,
    embedder: Hashed,
    view: View,
    text: TextIndex,
    vectors: VectorIndex,
    mentions: MentionIndex,
    _folder: tempfile::TempDir,
}

impl World {
    fn new(notes: &[(&str, &str)]) -> World {
        let notes: Vec<Node> =
            (0u64..).zip(notes).map(|(number, (title, body))| note(number, title, body)).collect();
        World::of(&notes, &[])
    }

    /// Adds notes that follow each other in a session.
    fn of(notes: &[Node], sessions: &[(u64, u64)]) -> World {
        World::with(Config::defaults().unwrap(), notes, sessions)
    }

    fn with(config: Config, notes: &[Node], sessions: &[(u64, u64)]) -> World {
        let embedder = Hashed { inner: HashEmbedder::new(256).unwrap(), contextual: false };
        let mut deltas = Vec::new();
        for node in notes {
            for (part, text) in [(0, &node.title), (1, &node.body)] {
                deltas.push(Delta::Vector(node.id, part, embedder.embed_one(text).unwrap().into()));
            }
            deltas.push(Delta::Node(Arc::new(node.clone())));
        }
        for &(first, last) in sessions {
            for number in first..last {
                for (a, b) in [(number, number + 1), (number + 1, number)] {
                    deltas.push(Delta::from(testing::edge(a, b, EdgeKind::Structural, 1.0)));
                }
            }
        }
        let (folder, text, vectors) = indexes::fed(&config, &embedder, &deltas);
        let mentions = indexes::mentions(&deltas);
        let mut view = View::new();
        view.apply(1, &deltas);
        World { config, embedder, view, text, vectors, mentions, _folder: folder }
    }

    fn find(&self, text: &str, wanted: usize) -> Retrieval {
        self.seen(text, wanted, Visibility::of_person(Timestamp(0)))
    }

    fn seen(&self, text: &str, wanted: usize, visibility: Visibility) -> Retrieval {
        self.retriever().find(text, wanted, visibility).unwrap()
    }

    fn retriever(&self) -> Retriever<'_> {
        Retriever {
            view: &self.view,
            text: &self.text,
            vectors: &self.vectors,
            mentions: &self.mentions,
            embedder: &self.embedder,
            config: &self.config.retrieve,
            except: &[],
            within: None,
            list_derived: false,
        }
    }

    fn contextual(mut self) -> World {
        self.embedder.contextual = true;
        self
    }

    fn by_ranks(mut self) -> World {
        self.config.retrieve.fusion = Fusion::Rrf;
        self
    }
}

fn note(number: u64, title: &str, body: &str) -> Node {
    Node { title: title.into(), body: body.into(), ..testing::node(number) }
}

fn number(id: NodeId) -> u64 {
    (0..1000).find(|&number| testing::node(number).id == id).unwrap()
}

fn numbers(found: &Retrieval) -> Vec<u64> {
    found.hits.iter().map(|hit| number(hit.id)).collect()
}

fn share(hit: &RetrievalHit, signal: &str) -> f64 {
    hit.shares.iter().find(|(name, _)| *name == signal).map_or(0.0, |(_, share)| *share)
}
