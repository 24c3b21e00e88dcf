//! A repair names the notes that no intact part contains.

use super::*;

/// The log, the view and a block of the records with a few notes are lost. The index entries of these notes are in
/// other blocks.
#[test]
fn lost_notes_that_still_have_index_entries_are_named() {
    let folder = poc_graph::testing::folder();
    let options = StoreOptions { engine: with_small_tables, ..StoreOptions::default() };
    let store = open_in(&folder, options).unwrap();
    for number in 1..=COUNT {
        let part = |part: u64| blake3::hash(format!("{number} {part}").as_bytes()).to_hex().to_string();
        let body: String = (0..60).map(part).collect();
        let long = Node { body, ..node(number) };
        store.transact(cause(), |tx| tx.put_node(&long)).unwrap();
    }
    store.checkpoint().unwrap();
    drop(store);
    fs::remove_dir_all(folder.path().join("log")).unwrap();
    fs::remove_file(folder.path().join("view")).unwrap();
    let tables = files(&folder.path().join("records")).into_iter().filter(|path| lsm::is_table(path));
    let longest = tables.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    let mut bytes = fs::read(&longest).unwrap();
    // The bodies take most of the table.
    let quarter = bytes.len() / 4;
    bytes[quarter] ^= 1;
    fs::write(&longest, bytes).unwrap();
    let (shown, damage) = {
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        (numbers(&store), store.damage().unwrap().to_owned())
    };
    let lost: Vec<u64> = (1..=COUNT).filter(|number| !shown.contains(number)).collect();
    assert!(!lost.is_empty() && lost.len() < 10, "{lost:?}");
    assert!(damage.ends_with("lost, which `poc-memory repair` names"), "{damage}");
    let repair = Repair::of(folder.path(), false).unwrap().unwrap();
    let of = |number: &u64| LostNote {
        tenant: Tenant::default(),
        id: node(*number).id,
        name: Some(node(*number).key),
    };
    let named: Vec<LostNote> = lost.iter().map(of).collect();
    assert_eq!(repair.lost_notes(), named);
    // A file in place of an index cannot be deleted as a folder. Erasures do not search what a failed repair leaves.
    fs::write(folder.path().join("index"), "").unwrap();
    repair.run(RepairSource::Records, Timestamp(9), &["index"]).unwrap_err();
    assert!(prepared_by_repair().iter().all(|name| !folder.path().join(name).exists()));
    fs::remove_file(folder.path().join("index")).unwrap();
    let repair = Repair::of(folder.path(), false).unwrap().unwrap();
    let replaced = repair.run(RepairSource::Records, Timestamp(9), &[]).unwrap().replaced;
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!((store.damage(), numbers(&store)), (None, shown));
    // A name of a lost note can be used again.
    assert_eq!(store.find_key(&node(lost[0]).key).unwrap(), None);
    drop(store);
    // The quarantine names them until the files are deleted or the repair is undone.
    let names_of = |folder: &TempDir| quarantine_lost_notes(folder.path(), &replaced).unwrap();
    assert_eq!(names_of(&folder), named);
    let deleted = copied(folder.path());
    delete_quarantine_part(deleted.path(), &replaced).unwrap();
    assert_eq!(names_of(&deleted), []);
    undo_repair(folder.path(), &[]).unwrap();
    assert_eq!(names_of(&folder), []);
    assert!(!quarantine_names(folder.path()).unwrap().contains(&replaced));
    let repair = Repair::of(folder.path(), false).unwrap().unwrap();
    assert_eq!(repair.lost_notes(), named);
}

/// A repair without the records names a note whose insertion is lost by the id that its links and weights have.
#[test]
fn lost_notes_are_named_by_what_later_changes_added_to_them() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    let mut ends = Vec::new();
    for number in 1..=4 {
        put(&store, number);
        ends.push(store.sizes().unwrap().log as usize);
    }
    store
        .transact(cause(), |tx| {
            tx.put_edge(&edge(2, 3, EdgeKind::Link, 0.5))?;
            tx.put_activity(node(2).id, &Activity::new(Timestamp(1), 2.0))?;
            tx.put_activity(node(4).id, &Activity::new(Timestamp(1), 2.0))
        })
        .unwrap();
    store.checkpoint().unwrap();
    drop(store);
    fs::remove_dir_all(folder.path().join("records")).unwrap();
    let view = fs::read(folder.path().join("view")).unwrap();
    fs::remove_file(folder.path().join("view")).unwrap();
    let path = segment_files(&folder).remove(0);
    let mut log = fs::read(&path).unwrap();
    log[(ends[0] + ends[1]) / 2] ^= 0x10;
    fs::write(&path, log).unwrap();
    let lost = [LostNote { tenant: Tenant::default(), id: node(2).id, name: None }];
    let damage = open_in(&folder, StoreOptions::default()).unwrap().damage().unwrap().to_owned();
    assert!(damage.ends_with("; 1 note is lost, which `poc-memory repair` names"), "{damage}");
    // A view that was saved before the damage knows the name.
    let with_view = copied(folder.path());
    fs::write(with_view.path().join("view"), view).unwrap();
    let repair = Repair::of(with_view.path(), false).unwrap().unwrap();
    assert_eq!(repair.lost_notes(), [LostNote { name: Some(node(2).key), ..lost[0].clone() }]);
    let repair = Repair::of(folder.path(), false).unwrap().unwrap();
    assert_eq!(repair.lost_notes(), lost);
    let replaced = repair.run(RepairSource::IntactLog, Timestamp(9), &[]).unwrap().replaced;
    assert_eq!(quarantine_lost_notes(folder.path(), &replaced).unwrap(), lost);
    assert_eq!(numbers(&open_in(&folder, StoreOptions::default()).unwrap()), [1, 3, 4]);
}
