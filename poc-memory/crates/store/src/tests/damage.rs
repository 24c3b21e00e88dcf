//! Damaged files: an incomplete end of the log is cut off, and derived data is rebuilt from an undamaged log. A log
//! that is damaged otherwise is left unchanged.

use super::*;

/// A closed store with nodes 1 to `count`, one transaction each, and the end offset of each record.
fn closed_store(count: u64, limits: LogLimits) -> (TempDir, Vec<u64>) {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, StoreOptions { limits, ..in_memory() }).unwrap();
    let mut ends = vec![store.sizes().unwrap().log.max(24)];
    for number in 1..=count {
        put(&store, number);
        ends.push(store.sizes().unwrap().log);
    }
    (folder, ends)
}

fn only_segment(folder: &TempDir) -> PathBuf {
    segment_files(folder).remove(0)
}

/// Removes the number of the last acknowledged transaction, as if the last record had never been acknowledged.
fn remove_head(folder: &TempDir) {
    fs::remove_file(folder.path().join(log_head::NAME)).ok();
}

fn quarantined(folder: &TempDir) -> Vec<u8> {
    let Ok(entries) = fs::read_dir(folder.path().join("quarantine")) else { return Vec::new() };
    entries.flat_map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect()
}

#[test]
fn a_tail_torn_at_any_byte_is_cut_off_and_quarantined() {
    let (folder, ends) = closed_store(3, LogLimits::default());
    let path = only_segment(&folder);
    let original = fs::read(&path).unwrap();
    for length in ends[2] as usize..original.len() {
        fs::remove_dir_all(folder.path().join("quarantine")).ok();
        fs::write(&path, &original[..length]).unwrap();
        remove_head(&folder);
        let store = open_in(&folder, in_memory()).unwrap();
        assert_eq!(numbers(&store), [1, 2], "cut to {length} bytes");
        let torn = length > ends[2] as usize;
        assert_eq!(store.recovery().messages.len(), usize::from(torn));
        assert_eq!(quarantined(&folder), &original[ends[2] as usize..length]);
        assert!(quarantine_parts(folder.path()).unwrap().iter().all(|part| part.is_unreadable_piece));
        assert_eq!(put(&store, 9).seq, 3);
        drop(store);
        assert_eq!(numbers(&open_in(&folder, in_memory()).unwrap()), [1, 2, 9]);
    }
}

#[test]
fn zeros_after_the_last_record_are_not_records() {
    let (folder, _) = closed_store(2, LogLimits::default());
    let path = only_segment(&folder);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend([0; 4096]);
    fs::write(&path, bytes).unwrap();
    let store = open_in(&folder, in_memory()).unwrap();
    assert_eq!(numbers(&store), [1, 2]);
    insta::assert_snapshot!(store.recovery().messages[0], @"log segment `00000000000000000001.log` ended at byte 808 with an incomplete record: its 4096 bytes were moved to `quarantine/00000000000000000001.log-808`");
}

/// Damage in the last record looks like an interrupted write. Damage before other records changes nothing on disk.
#[test]
fn a_flipped_byte_anywhere_costs_only_the_record_it_is_in() {
    let (folder, ends) = closed_store(5, LogLimits::default());
    let path = only_segment(&folder);
    let original = fs::read(&path).unwrap();
    for at in (0..original.len()).step_by(7) {
        fs::remove_dir_all(folder.path().join("quarantine")).ok();
        let mut flipped = original.clone();
        flipped[at] ^= 0x10;
        fs::write(&path, &flipped).unwrap();
        remove_head(&folder);
        let store = open_in(&folder, in_memory()).unwrap();
        let hit = ends.iter().filter(|&&end| end <= at as u64).count() as u64;
        let kept: Vec<u64> = (1..=5).filter(|&number| number != hit).collect();
        assert_eq!(numbers(&store), kept, "byte {at}");
        let torn = at as u64 >= ends[4];
        assert_eq!(store.recovery().messages.len(), usize::from(torn), "byte {at}");
        assert_eq!(store.damage().is_none(), torn, "byte {at}");
        assert_eq!(quarantined(&folder), if torn { &flipped[ends[4] as usize..] } else { &[] }, "byte {at}");
        drop(store);
        assert_eq!(fs::read(&path).unwrap() == flipped, !torn, "byte {at}");
    }
}

