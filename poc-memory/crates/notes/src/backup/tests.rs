//! Tests of generations and their restoration, with small segments.

mod archive;

use super::*;
use poc_config::paths::Paths;
use poc_graph::error::Code;
use poc_graph::testing::node;
use poc_graph::time::Timestamp;
use poc_graph::{Node, Tuple};
use poc_store::testing::open_with_segments;
use poc_store::{Cause, Records, Store};
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const HOUR: i64 = 3_600_000;

/// A profile whose store has small segments, and a backup folder.
struct Profile {
    home: TempDir,
    store: Option<Store>,
}

impl Profile {
    fn new() -> Profile {
        let home = tempfile::tempdir().unwrap();
        let profile = Profile { home, store: None };
        fs::create_dir_all(profile.paths().agents()).unwrap();
        fs::write(profile.paths().config_file(), "[list]\nlimit = 5\n").unwrap();
        fs::write(profile.paths().agents().join("one.toml"), "query = \"all\"\n").unwrap();
        let store = open_with_segments(&profile.paths().store(), 1500).unwrap();
        Profile { store: Some(store), ..profile }
    }

    fn paths(&self) -> Paths {
        Paths::in_folder(&self.home.path().join("home"))
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("backup")
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    /// Stores the nodes of a range, each in a transaction an hour after the one before. Every third is of a tenant.
    fn put(&self, numbers: std::ops::Range<u64>) {
        for number in numbers {
            let store = match number % 3 {
                0 => self.store().for_tenant(&Tuple::new([("user", "ann")]).unwrap()),
                _ => self.store().clone(),
            };
            let at = Timestamp(number as i64 * HOUR);
            let cause = Cause::new(at, "manual", "test");
            let node = Node { tenant: store.tenant(), ..node(number) };
            store.transact(cause, |tx| tx.put_node(&node)).unwrap();
        }
    }

    /// Backs up at an hour.
    fn back_up(&self, hour: i64, keep: usize) -> Result<BackupReport> {
        create(self.store(), &self.paths(), &self.folder(), keep, Timestamp(hour * HOUR), &quiet())
    }

    /// Restores into a new home and returns it.
    fn restore(&self, point: RestorePoint) -> Result<(RestoreReport, Paths, TempDir)> {
        restore_from(&self.folder(), point)
    }

    /// Restores the undamaged files of the newest generation, also from an archive.
    fn restore_rest(&self, place: &Path) -> Result<(RestoreReport, Paths, TempDir)> {
        restore_with(place, RestoreOptions { point: RestorePoint::Newest, skip_damaged_files: true })
    }

    fn archive(&self) -> PathBuf {
        self.home.path().join("memory.tar")
    }

    /// Backs up into the archive at an hour.
    fn archive_at(&self, hour: i64) -> Result<BackupReport> {
        create_archive(self.store(), &self.paths(), &self.archive(), Timestamp(hour * HOUR), &quiet())
    }

    fn check_archive(&self) -> Vec<BackupCheck> {
        verify(&generations(&self.archive()).unwrap(), &quiet()).unwrap()
    }

    fn check(&self) -> Vec<BackupCheck> {
        verify(&generations(&self.folder()).unwrap(), &quiet()).unwrap()
    }
}

/// Restores a place into a new home and returns it.
fn restore_from(place: &Path, point: RestorePoint) -> Result<(RestoreReport, Paths, TempDir)> {
    restore_with(place, whole(point))
}

/// Options that leave nothing out.
fn whole(point: RestorePoint) -> RestoreOptions {
    RestoreOptions { point, skip_damaged_files: false }
}

fn restore_with(place: &Path, options: RestoreOptions) -> Result<(RestoreReport, Paths, TempDir)> {
    let home = tempfile::tempdir().unwrap();
    let paths = Paths::in_folder(&home.path().join("restored"));
    let report = restore(place, options, &paths, &quiet())?;
    Ok((report, paths, home))
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn quiet() -> BackupCallbacks<'static> {
    BackupCallbacks { progress: &|_, _| {}, check_cancelled: &|| Ok(()) }
}

/// A check that ends the operation after `calls` calls.
fn stops_after(calls: i64) -> impl Fn() -> Result<()> {
    let left = std::cell::Cell::new(calls);
    move || match left.get() {
        0 => Err(Error::new(Code::Unavailable, "stopped")),
        more => {
            left.set(more - 1);
            Ok(())
        }
    }
}

/// Every transaction of a store, with the notes of all tenants as they are.
fn content(store: &Store) -> (Vec<String>, Vec<String>) {
    let log = (1..=store.last_seq())
        .map(|seq| format!("{:?}", store.transaction_of_any_tenant(seq).unwrap().unwrap()));
    let mut notes = Vec::new();
    for (tuple, _) in store.tenants().unwrap() {
        let of_tenant = store.for_tenant(&tuple).range::<Node>(&[]).unwrap();
        notes.extend(of_tenant.iter().map(|(_, node)| format!("{tuple} {node:?}")));
    }
    (log.collect(), notes)
}

fn reopened(paths: &Paths) -> Store {
    open_with_segments(&paths.store(), 1500).unwrap()
}

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
fn a_damaged_earlier_file_is_copied_again() {
    let profile = Profile::new();
    profile.put(1..30);
    let first = profile.back_up(100, 9).unwrap();
    let path = profile.folder().join(&first.name).join(&first.manifest.log[1].file.path);
    let mut bytes = fs::read(&path).unwrap();
    bytes[600] ^= 1;
    fs::write(&path, bytes).unwrap();
    profile.put(30..31);
    let second = profile.back_up(101, 9).unwrap();
    assert_eq!(second.damaged, [path.display().to_string()]);
    let checks = profile.check();
    assert_eq!(checks[0].problems, [""; 0]);
    assert_eq!(checks[1].problems.len(), 1);
    assert_eq!(profile.restore(RestorePoint::Newest).unwrap().0.seq, 30);
}

#[test]
fn a_missing_file_of_an_unchanged_memory_is_copied_again() {
    let profile = Profile::new();
    profile.put(1..30);
    let first = profile.back_up(100, 9).unwrap();
    let lost = [first.manifest.log[1].file.path.as_str(), "agents/one.toml"];
    let lost = lost.map(|path| profile.folder().join(&first.name).join(path));
    lost.iter().for_each(|path| fs::remove_file(path).unwrap());
    let missing = generations(&profile.folder()).unwrap()[0].incomplete_files();
    assert_eq!(missing.len(), 2, "{missing:?}");
    let second = profile.back_up(101, 9).unwrap();
    assert!(!second.unchanged);
    assert_eq!(second.damaged, lost.map(|path| path.display().to_string()));
    assert_eq!(profile.check()[0].problems, [""; 0]);
    assert!(profile.back_up(102, 9).unwrap().unchanged);
    let (report, ..) = profile.restore(RestorePoint::Newest).unwrap();
    assert_eq!((report.seq, report.generation), (29, second.name));
}

#[test]
fn damaged_generations_do_not_count_as_kept() {
    let profile = Profile::new();
    let mut made = Vec::new();
    for round in 0..4 {
        profile.put(round * 10 + 1..round * 10 + 11);
        made.push(profile.back_up(100 + round as i64, 9).unwrap());
    }
    let file = |round: usize, path: &str| profile.folder().join(&made[round].name).join(path);
    // The newest generation lacks a file, and the previous one shares a file with the oldest whose content
    // has changed.
    fs::remove_file(file(3, &made[3].manifest.log.last().unwrap().file.path)).unwrap();
    let shared = file(2, &made[2].manifest.log[0].file.path);
    let mut bytes = fs::read(&shared).unwrap();
    bytes[100] ^= 1;
    fs::remove_file(file(1, &made[1].manifest.log[0].file.path)).unwrap();
    fs::copy(&shared, file(1, &made[1].manifest.log[0].file.path)).unwrap();
    fs::write(&shared, bytes).unwrap();
    let last = profile.back_up(110, 2).unwrap();
    assert_eq!(last.removed, [made[0].name.as_str()]);
    let intact = profile.check().into_iter().filter(|check| check.problems.is_empty());
    let intact: Vec<String> = intact.map(|check| check.name).collect();
    assert_eq!(intact, [last.name, made[1].name.clone()]);
    // A smaller number of generations takes effect even if the memory has not changed.
    let same = profile.back_up(111, 1).unwrap();
    assert!(same.unchanged);
    assert_eq!(same.removed.len(), 3);
    assert_eq!(profile.check().len(), 1);
}

#[test]
fn damaged_files_beside_the_log_can_be_left_out() {
    let profile = Profile::new();
    profile.put(1..30);
    let made = profile.back_up(100, 9).unwrap();
    profile.archive_at(100).unwrap();
    let whole = fs::read(profile.archive()).unwrap();
    let agent = b"query = \"all\"\n";
    let at = whole.windows(agent.len()).position(|bytes| bytes == agent).unwrap();
    let mut damaged = whole.clone();
    damaged[at] ^= 1;
    fs::write(profile.archive(), damaged).unwrap();
    fs::write(profile.folder().join(&made.name).join("agents/one.toml"), "query = \"none\"\n").unwrap();
    for place in [profile.folder(), profile.archive()] {
        let error = restore_from(&place, RestorePoint::Newest).err().unwrap();
        assert!(error.hint.as_ref().unwrap().contains("`--skip-damaged-files`"), "{error:?}");
        let (report, paths, _home) = profile.restore_rest(&place).unwrap();
        assert_eq!((report.seq, report.notes, report.left_out.len()), (29, 29, 1));
        assert!(report.left_out[0].starts_with("`agents/one.toml` "), "{:?}", report.left_out);
        assert!(paths.config_file().exists() && !paths.agents().join("one.toml").exists());
    }
    // Damage of the log is never left out.
    let segment = profile.folder().join(&made.name).join(&made.manifest.log[0].file.path);
    fs::write(&segment, "").unwrap();
    assert_eq!(profile.restore_rest(&profile.folder()).err().unwrap().code, Code::Damaged);
}

#[test]
fn a_new_file_of_a_compressed_format_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let error = is_archive(&home.path().join("backup.tgz")).unwrap_err();
    let field = error.at.as_ref().and_then(|at| at.field.as_deref());
    assert_eq!((error.code, field), (Code::InvalidArgument, Some("path")));
    assert!(is_archive(&home.path().join("backup.tar")).unwrap());
    // Folders have any name.
    fs::create_dir(home.path().join("backup.zip")).unwrap();
    for folder in ["backup.zip", "backup", "backup.2026"] {
        assert!(!is_archive(&home.path().join(folder)).unwrap(), "{folder}");
    }
}

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
    for place in [profile.folder(), profile.folder().join("renamed")] {
        let (report, ..) = restore_from(&place, RestorePoint::Newest).unwrap();
        assert_eq!((report.seq, report.generation), (4, newest.name.clone()));
    }
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
fn nothing_is_restored_into_the_backup() {
    let profile = Profile::new();
    profile.put(1..3);
    let made = profile.back_up(100, 9).unwrap();
    let paths = Paths::in_folder(&profile.folder().join(&made.name).join("inside"));
    let error = restore(&profile.folder(), whole(RestorePoint::Newest), &paths, &quiet()).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument);
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
fn a_time_selects_the_last_transaction_before_it() {
    let profile = Profile::new();
    profile.put(1..20);
    profile.back_up(19, 9).unwrap();
    profile.put(20..40);
    let newest = profile.back_up(39, 9).unwrap();
    let at = |milliseconds| profile.restore(RestorePoint::At(Timestamp(milliseconds)));
    for (time, seq) in [(HOUR, 1), (17 * HOUR + 5, 17), (19 * HOUR, 19), (19 * HOUR + 1, 19), (39 * HOUR, 39)]
    {
        let (report, ..) = at(time).unwrap();
        assert_eq!(
            (report.seq, report.at, &report.generation),
            (seq, Timestamp(seq as i64 * HOUR), &newest.name)
        );
    }
    for (time, message) in
        [(39 * HOUR + 1, "no backup is as new as"), (HOUR - 1, "no backup has a transaction of")]
    {
        let error = at(time).err().unwrap();
        assert_eq!(error.code, Code::NotFound);
        assert!(error.message.starts_with(message), "{error}");
    }
    let error = profile.restore(RestorePoint::Seq(40)).err().unwrap();
    assert_eq!((error.code, error.message.as_str()), (Code::NotFound, "no backup has transaction 40"));
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
    let home = tempfile::tempdir().unwrap();
    let paths = Paths::in_folder(home.path());
    let reader = reopened(&paths);
    let error = restore(&profile.folder(), whole(RestorePoint::Newest), &paths, &quiet()).unwrap_err();
    assert_eq!(error.code, Code::Locked);
    drop(reader);
    let report = restore(&profile.folder(), whole(RestorePoint::Newest), &paths, &quiet()).unwrap();
    assert_eq!((report.seq, content(&reopened(&paths))), (4, content(profile.store())));
}

