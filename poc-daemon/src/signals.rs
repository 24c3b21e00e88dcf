//! The signals of the operating system.

use poc_graph::error::{Error, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that the daemon handles.
pub(crate) struct Signals {
    pub(crate) terminate: Signal,
    pub(crate) interrupt: Signal,
    pub(crate) hang_up: Signal,
}

impl Signals {
    /// Handles them from now on. It needs the context of a runtime.
    pub(crate) fn new() -> Result<Signals> {
        let listen = |kind| {
            signal(kind).map_err(|error| Error::unavailable(format!("signals cannot be handled: {error}")))
        };
        Ok(Signals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal that asks to stop.
    pub(crate) async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
