//! Which folders can be bound, and what happens to the notes of a folder that was imported before or is missing.

use super::*;
use crate::import;
use poc_graph::Tuple;
use poc_graph::error::Code;

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
    let elsewhere = poc_graph::testing::folder();
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
fn a_note_with_files_in_two_vaults_follows_those_that_remain() {
    for is_moved in [false, true] {
        let world = World::new(&[("a.md", "The same text, see [[c]].\n"), ("c.md", "The third.\n")]);
        world.sync();
        let id = world.note("a").id;
        let folder = world.memory.folder().join("other");
        put(&folder, "b.md", "The same text, see [[c]].\n");
        let other = add(&world.memory, &folder, None, false).unwrap();
        let sync_other = || {
            world.memory.clock.advance(Span::SECOND);
            sync(&world.memory, &other, &SyncOptions::default(), &|_, _| {}).unwrap()
        };
        assert_eq!(counts(&sync_other()), [0; 6]);
        assert_eq!(world.note("b").id, id);
        // The first vault loses the note: its file is edited, or was moved to the other vault.
        if is_moved {
            world.delete("a.md");
            assert_eq!(counts(&world.sync()), [0; 6]);
        } else {
            world.put("a.md", "Something else.\n");
            assert_eq!(counts(&world.sync()), [1, 0, 0, 0, 0, 0]);
            assert_eq!(
                (world.note("a").body.as_str(), world.note("b").key.as_str()),
                ("Something else.", "b")
            );
        }
        assert_eq!((world.note("b").id, world.note("b").body.as_str()), (id, "The same text, see [[c]]."));
        // The other vault owns it now.
        put(&folder, "b.md", "The same text with an addition.\n");
        assert_eq!(counts(&sync_other()), [0, 1, 0, 0, 0, 0]);
        assert_eq!((world.note("b").id, world.links("b")), (id, Vec::new()));
        fs::remove_file(folder.join("b.md")).unwrap();
        assert_eq!(counts(&sync_other()), [0, 0, 0, 1, 0, 0]);
        assert!(!world.memory.store.node(id).unwrap().unwrap().state.is_live());
    }
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
fn a_missing_folder_changes_nothing() {
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
    let emptied = SyncOptions { allow_empty: true, ..SyncOptions::default() };
    assert_eq!(again(&emptied).unwrap().retired, 2);
}

#[test]
fn the_tenants_with_vaults_are_found_without_loading_any() {
    let world = World::new(&[("a.md", "The first.\n")]);
    let user = |name: &str| world.memory.of(&Tuple::new([("user", name)]).unwrap());
    let (ann, bob) = (user("ann"), user("bob"));
    let bound = BoundTenants::default();
    let find = || -> Vec<(String, usize)> {
        let found = bound.find(&world.memory).unwrap().into_iter();
        found.map(|own| (own.memory.store.tuple().to_string(), own.vaults.unwrap().len())).collect()
    };
    let tenants = |expected: &[(&str, usize)]| -> Vec<(String, usize)> {
        expected.iter().map(|(tenant, vaults)| ((*tenant).to_owned(), *vaults)).collect()
    };
    for memory in [&ann, &bob] {
        memory
            .store
            .transact(memory.cause("test", "note"), |tx| {
                tx.put_node(&Node { tenant: memory.store.tenant(), ..poc_graph::testing::node(1) })
            })
            .unwrap();
    }
    let loads = world.memory.store.view_loads();
    assert_eq!(find(), tenants(&[("default", 1)]));
    assert_eq!(find(), tenants(&[("default", 1)]));
    assert_eq!(world.memory.store.view_loads(), loads);
    // A tenant is found as soon as it binds a folder, and no longer when it has none.
    let elsewhere = poc_graph::testing::folder();
    let vault = add(&bob, elsewhere.path(), None, false).unwrap();
    assert_eq!(find(), tenants(&[("default", 1), ("user=bob", 1)]));
    remove(&bob, &vault).unwrap();
    assert_eq!(find(), tenants(&[("default", 1)]));
}
