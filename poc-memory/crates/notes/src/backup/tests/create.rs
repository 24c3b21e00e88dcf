//! A backup into a folder links what an earlier generation has, copies the rest, and deletes old generations.

use super::*;
use std::os::unix::fs::MetadataExt;

fn inode(path: &Path) -> (u64, u64) {
    let found = fs::metadata(path).unwrap();
    (found.ino(), found.nlink())
}

#[test]
fn a_second_backup_links_what_the_first_has_and_copies_the_rest() {
    let profile = Profile::new();
    profile.put(1..30);
    let first = profile.back_up(100, 9).unwrap();
    assert!(first.manifest.log.len() > 3, "{:?}", first.manifest.log);
    assert_eq!((first.copied.files, first.linked.files), (first.manifest.log.len() as u64 + 2, 0));
    profile.put(30..45);
    let second = profile.back_up(101, 9).unwrap();
    let closed = first.manifest.log.len() - 1;
    assert!(second.manifest.log.len() > first.manifest.log.len());
    assert_eq!(second.linked.files, closed as u64 + 2, "closed segments, the settings and the agent");
    assert_eq!(second.copied.files, (second.manifest.log.len() - closed) as u64);
    for segment in second.manifest.log.iter().take(closed) {
        let [one, two] = [&first, &second]
            .map(|report| inode(&profile.folder().join(&report.name).join(&segment.file.path)));
        assert_eq!(one, two);
        let own = inode(&profile.paths().store().join(&segment.file.path));
        assert_ne!(own.0, one.0, "the backup shares no file with the store");
    }
    // Nothing has changed since: there is no third generation.
    let third = profile.back_up(102, 9).unwrap();
    assert!(third.unchanged && third.name == second.name && third.copied.files == 0);
    // A changed setting alone makes a new generation.
    fs::write(profile.paths().config_file(), "[list]\nlimit = 6\n").unwrap();
    let fourth = profile.back_up(103, 9).unwrap();
    assert_eq!((fourth.unchanged, fourth.copied.files), (false, 1));
    let names: Vec<String> =
        generations(&profile.folder()).unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(names, [fourth.name, second.name, first.name]);
    assert!(profile.check().iter().all(|check| check.problems.is_empty()));
}

#[test]
fn the_oldest_generations_are_deleted() {
    let profile = Profile::new();
    for round in 0..5 {
        profile.put(round * 10 + 1..round * 10 + 11);
        profile.back_up(100 + round as i64, 3).unwrap();
    }
    let seqs = || generations(&profile.folder()).unwrap().iter().map(|one| one.seq).collect::<Vec<_>>();
    assert_eq!(seqs(), [50, 40, 30]);
    assert!(profile.check().iter().all(|check| check.problems.is_empty()), "links survive the deletion");
    profile.put(51..52);
    assert_eq!(profile.back_up(110, 1).unwrap().removed.len(), 3);
    assert_eq!(seqs(), [51]);
    let (report, ..) = profile.restore(RestorePoint::Seq(12)).unwrap();
    assert_eq!((report.seq, report.notes), (12, 12));
}

#[test]
fn the_newest_generation_is_the_one_written_last_regardless_of_the_clock() {
    let mut profile = Profile::new();
    profile.put(1..5);
    // The clock is years ahead for some hours.
    for hour in 0..3 {
        profile.put(5 + hour..6 + hour);
        profile.back_up(100_000 + hour as i64, 3).unwrap();
    }
    profile.put(8..9);
    let corrected = profile.back_up(9, 3).unwrap();
    assert_eq!(corrected.removed.len(), 1);
    assert!(!corrected.removed.contains(&corrected.name));
    let found = generations(&profile.folder()).unwrap();
    assert_eq!(found.iter().map(|generation| generation.seq).collect::<Vec<_>>(), [8, 7, 6]);
    assert_eq!(found[0].name, corrected.name);
    assert!(profile.back_up(10, 3).unwrap().unchanged);
    let (report, paths, _home) = profile.restore(RestorePoint::Newest).unwrap();
    assert_eq!(report.seq, 8);
    assert_eq!(reopened(&paths).last_seq(), 8);
    // A generation whose manifest is damaged keeps its place.
    fs::write(found[1].path.join("manifest.json"), "").unwrap();
    let found = generations(&profile.folder()).unwrap();
    assert_eq!(found.iter().map(|generation| generation.seq).collect::<Vec<_>>(), [8, 7, 6]);
    profile.store = None;
}

