//! Valid and invalid locations of a remote.

use super::super::{bind, locate, run};
use super::*;
use crate::testing::with_hash_embedder;
use poc_config::paths::Paths;
use poc_graph::rng::SeededRng;
use poc_graph::time::ManualClock;
use poc_store::testing::copy_folder;
use std::path::Path;
use std::sync::Arc;

const SILENT: SyncCallbacks<'_> = SyncCallbacks { progress: &|_, _, _| {}, check_cancelled: &|| Ok(()) };

/// Opens the memory in a folder.
fn open(paths: Paths, seed: u64) -> Memory {
    let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-11-21T08:00:00Z").unwrap()));
    Memory::open(
        paths,
        with_hash_embedder(Config::defaults().unwrap()),
        clock,
        Arc::new(SeededRng::new(seed)),
    )
    .unwrap()
}

fn write(memory: &Memory, key: &str, body: &str) {
    let draft = Draft { key: Some(key.into()), ..draft(body) };
    insert::insert(memory, draft, memory.cause("manual", "insert")).unwrap();
}

fn bound(memory: &Memory, location: RemoteLocation) {
    let trust = location.default_trust();
    bind(memory, &Binding { location, trust, bound: Timestamp(0), last: None }, "manual").unwrap();
}

fn describe(error: Error) -> String {
    format!("{}: {error}\n{}", error.code.name(), error.hint.as_deref().unwrap_or_default())
}

/// The contents of every file of a folder.
fn bytes(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(bytes(&path)),
            false => files.push((path.clone(), std::fs::read(&path).unwrap())),
        }
    }
    files.sort();
    files
}

#[test]
fn a_remote_is_a_profile_a_store_or_a_folder_with_one() {
    let folder = poc_graph::testing::folder();
    let home = Paths::in_folder(folder.path());
    let memory = open(home.clone(), 1);
    write(&memory, "ours", "We wrote this.");
    write(&open(home.of_profile("work").unwrap(), 2), "work", "Written at work.");
    write(&open(Paths::in_folder(&folder.path().join("disk")), 3), "disk", "Written elsewhere.");
    copy_folder(&folder.path().join("disk/store"), &folder.path().join("bare"));
    for (location, pulled) in [
        (RemoteLocation::Profile("work".into()), 1),
        (RemoteLocation::Folder(folder.path().join("disk")), 1),
        // A copy of the previous one, with the same notes.
        (RemoteLocation::Folder(folder.path().join("bare")), 0),
    ] {
        bound(&memory, location.clone());
        assert_eq!(run(&memory, false, &SILENT).unwrap().pulled, pulled, "{location}");
        assert_eq!(run(&memory, false, &SILENT).unwrap(), SyncReport::default(), "{location}");
        assert!(Binding::of(&memory.store).unwrap().unwrap().last.is_some());
    }
    assert_eq!(texts(&open(home.of_profile("work").unwrap(), 4)).len(), 2);
    let trust = |key: &str| named(&memory, key).trust;
    assert_eq!((trust("work"), trust("disk")), (Trust::User, Trust::External));
    let made = RemoteLocation::Folder(folder.path().join("new/one"));
    assert_eq!(locate(&memory, &made, false).err().unwrap().code, Code::NotFound);
    locate(&memory, &made, true).unwrap();
    bound(&memory, made);
    assert_eq!(run(&memory, false, &SILENT).unwrap().pushed, 3);
}

