//! Collects changes in memory before they are written to an engine.
//!
//! Writing a sorted batch of megabytes costs an engine a fraction of what the same changes cost one by one. Waiting
//! loses nothing: the log has every change, and an open replays those that the engine lacks.

use super::{Engine, Put, Visitor, Watermark, first_with_value};
use crate::engine_key::EngineKey;
use crate::log::Log;
use crate::table::{TENANT_PREFIX, split_tenant};
use crate::watchdog;
use parking_lot::{Mutex, RwLock};
use poc_graph::Tenant;
use poc_graph::error::Result;
use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Size of keys and values, in bytes, from which changes are written to the engine. More would save little, because the
/// keys of new notes are adjacent. After a crash, an open reads about as much from the log.
pub(crate) const BUFFER_BYTES: usize = 8 << 20;

/// An engine with a buffer of changes in front of it.
pub(crate) struct BufferedEngine {
    buffers: Arc<Buffers>,
    limit: usize,
    // The thread that writes the frozen buffer. The lock is held while buffers are swapped.
    writer: Mutex<Option<JoinHandle<()>>>,
}

struct Buffers {
    engine: Arc<dyn Engine>,
    /// The log of the changes, which must be on disk before the engine is; `None` if the engine is temporary.
    log: Option<Arc<Log>>,
    both: RwLock<WriteBuffers>,
}

/// The changes that the engine may lack, newest first.
struct WriteBuffers {
    active: Buffer,
    /// A buffer that is being written or could not be written; `None` if the engine has all of it.
    frozen: Option<Arc<FrozenBuffer>>,
}

impl WriteBuffers {
    /// The first changed key from `from` on.
    fn first_key(&self, from: &[u8]) -> Option<Vec<u8>> {
        let active = self.active.changes.range(EngineKey::from(from.to_vec())..).next();
        let frozen = self.frozen.as_ref().and_then(|frozen| frozen.changes.get(frozen.number_before(from)));
        let active = active.map(|(key, _)| key.as_bytes());
        active.into_iter().chain(frozen.map(|(key, _)| key.as_slice())).min().map(<[u8]>::to_vec)
    }
}

/// A buffer that no longer changes.
struct FrozenBuffer {
    /// Sorted by key.
    changes: Vec<Put>,
    bytes: usize,
    watermark: Watermark,
}

impl FrozenBuffer {
    fn get(&self, key: &[u8]) -> Option<&Option<Vec<u8>>> {
        let found = self.changes.binary_search_by(|(other, _)| other.as_slice().cmp(key)).ok()?;
        self.changes.get(found).map(|(_, value)| value)
    }

    fn range(&self, prefix: &[u8]) -> impl Iterator<Item = &Put> {
        let from = self.number_before(prefix);
        self.changes.iter().skip(from).take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// The number of changes whose keys are smaller than a key.
    fn number_before(&self, key: &[u8]) -> usize {
        self.changes.partition_point(|(changed, _)| changed.as_slice() < key)
    }
}

struct Buffer {
    changes: BTreeMap<EngineKey, Option<Vec<u8>>>,
    bytes: usize,
    watermark: Watermark,
}

impl Buffer {
    fn new(watermark: Watermark) -> Buffer {
        Buffer { changes: BTreeMap::new(), bytes: 0, watermark }
    }

    fn add(&mut self, changes: Vec<Put>, watermark: Watermark) {
        for (key, value) in changes {
            self.bytes += key.len() + length(&value);
            match self.changes.entry(key.into()) {
                Entry::Occupied(mut old) => {
                    self.bytes -= old.key().as_bytes().len() + length(old.get());
                    old.insert(value);
                }
                Entry::Vacant(free) => {
                    free.insert(value);
                }
            }
        }
        self.watermark = watermark;
    }

    fn get(&self, key: &[u8]) -> Option<&Option<Vec<u8>>> {
        self.changes.get(&EngineKey::from(key.to_vec()))
    }

    fn range(&self, prefix: &[u8]) -> impl Iterator<Item = (&[u8], &Option<Vec<u8>>)> {
        let from = self.changes.range(EngineKey::from(prefix.to_vec())..);
        let from = from.map(|(key, value)| (key.as_bytes(), value));
        from.take_while(move |(key, _)| key.starts_with(prefix))
    }
}

fn length(value: &Option<Vec<u8>>) -> usize {
    value.as_ref().map_or(0, Vec::len)
}

impl Buffers {
    /// Writes the frozen buffer to the engine. The buffer stays readable while it is written, and is kept if the write
    /// fails.
    fn write(&self) -> Result<()> {
        let Some(frozen) = self.both.read().frozen.clone() else { return Ok(()) };
        if let Some(log) = &self.log {
            log.sync(frozen.watermark.seq)?;
        }
        watchdog::catch_panic(|| self.engine.apply(Cow::Borrowed(&frozen.changes), frozen.watermark))?;
        self.both.write().frozen = None;
        Ok(())
    }

    /// Freezes the active buffer. The previous frozen buffer must have been written.
    fn freeze(&self) {
        let mut both = self.both.write();
        let next = Buffer::new(both.active.watermark);
        let Buffer { changes, bytes, watermark } = std::mem::replace(&mut both.active, next);
        let changes = changes.into_iter().map(|(key, value)| (key.into_bytes(), value)).collect();
        both.frozen = Some(Arc::new(FrozenBuffer { changes, bytes, watermark }));
    }
}

impl BufferedEngine {
    /// Creates a buffer of `limit` bytes in front of a temporary engine.
    pub(crate) fn new(engine: Arc<dyn Engine>, limit: usize) -> Result<BufferedEngine> {
        BufferedEngine::create(engine, limit, None)
    }

