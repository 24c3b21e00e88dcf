//! Restorations of intact generations: the state at a transaction or time, and where it may be written.

use super::*;
use crate::history::UnfinishedCall;
use proptest::prelude::*;

#[test]
fn a_single_generation_is_accepted_only_by_a_restoration() {
    let profile = Profile::new();
    profile.put(1..3);
    let made = profile.back_up(100, 9).unwrap();
    let folder = profile.folder().join(&made.name);
    assert_eq!(restore_from(&folder, RestorePoint::Newest).unwrap().0.seq, 2);
    let paths = profile.paths();
    let error = create(profile.store(), &paths, &folder, 9, Timestamp(101), &quiet()).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
}

#[test]
fn a_generation_that_was_renamed_is_found() {
    let profile = Profile::new();
    profile.put(1..3);
    profile.back_up(100, 9).unwrap();
    profile.put(3..5);
    let newest = profile.back_up(101, 9).unwrap();
    fs::rename(profile.folder().join(&newest.name), profile.folder().join("renamed")).unwrap();
    for backup in [profile.folder(), profile.folder().join("renamed")] {
        let (report, ..) = restore_from(&backup, RestorePoint::Newest).unwrap();
        assert_eq!((report.seq, report.generation), (4, newest.name.clone()));
    }
}

#[test]
fn nothing_is_restored_into_the_backup() {
    let profile = Profile::new();
    profile.put(1..3);
    let made = profile.back_up(100, 9).unwrap();
    let paths = Paths::in_folder(&profile.folder().join(&made.name).join("inside"));
    let error = restore(&profile.folder(), whole(RestorePoint::Newest), &paths, &quiet()).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
}

#[test]
fn a_folder_with_other_files_is_no_destination() {
    let folder = poc_graph::testing::folder();
    let at = folder.path().join("new");
    require_folder_of_memory(&at).unwrap();
    // Files of a memory whose store was moved away, and those that systems create.
    for own in ["agents", "profiles", "setup.copies", ".snapshots", "lost+found", "restore.partial"] {
        fs::create_dir_all(at.join(own)).unwrap();
    }
    for own in ["config.toml", "daemon.log.1", "hooks.log.1", ".poc-memory-Ab1~"] {
        fs::write(at.join(own), "").unwrap();
    }
    require_folder_of_memory(&at).unwrap();
    fs::write(at.join("thesis.md"), "Mine").unwrap();
    let error = require_folder_of_memory(&at).unwrap_err();
    let message = format!("`{}` is not the folder of a memory: it contains `thesis.md`", at.display());
    assert_eq!((error.code, error.message), (Code::Conflict, message));
}

#[test]
fn a_failed_restoration_leaves_no_folder() {
    let profile = Profile::new();
    profile.put(1..3);
    profile.back_up(100, 9).unwrap();
    let paths = Paths::in_folder(&profile.home.path().join("new"));
    restore(&profile.folder(), whole(RestorePoint::Seq(9)), &paths, &quiet()).unwrap_err();
    assert!(!profile.home.path().join("new").exists());
}

#[test]
fn a_state_within_a_change_of_several_transactions_is_named() {
    let profile = Profile::new();
    let call = Cause::new(Timestamp(HOUR), "import:src", "import");
    for number in 1..5 {
        let cause = call.part(Timestamp(number as i64 * HOUR));
        profile.store().transact(cause, |tx| tx.put_node(&node(number))).unwrap();
    }
    profile.put(5..9);
    profile.back_up(9, 9).unwrap();
    let unfinished = |seq| profile.restore(RestorePoint::Seq(seq)).unwrap().0.unfinished;
    let part = |seq| Some(UnfinishedCall { seq, op: "import".to_owned(), last: 4 });
    assert_eq!([1, 3, 4, 5, 8].map(unfinished), [part(1), part(3), None, None, None]);
}

