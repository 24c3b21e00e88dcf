//! The pause that a provider requested, shared by all its callers.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// End of the pause that a provider requested. Clones share one value.
#[derive(Clone, Default)]
pub struct RetryAfter(Arc<Mutex<Option<Instant>>>);

impl RetryAfter {
    /// Starts a pause of this length now. An earlier request that ends later stays in force.
    pub fn extend(&self, time: Duration) {
        let Some(until) = Instant::now().checked_add(time) else { return };
        let mut asked = self.0.lock();
        *asked = Some(asked.map_or(until, |before| before.max(until)));
    }

    /// The rest of the pause; zero when there is none.
    pub fn remaining(&self) -> Duration {
        self.0.lock().map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }
}
