//! Opens the memory. Waits for a command that holds the store, but not for a daemon that serves it.

use crate::console::print_line;
use crate::signals::Signals;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::error::{Code, Error, Result};
use poc_memory::dispatch;
use poc_notes::Memory;
use poc_store::Store;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// The time between two attempts to open. The release of a lock is not signalled, so it is polled.
const RETRY: Duration = Duration::from_millis(50);

/// Opens the memory of a profile. Waits up to `[daemon] lock-timeout` for another process to release it.
/// `None` when a signal asks to stop first.
///
/// # Errors
/// `locked` when a daemon serves the store, or another process holds it for longer.
pub(crate) fn open(
    paths: &Paths,
    config: &Config,
    runtime: &Runtime,
    signals: &mut Signals,
) -> Result<Option<Memory>> {
    let (start, limit) = (Instant::now(), config.daemon.lock_timeout);
    let mut last_message = None;
    loop {
        let error = match try_open(paths, config)? {
            Ok(memory) => return Ok(Some(memory)),
            Err(error) => error,
        };
        // A failed handshake also means that a daemon runs.
        if !matches!(dispatch::connect(paths, config), Ok(None)) {
            return Err(error);
        }
        if start.elapsed() >= limit.std() {
            let message = format!("{}, and was not released within {limit}", error.message);
            return Err(Error { message, ..error });
        }
        if last_message.as_ref() != Some(&error.message) {
            print_line(&format!("waiting at most {limit}: {}", error.message));
            last_message = Some(error.message);
        }
        let stopped = runtime.block_on(async {
            tokio::select! {
                () = signals.stop() => true,
                () = tokio::time::sleep(RETRY) => false,
            }
        });
        if stopped {
            return Ok(None);
        }
    }
}

/// Opens the memory. The inner error says that another process holds the store.
fn try_open(paths: &Paths, config: &Config) -> Result<Result<Memory>> {
    // Opening loads the embedder before it tries to take the lock, so the lock is checked here.
    if let Some(pid) = Store::holder(&paths.store())? {
        let holder = Store::holder_name(pid);
        let hint = "stop it, or use the daemon that holds it: `poc-memory daemon status`";
        return Ok(Err(Error::new(Code::Locked, format!("the store is held by {holder}")).hint(hint)));
    }
    match dispatch::open_memory(paths.clone(), config.clone()) {
        Err(error) if error.code == Code::Locked => Ok(Err(error)),
        opened => opened.map(Ok),
    }
}
