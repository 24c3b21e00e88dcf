//! A damaged store shows every note that any intact part of it contains. Opening it changes none of its files.

use super::*;

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_note_in_an_intact_part_is_shown_and_nothing_changes_on_disk(
        checkpoint in 0..=COUNT, damages in proptest::collection::vec(damage(), 1..5),
    ) {
        let made = closed_store(checkpoint);
        let original = bytes_of_files(made.folder.path());
        let mut intact = IntactParts::of(&made);
        for damage in &damages {
            apply(damage, &made, &mut intact);
        }
        let before = bytes_of_files(made.folder.path());
        // Whether the bytes of a note's log record are unchanged.
        let is_logged = |number: u64| {
            let (path, begin, end) = &made.locations[number as usize - 1];
            let part = |bytes: &Vec<u8>| bytes.get(*begin as usize..*end as usize).map(<[u8]>::to_vec);
            before.get(path).and_then(part) == part(&original[path])
        };
        let logged: Vec<u64> = (1..=COUNT).filter(|&number| is_logged(number)).collect();
        let in_records = |number: u64| intact.records && number <= made.checkpoint;
        let in_view = |number: u64| intact.view && number <= made.checkpoint;
        let mut shown = Vec::new();
        for _ in 0..2 {
            let options = StoreOptions { heartbeat_timeout: std::time::Duration::from_secs(5), ..StoreOptions::default() };
            let store = open_in(&made.folder, options).unwrap();
            // A log that lacks a record is reported as damaged.
            prop_assert!(!intact.head || logged.len() as u64 == COUNT || store.damage().is_some(), "{:?}", damages);
            let view = store.view();
            for number in 1..=COUNT {
                let id = node(number).id;
                let is_listed = view.find(id).is_some();
                if logged.contains(&number) || in_records(number) {
                    prop_assert!(is_listed, "note {} is not listed: {:?}", number, store.damage());
                    prop_assert_eq!(store.node(id).unwrap(), Some(node(number)), "{:?}", store.damage());
                } else if in_view(number) {
                    prop_assert!(is_listed, "note {} is not listed: {:?}", number, store.damage());
                }
            }
            let listed: Vec<u64> = (1..=COUNT).filter(|&number| view.find(node(number).id).is_some()).collect();
            if store.damage().is_some() {
                let error = store.transact(cause(), |tx| tx.put_node(&node(99))).unwrap_err();
                prop_assert_eq!(error.code, Code::ReadOnly);
                store.checkpoint().unwrap();
                drop(store);
                prop_assert!(bytes_of_files(made.folder.path()) == before, "{:?}", damages);
            } else {
                // Without reported damage, the store contains exactly the listed notes.
                prop_assert_eq!(&numbers(&store), &listed);
                prop_assert_eq!(listed.len() as u64, store.last_seq());
            }
            if !shown.is_empty() {
                prop_assert_eq!(&shown, &listed, "the second open shows the same");
            }
            shown = listed;
        }
    }
}

/// The file with the number of the records' last transaction may be lost, too.
#[test]
fn nothing_changes_on_disk_when_the_number_of_the_last_transaction_is_lost() {
    for checkpoint in [3, COUNT] {
        let made = closed_store(checkpoint);
        fs::remove_file(made.folder.path().join("records/last")).unwrap();
        fs::remove_file(segment_files(&made.folder).remove(1)).unwrap();
        let before = bytes_of_files(made.folder.path());
        let store = open_in(&made.folder, StoreOptions::default()).unwrap();
        assert!(store.damage().is_some());
        drop(store);
        assert!(bytes_of_files(made.folder.path()) == before, "checkpoint {checkpoint}");
    }
}

/// No checkpoint was made, so only the number of the last acknowledged transaction shows the loss.
#[test]
fn a_log_that_lost_its_end_is_damaged_until_a_person_decides() {
    let shorten = |folder: &TempDir| {
        let last = segment_files(folder).pop().unwrap();
        let bytes = fs::read(&last).unwrap();
        let record = 16 + u32::from_le_bytes(bytes[24..28].try_into().unwrap()) as usize;
        fs::write(&last, &bytes[..24 + record]).unwrap();
    };
    let delete = |folder: &TempDir| fs::remove_file(segment_files(folder).pop().unwrap()).unwrap();
    for (lose, kept) in [(shorten as fn(&TempDir), 5), (delete, 4)] {
        let folder = poc_graph::testing::folder();
        let limits = LogLimits { segment: 1500, ..LogLimits::default() };
        let store = open_in(&folder, StoreOptions { limits, ..StoreOptions::default() }).unwrap();
        for number in 1..=6 {
            put(&store, number);
        }
        drop(store);
        assert_eq!(segment_files(&folder).len(), 2);
        assert!(!folder.path().join("view").exists());
        lose(&folder);
        let before = bytes_of_files(folder.path());
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        let lost = if kept == 5 { "change 6" } else { "changes 5 to 6" };
        let damage =
            format!("the log ends at change {kept} and lacks {lost}, which `head` and `log/checked` know of");
        assert!(store.damage().unwrap().starts_with(&damage), "{:?}", store.damage());
        assert_eq!(numbers(&store), (1..=kept).collect::<Vec<_>>());
        assert_eq!(store.transact(cause(), |tx| tx.put_node(&node(9))).unwrap_err().code, Code::ReadOnly);
        drop(store);
        assert!(bytes_of_files(folder.path()) == before);
        let repair = Repair::of(folder.path(), false).unwrap().unwrap();
        assert_eq!((repair.damage(), repair.lost_end()), (damage.as_str(), Some(6)));
        let [option] = &repair.options().unwrap()[..] else { panic!() };
        assert_eq!(
            (option.source, option.last_seq, &option.lost),
            (RepairSource::Log, kept, &vec![TransactionRange { first: kept + 1, last: 6 }])
        );
        let report = repair.run(RepairSource::Log, Timestamp(9), &[]).unwrap();
        assert_eq!(report.restorable, Some(RestorableRecords::default()));
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        assert_eq!((store.damage(), put(&store, 9).seq), (None, kept + 1));
        drop(store);
        assert_eq!(open_in(&folder, StoreOptions::default()).unwrap().damage(), None);
        undo_repair(folder.path(), &[]).unwrap();
        assert!(open_in(&folder, StoreOptions::default()).unwrap().damage().is_some());
    }
}

