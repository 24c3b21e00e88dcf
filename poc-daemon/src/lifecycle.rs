//! The lifecycle of the daemon: it opens the memory, serves it, and on a signal finishes running work and
//! closes it.

use crate::console::print_error;
use crate::serve::{rest, socket};
use crate::signals::Signals;
use crate::state::{DaemonState, UNCLEAN_END};
use crate::{
    checkpoint, compaction, leftovers, logging, notifications, opening, pools, recall_updates, reload,
    schedule, service_manager, shared_log_maintenance, sign_in_file, store_log_check, structure_refresh,
    transcripts, vaults, vector_update, verification,
};
use poc_agent::Catalog;
use poc_config::paths::Paths;
use poc_graph::error::{Code, Error, Exit, Result};
use poc_memory::cli::DaemonArguments;
use poc_memory::dispatch;
use poc_notes::answer_status;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::task::JoinSet;

/// Time after the shutdown grace to record which runs were interrupted.
const RECORD_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs the daemon and returns its exit code.
pub(crate) fn main(arguments: &DaemonArguments) -> ExitCode {
    match start(arguments) {
        Ok(false) => Exit::Ok.into(),
        Ok(true) => {
            let error = restart();
            tracing::error!("{}", error.line());
            fail(&error)
        }
        Err(error) => fail(&error),
    }
}

fn fail(error: &Error) -> ExitCode {
    print_error(error);
    error.code.exit().into()
}

/// Replaces this process with a new one of the same program with the same arguments. Returns only if that fails.
fn restart() -> Error {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let error = match std::env::current_exe() {
        Ok(program) => Command::new(without_deleted_mark(program)).arg0(name).args(arguments).exec(),
        Err(error) => error,
    };
    Error::unavailable(format!("the daemon cannot be started again: {error}"))
}

/// The path of the running program, without the mark that Linux appends if its file was replaced, as by an update.
fn without_deleted_mark(program: PathBuf) -> PathBuf {
    match program.as_os_str().as_bytes().strip_suffix(b" (deleted)") {
        Some(replaced) if !program.exists() => OsStr::from_bytes(replaced).into(),
        _ => program,
    }
}

/// Runs the daemon until it stops. Returns whether the program must start again.
fn start(arguments: &DaemonArguments) -> Result<bool> {
    let paths = Paths::from_environment(arguments.profile.as_deref())?;
    paths.must_exist()?;
    let config = dispatch::load_settings(&paths.config_file())?;
    paths.create()?;
    let runtime = pools::runtime(&config)
        .map_err(|error| Error::unavailable(format!("the runtime cannot start: {error}")))?;
    // From here on a signal stops the daemon cleanly, even while the store is still opening.
    let mut signals = {
        let _context = runtime.enter();
        Signals::new()?
    };
    let memory = match opening::open(&paths, &config, &runtime, &mut signals) {
        Ok(Some(memory)) => memory,
        Ok(None) => return Ok(false),
        Err(error) => {
            // With any other error, no process holds the store and writes to the log. `daemon start` reads the error
            // there.
            if error.code != Code::Locked {
                logging::start(arguments, &paths, &config.daemon)?;
                tracing::error!("{}", error.line());
            }
            return Err(error);
        }
    };
    // Only the process that holds the store may write to the log.
    logging::start(arguments, &memory.paths, &memory.config.daemon)?;
    for line in memory.store.recovery().lines() {
        tracing::warn!("{line}");
    }
    if let (Some(base), Some(_)) = (memory.store.history_base(), memory.store.shared_log()) {
        tracing::info!(
            "the history of this copy of the shared log begins after change {}, of {}: {}",
            base.seq,
            base.at,
            memory.store.missing_history_hint()
        );
    }
    // A daemon that stops cleanly removes its socket, and no other daemon runs now.
    let follows_unclean_end = memory.paths.socket().exists();
    if follows_unclean_end {
        tracing::warn!("{UNCLEAN_END}");
    }
    let catalog = Catalog::load(&memory)?;
    // The codes of an earlier process no longer work. If it was killed, it has not deleted the file.
    sign_in_file::delete(&memory.paths.sign_in_file());
    leftovers::delete(&memory.paths, memory.now());
    let state = Arc::new(DaemonState::new(memory, catalog));
    state.follows_unclean_end.store(follows_unclean_end, Ordering::Relaxed);
    let served = runtime.block_on(serve(state.clone(), signals));
    let is_restarting = state.is_restarting();
    let closed = served.and_then(|outcome| service_manager::while_closing(|| close(state, outcome)));
    runtime.shutdown_background();
    match &closed {
        Ok(()) => tracing::info!("stopped"),
        Err(error) => tracing::error!("{}", error.line()),
    }
    closed.map(|()| is_restarting)
}