#[test]
fn an_interrupted_backup_leaves_no_generation() {
    let profile = Profile::new();
    profile.put(1..30);
    profile.back_up(100, 9).unwrap();
    profile.put(30..60);
    // It ends after a different number of pieces each time.
    for allowed in 0..12 {
        let check_cancelled = stops_after(allowed);
        let callbacks = BackupCallbacks { progress: &|_, _| {}, check_cancelled: &check_cancelled };
        let now = Timestamp((101 + allowed) * HOUR);
        let paths = profile.paths();
        let error = create(profile.store(), &paths, &profile.folder(), 9, now, &callbacks).unwrap_err();
        assert_eq!(error.message, "stopped");
        assert_eq!(generations(&profile.folder()).unwrap().len(), 1);
    }
    // The leftovers of a killed process are not a generation, and the next backup deletes them.
    let name = generations(&profile.folder()).unwrap().remove(0).name;
    let partial = profile.folder().join(format!("partial-{name}"));
    fs::create_dir_all(partial.join("log")).unwrap();
    assert_eq!(generations(&profile.folder()).unwrap().len(), 1);
    profile.back_up(200, 9).unwrap();
    assert!(!partial.exists());
    assert_eq!(generations(&profile.folder()).unwrap().len(), 2);
    assert!(profile.check().iter().all(|check| check.problems.is_empty()));
}

#[test]
fn generations_with_changes_that_the_memory_lacks_are_not_deleted() {
    let profile = Profile::new();
    profile.put(1..3);
    profile.back_up(100, 9).unwrap();
    let (_, paths, _home) = profile.restore(RestorePoint::Newest).unwrap();
    let copy = reopened(&paths);
    copy.transact(Cause::new(Timestamp(1), "manual", "test"), |tx| tx.put_node(&node(900))).unwrap();
    let of_copy = create(&copy, &paths, &profile.folder(), 1, Timestamp(101 * HOUR), &quiet()).unwrap();
    assert_eq!((of_copy.removed.len(), of_copy.diverged.len()), (1, 0));
    profile.put(3..4);
    let own = profile.back_up(102, 1).unwrap();
    assert_eq!((own.removed.len(), own.diverged), (0, vec![of_copy.name]));
    // The restored memory remembers its backup, for erasures.
    let found = search(&paths, &|_| true, &quiet());
    assert!(found.found.len() == 2 && found.unread.is_empty(), "{found:?}");
}

#[test]
fn a_list_of_destinations_that_cannot_be_read_is_reported() {
    let profile = Profile::new();
    profile.put(1..3);
    let paths = profile.paths();
    assert_eq!(known_backups(&paths), KnownBackups::default(), "no backup is remembered");
    let list = paths.store().join("backups");
    fs::create_dir(&list).unwrap();
    profile.back_up(100, 9).unwrap();
    assert_eq!(known_backups(&paths), KnownBackups { found: Vec::new(), unread: vec![list.clone()] });
    assert_eq!(search(&paths, &|_| true, &quiet()).unread, [list]);
}

#[test]
fn a_backup_of_another_memory_or_of_an_empty_one_is_refused() {
    let profile = Profile::new();
    assert_eq!(profile.back_up(1, 9).unwrap_err().code, Code::Conflict);
    profile.put(1..3);
    profile.back_up(2, 9).unwrap();
    let other = Profile::new();
    other.put(2..4);
    let paths = other.paths();
    let error = create(other.store(), &paths, &profile.folder(), 9, Timestamp(3), &quiet()).unwrap_err();
    assert_eq!(error.code, Code::Conflict);
    assert!(error.message.contains("has backups of another memory"), "{error}");
    for inside in [paths.store().join("backup"), paths.agents(), paths.runs().join("deep/below")] {
        let error = create(other.store(), &paths, &inside, 9, Timestamp(3), &quiet()).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{}", inside.display());
        assert!(error.message.contains("which is part of the memory"), "{error}");
    }
    // A file that the daemon has not written yet.
    for own in [paths.token(), paths.socket(), paths.daemon_log().join("below")] {
        let error = create(other.store(), &paths, &own, 9, Timestamp(3), &quiet()).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{}", own.display());
        assert!(error.message.contains("is the path of another file of the memory"), "{error}");
        assert!(!own.exists());
    }
}

