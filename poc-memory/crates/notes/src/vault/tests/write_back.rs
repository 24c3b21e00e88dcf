//! Links and replacements that the memory writes into the files of a vault.

use super::*;

/// The front matter lines that write-back has added to a file.
fn written_lines(world: &World, path: &str) -> Vec<String> {
    let text = fs::read_to_string(world.folder.join(path)).unwrap();
    text.lines().filter(|line| line.starts_with("memory-")).map(str::to_owned).collect()
}

/// A vault with write-back whose next sync writes a link to `b.md` into `a.md`.
fn with_new_link() -> World {
    let world = World::new(&[("a.md", "The first.\n"), ("b.md", "The second.\n")]);
    world.sync();
    link_as(&world, "agent:linker", "a", "b");
    set_write_back(&world.memory, &named(&world.memory, "vault").unwrap(), true).unwrap();
    world
}

#[test]
fn links_of_agents_are_written_into_the_files_of_a_vault_with_write_back() {
    let split = "# Splits\r\n\r\nA crash between two writes. #crash\r\n";
    let world = World::new(&[
        ("journal.md", "---\ntitle: Log # of pages\n---\n\nSee [[split]].\n"),
        ("db/split.md", split),
        ("soup.md", "Lentils.\n"),
    ]);
    world.sync();
    world.memory.note("own", "A note that is no file.");
    for (from, to) in
        [("journal", "db/split"), ("journal", "soup"), ("journal", "own"), ("db/split", "journal")]
    {
        link_as(&world, "agent:linker", from, to);
    }
    assert_eq!(world.sync().written, [] as [&str; 0], "only on request");
    let vault = named(&world.memory, "vault").unwrap();
    set_write_back(&world.memory, &vault, true).unwrap();
    let before = (world.note("journal"), world.note("db/split"));
    assert_eq!(world.sync().written, ["db/split.md", "journal.md"]);
    assert_eq!(status(&world.memory).unwrap()[0].behind, 0);
    assert_eq!(
        fs::read_to_string(world.folder.join("journal.md")).unwrap(),
        "---\ntitle: Log # of pages\nmemory-links: [\"[[soup]]\"]\n---\n\nSee [[split]].\n",
        "links that the file contains are not repeated"
    );
    assert_eq!(
        fs::read_to_string(world.folder.join("db/split.md")).unwrap(),
        format!("---\r\n# Added by poc-memory\r\nmemory-links: [\"[[journal]]\"]\r\n---\r\n{split}")
    );
    let copy = world.memory.paths.vaults().join("before-write-back/vault/db/split.md");
    assert_eq!(fs::read_to_string(copy).unwrap(), split);
    // The notes are the same, and the edges still those of the agent.
    let seq = world.memory.store.published_seq();
    let report = world.sync();
    assert!(!report.has_changes() && report.written.is_empty(), "{report:#?}");
    assert_eq!(world.memory.store.published_seq(), seq);
    assert_eq!((world.note("journal"), world.note("db/split")), before);
    let edge = world.memory.store.edge(before.0.id, EdgeKind::Link, world.note("soup").id).unwrap().unwrap();
    assert_eq!(edge.provenance, "agent:linker");

    // The link to a moved target gets its new name; a removed link is deleted.
    world.mv("soup.md", "kitchen/lentils.md");
    world.sync();
    assert_eq!(written_lines(&world, "journal.md"), ["memory-links: [\"[[kitchen/lentils]]\"]"]);
    let (journal, split_id) = (before.0.id, before.1.id);
    world
        .memory
        .store
        .transact(world.memory.cause("manual", "link"), |tx| {
            link::remove(tx, split_id, EdgeKind::Link, journal)
        })
        .unwrap();
    world.sync();
    assert_eq!(fs::read_to_string(world.folder.join("db/split.md")).unwrap(), split);

    // A link that a person removes from the property is not written again, but stays in the memory.
    let text = fs::read_to_string(world.folder.join("journal.md")).unwrap();
    world.put("journal.md", &text.replace("memory-links: [\"[[kitchen/lentils]]\"]\n", ""));
    world.sync();
    link_as(&world, "agent:linker", "db/split", "kitchen/lentils");
    assert_eq!(world.sync().written, ["db/split.md"]);
    assert_eq!(written_lines(&world, "journal.md"), [] as [&str; 0]);
    assert_eq!(world.links("journal"), ["db/split", "kitchen/lentils", "own"]);
}

#[test]
fn a_replacement_is_written_into_the_file_and_the_text_stays() {
    let world = World::new(&[("a.md", "The first text.\n"), ("b.md", "See [[a]].\n")]);
    world.sync();
    set_write_back(&world.memory, &named(&world.memory, "vault").unwrap(), true).unwrap();
    let better =
        Draft { key: Some("better".into()), supersedes: Some(world.note("a").id), ..draft("A better text.") };
    world.memory.insert(better).unwrap();
    assert_eq!(world.sync().written, ["a.md"]);
    let written = "---\n# Added by poc-memory\nmemory-replaced-by: \"[[better]]\"\n---\nThe first text.\n";
    assert_eq!(fs::read_to_string(world.folder.join("a.md")).unwrap(), written);
    assert_eq!(world.links("b"), ["better"], "links to the file lead to the replacement");
    world.put("a.md", &written.replace("---\nThe", "author: Ann\n---\nThe"));
    world.sync();
    let note = world.note("better");
    assert_eq!((note.body.as_str(), note.author.as_deref()), ("A better text.", Some("Ann")));
    // A new text of the file becomes the text of the replacing note.
    world.put("a.md", "The newest text.\n");
    world.sync();
    assert_eq!(world.note("better").body, "The newest text.");
    assert_eq!(fs::read_to_string(world.folder.join("a.md")).unwrap(), "The newest text.\n");
}

