//! The undo of syncs and of other changes of the notes of files, and deletions: the files still have what was undone.

use super::*;
use crate::import::{self, ImportOptions, ImportSource};
use crate::undo::{self, UndoReport};
use crate::vault::binding::{VaultFile, files, put_file};
use crate::vault::digest::FileDigest;
use crate::{delete, history};
use std::collections::BTreeMap;

/// Notes by key: text and links.
type Notes = BTreeMap<String, (String, Vec<String>)>;

/// Undoes the last change, which is a sync.
fn undo_sync(world: &World) -> UndoReport {
    let last = history::latest(&world.memory, 1, None, &|_| true).unwrap().remove(0);
    assert_eq!(last.cause.op, VAULT_SYNC_OP);
    let report = undo::undo(&world.memory, last.seq).unwrap();
    assert!(
        report.differs_from_files && report.items.iter().all(|item| item.refused.is_none()),
        "{report:?}"
    );
    report
}

/// The live notes.
fn notes(world: &World) -> Notes {
    let view = world.memory.store.view();
    let live = (0..view.slots()).filter(|&ix| view.is_live(ix));
    let keys = live.map(|ix| view.key(ix).to_owned());
    keys.map(|key| (key.clone(), (world.note(&key).body, world.links(&key)))).collect()
}

/// How many files the status says are behind, and how many are undone.
fn behind_and_undone(world: &World) -> (u64, u64) {
    let status = status(&world.memory).unwrap().remove(0);
    (status.behind, status.undone)
}

/// A folder after a sync that did everything that a sync can do to files, with the notes before and after that sync.
fn after_a_sync() -> (World, [Notes; 2]) {
    let world = World::new(&[
        ("gate.md", "# The gate\n\nIt opens at noon, see [[quay]].\n"),
        ("quay.md", "# The quay\n\nShips of the northern line lie here.\n"),
        ("soup.md", "Lentils with lemon.\n"),
        ("log.md", "Every page write is recorded in the journal first.\n"),
    ]);
    world.sync();
    let before = notes(&world);
    world.put("gate.md", "# The gate\n\nIt opens at one, see [[pier]].\n");
    world.put("pier.md", "# The pier\n\nAnglers meet on it.\n");
    world.delete("soup.md");
    world.mv("log.md", "db/log.md");
    world.sync();
    let after = notes(&world);
    assert_ne!(before, after);
    assert_eq!(behind_and_undone(&world), (0, 0));
    (world, [before, after])
}

#[test]
fn an_undone_sync_is_repeated_only_by_a_person() {
    let (world, [before, after]) = after_a_sync();
    undo_sync(&world);
    assert_eq!(notes(&world), before);
    // Changed, new, deleted, and both paths of the moved file.
    assert_eq!(behind_and_undone(&world), (0, 5));
    let seq = world.memory.store.published_seq();
    for _ in 0..2 {
        assert!(!world.sync().has_changes());
        assert_eq!((world.memory.store.published_seq(), behind_and_undone(&world)), (seq, (0, 5)));
    }
    let redo = SyncOptions { redo_undone: true, ..SyncOptions::default() };
    assert_eq!(counts(&world.sync_with(&redo)), [1, 1, 1, 1, 0, 0]);
    assert_eq!((notes(&world), behind_and_undone(&world)), (after, (0, 0)));
    let seq = world.memory.store.published_seq();
    world.sync_with(&redo);
    assert_eq!(world.memory.store.published_seq(), seq, "a second sync writes nothing");
}

#[test]
fn the_undo_of_the_undo_of_a_sync_leaves_nothing_to_read() {
    let (world, [_, after]) = after_a_sync();
    let undone = undo_sync(&world);
    undo::undo(&world.memory, undone.seq.unwrap()).unwrap();
    assert_eq!((notes(&world), behind_and_undone(&world)), (after, (0, 0)));
    let seq = world.memory.store.published_seq();
    world.sync();
    assert_eq!(world.memory.store.published_seq(), seq);
}

