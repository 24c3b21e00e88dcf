//! Tests of vaults: syncs of single changes, and a property of random ones.

mod law;

use super::*;
use crate::testing::{TestMemory, draft};
use crate::{Draft, import, link, undo};
use poc_graph::error::Code;
use poc_graph::time::Span;
use poc_graph::{Edge, EdgeKind, Node, Trust, Visit, VisitOutcome};
use poc_store::Records as _;
use std::fs;
use std::path::{Path, PathBuf};

/// A memory with a bound folder.
struct World {
    memory: TestMemory,
    folder: PathBuf,
}

impl World {
    fn new(files: &[(&str, &str)]) -> World {
        let memory = TestMemory::new();
        let folder = memory.folder().join("vault");
        fs::create_dir(&folder).unwrap();
        let world = World { memory, folder };
        files.iter().for_each(|(path, text)| world.put(path, text));
        add(&world.memory, &world.folder, None, false).unwrap();
        world
    }

    fn put(&self, path: &str, text: &str) {
        put(&self.folder, path, text);
    }

    fn delete(&self, path: &str) {
        fs::remove_file(self.folder.join(path)).unwrap();
    }

    fn mv(&self, from: &str, to: &str) {
        let to = self.folder.join(to);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(self.folder.join(from), to).unwrap();
    }

    fn sync(&self) -> VaultReport {
        self.memory.clock.advance(Span::SECOND);
        let vault = named(&self.memory, "vault").unwrap();
        sync(&self.memory, &vault, &SyncOptions::default(), &|_, _| {}).unwrap()
    }

    fn note(&self, key: &str) -> Node {
        self.memory.find(key).unwrap()
    }

    fn links(&self, key: &str) -> Vec<String> {
        links(&self.memory, key)
    }
}

