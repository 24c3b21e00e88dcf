//! sled as the record engine.
//!
//! All tables share one sled tree: sled's batches are atomic within a tree only.

mod session;

use super::{Engine, EngineError, Mark, Put, Visitor};
use crate::watchdog;
use poc_graph::error::Result;
use session::Session;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The key of the mark. Table 0 does not exist, so no record has this key.
const MARK_KEY: &[u8] = b"\0mark";
/// Bytes of sled's cache. The view and the indexes hold what is read often, so it is small.
const CACHE_BYTES: u64 = 64 << 20;

/// How long to wait for sled's own lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// A file of this name in the directory tells the next open that the records are damaged.
const DAMAGED: &str = "damaged";

/// An open sled directory.
pub(crate) struct SledEngine {
    db: sled::Db,
    directory: PathBuf,
    // The last field, so that it drops after sled is closed.
    _session: Session,
}

impl SledEngine {
    /// Opens a directory, creating it if it is missing. On damaged files sled may panic or hang here: see
    /// [`watchdog`].
    pub(crate) fn open(directory: &Path) -> Result<SledEngine> {
        if directory.join(DAMAGED).exists() {
            return Err(EngineError::FoundDamaged.into());
        }
        let session = Session::start(directory)
            .map_err(|source| EngineError::Directory { directory: directory.to_owned(), source })?;
        let db = unlocked(|| sled::Config::new().path(directory).cache_capacity(CACHE_BYTES).open())?;
        Ok(SledEngine { db, directory: directory.to_owned(), _session: session })
    }

    /// Runs an operation of sled. Damage may show only when a record is read, as an error or a panic; the
    /// directory is then marked as damaged and the next open rebuilds the records.
    fn run<T>(&self, work: impl FnOnce(&sled::Db) -> sled::Result<T>) -> Result<T> {
        let worked = watchdog::catch_panic(|| Ok(work(&self.db)));
        let damaged = match &worked {
            Ok(Ok(_)) => false,
            Ok(Err(error)) => matches!(error, sled::Error::Corruption { .. } | sled::Error::ReportableBug(_)),
            Err(_) => true,
        };
        let result = worked.and_then(|worked| worked.map_err(|error| EngineError::Failed(error).into()));
        if !damaged {
            return result;
        }
        if let Err(error) = File::create(self.directory.join(DAMAGED)).and_then(|file| file.sync_all()) {
            tracing::error!("it cannot be noted that the records are damaged: {error}");
        }
        Ok(result.map_err(|error| EngineError::Damaged(error.message))?)
    }
}

impl Engine for SledEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.run(|db| db.get(key))?.map(|value| value.to_vec()))
    }

    fn scan(&self, prefix: &[u8], each: &mut Visitor) -> Result<()> {
        let mut entries = self.run(|db| Ok(db.scan_prefix(prefix)))?;
        while let Some((key, value)) = self.run(|_| entries.next().transpose())? {
            each(&key, &value)?;
        }
        Ok(())
    }

    fn apply(&self, batch: Vec<Put>, mark: Option<Mark>) -> Result<()> {
        let mut changes = sled::Batch::default();
        for (key, value) in batch {
            match value {
                Some(value) => changes.insert(key, value),
                None => changes.remove(key),
            }
        }
        if let Some(mark) = mark {
            let value = [mark.seq.to_be_bytes().as_slice(), &mark.checksum.to_be_bytes()].concat();
            changes.insert(MARK_KEY, value);
        }
        self.run(|db| db.apply_batch(changes))
    }

    fn mark(&self) -> Result<Mark> {
        let Some(value) = self.get(MARK_KEY)? else { return Ok(Mark::default()) };
        let parts = || {
            let (seq, checksum) = value.split_first_chunk()?;
            let checksum = u32::from_be_bytes(checksum.try_into().ok()?);
            Some(Mark { seq: u64::from_be_bytes(*seq), checksum })
        };
        Ok(parts().ok_or(EngineError::DamagedMark)?)
    }

    fn size(&self) -> Result<u64> {
        self.run(sled::Db::size_on_disk)
    }

    fn flush(&self) -> Result<()> {
        self.run(|db| db.flush().map(drop))
    }
}

/// Opens sled once its own lock is free. The store's lock excludes every other process, so a holder of
/// sled's lock is about to end: a child between fork and exec, or sled's threads after a close.
#[expect(clippy::disallowed_methods, reason = "nothing reports when a lock becomes free")]
fn unlocked(open: impl Fn() -> sled::Result<sled::Db>) -> Result<sled::Db> {
    let start = Instant::now();
    loop {
        match open() {
            Err(sled::Error::Io(error)) if is_locked(&error) && start.elapsed() < LOCK_PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            opened => return Ok(opened.map_err(EngineError::Failed)?),
        }
    }
}

/// sled wraps the system's error into one of another kind, so only the message identifies it.
fn is_locked(error: &io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(folder: &tempfile::TempDir) -> Result<SledEngine> {
        SledEngine::open(folder.path())
    }

    #[test]
    fn damage_is_reported_and_marked_for_the_next_open() {
        let corruption =
            |_: &sled::Db| -> sled::Result<()> { Err(sled::Error::Corruption { at: None, bt: () }) };
        let panic = |_: &sled::Db| -> sled::Result<()> { panic!("boom") };
        for (harm, expected) in [
            (
                corruption as fn(&sled::Db) -> sled::Result<()>,
                "the record engine failed: Read corrupted data at file offset None backtrace ()",
            ),
            (panic, "panic: boom"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let damaged = engine(&folder).unwrap();
            let error = damaged.run(harm).unwrap_err();
            assert_eq!(error.message, format!("the records are damaged: {expected}"));
            assert!(error.hint.is_some());
            drop(damaged);
            let error = engine(&folder).err().unwrap();
            insta::allow_duplicates! { insta::assert_snapshot!(error, @"it was found damaged when it was used last"); }
        }
    }

    #[test]
    fn opening_waits_for_a_lock_that_is_about_to_be_released() {
        let folder = tempfile::tempdir().unwrap();
        let first = engine(&folder).unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| engine(&folder).map(drop));
            // The second opener is refused at least once, or comes late and finds it free: both are well.
            drop(first);
            second.join().unwrap().unwrap();
        });
        let _held = engine(&folder).unwrap();
        let held = sled::Config::new().path(folder.path()).open().unwrap_err();
        assert!(matches!(&held, sled::Error::Io(error) if is_locked(error)), "{held}");
    }

    #[test]
    fn a_failing_disk_is_not_damage() {
        let folder = tempfile::tempdir().unwrap();
        let failing = engine(&folder).unwrap();
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = failing.run(|_| -> sled::Result<()> { Err(sled::Error::Io(full)) }).unwrap_err();
        assert!(error.message.starts_with("the record engine failed: "), "{error}");
        drop(failing);
        assert!(engine(&folder).is_ok());
    }
}
