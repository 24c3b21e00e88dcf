//! Tests of generations and their restoration, with small segments.

mod archive;
mod create;
mod damaged_generations;
mod restore;

use super::*;
use poc_config::paths::Paths;
use poc_graph::error::Code;
use poc_graph::testing::node;
use poc_graph::time::Timestamp;
use poc_graph::{Node, Tuple};
use poc_store::testing::open_with_segments;
use poc_store::{Cause, Records, Store};
use std::fs;
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
        let home = poc_graph::testing::folder();
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
    fn restore_rest(&self, backup: &Path) -> Result<(RestoreReport, Paths, TempDir)> {
        restore_with(backup, RestoreOptions { point: RestorePoint::Newest, skip_damaged_files: true })
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

/// Restores a backup into a new home and returns it.
fn restore_from(backup: &Path, point: RestorePoint) -> Result<(RestoreReport, Paths, TempDir)> {
    restore_with(backup, whole(point))
}

/// Options that leave nothing out.
fn whole(point: RestorePoint) -> RestoreOptions {
    RestoreOptions { point, skip_damaged_files: false }
}

fn restore_with(backup: &Path, options: RestoreOptions) -> Result<(RestoreReport, Paths, TempDir)> {
    let home = poc_graph::testing::folder();
    let paths = Paths::in_folder(&home.path().join("restored"));
    let report = restore(backup, options, &paths, &quiet())?;
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
    for tuple in store.tenants().unwrap().into_iter().map(|named| named.tuple) {
        let of_tenant = store.for_tenant(&tuple).range::<Node>(&[]).unwrap();
        notes.extend(of_tenant.iter().map(|(_, node)| format!("{tuple} {node:?}")));
    }
    (log.collect(), notes)
}

fn reopened(paths: &Paths) -> Store {
    open_with_segments(&paths.store(), 1500).unwrap()
}
