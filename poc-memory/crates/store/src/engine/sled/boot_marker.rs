//! Detects whether sled's files can be trusted after a crash of the whole machine.
//!
//! sled never calls fsync. A killed process loses nothing, because the operating system keeps what was written. A
//! machine that loses power may keep an arbitrary part of it. A marker file therefore names the boot of the machine in
//! which the directory was opened. It is removed at a clean close, after everything was synced. If an open finds the
//! marker of another boot, the directory is emptied and filled from the log.

use crate::disk;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const MARKER: &str = "open-since-boot";

/// The identifier of the current boot of the machine; `None` on systems without one, where no marker is written.
#[cfg(not(target_os = "macos"))]
fn current_boot() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()
}

/// The identifier of the current boot. The time of the boot cannot be used, because it changes when the clock is set.
#[cfg(target_os = "macos")]
fn current_boot() -> Option<String> {
    use sysctl::Sysctl as _;

    let boot = sysctl::Ctl::new("kern.bootsessionuuid").and_then(|setting| setting.value_string());
    boot.ok().filter(|boot| !boot.trim().is_empty())
}

/// Whether the machine has not stopped while the directory was open.
pub(in crate::engine) fn is_same_boot(directory: &Path) -> bool {
    survived_until(directory, current_boot().as_deref())
}

/// Like [`is_same_boot`], for a given boot of the machine; `None` if the boot is unknown.
fn survived_until(directory: &Path, boot: Option<&str>) -> bool {
    fs::read_to_string(directory.join(MARKER)).ok().is_none_or(|since| boot == Some(since.as_str()))
}

/// Marks a directory as open. Dropping this syncs the files and removes the marker.
pub(super) struct BootMarker {
    directory: PathBuf,
}

impl BootMarker {
    /// Marks the directory as open in the current boot of the machine.
    pub(super) fn start(directory: &Path) -> io::Result<BootMarker> {
        BootMarker::start_in(directory, current_boot().as_deref())
    }

    fn start_in(directory: &Path, boot: Option<&str>) -> io::Result<BootMarker> {
        let marker = directory.join(MARKER);
        if let Some(boot) = boot {
            if !survived_until(directory, Some(boot)) {
                tracing::warn!(
                    "the machine stopped while the store was open: the newest records are read from the log"
                );
                delete_files(directory, &mut disk::remove)?;
            }
            fs::create_dir_all(directory)?;
            if !marker.exists() {
                // An incomplete marker would look like one of another boot.
                write(&marker, boot).inspect_err(|_| drop(fs::remove_file(&marker)))?;
            }
            File::open(directory)?.sync_all()?;
        }
        Ok(BootMarker { directory: directory.to_owned() })
    }

    /// Syncs the files and removes the marker.
    fn end(&self) -> io::Result<()> {
        sync_all(&self.directory)?;
        match fs::remove_file(self.directory.join(MARKER)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => File::open(&self.directory)?.sync_all(),
        }
    }
}

impl Drop for BootMarker {
    fn drop(&mut self) {
        // A leftover marker only costs a rebuild after a power failure.
        if let Err(error) = self.end() {
            tracing::debug!("the record engine's files could not be synced: {error}");
        }
    }
}

/// Deletes the files in a directory with `remove`, the marker last: without it, an open after an interruption would
/// trust the files that are left.
fn delete_files(directory: &Path, remove: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    let marker = directory.join(MARKER);
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path != marker {
            remove(&path)?;
        }
    }
    remove(&marker)
}

fn write(marker: &Path, boot: &str) -> io::Result<()> {
    let mut file = File::create(marker)?;
    file.write_all(boot.as_bytes())?;
    file.sync_all()
}

/// Syncs all files and folders in a directory, and the directory itself.
fn sync_all(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_all(&entry.path())?;
        } else {
            File::open(entry.path())?.sync_all()?;
        }
    }
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_by_a_crash(directory: &Path, boot: &str) {
        std::mem::forget(BootMarker::start_in(directory, Some(boot)).unwrap());
        fs::write(directory.join("db"), "records").unwrap();
    }

    #[cfg(any(target_os = "linux", target_os = "macos"))]
    #[test]
    fn the_boot_is_known_and_stays_the_same() {
        assert!(current_boot().is_some_and(|boot| boot.trim().len() == 36));
        assert_eq!(current_boot(), current_boot());
    }

    #[test]
    fn a_crash_of_the_process_keeps_the_files() {
        let folder = poc_graph::testing::folder();
        left_by_a_crash(folder.path(), "one");
        drop(BootMarker::start_in(folder.path(), Some("one")).unwrap());
        assert!(folder.path().join("db").exists());
    }

    #[test]
    fn a_crash_of_the_machine_empties_the_directory() {
        let folder = poc_graph::testing::folder();
        let records = folder.path().join("records");
        left_by_a_crash(&records, "one");
        let _marker = BootMarker::start_in(&records, Some("two")).unwrap();
        assert!(!records.join("db").exists());
    }

    #[test]
    fn files_that_an_interrupted_deletion_leaves_are_not_trusted() {
        for steps in 0..4 {
            let folder = poc_graph::testing::folder();
            let records = folder.path().join("records");
            left_by_a_crash(&records, "one");
            fs::create_dir(records.join("blobs")).unwrap();
            fs::write(records.join("blobs/1"), "record").unwrap();
            let mut left = steps;
            let deleted = delete_files(&records, &mut |path| {
                if left == 0 {
                    return Err(io::Error::from(io::ErrorKind::Interrupted));
                }
                left -= 1;
                disk::remove(path)
            });
            assert_eq!(deleted.is_ok(), steps == 3);
            let is_empty = fs::read_dir(&records).unwrap().next().is_none();
            assert_eq!((survived_until(&records, Some("two")), is_empty), (steps == 3, steps == 3));
            drop(BootMarker::start_in(&records, Some("two")).unwrap());
            assert!(fs::read_dir(&records).unwrap().next().is_none());
        }
    }

    #[test]
    fn a_clean_close_is_trusted_after_any_boot() {
        let folder = poc_graph::testing::folder();
        left_by_a_crash(folder.path(), "one");
        drop(BootMarker::start_in(folder.path(), Some("one")).unwrap());
        drop(BootMarker::start_in(folder.path(), Some("two")).unwrap());
        assert!(folder.path().join("db").exists());
        assert!(!folder.path().join(MARKER).exists());
    }
}
