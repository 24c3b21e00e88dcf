//! Links and sessions of files become edges.

use super::*;

#[test]
fn a_removed_link_removes_the_edge_of_the_file_only() {
    let world =
        World::new(&[("a.md", "To [[b]] and [[c]].\n"), ("b.md", "The second.\n"), ("c.md", "The third.\n")]);
    world.sync();
    let edge = |from: &str, to: &str| link::Link {
        src: world.note(from).id,
        dst: world.note(to).id,
        kind: EdgeKind::Link,
        strength: 0.9,
        reason: "an agent found it".into(),
        provenance: "agent:linker".into(),
    };
    let now = world.memory.now();
    let cause = world.memory.cause("agent:linker", "link");
    world
        .memory
        .store
        .transact(cause, |tx| {
            link::set(tx, &edge("a", "c"), now).and_then(|_| link::set(tx, &edge("b", "c"), now))
        })
        .unwrap();
    world.put("a.md", "To nobody.\n");
    world.put("b.md", "The second one.\n");
    assert_eq!(world.sync().links_removed, 1);
    assert_eq!((world.links("a"), world.links("b")), (vec!["c".to_owned()], vec!["c".to_owned()]));
}

#[test]
fn links_of_every_kind_are_edges() {
    let world = World::new(&[
        (
            "db/tree.md",
            "---\naliases: [B-tree]\nup: \"[[home]]\"\nmood: calm\n---\nPages and #storage/pages.\n",
        ),
        (
            "home.md",
            "[[b-tree#Splits]], ![[tree#^block]], [log](db/the%20log.md#top), [[later]], [[#Goals]], [[#^block]].\n",
        ),
        ("db/the log.md", "Back to [home](../home.md); [[nothing.png]].\n"),
        ("2026-11-20.md", "A day with [[tree|the tree]].\n"),
        (
            "plan.canvas",
            r#"{"nodes":[{"id":"1","type":"file","file":"home.md"},{"id":"2","type":"file","file":"2026-11-20.md"},
            {"id":"3","type":"text","text":"Think about [[tree]] #plan"}],"edges":[{"id":"e","fromNode":"2","toNode":"1","label":"leads to"}]}"#,
        ),
    ]);
    let report = world.sync();
    assert_eq!(problems(&report), "");
    assert_eq!(report.unresolved, [UnresolvedVaultLink { file: "home.md".into(), link: "later".into() }]);
    assert_eq!(world.links("home"), ["db/the log", "db/tree"]);
    assert_eq!(world.links("db/tree"), ["home"]);
    assert_eq!(world.links("db/the log"), ["home"]);
    assert_eq!(world.links("2026-11-20"), ["db/tree", "home"]);
    assert_eq!(world.links("plan.canvas"), ["2026-11-20", "db/tree", "home"]);
    assert_eq!(world.note("plan.canvas").keywords, ["plan"]);
    let reason = |from: &str, to: &str| {
        let edge = world.memory.store.edge(world.note(from).id, EdgeKind::Link, world.note(to).id).unwrap();
        edge.unwrap().reason
    };
    assert_eq!((reason("db/tree", "home"), reason("2026-11-20", "home")), ("up".into(), "leads to".into()));
    assert_eq!(world.note("db/tree").keywords, ["storage/pages"]);
    let day = world.note("2026-11-20");
    assert_eq!(
        (day.created.to_string(), day.node_type.0),
        ("2026-11-20T00:00:00.000Z".into(), "episodic".into())
    );

    // A link to a missing file becomes an edge when the file is created.
    world.put("x/later.md", "Now.\n");
    assert_eq!(world.sync().unresolved, []);
    assert_eq!(world.links("home"), ["db/the log", "db/tree", "x/later"]);

    // A name of two files is reported as ambiguous, unless one of them is in the same folder as the link.
    world.put("y/later.md", "Also now.\n");
    world.put("y/near.md", "My [[later]].\n");
    let report = world.sync();
    assert_eq!(report.ambiguous.len(), 1);
    assert_eq!(
        (report.ambiguous[0].file.as_str(), report.ambiguous[0].candidates.join(" ")),
        ("home.md", "x/later.md y/later.md".into())
    );
    assert_eq!(world.links("y/near"), ["y/later"]);
    assert_eq!(world.links("home"), ["db/the log", "db/tree"]);
}

#[test]
fn notes_of_a_session_are_linked_in_order() {
    let turn = |day: u32, text: &str| format!("---\nsession: s\ncreated: 2026-11-0{day}\n---\n{text}\n");
    let world = World::new(&[("a.md", &turn(1, "One.")), ("b.md", &turn(3, "Three."))]);
    world.sync();
    let order = |key: &str| {
        let edges: Vec<Edge> =
            world.memory.store.edges_from(world.note(key).id, &[EdgeKind::Structural]).unwrap();
        let mut keys: Vec<String> =
            edges.iter().map(|edge| world.memory.store.node(edge.dst).unwrap().unwrap().key).collect();
        keys.sort();
        keys.join(" ")
    };
    assert_eq!((order("a"), order("b")), ("b".into(), "a".into()));
    world.put("c.md", &turn(2, "Two."));
    world.sync();
    assert_eq!((order("a"), order("b"), order("c")), ("c".into(), "c".into(), "a b".into()));
    world.delete("c.md");
    world.sync();
    assert_eq!((order("a"), order("b")), ("b".into(), "a".into()));
}

#[test]
fn an_ambiguous_link_lists_a_hundred_candidates() {
    let notes: Vec<(String, String)> =
        (0..120).map(|number| (format!("{number:03}/README.md"), format!("About {number}.\n"))).collect();
    let mut files: Vec<(&str, &str)> =
        notes.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.push(("top.md", "See [[README]].\n"));
    let report = World::new(&files).sync();
    let [link] = &report.ambiguous[..] else { panic!("{:?}", report.ambiguous) };
    assert_eq!((link.file.as_str(), link.link.as_str()), ("top.md", "README"));
    assert_eq!((link.candidates.len(), link.candidates[99].as_str()), (100, "099/README.md"));
}