#[test]
fn damage_in_the_middle_is_reported_with_its_place_and_what_is_missing() {
    let (folder, _) = closed_store(9, LogLimits { segment: 1500, ..LogLimits::default() });
    let files = segment_files(&folder);
    assert!(files.len() >= 3, "{files:?}");
    let mut bytes = fs::read(&files[1]).unwrap();
    bytes[60] ^= 1;
    fs::write(&files[1], bytes).unwrap();
    let store = open_in(&folder, in_memory()).unwrap();
    insta::assert_snapshot!(store.damage().unwrap(), @"log segment `00000000000000000005.log` is damaged at byte 24: no part of the store has change 5 any more; answers show all other changes up to 9");
    assert_eq!(numbers(&store), [1, 2, 3, 4, 6, 7, 8, 9]);
    let error = store.transact(cause(), |tx| tx.put_node(&node(10))).unwrap_err();
    assert_eq!(error.code, Code::ReadOnly);
    assert_eq!(error.hint.as_deref(), Some(DAMAGED_HINT));
    assert_eq!(store.transaction(6).unwrap().unwrap().seq, 6);
    assert!(store.transaction(5).unwrap().is_none());
}

#[test]
fn a_missing_segment_is_damage() {
    let (folder, _) = closed_store(9, LogLimits { segment: 1500, ..LogLimits::default() });
    let files = segment_files(&folder);
    fs::remove_file(&files[1]).unwrap();
    let store = open_in(&folder, in_memory()).unwrap();
    assert_eq!(numbers(&store), [1, 2, 3, 4, 9]);
    insta::assert_snapshot!(store.damage().unwrap(), @"the log is interrupted before segment `00000000000000000009.log`: no part of the store has changes 5 to 8 any more; answers show all other changes up to 9");
    assert_eq!(segment_files(&folder).len(), 2);
}

#[test]
fn a_newer_format_is_refused_without_changing_a_file() {
    let (folder, _) = closed_store(2, LogLimits::default());
    let path = only_segment(&folder);
    let mut bytes = fs::read(&path).unwrap();
    bytes[8] = 3;
    let checksum = crc32c::crc32c(&bytes[..20]).to_le_bytes();
    bytes[20..24].copy_from_slice(&checksum);
    fs::write(&path, &bytes).unwrap();
    fs::remove_file(folder.path().join("lock")).unwrap();
    let error = open_in(&folder, in_memory()).err().unwrap();
    insta::assert_snapshot!(error, @"the store has format 3, this release reads formats up to 2");
    assert_eq!(fs::read(&path).unwrap(), bytes);
    assert!(!folder.path().join("lock").exists());
}

/// Checks that a store loses nothing if `damage_records` changes its `records`, with and without tables. `rebuilt`
/// tells whether this requires a rebuild, if known.
fn assert_nothing_lost(damage_records: impl Fn(&Path), rebuilt: Option<bool>) {
    assert_nothing_lost_in(StoreOptions::default(), &damage_records, rebuilt);
    assert_nothing_lost_in(
        StoreOptions { engine: with_small_tables, buffer: 4000, ..StoreOptions::default() },
        &damage_records,
        rebuilt,
    );
}

fn assert_nothing_lost_in(options: StoreOptions, damage_records: &impl Fn(&Path), rebuilt: Option<bool>) {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, options).unwrap();
    for number in 1..=40 {
        put(&store, number);
        if number > 1 {
            let link = edge(number, number / 2, EdgeKind::Link, 0.5);
            store.transact(cause(), |tx| tx.put_edge(&link)).unwrap();
        }
    }
    let before = contents(&store);
    store.checkpoint().unwrap();
    drop(store);
    // Otherwise no record would be read for the view.
    fs::remove_file(folder.path().join("view")).unwrap();
    damage_records(&folder.path().join("records"));
    let store = open_in(
        &folder,
        StoreOptions { heartbeat_timeout: std::time::Duration::from_secs(5), ..StoreOptions::default() },
    )
    .unwrap();
    assert_eq!(contents(&store), before);
    assert_eq!(store.view().edge_count(), 39);
    if let Some(rebuilt) = rebuilt {
        assert_eq!(store.recovery().messages.len(), usize::from(rebuilt), "{:?}", store.recovery());
    }
    put(&store, 41);
    drop(store);
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!(numbers(&store), (1..=41).collect::<Vec<_>>());
}