#[test]
fn a_symbolic_link_is_not_written_to() {
    let world = World::new(&[
        ("a.md", "The first.\n"),
        ("b.md", "The second.\n"),
        ("c.md", "---\ntitle: C\n...\nThe third.\n"),
    ]);
    world.sync();
    link_as(&world, "agent:linker", "a", "b");
    link_as(&world, "agent:linker", "c", "b");
    world.mv("a.md", "real.md");
    std::os::unix::fs::symlink(world.folder.join("real.md"), world.folder.join("a.md")).unwrap();
    set_write_back(&world.memory, &named(&world.memory, "vault").unwrap(), true).unwrap();
    let report = world.sync();
    assert_eq!(report.written, ["c.md"]);
    assert!(problems(&report).contains("a.md: it is a symbolic link"), "{}", problems(&report));
    assert_eq!(
        fs::read_to_string(world.folder.join("c.md")).unwrap(),
        "---\ntitle: C\nmemory-links: [\"[[b]]\"]\n...\nThe third.\n"
    );
}

#[test]
fn a_file_that_changes_meanwhile_is_not_written() {
    let world = with_new_link();
    let vault = named(&world.memory, "vault").unwrap();
    world.put("c.md", "The third.\n");
    // A person saves the file after the sync has read it.
    let save = |_, _| world.put("a.md", "The first, edited.\n");
    let report = sync(&world.memory, &vault, &SyncOptions::default(), &save).unwrap();
    assert_eq!((report.written.len(), report.busy), (0, 1), "{report:#?}");
    assert_eq!(fs::read_to_string(world.folder.join("a.md")).unwrap(), "The first, edited.\n");
    let report = world.sync();
    assert_eq!((counts(&report), report.written), ([0, 1, 0, 0, 0, 0], vec!["a.md".to_owned()]));
    assert_eq!(world.note("a").body, "The first, edited.");
}

#[test]
fn a_broken_file_is_not_written() {
    let world = with_new_link();
    let broken = "---\ntitle: [x\n---\nThe first.\n";
    world.put("a.md", broken);
    let report = world.sync();
    assert_eq!((report.written.len(), report.busy), (0, 0), "{report:#?}");
    assert_eq!(fs::read_to_string(world.folder.join("a.md")).unwrap(), broken);
    world.put("a.md", "The first.\n");
    assert_eq!(world.sync().written, ["a.md"]);
}

#[test]
fn a_file_that_is_deleted_meanwhile_is_no_error() {
    let world = with_new_link();
    let vault = named(&world.memory, "vault").unwrap();
    world.put("c.md", "The third.\n");
    let delete = |_, _| world.delete("a.md");
    let report = sync(&world.memory, &vault, &SyncOptions::default(), &delete).unwrap();
    assert_eq!((report.busy, problems(&report)), (1, String::new()));
    assert_eq!(counts(&world.sync()), [0, 0, 0, 1, 0, 0]);
}

#[test]
fn a_replacement_by_the_note_of_another_file_leaves_links_in_their_files() {
    for (old, new) in [("a", "z"), ("z", "a")] {
        let world = World::new(&[
            ("a.md", "The first.\n"),
            ("m.md", "The middle.\n"),
            ("o.md", "The other.\n"),
            ("z.md", "The last.\n"),
        ]);
        world.sync();
        set_write_back(&world.memory, &named(&world.memory, "vault").unwrap(), true).unwrap();
        link_as(&world, "agent:linker", "m", old);
        link_as(&world, "agent:linker", new, "o");
        world.sync();
        assert_eq!(written_lines(&world, "m.md"), [format!("memory-links: [\"[[{old}]]\"]")]);
        world.supersede(old, new);
        world.sync();
        assert_eq!(written_lines(&world, "m.md"), [format!("memory-links: [\"[[{new}]]\"]")]);
        assert_eq!(written_lines(&world, &format!("{new}.md")), ["memory-links: [\"[[o]]\"]"]);
        let replaced = format!("memory-replaced-by: \"[[{new}]]\"");
        assert_eq!(written_lines(&world, &format!("{old}.md")), [replaced]);
        assert_eq!(world.sync().written, [] as [&str; 0]);
    }
}

#[test]
fn a_property_of_a_person_is_not_replaced() {
    let text = "---\nmemory-links: mine\n---\nThe first.\n";
    let world = World::new(&[("a.md", text), ("b.md", "The second.\n")]);
    world.sync();
    link_as(&world, "agent:linker", "a", "b");
    set_write_back(&world.memory, &named(&world.memory, "vault").unwrap(), true).unwrap();
    let report = world.sync();
    assert!(problems(&report).contains("a.md: its property `memory-links`"), "{}", problems(&report));
    assert_eq!(fs::read_to_string(world.folder.join("a.md")).unwrap(), text);
}