/// The outcome of serving.
struct ServeOutcome {
    /// The connections that are still open.
    connections: Vec<UnixStream>,
    /// The failure of a task, which stopped the daemon.
    result: Result<()>,
}

impl ServeOutcome {
    /// The outcome after the task `socket` and the other tasks have ended.
    fn of(socket: Result<Vec<UnixStream>>, others: Vec<Result<()>>) -> ServeOutcome {
        let others: Result<()> = others.into_iter().collect();
        match socket {
            Ok(connections) => ServeOutcome { connections, result: others },
            Err(error) => ServeOutcome { connections: Vec::new(), result: others.and(Err(error)) },
        }
    }
}

/// Deletes the sign-in file, saves what is pending, writes a checkpoint and closes the store, also after the failure of
/// a task, which says nothing about the store. Returns that failure, or the one to write the checkpoint.
fn close(state: Arc<DaemonState>, outcome: ServeOutcome) -> Result<()> {
    // The codes end with this process.
    sign_in_file::delete(&state.memory.paths.sign_in_file());
    if let Err(error) = state.memory_now().flush() {
        tracing::warn!("the latest updates of weights, edges and samples were not saved: {error}");
    }
    let written = match state.memory.store.checkpoint() {
        // Nothing is lost, because the log is complete; only the next start takes longer.
        Err(error) if error.code == Code::ReadOnly || outcome.result.is_err() => {
            tracing::warn!("no checkpoint was written: {error}");
            Ok(())
        }
        written => written,
    };
    // Connections are closed after the store, because clients take the end of their connection as a sign
    // that the store is free.
    drop(state);
    drop(outcome.connections);
    outcome.result.and(written)
}

/// Serves until the daemon is asked to stop and running work has ended, or its grace is over.
///
/// # Errors
/// If an address or the socket cannot be bound. Then nothing was served.
async fn serve(state: Arc<DaemonState>, signals: Signals) -> Result<ServeOutcome> {
    // The address is bound before the socket, because the socket tells clients that the daemon is ready, and
    // an address in use is an error.
    let over_http = rest::bind(&state)?;
    let listener = socket::bind(&state.memory.paths)?;
    tracing::info!(
        pid = std::process::id(),
        store = %state.memory.paths.store().display(),
        socket = %state.memory.paths.socket().display(),
        "started"
    );
    if let Some(reason) = answer_status::read_only(&state.memory) {
        tracing::warn!("{reason}");
    }
    service_manager::ready();
    let signals = tokio::spawn(handle_signals(state.clone(), signals));
    let alive = tokio::spawn(service_manager::alive(state.clone()));
    let work = async {
        let tasks = JoinSet::from_iter([
            task(&state, "schedule", schedule::run(state.clone())),
            task(&state, "reload", reload::run(state.clone())),
            task(&state, "structure refresh", structure_refresh::run(state.clone())),
            task(&state, "transcripts", transcripts::run(state.clone())),
            task(&state, "vaults", vaults::run(state.clone())),
            task(&state, "recall updates", recall_updates::run(state.clone())),
            task(&state, "checkpoint", checkpoint::run(state.clone())),
            task(&state, "compaction", compaction::run(state.clone())),
            task(&state, "verification", verification::run(state.clone())),
            task(&state, "vector update", vector_update::run(state.clone())),
            task(&state, "store log check", store_log_check::run(state.clone())),
            task(&state, "shared log maintenance", shared_log_maintenance::run(state.clone())),
            task(&state, "notifications", notifications::run(state.clone())),
            task(&state, "service manager", service_manager::stopping(state.clone())),
            task(&state, "rest", rest::run(state.clone(), over_http)),
        ]);
        let connections = task(&state, "socket", socket::run(state.clone(), listener)).await;
        ServeOutcome::of(connections, tasks.join_all().await)
    };
    let grace = state.memory.config.daemon.shutdown_grace;
    let too_late = async {
        state.stopped().await;
        tokio::time::sleep(grace.std()).await;
        state.calls.cancel();
        tokio::time::sleep(RECORD_TIMEOUT).await;
    };
    let requests = tokio::spawn({
        let state = state.clone();
        async move { state.end_requests().await }
    });
    let mut outcome = tokio::select! {
        outcome = work => outcome,
        () = too_late => {
            tracing::warn!("running work has not ended within {grace} and is interrupted");
            ServeOutcome { connections: Vec::new(), result: state.check_tasks() }
        }
    };
    signals.abort();
    alive.abort();
    requests.abort();
    outcome.result = outcome.result.and(socket::remove(&state.memory.paths));
    Ok(outcome)
}