#[test]
fn a_missing_record_engine_is_rebuilt() {
    assert_nothing_lost(|records| fs::remove_dir_all(records).unwrap(), Some(false));
}

#[test]
fn a_record_engine_full_of_garbage_is_rebuilt() {
    assert_nothing_lost(
        |records| {
            for path in files(records) {
                let length = fs::read(&path).unwrap().len();
                fs::write(&path, vec![0xA5; length]).unwrap();
            }
        },
        Some(true),
    );
}

#[test]
fn records_are_rebuilt_if_a_file_is_in_place_of_their_folder() {
    assert_nothing_lost(
        |records| {
            fs::remove_dir_all(records).unwrap();
            fs::write(records, "not a folder").unwrap();
        },
        Some(true),
    );
}

#[test]
fn a_record_engine_cut_short_anywhere_is_caught_up_or_rebuilt() {
    for part in 0..4 {
        let damage_records = |records: &Path| {
            for path in files(records) {
                let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
                file.set_len(file.metadata().unwrap().len() * part / 4).unwrap();
            }
        };
        assert_nothing_lost(damage_records, None);
    }
}

#[test]
fn a_half_written_snapshot_of_the_record_engine_loses_nothing() {
    let damage_records = |records: &Path| {
        for path in files(records).into_iter().filter(|path| path.ends_with("db")) {
            fs::write(path.with_file_name("snap.0000000000000400.generating"), "half").unwrap();
        }
    };
    assert_nothing_lost(damage_records, None);
}

#[test]
fn a_flipped_byte_in_the_record_engine_never_changes_data() {
    for sixth in 0..6 {
        let damage_records = |records: &Path| {
            for path in files(records)
                .into_iter()
                .filter(|path| path.ends_with("db") || path.extension().is_some_and(|own| own == "table"))
            {
                let mut bytes = fs::read(&path).unwrap();
                // Only the written part; most of sled's file is zeros.
                let used = bytes.iter().rposition(|&byte| byte != 0).unwrap();
                bytes[used * sixth / 6] ^= 0x40;
                fs::write(&path, bytes).unwrap();
            }
        };
        assert_nothing_lost(damage_records, None);
    }
}

#[test]
fn a_note_whose_tombstone_is_in_a_newer_quarantined_table_stays_deleted() {
    let folder = poc_graph::testing::folder();
    let store = open_in(
        &folder,
        StoreOptions { engine: with_small_tables, buffer: 20_000, ..StoreOptions::default() },
    )
    .unwrap();
    for number in 1..=200 {
        put(&store, number);
    }
    store.checkpoint().unwrap();
    for number in 1..=100 {
        store.transact(cause(), |tx| tx.delete_node(node(number).id)).unwrap();
    }
    store.checkpoint().unwrap();
    drop(store);
    fs::create_dir(folder.path().join("quarantine")).unwrap();
    fs::rename(folder.path().join("records"), folder.path().join("quarantine/records")).unwrap();
    let contents = quarantine_contents(folder.path(), "records").unwrap();
    let notes = &contents[&Tenant::default()].notes;
    assert!(
        notes.len() >= 50
            && notes.iter().all(|note| (101..=200).any(|number| node(number).id == note.node.id))
    );
}

/// A table is not read as a whole when it is opened.
#[test]
fn damage_that_a_read_finds_is_repaired_while_the_store_is_used() {
    let folder = poc_graph::testing::folder();
    let options = StoreOptions { engine: with_small_tables, buffer: 20_000, ..StoreOptions::default() };
    let store = open_in(&folder, options).unwrap();
    for number in 1..=200 {
        put(&store, number);
    }
    let before = contents(&store);
    store.checkpoint().unwrap();
    for path in files(&folder.path().join("records")) {
        let mut bytes = fs::read(&path).unwrap();
        if path.extension().is_some_and(|own| own == "table") {
            bytes[10] ^= 1;
            fs::write(&path, bytes).unwrap();
        }
    }
    assert_eq!(contents(&store), before);
    assert!(folder.path().join("quarantine/records").exists());
    put(&store, 201);
    assert_eq!(numbers(&store), (1..=201).collect::<Vec<_>>());
    drop(store);
    assert_eq!(numbers(&open_in(&folder, StoreOptions::default()).unwrap()), (1..=201).collect::<Vec<_>>());
}

