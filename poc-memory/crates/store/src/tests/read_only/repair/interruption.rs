//! A repair that is interrupted is completed by the next open, or leaves nothing.

use super::*;

#[test]
fn an_interrupted_repair_is_completed_by_the_next_open() {
    let made = closed_store(COUNT);
    fs::remove_file(segment_files(&made.folder).remove(1)).unwrap();
    let before = bytes_of_files(made.folder.path());
    repaired(&made.folder, RepairSource::Records);
    let after = saved_bytes(made.folder.path());
    let manifest = made.folder.path().join("quarantine/repair-1/manifest.json");
    let journal: serde_json::Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    let moves: Vec<(PathBuf, PathBuf)> = serde_json::from_value(journal["moves"].clone()).unwrap();
    assert_eq!(moves.len(), 5);
    for done in 0..=moves.len() {
        let folder = poc_graph::testing::folder();
        let write = |path: &Path, bytes: &[u8]| {
            let target = folder.path().join(path);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::write(target, bytes).unwrap();
        };
        for (path, bytes) in &before {
            write(path.strip_prefix(made.folder.path()).unwrap(), bytes);
        }
        for (path, bytes) in &after {
            write(&Path::new("log.repaired").join(path.strip_prefix("log").unwrap()), bytes);
        }
        write(Path::new("repair.json"), &fs::read(&manifest).unwrap());
        fs::create_dir_all(folder.path().join("quarantine/repair-1")).unwrap();
        for (from, to) in moves.iter().take(done) {
            fs::rename(folder.path().join(from), folder.path().join(to)).unwrap();
        }
        let store = open_in(&folder, StoreOptions::default()).unwrap();
        assert_eq!((store.damage(), numbers(&store).len() as u64), (None, COUNT), "{done} moves");
        assert!(!folder.path().join("repair.json").exists());
        drop(store);
        undo_repair(folder.path(), &["index"]).unwrap();
        assert!(open_in(&folder, StoreOptions::default()).unwrap().damage().is_some());
    }
}

#[test]
fn an_open_deletes_what_a_killed_repair_has_prepared() {
    let made = closed_store(COUNT);
    let [log, notes] = prepared_by_repair().map(|name| made.folder.path().join(name));
    let half_written = notes.with_extension("partial");
    fs::create_dir(&log).unwrap();
    fs::write(log.join("1.log"), "text").unwrap();
    fs::write(&notes, "[]").unwrap();
    fs::write(&half_written, "[").unwrap();
    assert_eq!(open_in(&made.folder, StoreOptions::default()).unwrap().damage(), None);
    assert!(!log.exists() && !notes.exists() && !half_written.exists());
}
