//! The heuristic model over notes with judgments: most of what it writes must be useful, and it must find something.
//!
//! `judged_sample/notes.jsonl` has the notes of one person: incidents, plans, meetings with headers and
//! footers, chats, tickets, diary pages, shopping lists. `threads` names the particular things that a note is
//! about (one incident, one trip, one person's start), `topics` the broader subjects. Two notes of one thread
//! belong together: a link between them is useful. A link is harmless if the notes have only a topic in
//! common, otherwise it is wrong. A note that summarises several notes is correct if all of them belong to
//! one thread.

use super::world::World;
use crate::Catalog;
use crate::batches;
use crate::run::RunOptions;
use poc_graph::time::Timestamp;
use poc_graph::{EdgeKind, NodeId, Trust};
use poc_notes::Draft;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// A note with its judgments.
#[derive(Deserialize)]
struct JudgedNote {
    key: String,
    r#type: String,
    created: String,
    title: String,
    body: String,
    threads: BTreeSet<String>,
    topics: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct Verdicts {
    useful: Vec<String>,
    harmless: Vec<String>,
    wrong: Vec<String>,
}

impl Verdicts {
    fn all(&self) -> usize {
        self.useful.len() + self.harmless.len() + self.wrong.len()
    }
}

struct Sample {
    world: World,
    notes: BTreeMap<NodeId, JudgedNote>,
}

impl Sample {
    fn new() -> Sample {
        let world = World::with_default_embedder();
        let mut notes = BTreeMap::new();
        for line in include_str!("judged_sample/notes.jsonl").lines() {
            let note: JudgedNote = serde_json::from_str(line).unwrap();
            let id = world.draft(Draft {
                key: Some(note.key.clone()),
                title: Some(note.title.clone()).filter(|title| !title.is_empty()),
                body: Some(note.body.clone()),
                node_type: Some(note.r#type.clone()),
                created: Some(Timestamp::parse(&format!("{}T09:00:00Z", note.created)).unwrap()),
                ..Draft::new("import:test", Trust::User)
            });
            notes.insert(id, note);
        }
        Sample { world, notes }
    }

    fn run(&self, agent: &str) {
        let catalog = Catalog::load(&self.world.memory).unwrap();
        let mut definition = (**catalog.get(agent).unwrap()).clone();
        definition.budget.runs_per_day = 0;
        let report =
            batches::run_until_done(&self.world.memory, &definition, &RunOptions::default(), &|_| {});
        assert_eq!(report.unwrap().failed, None);
    }

    /// The edges of a kind that agents made, from and to, with their reasons.
    fn edges(&self, kind: EdgeKind) -> Vec<(NodeId, NodeId, String)> {
        let store = &self.world.memory.store;
        let mut found = Vec::new();
        for &id in self.notes.keys() {
            let edges = store.edges(id).unwrap().into_iter();
            let own = edges.filter(|edge| edge.kind == kind && edge.provenance.starts_with("agent:"));
            found.extend(own.map(|edge| (edge.src, edge.dst, edge.reason)));
        }
        found.sort();
        found.dedup();
        found
    }

    fn links(&self) -> Verdicts {
        let mut verdicts = Verdicts::default();
        for (from, to, reason) in self.edges(EdgeKind::Link) {
            let (a, b) = (&self.notes[&from], &self.notes[&to]);
            let verdict = if !a.threads.is_disjoint(&b.threads) {
                &mut verdicts.useful
            } else if !a.topics.is_disjoint(&b.topics) {
                &mut verdicts.harmless
            } else {
                &mut verdicts.wrong
            };
            verdict.push(format!("{} and {}: {reason}", a.key, b.key));
        }
        verdicts
    }

    fn digests(&self) -> Verdicts {
        let mut sources: BTreeMap<NodeId, Vec<&JudgedNote>> = BTreeMap::new();
        for (digest, source, _) in self.edges(EdgeKind::DerivedFrom) {
            sources.entry(digest).or_default().push(&self.notes[&source]);
        }
        let mut verdicts = Verdicts::default();
        for (digest, sources) in sources {
            let title = self.world.memory.store.node(digest).unwrap().unwrap().title;
            let common = sources.iter().map(|note| note.threads.clone()).reduce(|a, b| &a & &b);
            let keys: Vec<&str> = sources.iter().map(|note| note.key.as_str()).collect();
            let list = if common.unwrap().is_empty() { &mut verdicts.wrong } else { &mut verdicts.useful };
            list.push(format!("{title}: {}", keys.join(", ")));
        }
        verdicts
    }
}

#[test]
fn at_most_one_in_ten_links_of_the_heuristic_model_is_wrong() {
    let sample = Sample::new();
    sample.run("linker");
    let links = sample.links();
    assert!(links.wrong.len() * 10 <= links.all(), "{links:#?}");
    assert!(links.useful.len() >= 20 && links.useful.len() * 10 >= links.all() * 7, "{links:#?}");
}

#[test]
fn notes_that_summarize_sessions_cover_only_one_thread() {
    let sample = Sample::new();
    sample.run("transfer");
    let digests = sample.digests();
    assert!(digests.wrong.len() * 10 <= digests.all(), "{digests:#?}");
    assert!(!digests.useful.is_empty(), "{digests:#?}");
}

#[test]
fn the_other_agents_write_nothing_wrong_into_the_sample() {
    let sample = Sample::new();
    for agent in ["replay", "separator", "split"] {
        sample.run(agent);
    }
    let links = sample.links();
    assert!(links.wrong.len() * 10 <= links.all(), "{links:#?}");
}
