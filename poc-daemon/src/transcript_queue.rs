//! The queue of transcripts from hooks to the task that captures them.

use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Notify;

/// The transcripts that hooks have named, until they are captured.
#[derive(Default)]
pub(crate) struct TranscriptQueue {
    named: Mutex<Vec<PathBuf>>,
    /// Wakes the task.
    changed: Arc<Notify>,
}

impl TranscriptQueue {
    /// Captures a transcript soon.
    pub(crate) fn follow(&self, transcript: &Path) {
        let mut named = self.named.lock();
        if !named.iter().any(|path| path == transcript) {
            named.push(transcript.to_owned());
        }
        self.changed.notify_one();
    }

    /// Removes the transcripts that were named since the last call.
    pub(crate) fn take(&self) -> Vec<PathBuf> {
        std::mem::take(&mut *self.named.lock())
    }

    /// Notified when a transcript was named.
    pub(crate) fn changed(&self) -> Arc<Notify> {
        self.changed.clone()
    }
}
