//! Damaged generations: a new backup copies what is damaged again, and a restoration names what can still be restored.

use super::*;
use proptest::prelude::*;

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
    let missing = generations(&profile.folder()).unwrap()[0].known_problems();
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

/// The number of problems of each generation that are known without reading every file, newest first.
fn known_problems(profile: &Profile) -> Vec<usize> {
    generations(&profile.folder()).unwrap().iter().map(|one| one.known_problems().len()).collect()
}

/// Makes three generations, of which the last ends within a segment.
fn three_generations(profile: &Profile) -> Vec<BackupReport> {
    let rounds = [(100, 1..10), (101, 10..20), (102, 20..30)];
    let back_up = |(hour, notes)| {
        profile.put(notes);
        profile.back_up(hour, 9).unwrap()
    };
    rounds.into_iter().map(back_up).collect()
}

#[test]
fn intact_generations_are_not_deleted_in_favour_of_a_damaged_one() {
    let profile = Profile::new();
    let made = three_generations(&profile);
    // The next backup does not link the last segment, because it has grown.
    let last = &made[2].manifest.log.last().unwrap().file.path;
    let path = profile.folder().join(&made[2].name).join(last);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(known_problems(&profile), [0, 0, 0], "nothing has read it yet");
    profile.put(30..32);
    let newest = profile.back_up(110, 2).unwrap();
    assert_eq!(newest.damaged_generations, [made[2].name.as_str()]);
    assert_eq!(newest.removed, [made[0].name.as_str()]);
    assert_eq!(known_problems(&profile), [0, 1, 0]);
    let found = known_backups(&profile.paths()).found;
    assert_eq!(found[0].generation, newest.name);
    // It is deleted when there are enough newer ones.
    profile.put(32..34);
    let newest = profile.back_up(111, 2).unwrap();
    assert_eq!(newest.removed, [made[2].name.as_str(), made[1].name.as_str()]);
    assert_eq!(newest.damaged_generations, [""; 0]);
}

#[test]
fn what_a_check_finds_is_known_until_a_check_finds_nothing() {
    let profile = Profile::new();
    profile.put(1..30);
    let made = profile.back_up(100, 9).unwrap();
    let path = profile.folder().join(&made.name).join("agents/one.toml");
    let intact = fs::read(&path).unwrap();
    let damaged = vec![b' '; intact.len()];
    fs::write(&path, &damaged).unwrap();
    assert_eq!(known_problems(&profile), [0]);
    assert_eq!(known_backups(&profile.paths()).found.len(), 1);
    let found = profile.check().remove(0).problems;
    assert_eq!(generations(&profile.folder()).unwrap()[0].known_problems(), found);
    assert_eq!(known_backups(&profile.paths()).found.len(), 1, "its log is intact");
    fs::write(&path, &intact).unwrap();
    assert_eq!(known_problems(&profile), [1]);
    profile.check();
    assert_eq!(known_problems(&profile), [0]);
    // A backup that finds a damaged file remembers all generations that share it.
    profile.put(30..31);
    let second = profile.back_up(101, 9).unwrap();
    fs::write(&path, &damaged).unwrap();
    let third = profile.back_up(102, 9).unwrap();
    assert_eq!(third.damaged_generations, [second.name, made.name]);
    assert_eq!(known_problems(&profile), [0, 1, 1]);
}

#[test]
fn a_backup_that_is_interrupted_while_it_checks_older_ones_is_complete_and_deletes_nothing() {
    let profile = Profile::new();
    three_generations(&profile);
    profile.put(30..32);
    // The first interruption after which the backup succeeds comes after the generation was written.
    let interrupted = (0..1000).find_map(|allowed| {
        let check_cancelled = stops_after(allowed);
        let callbacks = BackupCallbacks { progress: &|_, _| {}, check_cancelled: &check_cancelled };
        let now = Timestamp(103 * HOUR);
        create(profile.store(), &profile.paths(), &profile.folder(), 2, now, &callbacks).ok()
    });
    let interrupted = interrupted.unwrap();
    assert_eq!(interrupted.removed, [""; 0]);
    assert_eq!(profile.check().len(), 4);
    let next = profile.back_up(104, 2).unwrap();
    assert!(next.unchanged && next.name == interrupted.name);
    assert_eq!(next.removed.len(), 2);
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
    for backup in [profile.folder(), profile.archive()] {
        let error = restore_from(&backup, RestorePoint::Newest).err().unwrap();
        assert!(error.hint.as_ref().unwrap().contains("`--skip-damaged-files`"), "{error:?}");
        let (report, paths, _home) = profile.restore_rest(&backup).unwrap();
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
    let (report, ..) = profile.restore(RestorePoint::at(Timestamp(29 * HOUR))).unwrap();
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

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// A changed or lost byte anywhere in a generation is found, and nothing is restored from it.
    #[test]
    fn any_damage_is_found(file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), flip in 1u8.., cut in any::<bool>()) {
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