    /// Creates a buffer of `limit` bytes in front of an engine with the changes of a log. Changes are written to the
    /// engine only after the log is on disk up to them.
    pub(crate) fn over_log(engine: Arc<dyn Engine>, limit: usize, log: Arc<Log>) -> Result<BufferedEngine> {
        BufferedEngine::create(engine, limit, Some(log))
    }

    fn create(engine: Arc<dyn Engine>, limit: usize, log: Option<Arc<Log>>) -> Result<BufferedEngine> {
        let both = WriteBuffers { active: Buffer::new(engine.watermark()?), frozen: None };
        let buffers = Arc::new(Buffers { engine, log, both: RwLock::new(both) });
        Ok(BufferedEngine { buffers, limit, writer: Mutex::default() })
    }

    /// Waits for the writing thread, and retries a write that failed.
    fn finish(&self, writer: &mut Option<JoinHandle<()>>) -> Result<()> {
        if let Some(thread) = writer.take() {
            // The thread catches its own panics.
            let _ = thread.join();
        }
        self.buffers.write()
    }
}

impl Drop for BufferedEngine {
    fn drop(&mut self) {
        if let Some(thread) = self.writer.lock().take() {
            let _ = thread.join();
        }
    }
}

impl Engine for BufferedEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        {
            // The buffers are read before the engine: what leaves them in between is then found in the engine.
            let both = self.buffers.both.read();
            let frozen = || both.frozen.as_ref().and_then(|frozen| frozen.get(key));
            if let Some(value) = both.active.get(key).or_else(frozen) {
                return Ok(value.clone());
            }
        }
        self.buffers.engine.get(key)
    }

    fn scan(&self, prefix: &[u8], each: &mut Visitor) -> Result<()> {
        let mut changes: BTreeMap<Vec<u8>, Option<Vec<u8>>> = BTreeMap::new();
        {
            let both = self.buffers.both.read();
            let frozen = both.frozen.iter().flat_map(|frozen| frozen.range(prefix)).cloned();
            changes.extend(frozen);
            changes.extend(both.active.range(prefix).map(|(key, value)| (key.to_vec(), value.clone())));
        }
        let mut changes = changes.into_iter().peekable();
        let mut pass = |key: &[u8], value: Option<&[u8]>| value.map_or(Ok(()), |value| each(key, value));
        self.buffers.engine.scan(prefix, &mut |key, value| {
            while let Some((changed, new)) = changes.next_if(|(changed, _)| changed.as_slice() < key) {
                pass(&changed, new.as_deref())?;
            }
            match changes.next_if(|(changed, _)| changed == key) {
                Some((_, new)) => pass(key, new.as_deref()),
                None => pass(key, Some(value)),
            }
        })?;
        changes.try_for_each(|(key, new)| pass(&key, new.as_deref()))
    }

    fn first_key(&self, prefix: &[u8], from: &[u8]) -> Result<Option<Vec<u8>>> {
        first_with_value(self, from, |from| {
            // The buffers are read before the engine, as in `get`.
            let changed = self.buffers.both.read().first_key(from).filter(|key| key.starts_with(prefix));
            let written = self.buffers.engine.first_key(prefix, from)?;
            Ok(changed.into_iter().chain(written).min())
        })
    }

    fn tenants(&self) -> Result<BTreeSet<Tenant>> {
        let mut tenants = BTreeSet::new();
        {
            let both = self.buffers.both.read();
            let frozen = both.frozen.iter().flat_map(|frozen| frozen.range(&[TENANT_PREFIX]));
            let keys = frozen.map(|(key, _)| key.as_slice());
            let keys = keys.chain(both.active.range(&[TENANT_PREFIX]).map(|(key, _)| key));
            tenants.extend(keys.filter_map(split_tenant).map(|(tenant, _)| tenant));
        }
        tenants.append(&mut self.buffers.engine.tenants()?);
        Ok(tenants)
    }

    fn apply(&self, changes: Cow<'_, [Put]>, watermark: Watermark) -> Result<()> {
        {
            let mut both = self.buffers.both.write();
            both.active.add(changes.into_owned(), watermark);
            if both.active.bytes < self.limit {
                return Ok(());
            }
        }
        let mut writer = self.writer.lock();
        self.finish(&mut writer)?;
        self.buffers.freeze();
        let buffers = self.buffers.clone();
        *writer = Some(watchdog::spawn("records", move || {
            if let Err(error) = buffers.write() {
                tracing::warn!("records could not be written and stay in memory for now: {error}");
            }
        })?);
        Ok(())
    }

    fn watermark(&self) -> Result<Watermark> {
        Ok(self.buffers.both.read().active.watermark)
    }

    fn unfinished(&self) -> Result<Option<Watermark>> {
        self.buffers.engine.unfinished()
    }

    fn buffered(&self) -> usize {
        let both = self.buffers.both.read();
        both.active.bytes + both.frozen.as_ref().map_or(0, |frozen| frozen.bytes)
    }

    fn has_failed(&self) -> bool {
        self.buffers.engine.has_failed()
    }

    fn retry(&self) -> Result<()> {
        self.finish(&mut self.writer.lock())
    }

    fn rewrite(&self, check_cancelled: &dyn Fn() -> Result<()>) -> Result<()> {
        self.flush()?;
        self.buffers.engine.rewrite(check_cancelled)
    }

    fn check_files(&self) -> Result<()> {
        self.buffers.engine.check_files()
    }

    fn size(&self) -> Result<u64> {
        self.buffers.engine.size()
    }

    fn flush(&self) -> Result<()> {
        let mut writer = self.writer.lock();
        self.finish(&mut writer)?;
        if !self.buffers.both.read().active.changes.is_empty() {
            self.buffers.freeze();
            self.buffers.write()?;
        }
        self.buffers.engine.flush()
    }
}