#[test]
fn a_store_with_only_an_index_left_is_not_empty() {
    let folder = poc_graph::testing::folder();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    for number in 1..=5 {
        put(&store, number);
    }
    drop(store);
    let fingerprint = atomic_file::Fingerprint::of("an index of any kind");
    atomic_file::write(&folder.path().join("text/snapshot"), fingerprint, 4, &[b"postings"]).unwrap();
    for part in ["log", "records"] {
        fs::remove_dir_all(folder.path().join(part)).unwrap();
    }
    for (deleted, last) in [(None, 5), (Some(log_head::NAME), 4)] {
        if let Some(name) = deleted {
            fs::remove_file(folder.path().join(name)).unwrap();
        }
        let before = bytes_of_files(folder.path());
        assert!(Store::exists(folder.path()));
        assert!(!is_empty_store(folder.path()).unwrap() && !delete_empty_store(folder.path()).unwrap());
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        assert_eq!(
            store.damage().unwrap(),
            format!(
                "the log is missing: no part of the store has changes 1 to {last} any more; nothing is left of its \
                 notes: restore a backup, or move the folder of the store away to begin with an empty memory"
            )
        );
        assert!(numbers(&store).is_empty());
        drop(store);
        assert!(bytes_of_files(folder.path()) == before);
        let repair = Repair::of(folder.path(), false).unwrap().unwrap();
        assert_eq!((repair.options().unwrap(), repair.lost_end()), (Vec::new(), Some(last)));
    }
    // A damaged index proves nothing.
    let path = folder.path().join("text/snapshot");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(open_in(&folder, StoreOptions::default()).unwrap().damage(), None);
}

#[test]
fn a_store_with_only_the_quarantine_left_is_not_empty() {
    let folder = poc_graph::testing::folder();
    let quarantine = folder.path().join("quarantine");
    fs::create_dir(&quarantine).unwrap();
    assert!(!Store::exists(folder.path()), "an empty quarantine shows nothing");
    fs::write(quarantine.join("x.log-24"), "a piece").unwrap();
    let before = bytes_of_files(folder.path());
    assert!(Store::exists(folder.path()));
    assert!(!Store::exists(&quarantine.join("x.log-24")), "a file is not a store");
    assert!(!is_empty_store(folder.path()).unwrap() && !delete_empty_store(folder.path()).unwrap());
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!(
        store.damage().unwrap(),
        "the log is missing, and only `quarantine/` may have some of its notes: `poc-memory doctor quarantine list` \
         shows what is in it; restore a backup, or move the folder of the store away to begin with an empty memory"
    );
    assert!(numbers(&store).is_empty());
    assert_eq!(store.transact(cause(), |tx| tx.put_node(&node(1))).unwrap_err().code, Code::ReadOnly);
    drop(store);
    assert!(bytes_of_files(folder.path()) == before);
    let repair = Repair::of(folder.path(), false).unwrap().unwrap();
    assert!(repair.damage().contains("only `quarantine/`"), "{}", repair.damage());
    assert_eq!((repair.options().unwrap(), repair.lost_end()), (Vec::new(), None));
    drop(repair);
    // Records that cannot be used may have notes, too.
    let records = folder.path().join("records");
    fs::create_dir(&records).unwrap();
    fs::write(records.join("damaged"), "").unwrap();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    let damage = store.damage().unwrap();
    assert!(damage.starts_with("the log is missing; answers show no notes; the records cannot"), "{damage}");
    drop(store);
    let repair = Repair::of(folder.path(), false).unwrap().unwrap();
    assert!(repair.damage().starts_with("the log is missing; the records cannot"), "{}", repair.damage());
    drop(repair);
    fs::remove_dir_all(&records).unwrap();
    fs::remove_file(quarantine.join("x.log-24")).unwrap();
    let store = open_in(&folder, StoreOptions::default()).unwrap();
    assert_eq!((store.damage(), put(&store, 1).seq), (None, 1));
}