#[test]
fn the_intact_part_of_quarantined_tables_can_be_read() {
    let folder = poc_graph::testing::folder();
    let options = || StoreOptions { engine: with_small_tables, buffer: 20_000, ..StoreOptions::default() };
    let store = open_in(&folder, options()).unwrap();
    for number in 1..=200 {
        put(&store, number);
    }
    store.checkpoint().unwrap();
    drop(store);
    fs::remove_file(folder.path().join("view")).unwrap();
    let is_table = |path: &PathBuf| path.extension().is_some_and(|own| own == "table");
    let table = files(&folder.path().join("records")).into_iter().find(is_table).unwrap();
    let mut bytes = fs::read(&table).unwrap();
    bytes[10] ^= 1;
    fs::write(&table, bytes).unwrap();
    let store = open_in(&folder, options()).unwrap();
    assert_eq!((numbers(&store).len(), store.recovery().messages.len()), (200, 1));
    let contents = quarantine_contents(folder.path(), "records").unwrap();
    let notes = &contents[&Tenant::default()].notes;
    assert!((50..200).contains(&notes.len()), "{} notes", notes.len());
    assert!(
        notes
            .iter()
            .all(|note| !note.deleted && store.node(note.node.id).unwrap().as_ref() == Some(&note.node))
    );
}

/// The blocks follow one another, and the end of each can be seen in it.
#[test]
fn quarantined_tables_with_a_damaged_index_can_be_read() {
    let folder = poc_graph::testing::folder();
    let options = || StoreOptions { engine: with_small_tables, buffer: 20_000, ..StoreOptions::default() };
    let store = open_in(&folder, options()).unwrap();
    for number in 1..=200 {
        put(&store, number);
    }
    store.checkpoint().unwrap();
    drop(store);
    fs::remove_file(folder.path().join("view")).unwrap();
    let mut tables = 0;
    for path in files(&folder.path().join("records")) {
        if path.extension().is_some_and(|own| own == "table") {
            let mut bytes = fs::read(&path).unwrap();
            let last_of_filter = bytes.len() - 53;
            bytes[last_of_filter] ^= 1;
            fs::write(&path, bytes).unwrap();
            tables += 1;
        }
    }
    assert!(tables > 0);
    let store = open_in(&folder, options()).unwrap();
    assert_eq!((numbers(&store).len(), store.recovery().messages.len()), (200, 1));
    let contents = quarantine_contents(folder.path(), "records").unwrap();
    let notes = &contents[&Tenant::default()].notes;
    assert_eq!(notes.len(), 200);
    assert!(notes.iter().all(|note| store.node(note.node.id).unwrap().as_ref() == Some(&note.node)));
}

/// A record in the records folder was acknowledged, so an incomplete end of the log is not an interrupted write.
#[test]
fn records_ahead_of_the_log_are_read() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    for number in 1..=3 {
        put(&store, number);
    }
    store.checkpoint().unwrap();
    drop(store);
    let path = only_segment(&folder);
    let bytes = fs::read(&path).unwrap();
    for (kept, view, highest_seq) in
        [(1, true, true), (1, false, true), (1, false, false), (bytes.len(), true, true)]
    {
        fs::write(&path, &bytes[..bytes.len() - kept]).unwrap();
        if !view {
            fs::remove_file(folder.path().join("view")).ok();
        }
        if !highest_seq {
            fs::remove_file(folder.path().join("records/last")).unwrap();
        }
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        assert_eq!(numbers(&store), [1, 2, 3]);
        assert!(store.damage().is_some());
    }
    fs::remove_dir_all(folder.path().join("log")).unwrap();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!(numbers(&store), [1, 2, 3]);
    insta::assert_snapshot!(store.damage().unwrap(), @"the log is missing, including changes 1 to 3; answers show the records up to change 3");
    assert!(!folder.path().join("log").exists() && !folder.path().join("quarantine").exists());
}

/// An open with a saved view does not read all records, so damage is found when a record is read.
#[test]
fn a_record_engine_that_was_found_damaged_is_rebuilt() {
    assert_nothing_lost(|records| fs::write(records.join("damaged"), "").unwrap(), Some(true));
}
