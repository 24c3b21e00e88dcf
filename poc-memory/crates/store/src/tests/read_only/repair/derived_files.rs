//! A repair deletes files that were derived from the log before it.

use super::*;

/// A repair replaces earlier transactions and keeps the last one, by which a derived file is recognised.
#[test]
fn a_repair_deletes_derived_files() {
    let made = closed_store(0);
    let fingerprint = crate::atomic_file::Fingerprint::of("found 1");
    let open = || open_in(&made.folder, StoreOptions::default()).unwrap();
    assert!(open().save_derived("found", fingerprint, b"1").unwrap());
    assert!(open().load_derived("found", fingerprint).unwrap().is_some());
    let (path, begin, _) = &made.locations[4];
    let mut log = fs::read(path).unwrap();
    log[*begin as usize + 20] ^= 0x10;
    fs::write(path, log).unwrap();
    assert!(open().damage().is_some());
    repaired(&made.folder, RepairSource::IntactLog);
    assert_eq!(open().damage(), None);
    assert_eq!(open().load_derived("found", fingerprint).unwrap(), None);
}

#[test]
fn a_repair_deletes_indexes_of_the_old_log() {
    let made = closed_store(COUNT);
    fs::remove_file(segment_files(&made.folder).remove(1)).unwrap();
    let index = made.folder.path().join("index");
    let write = || {
        fs::create_dir_all(&index).unwrap();
        fs::write(index.join("snapshot"), "of the old log").unwrap();
    };
    write();
    repaired(&made.folder, RepairSource::IntactLog);
    assert!(!index.exists());
    write();
    undo_repair(made.folder.path(), &["index"]).unwrap();
    assert!(!index.exists());
}
