//! Until when a provider wants no calls, known to all who call it.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time a provider has asked for. Copies of it are the same.
#[derive(Clone, Default)]
pub(in super::super) struct Quiet(Arc<Mutex<Option<Instant>>>);

impl Quiet {
    /// The provider has asked for so much time from now on; what it asked for before still holds.
    pub(super) fn ask(&self, time: Duration) {
        let Some(until) = Instant::now().checked_add(time) else { return };
        let mut asked = self.0.lock();
        *asked = Some(asked.map_or(until, |before| before.max(until)));
    }

    /// What is left of it.
    pub(super) fn left(&self) -> Duration {
        self.0.lock().map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }
}