/// Runs one task of the daemon. When it panics, the others are stopped too.
fn task<T: Send + 'static>(
    state: &Arc<DaemonState>,
    name: &'static str,
    run: impl Future<Output = T> + Send + 'static,
) -> Pin<Box<dyn Future<Output = Result<T>> + Send>> {
    // Both futures are boxed, so that the code of a tokio task is compiled only once.
    let run: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(run);
    let state = state.clone();
    Box::pin(async move {
        tokio::spawn(run).await.map_err(|error| {
            tracing::error!("the task `{name}` failed: {error}");
            let failure = Error::internal(format!("the task `{name}` of the daemon failed"));
            state.stop_after_failure(failure.clone());
            failure
        })
    })
}

/// Handles signals until the daemon stops.
async fn handle_signals(state: Arc<DaemonState>, mut signals: Signals) {
    loop {
        tokio::select! {
            _ = signals.terminate.recv() => { tracing::info!("SIGTERM: stopping"); state.stop(); }
            _ = signals.interrupt.recv() => { tracing::info!("SIGINT: stopping"); state.stop(); }
            _ = signals.hang_up.recv() => {
                tracing::info!("SIGHUP: reloading");
                let reloading = state.clone();
                let reloaded = state.pools.background.run(move || reload::reload(&reloading)).await;
                if let Ok(Err(error)) = reloaded {
                    tracing::error!("reload failed: {error}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_config::Config;
    use poc_graph::rng::SeededRng;
    use poc_graph::testing::node;
    use poc_graph::time::SystemClock;
    use poc_notes::Memory;
    use std::task::Poll;

    #[test]
    fn the_last_checkpoint_is_written_and_the_sign_in_file_deleted_although_a_task_has_failed() {
        let home = poc_graph::testing::folder();
        let mut config = Config::defaults().unwrap();
        config.embedder.kind = "hash".into();
        let runtime = pools::runtime(&config).unwrap();
        let (clock, rng) = (Arc::new(SystemClock), Arc::new(SeededRng::new(1)));
        let memory = Memory::open_temporary(Paths::in_folder(home.path()), config, clock, rng).unwrap();
        let state = Arc::new(DaemonState::new(memory, Catalog::default()));
        let store = &state.memory.store;
        store.transact(state.memory.cause("manual", "write"), |tx| tx.put_node(&node(1))).unwrap();
        assert!(store.unsaved() > 0);
        let sign_in_file = state.memory.paths.sign_in_file();
        std::fs::write(&sign_in_file, "").unwrap();
        let panics = std::future::poll_fn(|_| -> Poll<()> { panic!("a task fails in this test") });
        let failed = runtime.block_on(task(&state, "schedule", panics));
        assert!(state.is_stopping());
        assert_eq!(state.check_tasks().unwrap_err().message, "the task `schedule` of the daemon failed");
        let outcome = ServeOutcome::of(Ok(Vec::new()), vec![Ok(()), failed]);
        assert_eq!(close(state.clone(), outcome).unwrap_err().code, Code::Internal);
        assert_eq!(store.unsaved(), 0);
        assert!(!sign_in_file.exists());
    }

    #[test]
    fn a_daemon_whose_file_was_replaced_starts_again_with_the_new_one() {
        let folder = poc_graph::testing::folder();
        let program = folder.path().join("poc-daemon");
        let marked = folder.path().join("poc-daemon (deleted)");
        assert_eq!(without_deleted_mark(program.clone()), program);
        assert_eq!(without_deleted_mark(marked.clone()), program);
        // A file that has such a name was not replaced.
        std::fs::write(&marked, "").unwrap();
        assert_eq!(without_deleted_mark(marked.clone()), marked);
    }
}
