//! Waits by the wall clock, which advances while the machine sleeps, unlike tokio's timers.

use crate::state::DaemonState;
use poc_graph::time::Span;

/// Waits until the clock shows that a span of at least a second has passed since the call. Returns `false`
/// when the daemon stops. The clock is read at each heartbeat. If it is set back to before the call, the wait
/// starts over.
pub(crate) async fn wait(state: &DaemonState, span: Span) -> bool {
    let mut start = state.memory.now();
    loop {
        tokio::select! {
            () = state.stopped() => return false,
            () = tokio::time::sleep(state.memory.config.daemon.heartbeat.clamp(Span::SECOND, span).std()) => {}
        }
        let now = state.memory.now();
        if start.plus(span) <= now {
            return true;
        }
        start = start.min(now);
    }
}
