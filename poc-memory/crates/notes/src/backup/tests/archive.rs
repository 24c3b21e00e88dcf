//! Tests of backups in one file, including files from an untrusted source.

use super::*;
use proptest::prelude::*;

#[test]
fn an_archive_has_one_generation_and_is_replaced() {
    let profile = Profile::new();
    profile.put(1..30);
    let first = profile.archive_at(100).unwrap();
    assert_eq!((first.manifest.seq, first.linked.files, first.unchanged), (29, 0, false));
    assert_eq!(profile.check_archive(), [BackupCheck { name: first.name.clone(), problems: Vec::new() }]);
    let bytes = fs::read(profile.archive()).unwrap();
    let again = profile.archive_at(101).unwrap();
    assert_eq!((again.unchanged, &again.name, again.copied), (true, &first.name, FileTotals::default()));
    assert_eq!(fs::read(profile.archive()).unwrap(), bytes);
    profile.put(30..40);
    let expected = content(profile.store());
    let second = profile.archive_at(102).unwrap();
    assert_eq!((second.manifest.seq, second.unchanged), (39, false));
    for (point, seq) in [
        (RestorePoint::Newest, 39),
        (RestorePoint::Seq(12), 12),
        (RestorePoint::at(Timestamp(29 * HOUR)), 29),
    ] {
        let (report, paths, _home) = restore_from(&profile.archive(), point).unwrap();
        assert_eq!((report.seq, report.notes, &report.generation), (seq, seq, &second.name));
        assert_eq!(names(paths.store().parent().unwrap()), ["agents", "config.toml", "store"]);
        let (log, notes) = content(&reopened(&paths));
        assert_eq!(log, expected.0[..seq as usize]);
        assert!(seq < 39 || notes == expected.1);
    }
    assert_eq!(names(profile.home.path()), ["home", "memory.tar"], "nothing else is left");
    let found = search(&profile.paths(), &|_| true, &quiet());
    assert_eq!((found.found, found.unread), (vec![profile.archive()], Vec::new()));
    // Unpacked, it is a backup folder, into which further generations can be written.
    tar::Archive::new(fs::File::open(profile.archive()).unwrap()).unpack(profile.folder()).unwrap();
    profile.put(40..41);
    let third = profile.back_up(103, 9).unwrap();
    assert!(third.linked.files > 3, "{third:?}");
    assert!(profile.check().len() == 2 && profile.check().iter().all(|check| check.problems.is_empty()));
}

#[test]
fn an_archive_replaces_nothing_else() {
    let profile = Profile::new();
    profile.put(1..3);
    for other in [&b"photographs"[..], b"", &[0; 2048]] {
        fs::write(profile.archive(), other).unwrap();
        let error = profile.archive_at(100).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        assert!(error.message.contains("memory.tar` is not a backup"), "{error}");
        assert_eq!(
            restore_from(&profile.archive(), RestorePoint::Newest).err().unwrap().code,
            Code::InvalidArgument
        );
        assert_eq!(fs::read(profile.archive()).unwrap(), other);
    }
    fs::remove_file(profile.archive()).unwrap();
    profile.archive_at(100).unwrap();
    let other = Profile::new();
    other.put(2..4);
    let paths = other.paths();
    let error =
        create_archive(other.store(), &paths, &profile.archive(), Timestamp(3), &quiet()).unwrap_err();
    assert!(error.message.contains("has backups of another memory"), "{error}");
    let inside = paths.store().join("memory.tar");
    let error = create_archive(other.store(), &paths, &inside, Timestamp(3), &quiet()).unwrap_err();
    assert!(error.message.contains("which is part of the memory"), "{error}");
    assert_eq!(profile.check_archive()[0].problems, [""; 0]);
}

#[test]
fn an_archive_with_changes_that_the_memory_lacks_is_not_replaced() {
    let profile = Profile::new();
    profile.put(1..20);
    profile.archive_at(100).unwrap();
    let bytes = fs::read(profile.archive()).unwrap();
    let (_, paths, _home) = restore_from(&profile.archive(), RestorePoint::Seq(12)).unwrap();
    let earlier = reopened(&paths);
    let back_up =
        |store: &Store| create_archive(store, &paths, &profile.archive(), Timestamp(101 * HOUR), &quiet());
    let check = |refused: Result<BackupReport>| {
        let error = refused.unwrap_err();
        assert_eq!(error.code, Code::Conflict);
        assert!(error.message.ends_with("it has changes that this memory lacks"), "{error}");
        assert_eq!(fs::read(profile.archive()).unwrap(), bytes);
    };
    check(back_up(&earlier));
    // An archive of a copy with other changes is not replaced either.
    for number in 100..120 {
        earlier
            .transact(Cause::new(Timestamp(1), "manual", "test"), |tx| tx.put_node(&node(number)))
            .unwrap();
    }
    check(back_up(&earlier));
    // An archive with a damaged manifest may contain anything.
    let mut damaged = bytes.clone();
    let at = damaged.windows(8).position(|part| part == b"\"format\"").unwrap();
    damaged[at] ^= 1;
    fs::write(profile.archive(), &damaged).unwrap();
    assert!(profile.archive_at(102).unwrap_err().message.contains("is not replaced: `manifest.json`"));
    assert_eq!(fs::read(profile.archive()).unwrap(), damaged);
    // Damage elsewhere is replaced.
    let mut damaged = bytes.clone();
    let at = damaged.windows(8).rposition(|part| part == b"pipeline" || part == b"query = ").unwrap();
    damaged[at] ^= 1;
    fs::write(profile.archive(), &damaged).unwrap();
    let replaced = profile.archive_at(103).unwrap();
    assert_eq!((replaced.unchanged, replaced.damaged.len()), (false, 1));
    assert_eq!(profile.check_archive()[0].problems, [""; 0]);
}