#[test]
fn a_file_that_changes_after_the_undo_is_read_and_the_others_are_not() {
    let world = World::new(&[("gate.md", "It opens at noon.\n"), ("quay.md", "Ships lie here.\n")]);
    world.sync();
    world.put("gate.md", "It opens at one.\n");
    world.put("quay.md", "No ships lie here.\n");
    world.sync();
    undo_sync(&world);
    world.sync();
    assert_eq!(behind_and_undone(&world), (0, 2));
    world.put("gate.md", "It opens at two o'clock.\n");
    assert_eq!(behind_and_undone(&world), (1, 1));
    assert_eq!(counts(&world.sync()), [0, 1, 0, 0, 0, 0]);
    let bodies = || [world.note("gate").body, world.note("quay").body];
    assert_eq!(bodies(), ["It opens at two o'clock.", "Ships lie here."]);
    // A file that is restored agrees with its note.
    world.put("quay.md", "Ships lie here.\n");
    assert_eq!(counts(&world.sync()), [0; 6]);
    assert_eq!(bodies(), ["It opens at two o'clock.", "Ships lie here."]);
    assert_eq!(behind_and_undone(&world), (0, 0));
}

#[test]
fn nothing_is_written_into_a_file_whose_sync_was_undone() {
    let world = World::new(&[("gate.md", "It opens at noon.\n"), ("quay.md", "Ships lie here.\n")]);
    let vault = named(&world.memory, "vault").unwrap();
    set_write_back(&world.memory, &vault, true).unwrap();
    world.sync();
    world.put("gate.md", "It opens at one.\n");
    world.sync();
    undo_sync(&world);
    link_as(&world, "manual", "gate", "quay");
    let report = world.sync();
    assert_eq!((report.busy, report.written.len(), problems(&report)), (0, 0, String::new()));
    assert_eq!(fs::read_to_string(world.folder.join("gate.md")).unwrap(), "It opens at one.\n");
}

#[test]
fn a_note_that_changed_after_a_sync_stays_with_its_file_and_the_others_are_undone() {
    let world = World::new(&[("gate.md", "It opens at noon.\n"), ("quay.md", "Ships lie here.\n")]);
    world.sync();
    world.put("gate.md", "It opens at one.\n");
    world.put("quay.md", "No ships lie here.\n");
    world.sync();
    let sync = history::latest(&world.memory, 1, None, &|_| true).unwrap().remove(0).seq;
    let gate = world.note("gate");
    let later = Node { title: "The gate".into(), version: gate.version + 1, ..gate };
    world.memory.store.transact(world.memory.cause("manual", "insert"), |tx| tx.put_node(&later)).unwrap();
    let items = undo::undo(&world.memory, sync).unwrap().items;
    let refused: Vec<_> = items.iter().map(|item| item.refused.as_deref()).collect();
    assert_eq!(refused, [None, Some("the note `gate` changed since")], "{items:?}");
    assert_eq!([world.note("gate").body, world.note("quay").body], ["It opens at one.", "Ships lie here."]);
    assert_eq!(behind_and_undone(&world), (0, 1));
}

#[test]
fn an_interrupted_sync_leaves_undone_files_alone() {
    let world = World::new(&[("gate.md", "It opens at noon.\n"), ("quay.md", "Ships lie here.\n")]);
    world.sync();
    world.put("gate.md", "It opens at one.\n");
    world.put("pier.md", "Anglers meet on it.\n");
    world.sync();
    undo_sync(&world);
    let mut stopped = 0;
    for stop in 1..5 {
        world.put("quay.md", &format!("{stop} ships lie here.\n"));
        let token = CancellationToken::new();
        let stopper = token.clone();
        let ran = world.sync_watched(&token, move |reading| {
            if reading == stop {
                stopper.cancel();
            }
        });
        stopped += u64::from(ran.is_err());
        world.sync();
        assert_eq!(behind_and_undone(&world), (0, 2), "{stop}");
        let bodies: Vec<String> = notes(&world).into_values().map(|(body, _)| body).collect();
        assert_eq!(bodies, ["It opens at noon.".to_owned(), format!("{stop} ships lie here.")]);
    }
    assert!(stopped > 0, "no sync was stopped");
}

