//! An engine that opens on a background thread; calls wait until it is open. If it fails because of the disk or damage,
//! it is reopened or replaced by a substitute.

use super::temporary_folder::TemporaryFolder;
use super::{Engine, EngineError, Put, Visitor, Watermark};
use crate::views::StoreViews;
use crate::watchdog;
use parking_lot::{Mutex, RwLock};
use poc_graph::error::{Error, Result};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// Maximum time that reopening an engine waits for calls that still use the failed one, and then for that one to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Opens engines for a [`LazyEngine`].
pub(crate) trait EngineSource: Send + Sync {
    /// Opens the engine and brings it up to the end of the log.
    fn open(&self) -> Result<Arc<dyn Engine>>;

    /// Creates an engine with the same records that does not depend on the failing disk. `why` says why the real engine
    /// cannot be used.
    fn substitute(&self, why: &str) -> Result<CurrentEngine>;

    /// Deletes the files of an engine that did not close and still holds their lock, so that [`EngineSource::open`]
    /// creates new ones from the log. Fails if the log is incomplete or the disk has no space for the new files.
    fn discard(&self) -> Result<()>;
}

/// The engine that serves calls.
pub(crate) struct CurrentEngine {
    pub(crate) engine: Arc<dyn Engine>,
    /// If this is a substitute, why the real engine cannot be used.
    pub(crate) substitute_reason: Option<String>,
    /// The temporary folder of the engine, if it is in one. This must be the last field: fields drop in order, and the
    /// engine must close before its folder is deleted.
    pub(crate) _temporary_folder: Option<TemporaryFolder>,
}

impl CurrentEngine {
    /// The real engine, which is not a substitute.
    pub(crate) fn new(engine: Arc<dyn Engine>) -> CurrentEngine {
        CurrentEngine { engine, substitute_reason: None, _temporary_folder: None }
    }
}

/// An engine that has been opened, and can be reopened or replaced.
pub(crate) struct OpenedEngine {
    /// `None` while the engine is being exchanged, and if that has failed.
    current: RwLock<Option<CurrentEngine>>,
    source: Option<Arc<dyn EngineSource>>,
    /// Whether a failed engine did not close, so that its files stay locked.
    is_abandoned: AtomicBool,
    /// The views of the records, if they were requested at open; the open that requested them takes them.
    pub(crate) views: Mutex<Option<StoreViews>>,
    /// Messages about repairs, for people.
    pub(crate) messages: Vec<String>,
}

impl OpenedEngine {
    /// Wraps an open engine. `source` opens it again after a failure; without a source it is never reopened.
    pub(crate) fn new(current: CurrentEngine, source: Option<Arc<dyn EngineSource>>) -> Self {
        OpenedEngine {
            current: RwLock::new(Some(current)),
            source,
            is_abandoned: AtomicBool::new(false),
            views: Mutex::new(None),
            messages: Vec::new(),
        }
    }

