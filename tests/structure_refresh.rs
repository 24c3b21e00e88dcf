//! The daemon recomputes the graph structure when the graph has changed.

use crate::support::{WAIT_LIMIT, World};
use serde_json::Value;

/// Settings with which no command computes the graph structure itself, so only the daemon does.
fn config(world: &World, quiet: &str) {
    world.write("config.toml", &format!("[structure]\nexact-below = 0\nrefresh-quiet = \"{quiet}\"\n"));
}

fn link(world: &World, from: &str, to: &str) {
    assert_eq!(world.run(&["link", from, to, "--strength", "0.8"]).status, 0);
}

fn graph(stats: &Value) -> (&str, Option<u64>) {
    (stats["graph"]["source"].as_str().unwrap(), stats["graph"]["largest"].as_u64())
}

#[test]
fn an_idle_daemon_computes_the_graph_structure_and_reuses_it() {
    let mut world = World::new();
    config(&world, "200ms");
    let file = world.home().join("store/structure/latest");
    let kept = || std::fs::read(&file).ok();
    for key in ["a", "b", "c", "d"] {
        world.run(&["insert", "--title", key, "--body", key, "--key", key]);
    }
    link(&world, "a", "b");
    link(&world, "b", "c");
    assert_eq!(graph(&world.json(&["stats"])), ("not computed yet", None));
    assert_eq!(kept(), None);
    world.start_daemon();
    world.until(WAIT_LIMIT, &["stats"], |stats| graph(stats) == ("fresh", Some(3)) && kept().is_some());
    let before = kept();
    link(&world, "c", "d");
    world.until(WAIT_LIMIT, &["stats"], |stats| graph(stats) == ("fresh", Some(4)) && kept() != before);
    world.stop_daemon();
    // A command and a daemon that computes nothing itself use the saved structure.
    assert_eq!(graph(&world.json(&["stats"])), ("fresh", Some(4)));
    config(&world, "1h");
    world.start_daemon();
    assert_eq!(graph(&world.json(&["stats"])), ("fresh", Some(4)));
    world.stop_daemon();
    // A damaged file is ignored.
    let whole = kept().unwrap();
    std::fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(graph(&world.json(&["stats"])), ("not computed yet", None));
    std::fs::write(&file, &whole).unwrap();
    assert_eq!(graph(&world.json(&["stats"])), ("fresh", Some(4)));
    // A file of an older graph is ignored.
    link(&world, "a", "d");
    assert_eq!(graph(&world.json(&["stats"])), ("not computed yet", None));
}
