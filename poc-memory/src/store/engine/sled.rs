//! sled as the record engine.
//!
//! All tables share one sled tree: sled's batches are atomic within a tree only.

mod session;

use super::{Engine, Mark, Put, Visitor};
use crate::error::{Error, Result};
use session::Session;
use std::path::Path;

/// Where the mark is kept: table 0 does not exist, so no record has this key.
const MARK_KEY: &[u8] = b"\0mark";
/// Bytes sled may keep in memory; the view and the indexes hold what is read often.
const CACHE_BYTES: u64 = 64 << 20;

/// An open sled directory.
pub(in crate::store) struct SledEngine {
    db: sled::Db,
    // Last, so that it is dropped when sled is closed.
    _session: Session,
}

impl SledEngine {
    /// Opens a directory, making it when it is missing. sled may panic or hang here when the files
    /// are damaged: see [`super::super::watchdog`].
    pub(in crate::store) fn open(directory: &Path) -> Result<SledEngine> {
        let session = Session::start(directory)
            .map_err(|error| Error::internal(format!("`{}`: {error}", directory.display())))?;
        let db = sled::Config::new().path(directory).cache_capacity(CACHE_BYTES).open().map_err(failed)?;
        Ok(SledEngine { db, _session: session })
    }
}

impl Engine for SledEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.db.get(key).map_err(failed)?.map(|value| value.to_vec()))
    }

    fn scan(&self, prefix: &[u8], each: &mut Visitor) -> Result<()> {
        for entry in self.db.scan_prefix(prefix) {
            let (key, value) = entry.map_err(failed)?;
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
        self.db.apply_batch(changes).map_err(failed)
    }

    fn mark(&self) -> Result<Mark> {
        let Some(value) = self.get(MARK_KEY)? else { return Ok(Mark::default()) };
        let parts = || {
            let (seq, checksum) = value.split_first_chunk()?;
            let checksum = u32::from_be_bytes(checksum.try_into().ok()?);
            Some(Mark { seq: u64::from_be_bytes(*seq), checksum })
        };
        parts().ok_or_else(|| Error::internal("the record engine's mark is damaged"))
    }

    fn size(&self) -> Result<u64> {
        self.db.size_on_disk().map_err(failed)
    }

    fn flush(&self) -> Result<()> {
        self.db.flush().map(drop).map_err(failed)
    }
}

fn failed(error: sled::Error) -> Error {
    Error::internal(format!("the record engine failed: {error}"))
}