#[test]
fn an_invalid_remote_is_refused_and_not_changed() {
    let folder = poc_graph::testing::folder();
    let home = Paths::in_folder(folder.path());
    let memory = open(home.clone(), 1);
    let here = folder.path().display().to_string();
    let refused = |location: RemoteLocation| {
        bound(&memory, location);
        describe(run(&memory, false, &SILENT).unwrap_err()).replace(&here, "HOME")
    };
    insta::assert_snapshot!(describe(run(&memory, false, &SILENT).unwrap_err()), @r"
    not_found: this memory has no remote
    `poc-memory profile remote bind NAME` names a profile or a folder to synchronise with
    ");
    drop(open(home.of_profile("work").unwrap(), 2));
    insta::assert_snapshot!(refused(RemoteLocation::Profile("wrok".into())), @r"
    not_found: `remote`: there is no profile `wrok`
    did you mean `work`?
    ");
    insta::assert_snapshot!(refused(RemoteLocation::Folder(folder.path().join("nowhere"))), @r"
    not_found: `remote`: there is no folder `HOME/nowhere`
    is its disk mounted? `poc-memory profile remote bind --create HOME/nowhere` creates it
    ");
    assert!(!folder.path().join("nowhere").exists());
    insta::assert_snapshot!(refused(RemoteLocation::Profile("default".into())), @r"
    conflict: `remote`: the remote `default` is the local store itself
    name another profile or folder
    ");
    std::os::unix::fs::symlink(folder.path(), folder.path().join("link")).unwrap();
    insta::assert_snapshot!(refused(RemoteLocation::Folder(folder.path().join("link"))), @r"
    conflict: `remote`: the remote `HOME/link` is the local store itself
    name another profile or folder
    ");
    let work = open(home.of_profile("work").unwrap(), 3);
    let pid = std::process::id().to_string();
    insta::assert_snapshot!(refused(RemoteLocation::Profile("work".into())).replace(&pid, "PID"), @r"
    locked: the remote `work` is being synchronised already
    try again when that is done
    ");
    drop(work);
    // Written by a newer release: byte 8 of a segment is its format version.
    let store = home.of_profile("work").unwrap().store();
    let segment = store.join("log/00000000000000000001.log");
    if !segment.exists() {
        write(&open(home.of_profile("work").unwrap(), 3), "work", "Written at work.");
    }
    let mut header = std::fs::read(&segment).unwrap();
    header[8] = 9;
    let checksum = crc32c::crc32c(&header[..20]);
    header[20..24].copy_from_slice(&checksum.to_le_bytes());
    std::fs::write(&segment, header).unwrap();
    let before = bytes(&store);
    insta::assert_snapshot!(refused(RemoteLocation::Profile("work".into())), @r"
    conflict: the remote `work`: the store has format 9, this release reads formats up to 2
    use the release that wrote it, or a newer one; nothing was changed
    ");
    assert_eq!(bytes(&store), before);
}

#[test]
fn a_remote_that_lost_transactions_deletes_nothing() {
    let folder = poc_graph::testing::folder();
    let home = Paths::in_folder(folder.path());
    let memory = open(home.clone(), 1);
    let (work, saved) = (home.of_profile("work").unwrap(), folder.path().join("saved"));
    write(&open(work.clone(), 2), "work", "Written at work.");
    bound(&memory, RemoteLocation::Profile("work".into()));
    run(&memory, false, &SILENT).unwrap();
    copy_folder(&work.store(), &saved);
    write(&memory, "ours", "We wrote this.");
    assert_eq!(run(&memory, false, &SILENT).unwrap().pushed, 1);
    std::fs::remove_dir_all(work.store()).unwrap();
    copy_folder(&saved, &work.store());
    assert_eq!(counts(&run(&memory, false, &SILENT).unwrap()), (0, 0, 1));
    assert_eq!(texts(&memory).len(), 2);
    // A store that was created again under the same name.
    std::fs::remove_dir_all(work.store()).unwrap();
    write(&open(work.clone(), 3), "new", "Begun anew.");
    assert_eq!(counts(&run(&memory, false, &SILENT).unwrap()), (1, 0, 2));
    assert_eq!(run(&memory, false, &SILENT).unwrap(), SyncReport::default());
}

#[test]
fn a_copy_of_this_store_is_another_store() {
    let folder = poc_graph::testing::folder();
    let home = Paths::in_folder(&folder.path().join("home"));
    let memory = open(home.clone(), 1);
    write(&memory, "one", "Before the copy.");
    drop(memory);
    copy_folder(&home.store(), &folder.path().join("copy"));
    let memory = open(home, 2);
    write(&memory, "two", "After the copy.");
    bound(&memory, RemoteLocation::Folder(folder.path().join("copy")));
    assert_eq!(counts(&run(&memory, false, &SILENT).unwrap()), (0, 0, 1));
    assert_eq!(run(&memory, false, &SILENT).unwrap(), SyncReport::default());
    let copy = open(Paths::of_store(&folder.path().join("copy")), 3);
    delete(&copy, "one");
    drop(copy);
    assert_eq!(counts(&run(&memory, false, &SILENT).unwrap()), (0, 1, 0));
}
