//! A note follows its file when it is edited, moved, deleted or copied.

use super::*;
use crate::import::{ImportOptions, ImportSource, import};
use crate::testing::set_modified;
use crate::undo;
use poc_graph::error::Code;
use poc_graph::{State, Trust, Visit, VisitOutcome};
use poc_store::{LoggedTransaction, Table};

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
    assert!(!world.sync().has_changes());
    assert_eq!(world.memory.store.published_seq(), before, "a sync without changes writes nothing");

    world.put("journal.md", "# The journal\n\nRecovery reads it.\n");
    let report = world.sync();
    assert_eq!((counts(&report), report.links_removed), ([0, 1, 0, 0, 0, 0], 1));
    assert_eq!(world.links("journal"), [] as [&str; 0]);
    assert_eq!(world.note("journal").version, 2);
}

#[test]
fn long_files_are_stored_in_several_transactions() {
    let memory = TestMemory::new();
    let folder = memory.folder().join("vault");
    fs::create_dir(&folder).unwrap();
    let comment = "x".repeat(1_000_000);
    for number in 0..12 {
        put(&folder, &format!("{number}.md"), &format!("---\n# {comment}\n---\nNote {number}.\n"));
    }
    add(&memory, &folder, None, false).unwrap();
    let vault = named(&memory, "vault").unwrap();
    let reported = parking_lot::Mutex::new(Vec::new());
    sync(&memory, &vault, &SyncOptions::default(), &|done, _| reported.lock().push(done)).unwrap();
    assert_eq!(*reported.lock(), [9, 12]);
}

#[test]
fn a_new_note_has_the_date_of_its_file_and_keeps_it() {
    let world = World::new(&[("a.md", "The first text.\n")]);
    let file = world.folder.join("a.md");
    set_modified(&file, 1_000_000_000);
    world.sync();
    let before = world.note("a");
    assert_eq!(before.created, Timestamp(1_000_000_000_000));
    set_modified(&file, 1_200_000_000);
    assert_eq!(counts(&world.sync()), [0; 6]);
    assert_eq!(world.note("a"), before);
    world.put("a.md", "The first text, edited.\n");
    world.sync();
    assert_eq!((world.note("a").created, world.note("a").version), (before.created, 2));
}

