//! The parts of an open store that a compaction needs.

use super::disk::Disk;
use super::engine::OpenEngine;
use super::log::Appender;
use parking_lot::Mutex;
use std::sync::Arc;

/// The parts of an open store that a compaction replaces.
pub(super) struct Compactor {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) appender: Arc<Mutex<Appender>>,
    pub(super) engine: OpenEngine,
    pub(super) buffer: usize,
    /// Held while a compaction is running.
    pub(super) running: Mutex<()>,
}