fn put(folder: &Path, file: &str, text: &str) {
    let file = folder.join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// The keys of the notes that a note links to.
fn links(memory: &TestMemory, key: &str) -> Vec<String> {
    let id = memory.find(key).unwrap().id;
    let edges = memory.store.edges_from(id, &[EdgeKind::Link]).unwrap();
    let mut keys: Vec<String> =
        edges.iter().map(|edge| memory.store.node(edge.dst).unwrap().unwrap().key).collect();
    keys.sort();
    keys
}

/// Added, updated, renamed, retired, revived, replaced.
fn counts(report: &VaultReport) -> [u64; 6] {
    let renamed = report.renamed.len() as u64;
    [report.added, report.updated, renamed, report.retired, report.revived, report.merged]
}

fn problems(report: &VaultReport) -> String {
    let line = |problem: &FileError| format!("{}: {}\n", problem.file, problem.error.line());
    report.refused.iter().chain(&report.warnings).map(line).collect()
}

const JOURNAL: &str =
    "# The journal\n\nEvery page write of the tree is recorded in the journal first, see [[split]].\n";
const SPLIT: &str = "# Splits\n\nA crash between two page writes of a split loses keys, says [[journal]].\n";

#[test]
fn files_become_notes_and_follow_their_edits() {
    let world = World::new(&[("journal.md", JOURNAL), ("db/split.md", SPLIT)]);
    let report = world.sync();
    assert_eq!(
        (counts(&report), report.files, report.links_added),
        ([2, 0, 0, 0, 0, 0], 2, 2),
        "{report:#?}"
    );
    assert_eq!(world.links("journal"), ["db/split"]);
    assert_eq!(world.links("db/split"), ["journal"]);
    let note = world.note("db/split");
    assert_eq!((note.provenance.as_str(), note.trust), ("import:vault", Trust::External));

    let before = world.memory.store.published_seq();
    assert!(!world.sync().is_changed());
    assert_eq!(world.memory.store.published_seq(), before, "a sync without changes writes nothing");

    world.put("journal.md", "# The journal\n\nRecovery reads it.\n");
    let report = world.sync();
    assert_eq!((counts(&report), report.links_removed), ([0, 1, 0, 0, 0, 0], 1));
    assert_eq!(world.links("journal"), [] as [&str; 0]);
    assert_eq!(world.note("journal").version, 2);
}

#[test]
fn a_moved_file_is_the_same_note() {
    let world =
        World::new(&[("journal.md", JOURNAL), ("split.md", SPLIT), ("soup.md", "Lentils with lemon.\n")]);
    world.sync();
    let journal = world.note("journal");
    let visit = Visit { at: world.memory.now(), version: 1, outcome: VisitOutcome::Processed };
    world
        .memory
        .store
        .transact(world.memory.cause("manual", "visit"), |tx| tx.put_visit("linker", journal.id, &visit))
        .unwrap();

    world.mv("journal.md", "db/log.md");
    let report = world.sync();
    assert_eq!(counts(&report), [0, 0, 1, 0, 0, 0], "{report:#?}");
    assert_eq!(report.renamed, [RenamedFile { from: "journal.md".into(), to: "db/log.md".into() }]);
    let moved = world.note("db/log");
    assert_eq!((moved.id, moved.version, moved.aliases), (journal.id, 1, vec!["journal".to_owned()]));
    assert_eq!(world.memory.store.visits(journal.id).unwrap().len(), 1);
    assert_eq!(world.links("split"), ["db/log"], "a link to the former name leads to the note");

    // Moved and edited at once.
    world.mv("db/log.md", "db/wal.md");
    world.put("db/wal.md", &JOURNAL.replace("first", "before anything else"));
    let report = world.sync();
    assert_eq!(counts(&report), [0, 1, 1, 0, 0, 0], "{report:#?}");
    assert_eq!(world.note("db/wal").id, journal.id);

    // A new file gets the former name.
    world.put("journal.md", "A diary of the garden.\n");
    let report = world.sync();
    assert_eq!(counts(&report), [1, 0, 0, 0, 0, 0]);
    assert_ne!(world.note("journal").id, journal.id);
    assert_eq!(world.note("db/wal").aliases, ["db/log"]);
    assert_eq!(world.links("split"), ["journal"], "a link means the file with the name");

    // Two files exchange their names.
    world.mv("soup.md", "x.md");
    world.mv("journal.md", "soup.md");
    world.mv("x.md", "journal.md");
    let (soup, diary) = (world.note("soup").id, world.note("journal").id);
    assert_eq!(counts(&world.sync()), [0, 0, 2, 0, 0, 0]);
    assert_eq!((world.note("soup").id, world.note("journal").id), (diary, soup));
}

#[test]
fn a_deleted_file_retires_its_note_and_no_other() {
    let world = World::new(&[("journal.md", JOURNAL), ("split.md", SPLIT)]);
    world.memory.note("own", "A note of mine about [[journal]].");
    world.sync();
    let id = world.note("journal").id;
    world.delete("journal.md");
    let report = world.sync();
    assert_eq!(counts(&report), [0, 0, 0, 1, 0, 0]);
    assert!(!world.note("journal").state.is_live());
    assert!(world.note("own").state.is_live() && world.note("split").state.is_live());
    assert_eq!(report.unresolved, [UnresolvedVaultLink { file: "split.md".into(), link: "journal".into() }]);

    // The file is back.
    world.put("journal.md", JOURNAL);
    assert_eq!(counts(&world.sync()), [0, 0, 0, 0, 1, 0]);
    let back = world.note("journal");
    assert_eq!((back.id, back.state.is_live(), back.expires), (id, true, None));
    assert_eq!(world.links("split"), ["journal"]);

    // An undone change is not made again by the next sync.
    world.delete("journal.md");
    world.sync();
    let changes = world.memory.store.history(id).unwrap();
    let retired = changes.iter().rev().find(|change| change.cause.op == "vault retire").unwrap().seq;
    assert_eq!(undo::undo_single(&world.memory, retired).unwrap().refused, None);
    assert!(world.note("journal").state.is_live());
    world.sync();
    assert!(world.note("journal").state.is_live());
}

#[test]
fn identical_texts_are_names_of_one_note() {
    let world = World::new(&[
        ("a/soup.md", "Lentils with lemon.\n"),
        ("b/copy.md", "Lentils with lemon.\n"),
        ("menu.md", "Tonight [[soup]] or [[copy]].\n"),
    ]);
    let report = world.sync();
    assert_eq!((counts(&report), report.files), ([2, 0, 0, 0, 0, 0], 3));
    let soup = world.note("a/soup");
    assert_eq!(world.note("b/copy").id, soup.id);
    assert_eq!(world.links("menu"), ["a/soup"]);
    assert_eq!(report.ambiguous, []);

    // One of them is edited: two notes.
    world.put("b/copy.md", "Lentils with mint.\n");
    assert_eq!(counts(&world.sync()), [1, 0, 0, 0, 0, 0]);
    assert_eq!((world.note("a/soup").id, world.note("a/soup").aliases), (soup.id, Vec::<String>::new()));
    assert_eq!(world.links("menu"), ["a/soup", "b/copy"]);

    // With the same text again, there is one note, into which the other was merged.
    world.put("b/copy.md", "Lentils with lemon.\n");
    assert_eq!(counts(&world.sync()), [0, 0, 0, 0, 0, 1]);
    assert_eq!(world.note("b/copy").id, soup.id);
    assert_eq!(world.links("menu"), ["a/soup"]);

    // The first is deleted: the other keeps the note.
    world.delete("a/soup.md");
    let report = world.sync();
    assert_eq!(counts(&report), [0, 0, 0, 0, 0, 0], "{report:#?}");
    let left = world.note("b/copy");
    assert_eq!((left.id, left.aliases.len()), (soup.id, 0));
    assert_eq!(world.memory.find("a/soup").unwrap_err().code, Code::NotFound);
}

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
        ("home.md", "[[b-tree#Splits]], ![[tree#^block]], [log](db/the%20log.md#top) and [[later]].\n"),
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
fn ignored_files_and_links_out_of_the_folder_are_left_out() {
    let world = World::new(&[
        ("a.md", "The first.\n"),
        (".obsidian/templates.json", "{\"folder\": \"Forms\"}"),
        (".obsidian/x.md", "hidden"),
        ("Forms/day.md", "a template"),
        ("templates/week.md", "another"),
        (".gitignore", "drafts/\n"),
        ("drafts/d.md", "a draft"),
        (".poc-memory-ignore", "private-*.md\n"),
        ("private-1.md", "secret"),
        ("notes/templates/kept.md", "A note about templates.\n"),
    ]);
    let outside = world.memory.folder().join("outside");
    put(&outside, "o.md", "outside");
    std::os::unix::fs::symlink(outside.join("o.md"), world.folder.join("o.md")).unwrap();
    std::os::unix::fs::symlink(&outside, world.folder.join("linked")).unwrap();
    let report = world.sync();
    assert_eq!((report.files, report.outside), (2, 1), "{report:#?}");
    assert!(world.note("notes/templates/kept").state.is_live());
}

#[test]
fn a_bad_file_is_named_and_keeps_its_note() {
    let world = World::new(&[("a.md", "The first text.\n"), ("b.md", "The second text.\n"), ("e.md", "")]);
    fs::write(world.folder.join("binary.md"), b"a\0b").unwrap();
    fs::write(world.folder.join("latin.md"), b"caf\xe9 au lait").unwrap();
    world.put("huge.md", &"long ".repeat(world.memory.config.insert.max_node_bytes));
    world.put("exported.md", "---\nschema_version: 1\nid: 0\n---\nx\n");
    let report = world.sync();
    assert_eq!((report.files, report.empty), (2, 1));
    let mut named: Vec<&str> = report.refused.iter().map(|problem| problem.file.as_str()).collect();
    named.sort_unstable();
    assert_eq!(named, ["binary.md", "exported.md", "huge.md", "latin.md"], "{}", problems(&report));

    world.put("a.md", "---\ntitle: [x\n---\nThe first text.\n");
    let report = world.sync();
    assert!(
        problems(&report).contains("a.md: 3:1: `title`: the front matter is wrong"),
        "{}",
        problems(&report)
    );
    assert_eq!((counts(&report), world.note("a").body.as_str()), ([0; 6], "The first text."));
    world.put("a.md", "---\ntitle: x\n---\nThe first text.\n");
    assert_eq!(counts(&world.sync()), [0, 1, 0, 0, 0, 0]);
    assert_eq!(world.note("a").title, "x");

    // An empty file may be a temporary state of an editor or a deletion.
    world.put("b.md", "");
    assert_eq!(counts(&world.sync()), [0; 6]);
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(world.folder.join("b.md")).unwrap().set_modified(long_ago).unwrap();
    assert_eq!(counts(&world.sync()), [0, 0, 0, 1, 0, 0]);
}

#[test]
fn a_folder_is_bound_once() {
    let world = World::new(&[("a.md", "The first.\n"), ("sub/b.md", "The second.\n")]);
    let refused = |folder: &Path| {
        let error = add(&world.memory, folder, None, false).unwrap_err();
        (error.code, error.message)
    };
    let (code, message) = refused(&world.folder.join("sub"));
    assert!(code == Code::Conflict && message.contains("is in the vault `vault`"), "{message}");
    let (_, message) = refused(&world.folder);
    assert!(message.contains("is already bound as the vault `vault`"), "{message}");
    let elsewhere = tempfile::tempdir().unwrap();
    let bound = elsewhere.path().join("notes");
    put(&bound, "c.md", "The third.\n");
    let other = add(&world.memory, &bound, None, false).unwrap();
    let (_, message) = refused(elsewhere.path());
    assert!(message.contains("contains the vault `notes`"), "{message}");
    assert_eq!(refused(&bound.join("c.md")).0, Code::InvalidArgument);
    let (_, message) = refused(world.memory.folder());
    assert!(message.contains("overlap"), "{message}");
    let names: Vec<String> = bindings(&world.memory).unwrap().into_iter().map(|vault| vault.name).collect();
    assert_eq!(names, ["notes", "vault"]);

    // A second vault with the same file names creates its own notes.
    put(&bound, "a.md", "Another first.\n");
    world.sync();
    let report = sync(&world.memory, &other, &SyncOptions::default(), &|_, _| {}).unwrap();
    assert!(problems(&report).contains("has the key `notes/a`"), "{}", problems(&report));
    assert_eq!(world.note("a").body, "The first.");
    assert_eq!(world.note("notes/a").body, "Another first.");
    assert_eq!(remove(&world.memory, &other).unwrap(), 2);
    assert!(world.note("notes/a").state.is_live());
    assert_eq!(world.sync().files, 2);
}

#[test]
fn an_imported_folder_is_taken_over() {
    let world = World::new(&[("a.md", "The first, see [[b]].\n"), ("sub/b.md", "The second.\n")]);
    let source = import::ImportSource::Path(world.folder.clone());
    remove(&world.memory, &named(&world.memory, "vault").unwrap()).unwrap();
    import::import(&world.memory, &source, &import::ImportOptions::default(), &|_, _| {}).unwrap();
    let ids = (world.note("a").id, world.note("sub/b").id);
    add(&world.memory, &world.folder, None, false).unwrap();
    world.put("a.md", "The first, edited, see [[b]].\n");
    assert_eq!(counts(&world.sync()), [0, 1, 0, 0, 0, 0]);
    world.put("sub/b.md", "The second, edited.\n");
    assert_eq!(counts(&world.sync()), [0, 1, 0, 0, 0, 0]);
    assert_eq!((world.note("a").id, world.note("sub/b").id), ids);
    world.put("a.md", "The first without.\n");
    assert_eq!(world.sync().links_removed, 1);
    // Notes that do not come from files are not changed.
    world.memory.note("mine", "My own words.");
    world.put("words.md", "My own words.\n");
    world.sync();
    let mine = world.note("mine");
    assert_eq!(world.note("words").id, mine.id);
    world.put("words.md", "Other words.\n");
    world.sync();
    assert_eq!(
        (world.note("mine").body.as_str(), world.note("words").body.as_str()),
        ("My own words.", "Other words.")
    );
    world.delete("words.md");
    world.sync();
    assert!(world.note("mine").state.is_live());
}

#[test]
fn a_folder_that_is_gone_changes_nothing() {
    let world = World::new(&[("a.md", "The first.\n"), ("b.md", "The second.\n")]);
    world.sync();
    let vault = named(&world.memory, "vault").unwrap();
    let again = |options: &SyncOptions| sync(&world.memory, &vault, options, &|_, _| {});
    fs::rename(&world.folder, world.memory.folder().join("away")).unwrap();
    assert_eq!(again(&SyncOptions::default()).unwrap_err().code, Code::Unavailable);
    assert_eq!(status(&world.memory).unwrap()[0].state, FolderState::Missing);
    fs::create_dir(&world.folder).unwrap();
    let error = again(&SyncOptions::default()).unwrap_err();
    assert!(error.code == Code::Conflict && error.hint.unwrap().contains("--emptied"));
    assert!(world.note("a").state.is_live());
    assert_eq!(again(&SyncOptions { allow_empty: true }).unwrap().retired, 2);
}

#[test]
fn additions_of_others_to_a_note_stay() {
    let world = World::new(&[("a.md", "---\nauthor: Ann\ntags: [one]\ntype: episodic\n---\nThe first.\n")]);
    world.sync();
    let words = ["one".to_owned(), "agent-word".to_owned()];
    let keywords =
        Draft { key: Some("a".into()), update: true, keywords: Some(words.to_vec()), ..draft("The first.") };
    world.memory.insert(Draft { trust: Trust::Agent, ..keywords }).unwrap();
    world.put("a.md", "---\ntags: [two]\n---\nThe first.\n");
    assert_eq!(counts(&world.sync()), [0, 1, 0, 0, 0, 0]);
    let note = world.note("a");
    assert_eq!(
        (note.keywords.join(" "), note.author, note.node_type.0.as_str()),
        ("two agent-word".into(), None, "semantic")
    );

    // A key that somebody else set is kept.
    let rename = |tx: &mut poc_store::Transaction<'_>| crate::rename::apply(tx, note.id, Some("better"), &[]);
    world.memory.store.transact(world.memory.cause("manual", "rename"), rename).unwrap();
    world.mv("a.md", "moved.md");
    assert_eq!(counts(&world.sync()), [0, 0, 1, 0, 0, 0]);
    assert_eq!((world.note("moved").key.as_str(), world.note("moved").id), ("better", note.id));
    world.put("moved.md", "Edited.\n");
    world.sync();
    assert_eq!(world.note("better").body, "Edited.");
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

/// The front matter lines that write-back has added to a file.
fn written_lines(world: &World, path: &str) -> Vec<String> {
    let text = fs::read_to_string(world.folder.join(path)).unwrap();
    text.lines().filter(|line| line.starts_with("memory-")).map(str::to_owned).collect()
}

fn link_as(world: &World, provenance: &str, from: &str, to: &str) {
    let link = link::Link {
        src: world.note(from).id,
        dst: world.note(to).id,
        kind: EdgeKind::Link,
        strength: 0.5,
        reason: "found".into(),
        provenance: provenance.into(),
    };
    let now = world.memory.now();
    world
        .memory
        .store
        .transact(world.memory.cause(provenance, "link"), |tx| link::set(tx, &link, now))
        .unwrap();
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
    assert!(!report.is_changed() && report.written.is_empty(), "{report:#?}");
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
    let world = World::new(&[("a.md", "The first.\n"), ("b.md", "The second.\n")]);
    world.sync();
    link_as(&world, "agent:linker", "a", "b");
    let vault = named(&world.memory, "vault").unwrap();
    set_write_back(&world.memory, &vault, true).unwrap();
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
