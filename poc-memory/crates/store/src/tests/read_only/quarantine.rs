//! Files in the quarantine are counted, and their notes can be read.

use super::*;

/// Records of tenants and compressed ones count too.
#[test]
fn quarantined_files_are_counted_and_their_notes_are_read() {
    let folder = tempfile::tempdir().unwrap();
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
    assert_eq!((piece.changes, piece.range), (4, Some((1, 4))));
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

/// Tables that all tenants share belong to the default tenant, whoever wrote them.
#[test]
fn records_that_are_not_derived_from_notes_are_read_from_the_quarantine() {
    let folder = tempfile::tempdir().unwrap();
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