#[test]
fn a_time_selects_the_last_transaction_before_it() {
    let profile = Profile::new();
    profile.put(1..20);
    profile.back_up(19, 9).unwrap();
    profile.put(20..40);
    let newest = profile.back_up(39, 9).unwrap();
    let at = |milliseconds| profile.restore(RestorePoint::at(Timestamp(milliseconds)));
    for (time, seq) in [(HOUR, 1), (17 * HOUR + 5, 17), (19 * HOUR, 19), (19 * HOUR + 1, 19), (39 * HOUR, 39)]
    {
        let (report, ..) = at(time).unwrap();
        assert_eq!(
            (report.seq, report.at, &report.generation),
            (seq, Timestamp(seq as i64 * HOUR), &newest.name)
        );
    }
    // The newest backup was made within the period.
    let second = RestorePoint::Within { first: Timestamp(39 * HOUR), last: Timestamp(39 * HOUR + 999) };
    assert_eq!(profile.restore(second).unwrap().0.seq, 39);
    for (time, message) in
        [(39 * HOUR + 1, "no backup is as new as"), (HOUR - 1, "no backup has a change of")]
    {
        let error = at(time).err().unwrap();
        assert_eq!(error.code, Code::NotFound);
        assert!(error.message.starts_with(message), "{error}");
    }
    let error = profile.restore(RestorePoint::Seq(40)).err().unwrap();
    assert_eq!((error.code, error.message.as_str()), (Code::NotFound, "no backup has change 40"));
}

#[test]
fn an_existing_destination_is_left_unchanged() {
    let profile = Profile::new();
    profile.put(1..5);
    profile.back_up(9, 9).unwrap();
    let (_, paths, _home) = profile.restore(RestorePoint::Newest).unwrap();
    let error = restore(&profile.folder(), whole(RestorePoint::Newest), &paths, &quiet()).unwrap_err();
    assert_eq!(error.code, Code::Conflict);
    assert!(error.message.ends_with("` already contains a store"), "{error}");
    // Settings and agents that exist are kept.
    fs::remove_dir_all(paths.store()).unwrap();
    fs::write(paths.config_file(), "[list]\nlimit = 9\n").unwrap();
    fs::remove_dir_all(paths.agents()).unwrap();
    let report = restore(&profile.folder(), whole(RestorePoint::Newest), &paths, &quiet()).unwrap();
    assert_eq!((report.kept, report.restored), (vec![paths.config_file()], vec![paths.agents()]));
    assert_eq!(fs::read_to_string(paths.config_file()).unwrap(), "[list]\nlimit = 9\n");
    assert!(paths.agents().join("one.toml").is_file());
    assert!(!paths.store().with_file_name("restore.partial").exists());
}

#[test]
fn a_store_that_was_only_read_is_replaced() {
    let profile = Profile::new();
    profile.put(1..5);
    profile.back_up(9, 9).unwrap();
    let home = poc_graph::testing::folder();
    let paths = Paths::in_folder(home.path());
    let reader = reopened(&paths);
    let error = restore(&profile.folder(), whole(RestorePoint::Newest), &paths, &quiet()).unwrap_err();
    assert_eq!(error.code, Code::Locked);
    drop(reader);
    let report = restore(&profile.folder(), whole(RestorePoint::Newest), &paths, &quiet()).unwrap();
    assert_eq!((report.seq, content(&reopened(&paths))), (4, content(profile.store())));
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// At every transaction, the restored store has the log and the notes that the original had then.
    #[test]
    fn every_state_is_restored(counts in proptest::collection::vec(1u64..15, 1..4), at in any::<prop::sample::Index>()) {
        let profile = Profile::new();
        let mut next = 1;
        let mut contents = vec![(Vec::new(), Vec::new())];
        for (round, count) in counts.iter().enumerate() {
            for number in next..next + count {
                profile.put(number..number + 1);
                contents.push(content(profile.store()));
            }
            next += count;
            profile.back_up(1000 + round as i64, 9).unwrap();
        }
        let seq = at.index(next as usize - 1) as u64 + 1;
        let (report, paths, _home) = profile.restore(RestorePoint::Seq(seq)).unwrap();
        prop_assert_eq!((report.seq, report.notes), (seq, seq));
        let store = reopened(&paths);
        prop_assert!(store.recovery().messages.is_empty());
        prop_assert_eq!(&content(&store), &contents[seq as usize]);
        // The original store continues to change, which does not affect the backup.
        store.transact(
            Cause::new(Timestamp(1), "manual", "test"),
            |tx| tx.put_node(&node(900)),
        ).unwrap();
        drop(store);
        prop_assert!(profile.check().iter().all(|check| check.problems.is_empty()));
    }
}
