//! From start to end: open the memory, serve it, and on a signal finish what runs and close it.

use crate::arguments::Arguments;
use crate::serve::{rest, socket};
use crate::shared::Shared;
use crate::{checkpoint, log, refresh, schedule, watch};
use poc_agent::Catalog;
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::chance::SystemChance;
use poc_graph::error::{Error, Exit, Result};
use poc_graph::time::SystemClock;
use poc_notes::{Memory, samples};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Beyond the grace of what runs: time to write down that it was interrupted.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Says why it does not start.
#[allow(clippy::print_stderr, reason = "the daemon's last word when it cannot start")]
pub(crate) fn complain(error: &Error) {
    eprintln!("error: {error}");
    if let Some(hint) = &error.hint {
        eprintln!("hint: {hint}");
    }
}

/// Runs the daemon and says how it ended.
pub(crate) fn main(arguments: &Arguments) -> ExitCode {
    match start(arguments) {
        Ok(()) => Exit::Ok.into(),
        Err(error) => {
            complain(&error);
            error.code.exit().into()
        }
    }
}

fn start(arguments: &Arguments) -> Result<()> {
    let paths = Paths::from_environment(arguments.profile.as_deref())?;
    let config = Config::load(&paths.config_file())?;
    paths.create()?;
    let runtime =
        Runtime::new().map_err(|error| Error::internal(format!("the runtime cannot start: {error}")))?;
    // From here on a signal ends the daemon in order, even while the store is still opening.
    let signals = {
        let _context = runtime.enter();
        Signals::new()?
    };
    let memory = Memory::open(paths, config, Arc::new(SystemClock), Arc::new(SystemChance))?;
    // The log belongs to the one that holds the store.
    log::start(arguments, &memory.paths)?;
    for note in &memory.store.recovery().notes {
        tracing::warn!("{note}");
    }
    let catalog = Catalog::load(&memory)?;
    let shared = Arc::new(Shared::new(memory, catalog));
    let result = runtime.block_on(serve(shared.clone(), signals));
    let closed = result.and_then(|connections| {
        if let Err(error) = samples::keep(&shared.memory) {
            tracing::warn!("what questions met was not counted: {error}");
        }
        shared.memory.store.checkpoint()?;
        // Clients that wait for the end see it only when the store is free again.
        drop(shared);
        drop(connections);
        Ok(())
    });
    runtime.shutdown_background();
    tracing::info!("stopped");
    closed
}

/// Serves until the daemon is to stop and what runs has ended or its grace is over. Returns the
/// connections that are still open.
async fn serve(shared: Arc<Shared>, signals: Signals) -> Result<Vec<tokio::net::UnixStream>> {
    // What may be refused comes before the socket that says the daemon is there.
    let over_http = rest::bind(&shared).await?;
    let listener = socket::bind(&shared.memory.paths)?;
    tracing::info!(
        pid = std::process::id(),
        store = %shared.memory.paths.store().display(),
        socket = %shared.memory.paths.socket().display(),
        "started"
    );
    let signals = tokio::spawn(obey(shared.clone(), signals));
    let work = async {
        let (scheduled, watched, refreshed, saved, served, connections) = tokio::join!(
            part(&shared, "schedule", schedule::run(shared.clone())),
            part(&shared, "watch", watch::run(shared.clone())),
            part(&shared, "refresh", refresh::run(shared.clone())),
            part(&shared, "checkpoint", checkpoint::run(shared.clone())),
            part(&shared, "rest", rest::run(shared.clone(), over_http)),
            part(&shared, "socket", socket::run(shared.clone(), listener)),
        );
        scheduled.and(watched).and(refreshed).and(saved).and(served).and(connections)
    };
    let grace = shared.memory.config.daemon.shutdown_grace;
    let too_late = async {
        shared.stopped().await;
        tokio::time::sleep(grace.std()).await;
        shared.calls.cancel();
        tokio::time::sleep(LAST_WORDS).await;
    };
    let connections = tokio::select! {
        connections = work => connections,
        () = too_late => {
            tracing::warn!("what runs has not ended within {grace} and is interrupted");
            Ok(Vec::new())
        }
    };
    signals.abort();
    socket::remove(&shared.memory.paths)?;
    connections
}

/// Runs a part of the daemon as a task of its own; when it panics the others are stopped too.
async fn part<T: Send + 'static>(
    shared: &Shared,
    name: &str,
    run: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    tokio::spawn(run).await.map_err(|error| {
        tracing::error!("the part `{name}` ended unexpectedly: {error}");
        shared.stop();
        Error::internal(format!("the part `{name}` of the daemon ended unexpectedly"))
    })
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> Result<Signals> {
        let listen = |kind| {
            signal(kind).map_err(|error| Error::internal(format!("signals cannot be received: {error}")))
        };
        Ok(Signals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }
}

/// Does what signals say until the daemon is to stop.
async fn obey(shared: Arc<Shared>, mut signals: Signals) {
    loop {
        tokio::select! {
            _ = signals.terminate.recv() => { tracing::info!("SIGTERM: stopping"); shared.stop(); }
            _ = signals.interrupt.recv() => { tracing::info!("SIGINT: stopping"); shared.stop(); }
            _ = signals.hang_up.recv() => {
                tracing::info!("SIGHUP: reloading");
                let shared = shared.clone();
                let reloaded = tokio::task::spawn_blocking(move || watch::reload(&shared)).await;
                if let Ok(Err(error)) = reloaded {
                    tracing::error!("reload failed: {error}");
                }
            }
        }
    }
}
