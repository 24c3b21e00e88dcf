//! The intact blocks of damaged records are shown, kept by a repair and restorable from the quarantine.

use super::*;

/// The index of a table is damaged, so the records as a whole cannot be used, and the log has lost a segment.
#[test]
fn a_repair_is_compared_with_all_readable_parts_and_the_replaced_ones_can_be_restored() {
    let made = closed_store(COUNT);
    for path in files(&made.folder.path().join("records")) {
        if path.extension().is_some_and(|own| own == "table") {
            let mut bytes = fs::read(&path).unwrap();
            let last_of_filter = bytes.len() - 53;
            bytes[last_of_filter] ^= 1;
            fs::write(&path, bytes).unwrap();
        }
    }
    let lost =
        made.locations.iter().filter(|(path, _, _)| *path == segment_files(&made.folder)[1]).count() as u64;
    fs::remove_file(segment_files(&made.folder).remove(1)).unwrap();
    let repair = Repair::of(made.folder.path(), false).unwrap().unwrap();
    let problem = "; only the intact blocks of the records can be used: ";
    assert!(repair.damage().contains(problem), "{}", repair.damage());
    let parts = repair.parts();
    assert_eq!(parts.iter().map(|part| part.name).collect::<Vec<_>>(), ["records", "view"]);
    assert!(parts.iter().all(|part| (part.notes, part.last_seq) == (COUNT, COUNT)), "{parts:?}");
    let options = repair.options().unwrap();
    let [records, intact_log, log] = &options[..] else { panic!("{options:?}") };
    assert_eq!((records.source, records.notes), (RepairSource::Records, COUNT));
    assert_eq!(records.missing_notes, [0, 0]);
    assert!(records.is_partial && !intact_log.is_partial && !records.lost.is_empty(), "{records:?}");
    assert_eq!((intact_log.source, &intact_log.missing_notes), (RepairSource::IntactLog, &vec![lost, lost]));
    assert_eq!((log.source, &log.missing_notes), (RepairSource::Log, &vec![COUNT - log.last_seq; 2]));
    let report = repair.run(RepairSource::IntactLog, Timestamp(9), &[]).unwrap();
    assert_eq!(report.restorable, Some(RestorableRecords { notes: lost, ..RestorableRecords::default() }));
    let contents = quarantine_contents(made.folder.path(), &report.replaced).unwrap();
    assert_eq!(contents[&Tenant::default()].notes.len() as u64, COUNT);
}

/// Notes in intact blocks of a damaged table are shown and kept. Each note has the state after its last change that any
/// intact part contains.
#[test]
fn the_intact_blocks_of_damaged_records_are_used() {
    let folder = poc_graph::testing::folder();
    let limits = LogLimits { segment: SEGMENT, ..LogLimits::default() };
    let options = StoreOptions { limits, buffer: 4000, engine: with_small_tables, ..StoreOptions::default() };
    let store = open_in(&folder, options).unwrap();
    let body = |number: u64| format!("Note {number} {}", "lies at anchor ".repeat(200));
    let edit = |number: u64, body: String| {
        let edited = Node { body, ..node(number) };
        store.transact(cause(), |tx| tx.put_node(&edited)).unwrap();
    };
    // The records have the edit of the first note, the log that of the second.
    edit(1, body(1));
    edit(1, "Zanzibarquetzal".to_owned());
    (2..=COUNT).for_each(|number| edit(number, body(number)));
    store.checkpoint().unwrap();
    edit(2, "In the log".to_owned());
    drop(store);
    let is_edit = |bytes: &[u8]| bytes.windows(15).any(|found| found == b"Zanzibarquetzal");
    let segments = segment_files(&folder);
    // The log loses the edit that the records have.
    assert!(segments.len() > 1);
    fs::remove_file(&segments[0]).unwrap();
    let records = folder.path().join("records");
    let has_edit = || {
        let mut found = false;
        for file in lsm::record_files(&records) {
            let mut each = |_, _: &[u8], value: Option<&[u8]>| found |= value.is_some_and(is_edit);
            lsm::each_intact_record(&file, watchdog::HEARTBEAT_TIMEOUT, &mut each).unwrap();
        }
        found
    };
    assert!(has_edit());
    let tables = files(&records).into_iter().filter(|path| lsm::is_table(path));
    let longest = tables.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    let whole = fs::read(&longest).unwrap();
    // A block without the edit is damaged.
    let is_damaged = (20..whole.len()).step_by(300).any(|at| {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        fs::write(&longest, flipped).unwrap();
        has_edit()
    });
    assert!(is_damaged);
    let state = |store: &Store| {
        let bodies: BTreeMap<u64, String> = (1..=COUNT)
            .filter_map(|number| Some((number, store.node(node(number).id).unwrap()?.body)))
            .collect();
        bodies
    };
    let before = bytes_of_files(folder.path());
    let shown = {
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        assert!(
            store.damage().unwrap().contains("; only the intact blocks of the records can be used: "),
            "{:?}",
            store.damage()
        );
        state(&store)
    };
    assert!(bytes_of_files(folder.path()) == before);
    assert_eq!((shown[&1].as_str(), shown[&2].as_str()), ("Zanzibarquetzal", "In the log"));
    assert!(shown.len() as u64 > COUNT / 2, "{:?}", shown.keys());
    assert!(shown.iter().all(|(number, shown)| *number <= 2 || *shown == body(*number)));
    let repair = Repair::of(folder.path(), false).unwrap().unwrap();
    let options = repair.options().unwrap();
    assert!(options[0].is_partial && options[0].notes == shown.len() as u64, "{options:?}");
    repair.run(RepairSource::Records, Timestamp(9), &[]).unwrap();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    // The entries may have been in damaged blocks.
    for number in shown.keys() {
        let kept = store.node(node(*number).id).unwrap().unwrap();
        assert_eq!(store.find_key(&kept.key).unwrap(), Some(kept.id));
        assert_eq!(store.find_hash(&kept.content_hash).unwrap(), Some(kept.id));
    }
    assert_eq!((store.damage(), state(&store)), (None, shown));
}