    /// Runs work with the engine.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&dyn Engine) -> Result<T>) -> Result<T> {
        // The lock is taken recursively, because a visitor of a scan may read.
        match &*self.current.read_recursive() {
            Some(current) => work(current.engine.as_ref()),
            None => Err(EngineError::NotOpen.into()),
        }
    }

    /// Whether the engine has failed, or neither it nor a substitute could be opened after a failure.
    fn has_failed(&self) -> bool {
        self.current.read_recursive().as_ref().is_none_or(|current| current.engine.has_failed())
    }

    /// Reopens the engine if it has failed. If that is impossible, a substitute replaces it.
    fn reopen_if_failed(&self) -> Result<()> {
        let Some(source) = &self.source else { return Ok(()) };
        // A visitor of a scan that reads already holds the lock, so waiting without a limit could deadlock.
        let Some(mut current) = self.current.try_write_for(CLOSE_TIMEOUT) else {
            return Err(EngineError::InUse.into());
        };
        if current.as_ref().is_some_and(|current| !current.engine.has_failed()) {
            return Ok(());
        }
        // The failed engine must close first, because it locks its files.
        if current.take().is_some_and(|failed| !close(failed)) {
            self.is_abandoned.store(true, Ordering::SeqCst);
        }
        let opened = match self.is_abandoned.load(Ordering::SeqCst) {
            true => Err(EngineError::NotClosed.into()),
            false => watchdog::catch_panic(|| source.open()),
        };
        let (engine, result) = match opened {
            Ok(engine) => (CurrentEngine::new(engine), Ok(())),
            Err(error) => (source.substitute(&error.message)?, Err(error)),
        };
        *current = Some(engine);
        result
    }

    /// Opens the real engine in place of a substitute.
    fn restore(&self) -> Result<()> {
        let Some(source) = &self.source else { return Ok(()) };
        if self.current.read().as_ref().is_none_or(|current| current.substitute_reason.is_none()) {
            return self.reopen_if_failed();
        }
        // Reads continue while the files are replaced.
        if self.is_abandoned.load(Ordering::SeqCst) {
            source.discard()?;
        }
        let engine = watchdog::catch_panic(|| source.open())?;
        self.is_abandoned.store(false, Ordering::SeqCst);
        let replaced = self.current.write().replace(CurrentEngine::new(engine));
        drop(replaced);
        Ok(())
    }

    /// Closes the engine, lets `work` change its files, and opens it again, even if the work fails.
    fn exchange(&self, work: &dyn Fn() -> Result<()>) -> Result<()> {
        let Some(source) = &self.source else {
            return Err(EngineError::NotReplaceable.into());
        };
        let mut current = self.current.write();
        *current = None;
        let result = work();
        let opened = watchdog::catch_panic(|| source.open());
        *current = Some(match opened {
            Ok(engine) => CurrentEngine::new(engine),
            Err(error) => source.substitute(&error.message)?,
        });
        result
    }
}

impl Drop for OpenedEngine {
    fn drop(&mut self) {
        if let Some(current) = self.current.get_mut().take().filter(|current| current.engine.has_failed()) {
            close(current);
        }
    }
}

/// Closes a failed engine and returns whether it closed in time. sled may wait forever for a write that was lost, so it
/// is closed on a separate thread.
fn close(failed: CurrentEngine) -> bool {
    let (sender, closed) = mpsc::channel();
    let closing = watchdog::spawn("close-records", move || {
        drop(failed);
        // The receiver may have stopped waiting.
        let _ = sender.send(());
    });
    closing.is_ok() && closed.recv_timeout(CLOSE_TIMEOUT).is_ok()
}

/// Waits for the engine to open and forwards every call to it.
#[derive(Default)]
pub(crate) struct LazyEngine(OnceLock<Result<OpenedEngine>>);

/// The thread that opens an engine. Dropping this waits for the thread.
pub(crate) struct EngineOpener {
    opening: Arc<LazyEngine>,
    thread: Option<JoinHandle<()>>,
}

impl EngineOpener {
    /// Starts opening an engine in the background.
    pub(crate) fn start(
        open: impl FnOnce() -> Result<OpenedEngine> + Send + 'static,
    ) -> Result<EngineOpener> {
        let opening = Arc::new(LazyEngine::default());
        let opened = opening.clone();
        let thread = watchdog::spawn("records", move || {
            let result = watchdog::catch_panic(open).map_err(|error| {
                let message = format!("the records cannot be opened: {}", error.message);
                Error { message, ..error }
            });
            // Only this thread sets it.
            let _ = opened.0.set(result);
        })?;
        Ok(EngineOpener { opening, thread: Some(thread) })
    }

    /// The engine, which may not be open yet.
    pub(crate) fn engine(&self) -> Arc<LazyEngine> {
        self.opening.clone()
    }
}

impl Drop for EngineOpener {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // The thread catches its own panics.
            let _ = thread.join();
        }
    }
}

impl LazyEngine {
    /// Waits until the engine is open, and returns it or the reason why it could not be opened.
    pub(crate) fn opened(&self) -> Result<&OpenedEngine> {
        self.0.wait().as_ref().map_err(Clone::clone)
    }