#[test]
fn without_an_intact_newest_generation_an_older_one_is_recommended() {
    let profile = Profile::new();
    profile.put(1..30);
    profile.back_up(100, 9).unwrap();
    profile.put(30..60);
    let newest = profile.back_up(101, 9).unwrap();
    let last = newest.manifest.log.last().unwrap();
    fs::remove_file(profile.folder().join(&newest.name).join(&last.file.path)).unwrap();
    let error = profile.restore(RestorePoint::Newest).err().unwrap();
    assert_eq!(error.code, Code::Damaged);
    assert!(error.hint.as_ref().unwrap().contains("--to 29"), "{error:?}");
    // The damaged part is not needed for an earlier state.
    let (report, ..) = profile.restore(RestorePoint::Seq(29)).unwrap();
    assert_eq!((report.seq, report.generation, report.skipped.len()), (29, newest.name, 0));
    // To find the state at a time, the whole generation is read, so the older one is used.
    let (report, ..) = profile.restore(RestorePoint::At(Timestamp(29 * HOUR))).unwrap();
    assert_eq!((report.seq, report.skipped.len()), (29, 1));
}

#[test]
fn an_older_generation_with_an_intact_log_is_recommended_if_none_is_intact() {
    let profile = Profile::new();
    profile.put(1..30);
    let older = profile.back_up(100, 9).unwrap();
    profile.put(30..60);
    let newest = profile.back_up(101, 9).unwrap();
    let last = newest.manifest.log.last().unwrap();
    fs::remove_file(profile.folder().join(&newest.name).join(&last.file.path)).unwrap();
    fs::remove_file(profile.folder().join(&older.name).join("agents/one.toml")).unwrap();
    let error = profile.restore(RestorePoint::Newest).err().unwrap();
    assert!(error.hint.as_ref().unwrap().contains("`--to 29 --skip-damaged-files`"), "{error:?}");
    let options = RestoreOptions { point: RestorePoint::Seq(29), skip_damaged_files: true };
    let (report, ..) = restore_with(&profile.folder(), options).unwrap();
    assert_eq!((report.seq, report.notes), (29, 29));
}

proptest! {
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

    /// A changed or lost byte anywhere in a generation is found, and nothing is restored from it.
    #[test]
    fn any_damage_is_found(file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), flip in 1u8.., cut: bool) {
        let profile = Profile::new();
        profile.put(1..12);
        let report = profile.back_up(100, 9).unwrap();
        let folder = profile.folder().join(&report.name);
        let own = ["manifest.json", "manifest.b3"].map(str::to_owned);
        let files: Vec<String> =
            report.manifest.all_files().map(|file| file.path.clone()).chain(own).collect();
        let path = folder.join(&files[file.index(files.len())]);
        let mut bytes = fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= flip }
        fs::write(&path, bytes).unwrap();
        let checks = profile.check();
        prop_assert!(!checks[0].problems.is_empty(), "{}", path.display());
        let error = profile.restore(RestorePoint::Newest).err();
        prop_assert_eq!(error.map(|error| error.code), Some(Code::Damaged));
    }
}