#[test]
fn records_that_differ_without_an_undo_are_not_undone() {
    let world = World::new(&[("gate.md", "It opens at noon.\n")]);
    world.sync();
    let vault = named(&world.memory, "vault").unwrap();
    let store = &world.memory.store;
    let file = files(store, &vault).unwrap().remove("gate.md").unwrap();
    let other = VaultFile { digest: FileDigest { bytes: [7; 32], ..file.digest.clone() }, ..file };
    let cause = world.memory.cause(&vault.provenance(), VAULT_SYNC_OP);
    store.transact(cause, |tx| put_file(tx, &vault, "gate.md", Some(&other))).unwrap();
    assert_eq!(behind_and_undone(&world), (0, 0));
    world.put("gate.md", "It opens at one.\n");
    assert_eq!(counts(&world.sync()), [0, 1, 0, 0, 0, 0]);
    assert_eq!(world.note("gate").body, "It opens at one.");
}

#[test]
fn a_folder_that_could_not_be_read_does_not_repeat_an_undone_sync() {
    let world = World::new(&[("gate.md", "It opens at noon.\n"), ("sub/quay.md", "Ships lie here.\n")]);
    world.sync();
    world.put("sub/quay.md", "No ships lie here.\n");
    world.put("sub/pier.md", "Anglers meet on it.\n");
    world.sync();
    undo_sync(&world);
    let before = notes(&world);
    let pipe = world.folder.join("sub/.gitignore");
    crate::testing::make_pipe(&pipe);
    assert!(problems(&world.sync()).contains("is not a regular file"));
    fs::remove_file(&pipe).unwrap();
    world.sync();
    assert_eq!((notes(&world), behind_and_undone(&world)), (before, (0, 2)));
}

/// A folder that was imported before it became a vault, as often as `texts` says, with these texts of `gate.md`. Returns
/// the number of the last import, too.
fn imported_before(texts: &[&str]) -> (World, u64) {
    let world =
        World::new(&[("quay.md", "Ships lie here, see [[gate]].\n"), ("soup.md", "Lentils with lemon.\n")]);
    remove(&world.memory, &named(&world.memory, "vault").unwrap()).unwrap();
    let source = ImportSource::Path(world.folder.clone());
    for text in texts {
        world.put("gate.md", text);
        import::import(&world.memory, &source, &ImportOptions::default(), &|_, _| {}).unwrap();
        world.memory.clock.advance(Span::MINUTE);
    }
    let imported = history::latest(&world.memory, 1, None, &|_| true).unwrap().remove(0).seq;
    add(&world.memory, &world.folder, None, false).unwrap();
    assert_eq!(counts(&world.sync()), [0; 6]);
    (world, imported)
}

/// The numbers of files that are behind, of undone ones, and of those without a note.
fn behind_undone_and_without_note(world: &World) -> (u64, u64, u64) {
    let status = status(&world.memory).unwrap().remove(0);
    (status.behind, status.undone, status.without_note)
}

const REDO: SyncOptions = SyncOptions { allow_empty: false, redo_undone: true };

#[test]
fn the_undo_of_an_import_before_the_binding_leaves_files_without_notes_until_a_person_synchronises() {
    let (world, imported) = imported_before(&["It opens at noon.\n"]);
    let before = notes(&world);
    let report = undo::undo(&world.memory, imported).unwrap();
    assert!(report.differs_from_files, "{report:?}");
    assert!(report.items.iter().all(|item| item.refused.is_none()), "{report:?}");
    assert_eq!((notes(&world), behind_undone_and_without_note(&world)), (Notes::new(), (0, 0, 3)));
    let seq = world.memory.store.published_seq();
    for _ in 0..2 {
        assert_eq!((counts(&world.sync()), world.memory.store.published_seq()), ([0; 6], seq));
        assert_eq!(behind_undone_and_without_note(&world), (0, 0, 3));
    }
    assert_eq!(counts(&world.sync_with(&REDO)), [3, 0, 0, 0, 0, 0]);
    assert_eq!((notes(&world), behind_undone_and_without_note(&world)), (before, (0, 0, 0)));
}

