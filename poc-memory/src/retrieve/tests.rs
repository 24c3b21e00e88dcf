use super::*;
use crate::config::Config;
use crate::embed::HashEmbedder;
use crate::graph::{Delta, Node, testing};
use crate::index::testing as indexes;
use std::sync::Arc;

struct World {
    config: Config,
    embedder: HashEmbedder,
    text: TextIndex,
    vectors: VectorIndex,
    _folder: tempfile::TempDir,
}

impl World {
    fn new(notes: &[(&str, &str)]) -> World {
        let config = Config::defaults().unwrap();
        let embedder = HashEmbedder::new(config.embedder.dimensions).unwrap();
        let mut deltas = Vec::new();
        for (number, (title, body)) in (0u64..).zip(notes) {
            let node = Node { title: (*title).into(), body: (*body).into(), ..testing::node(number) };
            for (part, text) in [(0, title), (1, body)] {
                deltas.push(Delta::Vector(node.id, part, embedder.embed_one(text).unwrap().into()));
            }
            deltas.push(Delta::Node(Arc::new(node)));
        }
        let (folder, text, vectors) = indexes::fed(&config, &embedder, &deltas);
        World { config, embedder, text, vectors, _folder: folder }
    }

    fn find(&self, text: &str, wanted: usize) -> Result<Retrieved> {
        self.find_kept(text, wanted, &|_| true)
    }

    fn find_kept(&self, text: &str, wanted: usize, keep: &dyn Fn(NodeId) -> bool) -> Result<Retrieved> {
        let (config, embedder) = (&self.config.retrieve, &self.embedder);
        Retriever { text: &self.text, vectors: &self.vectors, embedder, config }.find(text, wanted, keep)
    }
}

fn number(hit: &Hit) -> u64 {
    (0..100).find(|&number| testing::node(number).id == hit.id).unwrap()
}

#[test]
fn each_hit_is_worth_what_its_ranks_say() {
    let world = World::new(&[
        ("Journal", "Changes are appended before pages are touched"),
        ("Pages", "A journal records every change"),
        ("Soup", "Lentils and lemon"),
    ]);
    let found = world.find("journal", 10).unwrap();
    assert_eq!(found.named, [3, 1, 1]);
    let ranks: Vec<(u64, [Option<usize>; 3])> =
        found.hits.iter().map(|hit| (number(hit), hit.ranks)).collect();
    assert_eq!(
        ranks,
        [(0, [Some(1), Some(1), None]), (1, [Some(2), None, Some(1)]), (2, [Some(3), None, None])]
    );
    for hit in &found.hits {
        let expected: f64 = hit.ranks.iter().flatten().map(|&rank| 1.0 / (60.0 + rank as f64)).sum();
        assert!((hit.score - expected).abs() < 1e-12 && hit.score <= 3.0 / 61.0);
    }
    assert_eq!(world.find("journal", 1).unwrap().hits, found.hits[..1]);
}

#[test]
fn a_node_kept_out_takes_no_place_in_any_list() {
    let notes: Vec<(String, String)> =
        (0..60).map(|number| (format!("harbour {number}"), "harbour and quay".to_owned())).collect();
    let notes: Vec<(&str, &str)> =
        notes.iter().map(|(title, body)| (title.as_str(), body.as_str())).collect();
    let world = World::new(&notes);
    let odd = |id| (0..60).any(|number| number % 2 == 1 && testing::node(number).id == id);
    let found = world.find_kept("harbour", MOST, &odd).unwrap();
    assert_eq!((found.named, found.hits.len()), ([30, 30, 30], 30));
    assert!(found.hits.iter().all(|hit| number(hit) % 2 == 1));
    let all = world.find("harbour", MOST).unwrap();
    assert_eq!(all.named, [60; 3]);
    assert_eq!(world.find("harbour", 7).unwrap().named, [DEPTH; 3]);
}

#[test]
fn weights_are_settings_and_checked() {
    let mut world = World::new(&[("Journal", "Lemon"), ("Lemon", "Journal")]);
    world.config.retrieve.vector_weight = 0.0;
    world.config.retrieve.body_weight = 2.0;
    let found = world.find("journal", 9).unwrap();
    let scores: Vec<(u64, f64)> = found.hits.iter().map(|hit| (number(hit), hit.score)).collect();
    assert_eq!(scores, [(1, 2.0 / 61.0), (0, 1.0 / 61.0)]);
    world.config.retrieve.title_weight = -1.0;
    let error = world.find("journal", 9).unwrap_err();
    insta::assert_snapshot!(error.message, @"`title-weight` cannot be -1");
}

#[test]
fn a_text_without_content_finds_nothing() {
    let world = World::new(&[("Journal", "Lemon")]);
    assert_eq!(world.find("…", 9).unwrap(), Retrieved::default());
}
