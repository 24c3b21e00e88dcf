//! Waits by the wall clock, which advances while the machine sleeps, unlike tokio's timers.

use crate::shared::Shared;
use poc_graph::time::Span;

/// Waits until the clock shows that a span of at least a second has passed since the call. Returns `false`
/// when the daemon stops. The clock is read at each heartbeat. If it is set back to before the call, the wait
/// starts over.
pub(crate) async fn wait(shared: &Shared, span: Span) -> bool {
    let mut start = shared.memory.now();
    loop {
        tokio::select! {
            () = shared.stopped() => return false,
            () = tokio::time::sleep(shared.memory.config.daemon.heartbeat.clamp(Span::SECOND, span).std()) => {}
        }
        let now = shared.memory.now();
        if start.plus(span) <= now {
            return true;
        }
        start = start.min(now);
    }
}