#[test]
fn the_undo_of_an_undone_import_keeps_the_note_that_a_sync_made_in_between() {
    let (world, imported) = imported_before(&["It opens at noon.\n"]);
    let undone = undo::undo(&world.memory, imported).unwrap().seq.unwrap();
    world.put("gate.md", "It opens at one.\n");
    assert_eq!(counts(&world.sync()), [1, 0, 0, 0, 0, 0]);
    assert_eq!(behind_undone_and_without_note(&world), (0, 0, 2));
    let items = undo::undo(&world.memory, undone).unwrap().items;
    let refused: Vec<_> = items.iter().map(|item| item.refused.as_deref()).collect();
    let of_gate =
        ["the name `gate` now belongs to the note `gate`", "the note `gate` was deleted; restore it first"];
    assert_eq!(refused, [None, Some(of_gate[0]), Some(of_gate[1])], "{items:?}");
    assert_eq!(behind_undone_and_without_note(&world), (0, 0, 0));
    world.sync();
    let keys: Vec<String> = notes(&world).into_keys().collect();
    assert_eq!(keys, ["gate", "quay", "soup"]);
    assert_eq!(
        (world.note("gate").body.as_str(), world.links("quay")),
        ("It opens at one.", vec!["gate".into()])
    );
}

#[test]
fn the_undo_of_an_import_that_changed_a_note_before_the_binding_is_an_undone_file() {
    let (world, imported) = imported_before(&["It opens at noon.\n", "It opens at one.\n"]);
    let body = || world.note("gate").body;
    let report = undo::undo(&world.memory, imported).unwrap();
    assert!(report.differs_from_files, "{report:?}");
    for _ in 0..2 {
        assert_eq!(
            (body().as_str(), behind_undone_and_without_note(&world)),
            ("It opens at noon.", (0, 1, 0))
        );
        assert_eq!(status(&world.memory).unwrap()[0].edited, 0);
        assert_eq!(counts(&world.sync()), [0; 6]);
    }
    let redone = undo::undo(&world.memory, report.seq.unwrap()).unwrap();
    assert_eq!((body().as_str(), behind_undone_and_without_note(&world)), ("It opens at one.", (0, 0, 0)));
    undo::undo(&world.memory, redone.seq.unwrap()).unwrap();
    assert_eq!((body().as_str(), behind_undone_and_without_note(&world)), ("It opens at noon.", (0, 1, 0)));
    let report = world.sync_with(&REDO);
    assert_eq!((counts(&report), problems(&report)), ([0, 1, 0, 0, 0, 0], String::new()));
    assert_eq!((body().as_str(), behind_undone_and_without_note(&world)), ("It opens at one.", (0, 0, 0)));
}