    fn with<T>(&self, work: impl FnOnce(&dyn Engine) -> Result<T>) -> Result<T> {
        self.opened()?.with(work)
    }

    /// Runs a read. If the engine has failed, reopens it and runs the read once more.
    fn read<T>(&self, work: &mut dyn FnMut(&dyn Engine) -> Result<T>) -> Result<T> {
        let read = self.with(&mut *work);
        if read.is_err() && self.has_failed() {
            self.reopen_if_failed();
            return self.with(work);
        }
        read
    }

    /// Scans without reopening the engine after a failure, so that a verification sees damage before it is repaired.
    pub(crate) fn scan_as_it_is(&self, prefix: &[u8], each: &mut Visitor) -> Result<()> {
        self.with(|engine| engine.scan(prefix, each))
    }

    /// Why a substitute serves calls instead of the real engine; `None` if it does not.
    pub(crate) fn substituted(&self) -> Option<String> {
        self.opened().ok()?.current.read().as_ref()?.substitute_reason.clone()
    }

    /// Reopens the engine if it has failed, so that reads continue. If that is impossible, a substitute replaces it.
    pub(crate) fn reopen_if_failed(&self) {
        if let Err(error) = self.opened().and_then(OpenedEngine::reopen_if_failed) {
            tracing::warn!("the records cannot be opened again and are read from a copy: {error}");
        }
    }

    /// Closes the engine, lets `work` change its files, and opens it again. Calls wait until it is open again.
    pub(crate) fn exchange(&self, work: &dyn Fn() -> Result<()>) -> Result<()> {
        self.opened()?.exchange(work)
    }

    /// Opens the real engine if it has failed or a substitute has replaced it.
    pub(crate) fn restore(&self) -> Result<()> {
        self.opened()?.restore()
    }
}

