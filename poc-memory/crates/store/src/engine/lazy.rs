//! An engine that opens on a background thread. Calls wait until it is open.

use super::{Engine, Mark, Put, Visitor};
use crate::views::Views;
use crate::watchdog;
use parking_lot::Mutex;
use poc_graph::error::{Error, Result};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

/// An engine that has been opened.
pub(crate) struct OpenedEngine {
    pub(crate) engine: Arc<dyn Engine>,
    /// The views of its records, if they were asked for; taken by the open that asked.
    pub(crate) views: Mutex<Option<Views>>,
    /// Messages for people about what was repaired.
    pub(crate) notes: Vec<String>,
}

/// Waits for the engine to open and forwards every call to it.
#[derive(Default)]
pub(crate) struct LazyEngine(OnceLock<Result<OpenedEngine>>);

/// The thread that opens an engine. Dropping it waits for the thread to end.
pub(crate) struct EngineOpener {
    opening: Arc<LazyEngine>,
    thread: Option<JoinHandle<()>>,
}

impl EngineOpener {
    /// Starts to open an engine in the background.
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

    /// The engine, open or not.
    pub(crate) fn engine(&self) -> Arc<LazyEngine> {
        self.opening.clone()
    }
}

impl Drop for EngineOpener {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // It catches its own panics.
            let _ = thread.join();
        }
    }
}

impl LazyEngine {
    /// The engine once it is open, or why it is not.
    pub(crate) fn opened(&self) -> Result<&OpenedEngine> {
        self.0.wait().as_ref().map_err(Clone::clone)
    }

    fn engine(&self) -> Result<&dyn Engine> {
        Ok(self.opened()?.engine.as_ref())
    }
}

impl Engine for LazyEngine {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.engine()?.get(key)
    }

    fn scan(&self, prefix: &[u8], each: &mut Visitor) -> Result<()> {
        self.engine()?.scan(prefix, each)
    }

    fn apply(&self, changes: Cow<'_, [Put]>, mark: Mark) -> Result<()> {
        self.engine()?.apply(changes, mark)
    }

    fn mark(&self) -> Result<Mark> {
        self.engine()?.mark()
    }

    fn unfinished(&self) -> Result<Option<Mark>> {
        self.engine()?.unfinished()
    }

    fn buffered(&self) -> usize {
        self.engine().map_or(0, Engine::buffered)
    }

    fn size(&self) -> Result<u64> {
        self.engine()?.size()
    }

    fn flush(&self) -> Result<()> {
        self.engine()?.flush()
    }
}
