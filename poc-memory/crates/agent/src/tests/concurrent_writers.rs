//! People write during the calls of agents, and no edit is lost.

use super::world::{FnModel, World, agent};
use crate::model::Request;
use crate::run::{RunOptions, Trigger, run_with};
use crate::selection::Handle;
use parking_lot::Mutex;
use poc_graph::time::Span;
use poc_graph::{Node, NodeId};
use serde_json::json;
use std::sync::mpsc;

const WRITERS: usize = 32;
const NOTES: usize = 12;
const WORDS: usize = 400;

/// Adds a word to the current note of a topic: the live note with its first line.
fn write(world: &World, topic: usize, word: &str) {
    let cause = world.memory.cause("manual", "test");
    let now = world.memory.now();
    let first = first(topic);
    let append = |tx: &mut poc_store::Transaction<'_>| {
        let ids: Vec<NodeId> = {
            let view = tx.view();
            (0..view.slots()).filter(|&ix| view.is_live(ix)).filter_map(|ix| view.id(ix)).collect()
        };
        for id in ids {
            let Some(node) = tx.node(id)? else { continue };
            if node.state.is_live() && node.body.starts_with(&first) {
                let (body, version) = (format!("{} {word}", node.body), node.version + 1);
                let mut node = Node { body, version, modified: now, ..node };
                node.content_hash = node.hash();
                return tx.put_node(&node);
            }
        }
        panic!("topic {topic} has no live note");
    };
    world.memory.store.transact(cause, append).unwrap();
}

fn first(topic: usize) -> String {
    format!("Topic {topic}.")
}

#[test]
fn writes_made_during_a_model_call_are_kept() {
    let mut world = World::new();
    world.config().agents.candidates = 0;
    for topic in 0..NOTES {
        world.note(&format!("topic-{topic}"), &first(topic));
    }
    let limits = "[limits.supersede]\nmax = 20\nmode = \"apply\"\n[budget]\nmax-runs-per-day = 0\n";
    let definition = agent("\"supersede\", \"weight\"", limits);
    let (order, orders) = mpsc::channel::<usize>();
    let (written, writes) = mpsc::channel::<()>();
    let orders = Mutex::new(orders);
    let writes = Mutex::new(writes);
    let (mut kept, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        let (world, orders) = (&world, &orders);
        for _ in 0..WRITERS {
            let written = written.clone();
            scope.spawn(move || {
                loop {
                    let next = orders.lock().recv();
                    let Ok(word) = next else { break };
                    write(world, word % NOTES, &format!("word-{word}"));
                    let _ = written.send(());
                }
            });
        }
        // The agent rewrites every note with its text and a mark. Six words are written during its call, two at
        // other times.
        for words in (0..WORDS).collect::<Vec<_>>().chunks(8) {
            world.clock.advance(Span::MINUTE);
            let model = FnModel(|asked: &Request<'_>| {
                words.iter().for_each(|&word| order.send(word).unwrap());
                let writes = writes.lock();
                words.iter().skip(2).for_each(|_| writes.recv().unwrap());
                let rewritten =
                    |node: &Node| format!("{} (said again)", node.body.replace(" (said again)", ""));
                let supersede = |one: &Handle| {
                    let (title, body) = (&one.node.title, rewritten(&one.node));
                    json!({"reason": "", "node": one.name, "by": "", "key": "", "title": title, "body": body})
                };
                let weigh = |one: &Handle| json!({"reason": "", "node": one.name, "delta": 0.01});
                let notes = || asked.selection.selected();
                json!({"notes": "", "supersede": notes().map(supersede).collect::<Vec<_>>(),
                    "weight": notes().map(weigh).collect::<Vec<_>>()})
            });
            let options = RunOptions { force: true, ..RunOptions::default() };
            let run = run_with(&world.memory, &definition, &model, Trigger::Manual, &options).unwrap();
            for row in &run.actions {
                match row.refusal_code.as_deref() {
                    None => kept += 1,
                    Some("changed-since-read") => refused += 1,
                    Some(other) => panic!("{other}: {row:?}"),
                }
            }
        }
        drop(order);
    });
    let all = world.memory.store.scan::<Node>(&[]).unwrap();
    let live = all.into_iter().map(|(_, node)| node).filter(|node| node.state.is_live());
    let bodies: Vec<String> = live.map(|node| node.body).collect();
    assert_eq!(bodies.len(), NOTES);
    for word in 0..WORDS {
        let word = format!("word-{word}");
        let count = bodies.iter().filter(|body| body.split_whitespace().any(|one| one == word)).count();
        assert_eq!(count, 1, "{word} is lost");
    }
    println!("{WORDS} words by {WRITERS} writers, {kept} actions done, {refused} left alone");
    assert!(kept > 0 && refused > 0);
}