impl Engine for LazyEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.read(&mut |engine| engine.get(key))
    }

    fn scan(&self, prefix: &[u8], each: &mut Visitor) -> Result<()> {
        let mut last: Option<Vec<u8>> = None;
        let mut refused = None;
        let scanned = self.read(&mut |engine| {
            let seen = last.clone();
            engine.scan(prefix, &mut |key, value| {
                // Records that were visited before the failure are not visited again.
                if refused.is_some() || seen.as_deref().is_some_and(|seen| key <= seen) {
                    return Ok(());
                }
                last = Some(key.to_vec());
                refused = each(key, value).err();
                refused.clone().map_or(Ok(()), Err)
            })
        });
        refused.map_or(scanned, Err)
    }

    fn first_key(&self, prefix: &[u8], from: &[u8]) -> Result<Option<Vec<u8>>> {
        self.read(&mut |engine| engine.first_key(prefix, from))
    }

    fn apply(&self, changes: Cow<'_, [Put]>, watermark: Watermark) -> Result<()> {
        self.with(|engine| engine.apply(changes, watermark))
    }

    fn watermark(&self) -> Result<Watermark> {
        self.with(|engine| engine.watermark())
    }

    fn unfinished(&self) -> Result<Option<Watermark>> {
        self.with(|engine| engine.unfinished())
    }

    fn buffered(&self) -> usize {
        self.with(|engine| Ok(engine.buffered())).unwrap_or(0)
    }

    fn has_failed(&self) -> bool {
        self.opened().is_ok_and(OpenedEngine::has_failed)
    }

    fn retry(&self) -> Result<()> {
        self.with(|engine| engine.retry())
    }

    fn rewrite(&self, check_cancelled: &dyn Fn() -> Result<()>) -> Result<()> {
        self.with(|engine| engine.rewrite(check_cancelled))
    }

    fn check_files(&self) -> Result<()> {
        self.with(|engine| engine.check_files())
    }

    fn size(&self) -> Result<u64> {
        self.with(|engine| engine.size())
    }

    fn flush(&self) -> Result<()> {
        self.with(|engine| engine.flush())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::memory::InMemoryEngine;

    /// A failed engine that does not close until `gate` is opened.
    struct StuckEngine {
        gate: Mutex<mpsc::Receiver<()>>,
    }

    impl Drop for StuckEngine {
        fn drop(&mut self) {
            let _ = self.gate.lock().recv();
        }
    }

    impl Engine for StuckEngine {
        fn get(&self, _: &[u8]) -> Result<Option<Vec<u8>>> {
            Err(Error::unavailable("the disk has failed"))
        }

        fn scan(&self, _: &[u8], _: &mut Visitor) -> Result<()> {
            Err(Error::unavailable("the disk has failed"))
        }

        fn apply(&self, _: Cow<'_, [Put]>, _: Watermark) -> Result<()> {
            Err(Error::unavailable("the disk has failed"))
        }

        fn watermark(&self) -> Result<Watermark> {
            Ok(Watermark::default())
        }

        fn has_failed(&self) -> bool {
            true
        }

        fn size(&self) -> Result<u64> {
            Ok(0)
        }

        fn flush(&self) -> Result<()> {
            Ok(())
        }
    }

    /// A source whose files are locked until they are discarded.
    #[derive(Default)]
    struct LockedFiles {
        are_discarded: AtomicBool,
    }

    fn engine_with(value: &str) -> Arc<dyn Engine> {
        let engine = InMemoryEngine::default();
        let puts = vec![(b"key".to_vec(), Some(value.as_bytes().to_vec()))];
        engine.apply(puts.into(), Watermark::default()).unwrap();
        Arc::new(engine)
    }

    impl EngineSource for LockedFiles {
        fn open(&self) -> Result<Arc<dyn Engine>> {
            assert!(self.are_discarded.load(Ordering::SeqCst), "the files are locked");
            Ok(engine_with("rebuilt"))
        }

        fn substitute(&self, why: &str) -> Result<CurrentEngine> {
            Ok(CurrentEngine {
                engine: engine_with("copy"),
                substitute_reason: Some(why.into()),
                _temporary_folder: None,
            })
        }

        fn discard(&self) -> Result<()> {
            self.are_discarded.store(true, Ordering::SeqCst);
            Ok(())
        }
    }

    #[test]
    fn an_engine_that_does_not_close_is_replaced() {
        let (open_gate, gate) = mpsc::channel();
        let stuck = Arc::new(StuckEngine { gate: Mutex::new(gate) });
        let current = CurrentEngine::new(stuck);
        let engine = LazyEngine::default();
        let opened = OpenedEngine::new(current, Some(Arc::new(LockedFiles::default())));
        assert!(engine.0.set(Ok(opened)).is_ok());
        let read = || engine.get(b"key").unwrap().map(|value| String::from_utf8(value).unwrap());
        assert_eq!(read().as_deref(), Some("copy"));
        assert!(engine.substituted().is_some_and(|why| why.contains("did not close")));
        engine.restore().unwrap();
        assert_eq!((read().as_deref(), engine.substituted()), (Some("rebuilt"), None));
        open_gate.send(()).unwrap();
    }

    /// A source that can open nothing the first time.
    #[derive(Default)]
    struct UnreadableOnce {
        was_asked: AtomicBool,
    }

    impl EngineSource for UnreadableOnce {
        fn open(&self) -> Result<Arc<dyn Engine>> {
            match self.was_asked.swap(true, Ordering::SeqCst) {
                true => Ok(engine_with("reopened")),
                false => Err(Error::unavailable("too many open files")),
            }
        }

        fn substitute(&self, why: &str) -> Result<CurrentEngine> {
            Err(Error::unavailable(why))
        }

        fn discard(&self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_engine_that_nothing_could_replace_is_opened_by_a_later_read() {
        let (_, gate) = mpsc::channel();
        let failed = CurrentEngine::new(Arc::new(StuckEngine { gate: Mutex::new(gate) }));
        let engine = LazyEngine::default();
        let opened = OpenedEngine::new(failed, Some(Arc::new(UnreadableOnce::default())));
        assert!(engine.0.set(Ok(opened)).is_ok());
        assert!(engine.get(b"key").is_err() && engine.has_failed());
        assert_eq!(engine.get(b"key").unwrap().as_deref(), Some(b"reopened".as_slice()));
        assert!(!engine.has_failed());
    }
}
