//! Waits by the time of day, which goes on while the machine sleeps. tokio's timers stand still then.

use crate::shared::Shared;
use poc_graph::time::Span;

/// Waits until the clock shows that a span has passed since the call. Returns `false` when the daemon stops. The clock is
/// read with each heartbeat; if it was set back, the span begins again. `span` is at least a
/// second.
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
