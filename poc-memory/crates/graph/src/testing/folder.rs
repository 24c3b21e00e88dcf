//! Temporary folders.

use std::path::Path;
use tempfile::TempDir;

/// The free memory that the folders of tests need if they are in memory, in bytes. A PostgreSQL server has 60 MB, and
/// each of its tests has one or two.
const MEMORY_BYTES: u64 = 2 << 30;

/// The flag of a file system from which no programs can be started (`ST_NOEXEC` on Linux).
const NO_PROGRAMS: u64 = 8;

/// A new folder for a test. It is in memory where that is possible: tests create, sync and delete tens of thousands of
/// files, which costs a disk more than everything else.
pub fn folder() -> TempDir {
    let in_memory = memory_folder().and_then(|memory| tempfile::tempdir_in(memory).ok());
    in_memory.unwrap_or_else(|| tempfile::tempdir().unwrap())
}

/// The folder whose files are in memory, if it has room for those of several tests and programs can be started in it,
/// and `TMPDIR` names no other folder.
pub fn memory_folder() -> Option<&'static Path> {
    let folder = Path::new("/dev/shm");
    let found = rustix::fs::statvfs(folder).ok()?;
    let has_room = found.f_bavail.saturating_mul(found.f_frsize) >= MEMORY_BYTES;
    let runs_programs = found.f_flag.bits() & NO_PROGRAMS == 0;
    (has_room && runs_programs && std::env::var_os("TMPDIR").is_none()).then_some(folder)
}
