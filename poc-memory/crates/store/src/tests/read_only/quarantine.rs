//! Files in the quarantine are counted, and their notes can be read.

use super::*;

/// Changes of other tenants are counted, and so are compressed ones.
#[test]
fn quarantined_files_are_counted_and_their_notes_are_read() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!(quarantine_parts(folder.path()).unwrap(), []);
    let other = poc_graph::Tuple::new([("who", "other")]).unwrap();
    let tenant = store.for_tenant(&other);
    put(&store, 1);
    let own = Node { tenant: tenant.tenant(), ..node(2) };
    tenant.transact(cause(), |tx| tx.put_node(&own)).unwrap();
    let long = Node { body: "a long text ".repeat(1000), ..node(3) };
    store.transact(cause(), |tx| tx.put_node(&long)).unwrap();
    store.transact(cause(), |tx| tx.delete_node(node(1).id)).unwrap();
    drop((store, tenant));
    let segment = segment_files(&folder).remove(0);
    fs::create_dir(folder.path().join("quarantine")).unwrap();
    fs::write(folder.path().join("quarantine/x.log-24"), &fs::read(segment).unwrap()[24..]).unwrap();
    fs::create_dir(folder.path().join("quarantine/records")).unwrap();
    let [records, piece] = &quarantine_parts(folder.path()).unwrap()[..] else { panic!() };
    assert_eq!((records.name.as_str(), records.changes), ("records", 0));
    assert_eq!((piece.changes, piece.range), (4, TransactionRange::new(1, 4)));
    assert!(!records.is_unreadable_piece && !piece.is_unreadable_piece);
    let found = quarantine_contents(folder.path(), "x.log-24").unwrap();
    let notes = |tuple: &Tuple| -> Vec<(String, bool)> {
        found[&tuple.id()].notes.iter().map(|note| (note.node.body.clone(), note.deleted)).collect()
    };
    assert_eq!(found.len(), 2);
    assert_eq!(notes(&Tuple::default()), [(node(1).body, true), (long.body, false)]);
    assert_eq!(notes(&other), [(node(2).body, false)]);
    assert_eq!(found[&other.id()].tuple, Some(other));
    assert!(quarantine_contents(folder.path(), "records").unwrap().is_empty());
    for name in ["nothing", "../view", ".", ""] {
        assert_eq!(quarantine_contents(folder.path(), name).unwrap_err().code, Code::NotFound);
    }
}

/// Records of tables that all tenants share belong to the default tenant, whichever tenant wrote them.
#[test]
fn records_that_are_not_derived_from_notes_are_read_from_the_quarantine() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    let other = store.for_tenant(&poc_graph::Tuple::new([("who", "other")]).unwrap());
    put(&store, 1);
    let visit = Visit { at: Timestamp(4), outcome: VisitOutcome::Processed, version: 1 };
    store.transact(cause(), |tx| tx.put_visit("linker", node(1).id, &visit)).unwrap();
    for (key, value) in [(b"kept", Some(vec![7])), (b"gone", Some(vec![8])), (b"gone", None)] {
        other.transact(cause(), |tx| tx.put_raw(Table::Runs, key, value.clone())).unwrap();
    }
    drop((store, other));
    let segment = segment_files(&folder).remove(0);
    fs::create_dir(folder.path().join("quarantine")).unwrap();
    fs::rename(segment, folder.path().join("quarantine/x.log-24")).unwrap();
    let found = quarantine_contents(folder.path(), "x.log-24").unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), [&Tenant::default()]);
    let own = &found[&Tenant::default()];
    let records: Vec<(Table, &[u8])> =
        own.records.iter().map(|record| (record.table, record.key.as_slice())).collect();
    let visited = [node(1).id.as_bytes().as_slice(), b"linker"].concat();
    assert_eq!(records, [(Table::Visits, visited.as_slice()), (Table::Runs, b"kept".as_slice())]);
    assert_eq!((own.notes.len(), own.records[1].value.as_slice()), (1, [7].as_slice()));
}

/// One changed byte damages the record of the log, or the block of the table, that contains it.
#[test]
fn damaged_bytes_of_quarantined_files_are_named() {
    let store = closed_store(COUNT);
    let directory = store.folder.path();
    let quarantine = directory.join("quarantine");
    fs::create_dir_all(quarantine.join("repair-1/log")).unwrap();
    let is_after_another = |(_, begin, _): &&(PathBuf, u64, u64)| *begin > 24;
    let (path, begin, end) = store.locations.iter().find(is_after_another).unwrap().clone();
    let in_segment = store.locations.iter().filter(|(own, ..)| *own == path).count() as u64;
    let segment = fs::read(&path).unwrap();
    let mut flipped = segment.clone();
    flipped[begin as usize + 20] ^= 1;
    fs::write(quarantine.join("repair-1/log/one.log"), &flipped).unwrap();
    flipped[3] ^= 1;
    fs::write(quarantine.join("repair-1/log/two.log"), &flipped).unwrap();
    fs::write(quarantine.join("repair-1/view"), b"any").unwrap();
    fs::write(quarantine.join("repair-1/manifest.json"), b"{}").unwrap();
    fs::write(quarantine.join("three.log-24"), &segment[24..]).unwrap();
    let length = segment.len() as u64;
    let file = |name: &str, bytes, contents, damaged| QuarantineFile {
        name: name.to_owned(),
        bytes,
        contents,
        damaged,
    };
    let changes = |count| Some(IntactContents::Changes(count));
    assert_eq!(
        quarantine_files(directory, "repair-1").unwrap(),
        [
            file("log/one.log", length, changes(in_segment - 1), std::iter::once(begin..end).collect()),
            file("log/two.log", length, changes(in_segment - 1), vec![0..24, begin..end]),
            file("view", 3, None, Vec::new()),
        ]
    );
    assert_eq!(
        quarantine_files(directory, "three.log-24").unwrap(),
        [file("three.log-24", length - 24, changes(in_segment), Vec::new())]
    );
    assert_eq!(quarantine_files(directory, "nothing").unwrap_err().code, Code::NotFound);
}

#[test]
fn damaged_blocks_of_quarantined_tables_are_named() {
    let store = closed_store(COUNT);
    let directory = store.folder.path();
    let tables = lsm::record_files(&directory.join("records"));
    let longest =
        tables.iter().filter(|file| lsm::is_table(file)).max_by_key(|file| file.metadata().unwrap().len());
    let original = fs::read(longest.unwrap()).unwrap();
    let quarantine = directory.join("quarantine");
    fs::create_dir_all(&quarantine).unwrap();
    let check = |at: Option<usize>| {
        let mut bytes = original.clone();
        if let Some(at) = at {
            bytes[at] ^= 1;
        }
        fs::write(quarantine.join("one.table"), &bytes).unwrap();
        let [file] = &quarantine_files(directory, "one.table").unwrap()[..] else { panic!() };
        let Some(IntactContents::Records(records)) = file.contents else { panic!("{file:?}") };
        (records, file.damaged.clone())
    };
    let (records, damaged) = check(None);
    assert!(records > 0 && damaged.is_empty(), "{damaged:?}");
    let (of_others, damaged) = check(Some(10));
    assert!(of_others < records, "{of_others}");
    assert!(damaged.len() == 1 && damaged[0].start == 0 && damaged[0].end > 10, "{damaged:?}");
    // A table whose index is damaged counts as damaged to its end.
    let last = original.len() as u64;
    let (_, damaged) = check(Some(original.len() - 1));
    assert_eq!(damaged.last().map(|range| range.end), Some(last));
}