#[test]
fn a_link_to_an_archive_stays_a_link() {
    let profile = Profile::new();
    profile.put(1..3);
    let disk = profile.home.path().join("disk");
    fs::create_dir(&disk).unwrap();
    fs::write(disk.join("real.tar"), "").unwrap();
    std::os::unix::fs::symlink(disk.join("real.tar"), profile.archive()).unwrap();
    fs::remove_file(disk.join("real.tar")).unwrap();
    assert_eq!(profile.archive_at(100).unwrap_err().code, Code::Unavailable, "the link leads nowhere");
    let own = profile.home.path().join("own.tar");
    create_archive(profile.store(), &profile.paths(), &own, Timestamp(100 * HOUR), &quiet()).unwrap();
    fs::rename(own, disk.join("real.tar")).unwrap();
    profile.put(3..5);
    assert_eq!(profile.archive_at(101).unwrap().manifest.seq, 4);
    assert!(profile.archive().is_symlink());
    assert_eq!(names(&disk), ["real.tar"]);
}

/// An archive with the files of a real one and one hand-made file.
fn with_one_more(real: &Path, name: &[u8], kind: tar::EntryType) -> Vec<u8> {
    let mut bytes = fs::read(real).unwrap();
    // The end of an archive is two blocks of zeros.
    bytes.truncate(bytes.len() - 1024);
    let mut header = tar::Header::new_gnu();
    header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    header.set_size(if kind == tar::EntryType::Regular { 4 } else { 0 });
    if kind != tar::EntryType::Regular {
        header.set_link_name("/etc/passwd").unwrap();
    }
    header.set_cksum();
    bytes.extend_from_slice(header.as_bytes());
    if kind == tar::EntryType::Regular {
        bytes.extend_from_slice(b"evil");
        bytes.resize(bytes.len() + 508, 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

#[test]
fn an_untrusted_archive_writes_nothing_elsewhere() {
    use tar::EntryType::{Directory, Link, Regular, Symlink};
    let profile = Profile::new();
    profile.put(1..5);
    let generation = profile.archive_at(100).unwrap().name;
    let real = profile.home.path().join("real.tar");
    fs::rename(profile.archive(), &real).unwrap();
    let target = profile.home.path().join("elsewhere");
    let outside = target.display().to_string();
    let cases = [
        (format!("{generation}/{outside}/file"), Regular),
        (format!("{generation}//{outside}/file"), Regular),
        (format!("{outside}/file"), Regular),
        (format!("{generation}/../../elsewhere/file"), Regular),
        (format!("{generation}/./config.toml"), Regular),
        (format!("{generation}/agents/unlisted.toml"), Regular),
        (format!("{generation}/config.toml"), Regular),
        (format!("{generation}/manifest.json"), Regular),
        ("00000000000000000009-20261121T080000.000Z/config.toml".to_owned(), Regular),
        (format!("{generation}/link"), Symlink),
        (format!("{generation}/link"), Link),
        (format!("{generation}/folder/"), Directory),
    ];
    for (name, kind) in cases {
        if name.len() > 100 {
            continue;
        }
        fs::write(profile.archive(), with_one_more(&real, name.as_bytes(), kind)).unwrap();
        let checks = profile.check_archive();
        assert_eq!(checks[0].problems.len(), 1, "{name}: {checks:?}");
        let error = restore_from(&profile.archive(), RestorePoint::Newest).err().unwrap();
        assert!(error.message.starts_with("the backup is damaged and was not restored"), "{name}: {error}");
        assert!(!target.exists(), "{name}");
    }
}

#[test]
fn an_interrupted_archive_leaves_the_earlier_one() {
    let profile = Profile::new();
    profile.put(1..30);
    profile.archive_at(100).unwrap();
    let bytes = fs::read(profile.archive()).unwrap();
    profile.put(30..40);
    let mut hour = 101;
    for allowed in 0.. {
        let check_cancelled = stops_after(allowed);
        let callbacks = BackupCallbacks { progress: &|_, _| {}, check_cancelled: &check_cancelled };
        hour += 1;
        let now = Timestamp(hour * HOUR);
        let made = create_archive(profile.store(), &profile.paths(), &profile.archive(), now, &callbacks);
        if made.is_ok() {
            break;
        }
        assert_eq!(fs::read(profile.archive()).unwrap(), bytes);
        assert_eq!(names(profile.home.path()), ["home", "memory.tar"]);
    }
    assert_eq!(profile.check_archive()[0].problems, [""; 0]);
    // The next backup deletes the leftovers of a killed process.
    profile.put(40..50);
    let partial = profile.home.path().join(".memory.tar.backup-partial");
    fs::create_dir_all(partial.join("generations/partial-x")).unwrap();
    fs::write(partial.join("archive.tar"), "half").unwrap();
    assert_eq!(profile.archive_at(hour + 1).unwrap().manifest.seq, 49);
    assert_eq!(names(profile.home.path()), ["home", "memory.tar"]);
}

/// As a folder whose later files are missing.
#[test]
fn the_log_of_an_archive_that_is_cut_off_after_it_is_restored() {
    let profile = Profile::new();
    profile.put(1..12);
    let generation = profile.archive_at(100).unwrap().name;
    let expected = content(profile.store());
    let whole = fs::read(profile.archive()).unwrap();
    let in_archive = |path: &str| {
        let name = format!("{generation}/{path}");
        whole.windows(name.len()).position(|part| part == name.as_bytes()).unwrap()
    };
    // Within a header, at its end, and within the file after the log.
    for at in [
        in_archive("agents/one.toml") + 40,
        in_archive("agents/one.toml") + 512,
        in_archive("config.toml") + 515,
    ] {
        fs::write(profile.archive(), &whole[..at]).unwrap();
        let error = restore_from(&profile.archive(), RestorePoint::Newest).err().unwrap();
        assert_eq!(error.code, Code::Damaged);
        assert!(error.message.contains("the archive is damaged after `"), "{error}");
        assert!(error.hint.as_ref().unwrap().contains("`--skip-damaged-files`"), "{error:?}");
        let (report, paths, _home) = profile.restore_rest(&profile.archive()).unwrap();
        assert_eq!((report.seq, report.left_out.is_empty()), (11, false), "{report:?}");
        assert_eq!(content(&reopened(&paths)), expected);
    }
    // The log is not left out.
    fs::write(profile.archive(), &whole[..in_archive("log/0") + 600]).unwrap();
    let error = profile.restore_rest(&profile.archive()).err().unwrap();
    assert_eq!(error.code, Code::Damaged);
    assert!(error.hint.as_ref().unwrap().contains("no generation has an intact log"), "{error:?}");
}

#[test]
fn a_new_file_of_a_compressed_format_is_refused() {
    let home = poc_graph::testing::folder();
    let error = is_archive(&home.path().join("backup.tgz")).unwrap_err();
    let field = error.at.as_ref().and_then(|at| at.field.as_deref());
    assert_eq!((error.code, field), (Code::InvalidArgument, Some("path")));
    assert!(is_archive(&home.path().join("backup.tar")).unwrap());
    assert!(is_archive(&home.path().join("backup.TAR")).unwrap());
    // Folders have any name.
    fs::create_dir(home.path().join("backup.zip")).unwrap();
    for folder in ["backup.zip", "backup", "backup.2026"] {
        assert!(!is_archive(&home.path().join(folder)).unwrap(), "{folder}");
    }
}

poc_laws::laws! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// A changed or lost byte anywhere in an archive is found, or changes nothing: the padding between files has no
    /// checksum.
    #[test]
    fn damage_of_an_archive_is_found(at in any::<prop::sample::Index>(), flip in 1u8.., cut in any::<bool>()) {
        let profile = Profile::new();
        profile.put(1..12);
        profile.archive_at(100).unwrap();
        let expected = content(profile.store());
        let mut bytes = fs::read(profile.archive()).unwrap();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] ^= flip }
        fs::write(profile.archive(), bytes).unwrap();
        let checked = generations(&profile.archive()).and_then(|found| verify(&found, &quiet()));
        let is_found = checked.is_err() || checked.unwrap().iter().any(|check| !check.problems.is_empty());
        match restore_from(&profile.archive(), RestorePoint::Newest) {
            Ok((_, paths, _home)) => prop_assert_eq!(content(&reopened(&paths)), expected),
            Err(_) => prop_assert!(is_found, "byte {} is not restored and not found", at),
        }
    }
}