/// Earlier releases kept the markup in titles that they made from the text.
#[test]
fn a_title_of_an_earlier_release_stays_until_the_text_changes() {
    const TEXT: &str = "# **heck** converts cases\n\nIt knows eight of them.\n";
    let world = World::new(&[("heck.md", TEXT)]);
    world.sync();
    let note = world.note("heck");
    assert_eq!(note.title, "heck converts cases");
    let title = poc_graph::former_title_of(&note.body).unwrap();
    assert_eq!(title, "heck** converts cases");
    let former = Node { title, ..note };
    let former = Node { content_hash: former.hash(), ..former };
    let cause = world.memory.cause("import:vault", "vault sync");
    world.memory.store.transact(cause, |tx| tx.put_node(&former)).unwrap();
    // The record that an earlier release wrote has the same hash.
    let vault = named(&world.memory, "vault").unwrap();
    let record =
        crate::vault::binding::files(&world.memory.store, &vault).unwrap().remove("heck.md").unwrap();
    assert_eq!(record.digest.content, former.content_hash);

    for (front, version) in [("author: Ann", 2), ("author: Ann\ntags: [case]", 3)] {
        world.put("heck.md", &format!("---\n{front}\n---\n{TEXT}"));
        assert_eq!(counts(&world.sync()), [0, 1, 0, 0, 0, 0], "{front}");
        let stored = world.note("heck");
        assert_eq!((stored.title, stored.version), (former.title.clone(), version), "{front}");
    }
    world.put("heck.md", "# **heck** converts cases\n\nIt knows nine of them.\n");
    world.sync();
    assert_eq!(world.note("heck").title, "heck converts cases");
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
fn a_moved_canvas_is_the_same_note() {
    let card =
        |text: &str| format!("{{\"nodes\": [{{\"id\": \"1\", \"type\": \"text\", \"text\": \"{text}\"}}]}}");
    let world = World::new(&[("map.canvas", &card("Ann")), ("plan.canvas", &card("Bob"))]);
    world.sync();
    let (map, plan) = (world.note("map.canvas").id, world.note("plan.canvas").id);
    // Its title is its file name.
    world.mv("map.canvas", "people/who is who.canvas");
    let report = world.sync();
    assert_eq!(counts(&report), [0, 1, 1, 0, 0, 0], "{report:#?}");
    let moved = world.note("people/who is who.canvas");
    assert_eq!((moved.id, moved.title.as_str()), (map, "who is who"));

    // Two canvases exchange their names.
    world.mv("plan.canvas", "aside.canvas");
    world.mv("people/who is who.canvas", "plan.canvas");
    world.mv("aside.canvas", "people/who is who.canvas");
    world.sync();
    let (first, second) = (world.note("plan.canvas"), world.note("people/who is who.canvas"));
    assert_eq!((first.id, first.title.as_str(), first.body.as_str()), (map, "plan", "Ann"));
    assert_eq!((second.id, second.title.as_str(), second.body.as_str()), (plan, "who is who", "Bob"));
}

#[test]
fn files_with_only_properties_keep_their_notes() {
    const TEMPLATE: &str = "---\ntags: [film]\n---\n";
    let world = World::new(&[("films/Alien.md", TEMPLATE), ("films/Brazil.md", TEMPLATE)]);
    assert_eq!(counts(&world.sync()), [2, 0, 0, 0, 0, 0]);
    let (alien, brazil) = (world.note("films/Alien").id, world.note("films/Brazil").id);
    assert_eq!((world.note("films/Alien").title.as_str(), alien == brazil), ("Alien", false));
    world.mv("films/Alien.md", "seen/Alien (1979).md");
    assert_eq!(counts(&world.sync()), [0, 1, 1, 0, 0, 0]);
    let moved = world.note("seen/Alien (1979)");
    assert_eq!((moved.id, moved.title.as_str()), (alien, "Alien (1979)"));
    // A file is edited, and another one is made from the same template.
    world.put("films/Brazil.md", "---\ntags: [film]\n---\nBy Terry Gilliam.\n");
    world.put("films/Clue.md", TEMPLATE);
    assert_eq!(counts(&world.sync()), [1, 1, 0, 0, 0, 0]);
    assert_eq!(world.note("films/Brazil").id, brazil);
    assert_eq!(world.note("films/Clue").title, "Clue");
}

/// In tests, a transaction has texts of 10,000 characters.
#[test]
fn many_long_files_are_moved_and_deleted_in_several_transactions() {
    let paths: Vec<String> = (0..4).map(|number| format!("old/{number}.md")).collect();
    let texts: Vec<String> = (0..4).map(|number| format!("{number} {}", "word ".repeat(800))).collect();
    let files = paths.iter().zip(&texts).map(|(path, text)| (path.as_str(), text.as_str()));
    let world = World::new(&files.collect::<Vec<_>>());
    world.sync();
    // The counts of a sync, and the maximum number of notes that a transaction of it changes.
    let sync = |change: &dyn Fn()| {
        let before = world.memory.store.published_seq();
        change();
        let counts = counts(&world.sync());
        let seqs = before + 1..=world.memory.store.published_seq();
        let transactions = seqs.filter_map(|seq| world.memory.store.transaction(seq).unwrap());
        let changed =
            |txn: LoggedTransaction| txn.writes.iter().filter(|write| write.table == Table::Nodes).count();
        (counts, transactions.map(changed).max())
    };
    let moved = sync(&|| fs::rename(world.folder.join("old"), world.folder.join("new")).unwrap());
    assert_eq!(moved, ([0, 0, 4, 0, 0, 0], Some(2)));
    let deleted = sync(&|| {
        fs::remove_dir_all(world.folder.join("new")).unwrap();
        world.put("other.md", "Another file.\n");
    });
    assert_eq!(deleted, ([1, 0, 0, 4, 0, 0], Some(2)));
}

/// In tests, a transaction has texts of 10,000 characters.
#[test]
fn many_long_files_get_their_other_names_in_several_transactions() {
    let front = |number: u64| format!("---\naliases: [Name {number}]\n---\n");
    let files: Vec<(String, String)> = (0..4)
        .map(|number| (format!("{number}.md"), format!("{}{number} {}", front(number), "word ".repeat(800))))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let world = World::new(&files);
    world.sync();
    assert_eq!(world.note("3").other_names, ["Name 3"]);
    let transactions = (1..=world.memory.store.published_seq())
        .filter_map(|seq| world.memory.store.transaction(seq).unwrap());
    let notes = transactions.map(|txn| txn.writes.iter().filter(|write| write.table == Table::Nodes).count());
    let notes: Vec<usize> = notes.filter(|count| *count > 0).collect();
    assert_eq!(notes, [4, 2, 2], "the texts, then the names");
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
    let retired = changes.last().unwrap().seq;
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

    // The first is deleted: the other keeps the note with its former key, as after a move.
    world.delete("a/soup.md");
    let report = world.sync();
    assert_eq!(counts(&report), [0, 0, 1, 0, 0, 0], "{report:#?}");
    assert_eq!(report.renamed, [RenamedFile { from: "a/soup.md".into(), to: "b/copy.md".into() }]);
    assert_eq!((report.unresolved.len(), report.links_removed), (0, 0));
    let left = world.note("b/copy");
    assert_eq!((left.id, left.aliases), (soup.id, vec!["a/soup".to_owned()]));
    assert_eq!(world.links("menu"), ["b/copy"]);
    // The name of a deleted copy is not kept.
    world.put("c/copy.md", "Lentils with lemon.\n");
    world.sync();
    world.delete("c/copy.md");
    assert_eq!(counts(&world.sync()), [0; 6]);
    assert_eq!(world.memory.find("c/copy").unwrap_err().code, Code::NotFound);
}

#[test]
fn a_text_that_was_changed_in_the_memory_stays_until_its_file_changes() {
    let world = World::new(&[("a.md", "---\ntags: [one]\n---\nThe first.\n"), ("b.md", "The second.\n")]);
    world.sync();
    let edited = || status(&world.memory).unwrap()[0].edited;
    let update = |text: &str, word: &str| {
        let keywords = Some(vec!["one".to_owned(), word.to_owned()]);
        let changed = Draft { key: Some("a".into()), update: true, keywords, ..draft(text) };
        world.memory.insert(changed).unwrap();
    };
    // Keywords of others are no change of the text.
    update("The first.", "two");
    assert_eq!(edited(), 0);
    update("Changed by hand.", "two");
    assert_eq!(edited(), 1);
    let (vault, file) = file_of_note(&world.memory, world.note("a").id).unwrap().unwrap();
    assert_eq!((vault.name.as_str(), file.as_str()), ("vault", "a.md"));
    world.put("b.md", "The second, edited.\n");
    assert_eq!(problems(&world.sync()), "");
    assert_eq!((world.note("a").body.as_str(), edited()), ("Changed by hand.", 1));
    world.put("a.md", "---\ntags: [one]\n---\nThe first, edited.\n");
    let report = world.sync();
    assert_eq!(
        problems(&report),
        "a.md: the text of the file has replaced a text that was changed in the memory; `poc-memory history a` shows \
         the former text\n"
    );
    assert_eq!((world.note("a").body.as_str(), edited()), ("The first, edited.", 0));
}

#[test]
fn the_key_of_a_new_note_comes_from_the_best_place_of_its_text() {
    let files = [
        ("archive/apple.md", "---\nauthor: Bob\n---\nAbout apples.\n"),
        ("notes/apple.md", "---\nauthor: Ann\n---\nAbout apples.\n"),
        ("copies/pear.md", "About pears.\r\n"),
        ("pear.md", "About pears.\n"),
        ("plum.md", "About plums.\n"),
    ];
    let world = World::new(&files);
    assert_eq!(counts(&world.sync()), [3, 0, 0, 0, 0, 0]);
    // An import of the same folder names the notes in the same way, also when it is repeated.
    let imported = TestMemory::new();
    let source = ImportSource::Path(world.folder.clone());
    for inserted in [3, 0] {
        let report = import(&imported, &source, &ImportOptions::default(), &|_, _| {}).unwrap();
        assert_eq!((report.inserted, report.updated), (inserted, 0));
    }
    for memory in [&world.memory, &imported] {
        for (name, key, author) in [
            ("archive/apple", "notes/apple", Some("Ann")),
            ("copies/pear", "pear", None),
            ("plum", "plum", None),
        ] {
            let note = memory.find(name).unwrap();
            assert_eq!((note.key.as_str(), note.author.as_deref()), (key, author));
        }
    }
    // A note keeps its key when a better place gets its text.
    world.put("apple.md", "---\nauthor: Eve\n---\nAbout apples.\n");
    world.sync();
    let note = world.note("apple");
    assert_eq!((note.key.as_str(), note.author.as_deref()), ("notes/apple", Some("Eve")));
}

#[test]
fn a_file_that_gets_the_text_of_a_note_outside_of_the_vault_has_that_note() {
    let world = World::new(&[("a.md", "The first.\n"), ("b.md", "See [[a]].\n")]);
    world.sync();
    let former = world.note("a").id;
    let outside = world.memory.note("own", "The same text.");
    let body = || world.memory.store.node(outside).unwrap().unwrap().body;
    world.put("a.md", "The same text.\n");
    let report = world.sync();
    assert_eq!((counts(&report), report.busy, problems(&report)), ([0, 0, 0, 0, 0, 1], 0, String::new()));
    assert_eq!((world.note("a").id, world.links("b")), (outside, vec!["own".to_owned()]));
    assert_eq!(world.memory.store.node(former).unwrap().unwrap().state, State::Superseded);
    let seq = world.memory.store.published_seq();
    world.sync();
    assert_eq!(world.memory.store.published_seq(), seq, "a second sync writes nothing");

    // Edits of the file do not change it.
    world.put("a.md", "Another text.\n");
    let report = world.sync();
    assert_eq!((counts(&report), problems(&report)), ([1, 0, 0, 0, 0, 0], String::new()));
    assert!(![former, outside].contains(&world.note("a").id));
    assert_eq!((world.links("b"), body()), (vec!["a".to_owned()], "The same text.".to_owned()));
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
fn the_note_of_a_file_that_replaced_another_note_stays_with_its_file() {
    for (old, new) in [("a", "z"), ("z", "a")] {
        let world = World::new(&[("a.md", "# A\n\none\n"), ("z.md", "# Z\n\ntwo\n")]);
        world.sync();
        let (replaced, id) = (world.note(old).id, world.note(new).id);
        let state = || world.memory.store.node(replaced).unwrap().unwrap().state;
        world.supersede(old, new);
        let file = format!("{new}.md");
        world.put(&file, "# New\n\nthree\n");
        let report = world.sync();
        assert_eq!(
            (counts(&report), problems(&report)),
            ([0, 1, 0, 0, 0, 0], String::new()),
            "{old} → {new}"
        );
        assert_eq!((world.note(new).id, world.note(new).title.as_str()), (id, "New"));
        assert_eq!(state(), State::Superseded);

        // Properties of the replaced file do not belong to the other note.
        let text = fs::read_to_string(world.folder.join(format!("{old}.md"))).unwrap();
        world.put(&format!("{old}.md"), &format!("---\nauthor: Ann\n---\n{text}"));
        let report = world.sync();
        assert_eq!((counts(&report), problems(&report)), ([0; 6], String::new()));
        assert_eq!((world.note(new).author, state()), (None, State::Superseded));
        let seq = world.memory.store.published_seq();
        world.sync();
        assert_eq!(world.memory.store.published_seq(), seq, "a second sync writes nothing");

        world.mv(&file, "moved.md");
        assert_eq!(counts(&world.sync()), [0, 0, 1, 0, 0, 0]);
        assert_eq!((world.note("moved").id, state()), (id, State::Superseded));

        // A new text of the replaced file is a new note.
        world.put(&format!("{old}.md"), "# Old\n\nfour\n");
        let report = world.sync();
        assert_eq!((counts(&report), problems(&report)), ([1, 0, 0, 0, 0, 0], String::new()));
        let note = world.note(old);
        assert!(note.title == "Old" && ![id, replaced].contains(&note.id), "{note:?}");
        assert_eq!(world.note("moved").title, "New");
    }
}

#[test]
fn a_note_that_replaced_another_one_outlives_its_own_file() {
    for (old, new) in [("a", "z"), ("z", "a")] {
        let world = World::new(&[("a.md", "# A\n\none\n"), ("z.md", "# Z\n\ntwo\n")]);
        world.sync();
        let id = world.note(new).id;
        world.supersede(old, new);
        world.delete(&format!("{new}.md"));
        assert_eq!(problems(&world.sync()), "");
        let note = world.note(old);
        assert_eq!((note.id, note.key.as_str(), note.state), (id, old, State::Active));
    }
}

/// Moves and edits files, and stops the sync at each of its transactions in turn.
#[test]
fn an_interrupted_sync_is_completed_by_the_next() {
    const FILES: usize = 12;
    let world = World::new(&[]);
    let text = |name: &str, file: usize| {
        let next = (file + 1) % FILES;
        let front = format!("tags: [{name}]\naliases: [{name} alias {file}]");
        format!("---\n{front}\n---\n# Title {file}\n\nText {file} of {name}, see [[{name}{next}]].\n")
    };
    (0..FILES).for_each(|file| world.put(&format!("b{file}.md"), &text("b", file)));
    world.sync();
    for stop in 1.. {
        let (from, to) = if stop % 2 == 1 { ("b", "a") } else { ("a", "b") };
        for file in 0..FILES {
            world.mv(&format!("{from}{file}.md"), &format!("{to}{file}.md"));
            world.put(&format!("{to}{file}.md"), &text(to, file));
        }
        let token = CancellationToken::new();
        let stopper = token.clone();
        let ran = world.sync_watched(&token, move |reading| {
            if reading == stop {
                stopper.cancel();
            }
        });
        world.sync();
        for file in 0..FILES {
            let key = format!("{to}{file}");
            let note = world.note(&key);
            assert_eq!(
                (&note.title, &note.keywords),
                (&format!("Title {file}"), &vec![to.to_owned()]),
                "{stop}"
            );
            assert_eq!(world.links(&key), [format!("{to}{}", (file + 1) % FILES)], "{stop}");
            assert_eq!(note.other_names, [format!("{to} alias {file}")], "{stop}");
        }
        let view = world.memory.store.view();
        let live = (0..view.slots()).filter(|&ix| view.is_live(ix)).count();
        assert_eq!(live, FILES, "{stop}: a note has no file");
        let Err(error) = ran else {
            assert!(stop > 5, "the sync has only {stop} transactions");
            break;
        };
        assert_eq!(error.code, Code::Unavailable, "{error}");
    }
}

#[test]
fn the_hint_for_the_base_name_of_a_deleted_file_leads_to_its_note() {
    let world = World::new(&[("notes/apple.md", "About apples.\n"), ("pear.md", "About pears.\n")]);
    world.sync();
    let hint = |name: &str| world.memory.find(name).unwrap_err().hint.unwrap();
    assert_eq!(hint("aple"), "did you mean `apple`?");
    world.delete("notes/apple.md");
    world.sync();
    for name in ["apple", "apple.md", "aple"] {
        assert_eq!(hint(name), "did you mean `notes/apple`?", "{name}");
    }
    assert!(!world.note("notes/apple").state.is_live());
}

#[test]
fn an_ambiguous_name_lists_ten_notes_and_the_command_that_lists_all() {
    let world = World::new(&[]);
    for number in 0..12 {
        world.put(&format!("{number:02}/my plan.md"), &format!("Plan {number}.\n"));
    }
    world.sync();
    let hint = world.memory.find("My plan").unwrap_err().hint.unwrap();
    let command = "`poc-memory search -p 'key:\"My plan\"'` lists all";
    assert!(hint.ends_with(&format!("`09/my plan` and 2 more: {command}")), "{hint}");
}

#[test]
fn aliases_of_a_file_are_names_of_its_note_until_they_are_removed() {
    let world = World::new(&[
        ("plans/r.md", "---\naliases: [Zebra Plan, RM-7]\n---\nWhat comes first.\n"),
        ("copy.md", "---\naliases: [The copy]\n---\nWhat comes first.\n"),
        ("other.md", "Something else.\n"),
    ]);
    world.sync();
    let version = world.note("plans/r").version;
    for name in ["zebra plan", "RM-7", "\"Zebra Plan\"", "The copy"] {
        assert_eq!(world.note(name).id, world.note("plans/r").id, "{name}");
    }
    // Nothing is written again.
    let seq = world.memory.store.published_seq();
    world.sync();
    assert_eq!((world.memory.store.published_seq(), world.note("plans/r").version), (seq, version));
    // The name moves to another file, and a second note gets it, too.
    world.put("plans/r.md", "---\naliases: [RM-7]\n---\nWhat comes first.\n");
    world.put("other.md", "---\naliases: [Zebra Plan]\n---\nSomething else.\n");
    world.sync();
    assert_eq!(world.note("zebra plan").id, world.note("other").id);
    world.put("third.md", "---\naliases: [zebra plan]\n---\nThe third.\n");
    world.sync();
    let error = world.memory.find("Zebra Plan").unwrap_err();
    insta::assert_snapshot!(error.line(), @"`Zebra Plan` is ambiguous: several notes match; name one of them: `other`, `third`");
    // A key comes before another name.
    world.put("zebra plan.md", "The file of this name.\n");
    world.sync();
    assert_eq!(world.note("Zebra Plan").key, "zebra plan");
    world.delete("copy.md");
    world.sync();
    assert!(world.memory.find("The copy").is_err());
    assert_eq!(world.note("rm-7").id, world.note("plans/r").id);
}

#[test]
fn a_file_that_loses_its_name_to_the_key_of_another_file_gets_a_warning() {
    let world = World::new(&[("soup.md", "Lentils with carrots.\n")]);
    assert_eq!(problems(&world.sync()), "");
    world.put("keyclash.md", "---\nkey: soup\n---\nA soup from a tin.\n");
    assert_eq!(
        problems(&world.sync()),
        "soup.md: `key`: the front matter of `keyclash.md` has the key `soup`, so the note of this file has the key \
         `soup.md`; give `keyclash.md` another key\n"
    );
    assert_eq!(world.note("soup.md").body, "Lentils with carrots.");
    world.put("keyclash.md", "---\nkey: tin\n---\nA soup from a tin.\n");
    assert_eq!(problems(&world.sync()), "");
    assert_eq!(world.note("soup").body, "Lentils with carrots.");
}

#[test]
fn a_file_that_changes_the_note_that_replaced_its_own_names_that_note() {
    let world = World::new(&[("a.md", "The first.\n")]);
    world.sync();
    let supersedes = Some(world.note("a").id);
    world.memory.insert(Draft { key: Some("better".into()), supersedes, ..draft("A better text.") }).unwrap();
    assert_eq!(problems(&world.sync()), "");
    world.put("a.md", "Edited.\n");
    assert_eq!(
        problems(&world.sync()),
        "a.md: the text of the file has replaced that of `better`, which had replaced the note of the file; \
         `poc-memory history better` shows the former text\n"
    );
    assert_eq!(world.note("better").body, "Edited.");
}