#[test]
fn a_deleted_note_is_made_again_by_a_person_or_by_a_change_of_its_file() {
    let world =
        World::new(&[("gate.md", "It opens at noon.\n"), ("quay.md", "Ships lie here, see [[gate]].\n")]);
    world.sync();
    let before = notes(&world);
    let delete_gate = || {
        let (id, now) = (world.note("gate").id, world.memory.now());
        let cause = world.memory.cause("manual", "delete");
        world.memory.store.transact(cause, |tx| delete::apply(tx, id, now)).unwrap().seq
    };
    let deleted = delete_gate();
    for _ in 0..2 {
        assert_eq!(behind_undone_and_without_note(&world), (0, 0, 1));
        assert_eq!(counts(&world.sync()), [0; 6]);
    }
    // The undo of the deletion leaves nothing to do.
    let undone = undo::undo(&world.memory, deleted).unwrap();
    assert_eq!(undone.items[0].refused, None);
    assert_eq!(behind_undone_and_without_note(&world), (0, 0, 0));
    assert_eq!(counts(&world.sync()), [0; 6]);
    assert_eq!(notes(&world), before);
    // The undo of the undo deletes the note again.
    assert!(undo::undo(&world.memory, undone.seq.unwrap()).unwrap().differs_from_files);
    assert_eq!(behind_undone_and_without_note(&world), (0, 0, 1));
    assert_eq!(counts(&world.sync_with(&REDO)), [1, 0, 0, 0, 0, 0]);
    assert_eq!((notes(&world), behind_undone_and_without_note(&world)), (before, (0, 0, 0)));

    delete_gate();
    world.put("gate.md", "It opens at one.\n");
    assert_eq!(behind_undone_and_without_note(&world), (1, 0, 0));
    assert_eq!(counts(&world.sync()), [1, 0, 0, 0, 0, 0]);
    assert_eq!(
        (world.note("gate").body.as_str(), world.links("quay")),
        ("It opens at one.", vec!["gate".into()])
    );

    // With its file, the note is gone for good.
    delete_gate();
    world.sync();
    world.delete("gate.md");
    assert_eq!(behind_undone_and_without_note(&world), (0, 0, 0));
    let report = world.sync();
    assert_eq!((counts(&report), report.files), ([0; 6], 1));
    assert_eq!(report.unresolved, [UnresolvedVaultLink { file: "quay.md".into(), link: "gate".into() }]);
    let vault = named(&world.memory, "vault").unwrap();
    assert_eq!(files(&world.memory.store, &vault).unwrap().len(), 1);
}

#[test]
fn a_file_without_its_former_expiry_gets_a_new_note_if_its_note_was_deleted() {
    let text = "It opens at noon.\n";
    let expiring = format!("---\nexpires: 2026-11-22\n---\n{text}");
    let world = World::new(&[("gate.md", &expiring), ("soup.md", "Lentils with lemon.\n")]);
    world.sync();
    let gate = world.note("gate").id;
    world.memory.clock.advance(Span::WEEK);
    let (cause, now) = (world.memory.cause("daemon", "consolidate"), world.memory.now());
    world.memory.store.transact(cause, |tx| delete::apply(tx, gate, now)).unwrap();
    for _ in 0..2 {
        assert_eq!(behind_undone_and_without_note(&world), (0, 0, 0));
        assert_eq!(counts(&world.sync()), [0; 6]);
    }
    world.put("gate.md", text);
    assert_eq!(counts(&world.sync()), [1, 0, 0, 0, 0, 0]);
    assert_eq!(world.note("gate").body, "It opens at noon.");
    assert_eq!(behind_undone_and_without_note(&world), (0, 0, 0));
}

#[test]
fn a_file_whose_note_was_replaced_agrees_with_its_note_after_the_undo_of_the_replacement() {
    let world =
        World::new(&[("gate.md", "It opens at noon.\n"), ("quay.md", "Ships lie here, see [[gate]].\n")]);
    world.sync();
    let before = notes(&world);
    let replacement = Draft {
        key: Some("better".into()),
        supersedes: Some(world.note("gate").id),
        ..draft("It opens daily.")
    };
    let cause = world.memory.cause("manual", "insert");
    crate::insert::insert(&world.memory, replacement, cause).unwrap();
    let replaced = history::latest(&world.memory, 1, None, &|_| true).unwrap().remove(0).seq;
    assert_eq!(behind_undone_and_without_note(&world), (0, 0, 0));
    let report = undo::undo(&world.memory, replaced).unwrap();
    assert_eq!((report.items[0].refused.as_deref(), report.differs_from_files), (None, false));
    assert_eq!(behind_undone_and_without_note(&world), (0, 0, 0));
    assert_eq!(counts(&world.sync_with(&REDO)), [0; 6]);
    assert_eq!(notes(&world), before);
}
