//! A repair keeps what it announces, is completed after an interruption, and can be undone byte for byte.

mod derived_files;
mod intact_blocks;
mod interruption;
mod lost_notes;
mod lost_transactions;

use super::*;
use crate::tests::changes::op;

/// The bytes of the log, the records and the view, by their paths within the store.
fn saved_bytes(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let all = bytes_of_files(folder).into_iter();
    let all = all.map(|(path, bytes)| (path.strip_prefix(folder).unwrap().to_owned(), bytes));
    all.filter(|(path, _)| ["log", "records", "view"].iter().any(|part| path.starts_with(part))).collect()
}

/// What a repair writes into the folder of the store before it moves files.
fn prepared_by_repair() -> [&'static str; 2] {
    ["log.repaired", "lost-notes.json"]
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_repair_keeps_what_it_announces_and_is_undone_byte_for_byte(
        checkpoint in 0..=COUNT, damages in proptest::collection::vec(damage(), 1..5),
    ) {
        let made = closed_store(checkpoint);
        let mut intact = IntactParts::of(&made);
        for damage in &damages {
            apply(damage, &made, &mut intact);
        }
        let shown = {
            let store = open_in(&made.folder, StoreOptions::default()).unwrap();
            if store.damage().is_none() {
                return Ok(());
            }
            let has_text = |number: &u64| store.node(node(*number).id).unwrap().is_some();
            (1..=COUNT).filter(has_text).collect::<Vec<_>>()
        };
        let before = saved_bytes(made.folder.path());
        let options = Repair::of(made.folder.path(), false).unwrap().unwrap().options().unwrap();
        prop_assert!(files(made.folder.path()).iter().all(|path| !path.ends_with("repair.json")));
        for (at, option) in options.iter().enumerate() {
            let copy = copied(made.folder.path());
            repaired(&copy, option.source);
            let kept = {
                let store = open_in(&copy, StoreOptions::default()).unwrap();
                prop_assert_eq!(store.damage(), None);
                prop_assert_eq!(store.last_seq(), option.last_seq);
                let kept = numbers(&store);
                prop_assert_eq!(kept.len() as u64, option.notes, "{:?}", option);
                put(&store, 99);
                kept
            };
            if at == 0 {
                prop_assert_eq!(&kept, &shown, "the most complete choice keeps what was shown");
            }
            if option.source == RepairSource::Log {
                prop_assert_eq!(&kept, &(1..=option.last_seq).collect::<Vec<_>>());
            }
            prop_assert!(kept.iter().all(|number| shown.contains(number)));
            undo_repair(copy.path(), &["index"]).unwrap();
            prop_assert!(saved_bytes(copy.path()) == before, "{:?}: {:?}", option, damages);
            prop_assert_eq!(undo_repair(copy.path(), &["index"]).unwrap_err().code, Code::NotFound);
        }
    }

    /// Notes of three tenants, one for each transaction, and a damaged byte in any of the transactions but the last
    /// one. The first transaction of a tenant has the record of its name.
    #[test]
    fn every_intact_note_of_a_tenant_is_shown_and_kept(
        writers in proptest::collection::vec(0usize..3, 2..16), at in any::<prop::sample::Index>(),
    ) {
        let folder = poc_graph::testing::folder();
        let of = |store: &Store, writer: usize| match writer {
            0 => store.clone(),
            _ => store.for_tenant(&poc_graph::Tuple::new([("who", format!("w{writer}"))]).unwrap()),
        };
        let put = |store: &Store, writer: usize, number: u64| {
            let own = of(store, writer);
            let node = Node { tenant: own.tenant(), ..node(number) };
            own.transact(cause(), |tx| tx.put_node(&node)).unwrap();
        };
        let mut ends = Vec::new();
        {
            let store = open_in(&folder, StoreOptions::default()).unwrap();
            for (number, writer) in (1..).zip(&writers) {
                put(&store, *writer, number);
                ends.push(store.sizes().unwrap().log as usize);
            }
        }
        let path = segment_files(&folder).remove(0);
        let mut log = fs::read(&path).unwrap();
        let at = 24 + at.index(ends[ends.len() - 2] - 24);
        let lost = ends.iter().position(|end| at < *end).unwrap() as u64 + 1;
        log[at] ^= 0x10;
        fs::write(&path, log).unwrap();
        let shown = |store: &Store| (0..3).map(|writer| numbers(&of(store, writer))).collect::<Vec<_>>();
        let mut expected = vec![Vec::new(); 3];
        for (number, writer) in (1..).zip(&writers).filter(|(number, _)| *number != lost) {
            expected[*writer].push(number);
        }
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        prop_assert!(store.damage().is_some());
        prop_assert_eq!(shown(&store), expected.clone());
        drop(store);
        let options = Repair::of(folder.path(), false).unwrap().unwrap().options().unwrap();
        let option = options.iter().find(|option| option.source == RepairSource::IntactLog).unwrap();
        prop_assert_eq!(option.notes, writers.len() as u64 - 1);
        repaired(&folder, RepairSource::IntactLog);
        {
            let store = open_in(&folder, StoreOptions::default()).unwrap();
            prop_assert_eq!(store.damage(), None);
            prop_assert_eq!(shown(&store), expected.clone());
            for (writer, expected) in expected.iter_mut().enumerate() {
                put(&store, writer, 100);
                expected.push(100);
            }
            prop_assert_eq!((store.tenants().unwrap().len(), store.unnamed_tenants().unwrap().len()), (3, 0));
            store.checkpoint().unwrap();
        }
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        prop_assert_eq!(shown(&store), expected);
    }

    /// Any changes of two tenants, and a damaged byte in the log that is older than the records.
    #[test]
    fn a_log_that_is_repaired_from_the_records_leads_to_the_state_before_the_damage(
        txns in proptest::collection::vec((any::<bool>(), proptest::collection::vec(op(), 1..6)), 4..30),
        saved in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), from_zero in any::<bool>(),
    ) {
        let folder = poc_graph::testing::folder();
        let of = |store: &Store| {
            let tenant = store.for_tenant(&poc_graph::Tuple::new([("who", "other")]).unwrap());
            // Without the last transaction, which for a view of the records is that of all tenants.
            let without_seq = |line: String| match line.split_once(", ") {
                Some((seq, rest)) if seq.starts_with('(') => rest.to_owned(),
                _ => line,
            };
            let lines = |store: &Store| poc_graph::testing::contents(&store.view()).into_iter();
            let view = |store: &Store| lines(store).map(without_seq).collect::<Vec<_>>();
            (contents_without_changes(store), contents_without_changes(&tenant), view(store), view(&tenant))
        };
        let saved = txns.len() / 2 + saved.index(txns.len() - txns.len() / 2);
        let (before, last, bytes) = {
            let store = open_in(&folder, StoreOptions::default()).unwrap();
            let other = store.for_tenant(&poc_graph::Tuple::new([("who", "other")]).unwrap());
            let mut bytes = 24;
            for (number, (is_other, ops)) in txns.iter().enumerate() {
                let writer = if *is_other { &other } else { &store };
                let done = writer.transact(cause(), |tx| {
                    // Changes that fail are skipped.
                    ops.iter().for_each(|op| drop(super::changes::apply_for(tx, op, writer.tenant())));
                    Ok(())
                });
                prop_assert!(done.is_ok());
                if number == saved {
                    store.checkpoint().unwrap();
                    bytes = store.sizes().unwrap().log;
                }
            }
            (of(&store), store.last_seq(), bytes as usize)
        };
        if last == 0 {
            return Ok(());
        }
        let path = segment_files(&folder).remove(0);
        let mut log = fs::read(&path).unwrap();
        let at = if from_zero { at.index(24) } else { 24 + at.index((bytes - 24).max(1)) };
        if at >= bytes {
            return Ok(());
        }
        log[at] ^= 0x10;
        fs::write(&path, log).unwrap();
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        prop_assert!(store.damage().is_some());
        let shown = of(&store);
        prop_assert_eq!((&shown.2, &shown.3), (&before.2, &before.3));
        prop_assert_eq!((&shown.0, &shown.1), (&before.0, &before.1));
        drop(store);
        repaired(&folder, RepairSource::Records);
        for _ in 0..2 {
            let store = open_in(&folder, StoreOptions::default()).unwrap();
            prop_assert_eq!(store.damage(), None);
            prop_assert!(of(&store) == before);
            prop_assert_eq!(store.last_seq(), last);
            drop(store);
            fs::remove_dir_all(folder.path().join("records")).unwrap();
        }
    }
}

#[test]
fn an_intact_store_is_not_repaired() {
    let made = closed_store(3);
    assert!(Repair::of(made.folder.path(), false).unwrap().is_none());
    let store = open_in(&made.folder, StoreOptions::default()).unwrap();
    assert_eq!(Repair::of(made.folder.path(), false).err().unwrap().code, Code::Locked);
    drop(store);
    assert_eq!(undo_repair(made.folder.path(), &["index"]).unwrap_err().code, Code::NotFound);
    let nothing = poc_graph::testing::folder();
    assert_eq!(Repair::of(nothing.path(), false).err().unwrap().code, Code::NotFound);
}
