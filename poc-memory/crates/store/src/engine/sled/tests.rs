//! Tests of damaged, locked and failing databases of sled.

use super::*;
use poc_graph::error::Code;
use rustix::io::Errno;

fn engine(folder: &tempfile::TempDir) -> Result<SledEngine> {
    SledEngine::open(folder.path())
}

#[test]
fn damage_is_reported_and_marked_for_the_next_open() {
    let corruption = |_: &sled::Db| -> sled::Result<()> { Err(sled::Error::Corruption { at: None, bt: () }) };
    let panic = |_: &sled::Db| -> sled::Result<()> { panic!("boom") };
    for (operation, expected) in [
        (corruption as fn(&sled::Db) -> sled::Result<()>, "the file `db` differs from what was written"),
        (panic, "panic: boom"),
    ] {
        let folder = poc_graph::testing::folder();
        let damaged = engine(&folder).unwrap();
        let error = damaged.run(operation).unwrap_err();
        assert_eq!(error.message, format!("the records are damaged: {expected}"));
        assert!(error.hint.is_some());
        drop(damaged);
        let error = engine(&folder).err().unwrap();
        insta::allow_duplicates! { insta::assert_snapshot!(error, @"damage was found when the records were last in use"); }
    }
}

/// The settings are the same in every folder, so a copy does without the file.
#[test]
fn a_copy_opens_with_damaged_settings() {
    let folder = poc_graph::testing::folder();
    let made = engine(&folder).unwrap();
    let changes = vec![(b"key".to_vec(), Some(b"value".to_vec()))];
    made.apply(changes.into(), Watermark { seq: 3, checksum: 4 }).unwrap();
    drop(made);
    let settings = folder.path().join(SETTINGS);
    let original = std::fs::read(&settings).unwrap();
    for at in (0..original.len()).step_by(4) {
        let mut flipped = original.clone();
        flipped[at] ^= 0x21;
        std::fs::write(&settings, flipped).unwrap();
        let copy = SledEngine::open_copy(folder.path()).unwrap();
        assert_eq!(copy.get(b"key").unwrap().as_deref(), Some(b"value".as_slice()), "byte {at}");
        drop(copy);
        assert_eq!(std::fs::read(&settings).unwrap(), original, "byte {at}");
    }
}

/// A snapshot has nothing that sled's file lacks.
#[test]
fn a_copy_opens_with_a_damaged_snapshot() {
    let folder = poc_graph::testing::folder();
    for seq in 1..=3 {
        let made = engine(&folder).unwrap();
        let changes = vec![(vec![seq as u8], Some(b"value".to_vec()))];
        made.apply(changes.into(), Watermark { seq, checksum: 4 }).unwrap();
    }
    let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let is_snapshot = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(SNAPSHOT);
    let snapshots: Vec<PathBuf> = entries.filter(is_snapshot).collect();
    assert!(!snapshots.is_empty());
    for path in snapshots {
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x21;
        std::fs::write(path, bytes).unwrap();
    }
    assert!(SledEngine::open_copy(folder.path()).is_err());
    let copy = SledEngine::open_damaged_copy(folder.path()).unwrap();
    assert_eq!(copy.newest_seq().unwrap(), 3);
    for seq in 1..=3 {
        assert_eq!(copy.get(&[seq]).unwrap().as_deref(), Some(b"value".as_slice()), "{seq}");
    }
}

#[test]
fn opening_waits_for_a_lock_that_is_about_to_be_released() {
    let folder = poc_graph::testing::folder();
    let first = engine(&folder).unwrap();
    std::thread::scope(|scope| {
        let second = scope.spawn(|| engine(&folder).map(drop));
        // The second opener is refused at least once, or comes late and finds the lock free. Both are fine.
        drop(first);
        second.join().unwrap().unwrap();
    });
    let _held = engine(&folder).unwrap();
    let held = sled::Config::new().path(folder.path()).open().unwrap_err();
    assert!(matches!(&held, sled::Error::Io(error) if is_locked(error)), "{held}");
}

#[test]
fn a_failing_disk_is_not_damage() {
    for errno in [Errno::NOSPC, Errno::DQUOT, Errno::FBIG, Errno::IO, Errno::ROFS] {
        // sled copies an error when it returns it more than once.
        for copies in 0..2 {
            let folder = poc_graph::testing::folder();
            let failing = engine(&folder).unwrap();
            let mut failure = sled::Error::Io(errno.into());
            (0..copies).for_each(|_| failure = failure.clone());
            let error = failing.run(|_| -> sled::Result<()> { Err(failure) }).unwrap_err();
            assert!(error.message.starts_with("the record engine failed: "), "{error}");
            assert_eq!(error.code, Code::ReadOnly, "{error}");
            assert!(failing.has_failed(), "{error}");
            drop(failing);
            assert!(engine(&folder).is_ok(), "{error}");
        }
    }
}
