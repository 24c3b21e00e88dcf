//! Temporary folders.

use std::path::Path;
use tempfile::TempDir;

/// The free memory that must be left for folders of tests to be in memory, in bytes. A PostgreSQL server needs 60 MB,
/// and each of its tests has one or two.
const MIN_FREE_BYTES: u64 = 2 << 30;

/// `ST_NOEXEC` of Linux: no program can be started from the file system. On other systems, `rustix` does not have it.
const ST_NOEXEC: u64 = 8;

/// A new folder for a test. It is in memory where that is possible, because tests create, sync and delete tens of
/// thousands of files, and on a disk, that takes longer than everything else.
pub fn folder() -> TempDir {
    let in_memory = memory_folder().and_then(|memory| tempfile::tempdir_in(memory).ok());
    // On macOS, the folder of temporary files is behind a link, and file events contain the path without it.
    in_memory.unwrap_or_else(|| tempfile::tempdir_in(std::env::temp_dir().canonicalize().unwrap()).unwrap())
}

/// The folder whose files are in memory. `None` if it has no room for those of several tests, if no programs can be
/// started from it, or if `TMPDIR` names another folder.
pub fn memory_folder() -> Option<&'static Path> {
    let folder = Path::new("/dev/shm");
    let found = rustix::fs::statvfs(folder).ok()?;
    let has_room = found.f_bavail.saturating_mul(found.f_frsize) >= MIN_FREE_BYTES;
    let runs_programs = found.f_flag.bits() & ST_NOEXEC == 0;
    (has_room && runs_programs && std::env::var_os("TMPDIR").is_none()).then_some(folder)
}