#[test]
fn a_new_backup_inside_another_one_is_refused() {
    let profile = Profile::new();
    profile.put(1..3);
    let made = profile.back_up(1, 9).unwrap();
    let into =
        |folder: &Path| create(profile.store(), &profile.paths(), folder, 9, Timestamp(4 * HOUR), &quiet());
    for inside in ["inside", "further/inside", &format!("{}/inside", made.name)] {
        let inside = profile.folder().join(inside);
        let error = into(&inside).unwrap_err();
        let outer = profile.folder().canonicalize().unwrap();
        let message = format!("`{}` is inside the backup `{}`", inside.display(), outer.display());
        assert_eq!((error.code, error.message), (Code::InvalidArgument, message));
        assert!(!inside.exists());
    }
    // A backup that is there already is continued.
    profile.put(3..4);
    profile.back_up(3, 9).unwrap();
    let moved = profile.folder().join("moved");
    fs::create_dir(&moved).unwrap();
    fs::rename(profile.folder().join(&made.name), moved.join(&made.name)).unwrap();
    into(&moved).unwrap();
}

#[test]
fn a_file_that_is_being_written_is_no_part_of_a_backup() {
    let profile = Profile::new();
    profile.put(1..3);
    fs::write(profile.paths().agents().join(".poc-memory-Ab1~"), "half").unwrap();
    let made = profile.back_up(100, 9).unwrap();
    let agents = profile.folder().join(&made.name).join("agents");
    assert!(agents.join("one.toml").exists() && !agents.join(".poc-memory-Ab1~").exists());
}

#[test]
fn a_folder_with_other_files_and_no_backup_is_refused() {
    let profile = Profile::new();
    profile.put(1..3);
    let folder = profile.folder();
    fs::create_dir_all(folder.join("letters")).unwrap();
    fs::write(folder.join("diary.md"), "Dear diary").unwrap();
    let error = profile.back_up(1, 9).unwrap_err();
    let shown = folder.display();
    assert_eq!(error.message, format!("`{shown}` is not a backup folder: it contains `diary.md`"));
    assert_eq!((error.code, names(&folder)), (Code::Conflict, vec!["diary.md".to_owned(), "letters".into()]));
    fs::remove_file(folder.join("diary.md")).unwrap();
    assert!(profile.back_up(1, 9).unwrap_err().message.ends_with("it contains `letters`"));
    // A new disk, and what an interrupted first backup leaves behind.
    fs::remove_dir(folder.join("letters")).unwrap();
    let partial = format!("partial-{}", generation::name(1, Timestamp(0)));
    for own in ["lost+found", "System Volume Information", ".snapshots", partial.as_str()] {
        fs::create_dir(folder.join(own)).unwrap();
    }
    fs::write(folder.join("lock"), "").unwrap();
    profile.back_up(1, 9).unwrap();
    // Files that are added later do not prevent the next backup.
    fs::write(folder.join("README"), "The backups of my notes").unwrap();
    profile.put(3..4);
    profile.back_up(2, 9).unwrap();
    assert_eq!(generations(&folder).unwrap().len(), 2);
}

#[test]
fn a_damaged_log_is_not_backed_up() {
    let profile = Profile::new();
    profile.put(1..30);
    let segment = profile.paths().store().join("log/00000000000000000001.log");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[1000] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let error = profile.back_up(100, 9).unwrap_err();
    assert!(error.message.contains("damaged"), "{error}");
    assert_eq!(generations(&profile.folder()).unwrap().len(), 0);
}

#[test]
fn a_folder_that_cannot_be_created_is_named_with_a_remedy() {
    let home = poc_graph::testing::folder();
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    let error = crate::backup::create::create_folder(&file.join("backup")).unwrap_err();
    assert!(error.message.contains("file/backup` cannot be created"), "{error}");
    assert_eq!(error.hint.as_deref(), Some("choose a folder in which you may create files"));
}
