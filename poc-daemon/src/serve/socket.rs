//! The Unix socket. Each client has a [`connection`](super::connection).

use super::connection;
use super::idle_connections::IdleConnections;
use crate::state::DaemonState;
use poc_config::paths::{Paths, create_private};
use poc_graph::error::{Error, Result};
use poc_memory::wire::{self, CONNECTION, Frame};
use poc_notes::Memory;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// The time between two checks that the file of the socket exists.
const FILE_CHECK: Duration = Duration::from_secs(5);

/// Creates the socket with access for its owner only. It replaces the file of a daemon that crashed:
/// this process holds the lock of the store, so no other daemon serves the socket.
///
/// # Errors
/// `unavailable` when the file cannot be created.
pub(crate) fn bind(paths: &Paths) -> Result<UnixListener> {
    remove(paths)?;
    create(paths)
}

/// Creates the socket where no file is.
fn create(paths: &Paths) -> Result<UnixListener> {
    let path = paths.socket();
    let failed = |error: std::io::Error| {
        let hint = match error.kind() {
            // Linux allows 107 bytes, macOS 103.
            ErrorKind::InvalidInput => {
                "its path is too long: set `XDG_RUNTIME_DIR` or `POC_MEMORY_HOME` to a shorter one"
            }
            _ => {
                "its folder must be writable: set `XDG_RUNTIME_DIR`, or `POC_MEMORY_HOME` if that is in use; without a \
                 daemon, commands still read the memory"
            }
        };
        Error::unavailable(format!("the socket `{}` cannot be created: {error}", path.display())).hint(hint)
    };
    let listener = UnixListener::bind(&path).map_err(failed)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}

/// Creates the socket again if its file was deleted, as it is with `XDG_RUNTIME_DIR` when the last session of the user
/// ends. `None` if the file exists, if the memory was deleted or moved, or if the file cannot be created.
pub(super) fn bind_again(memory: &Memory) -> Option<UnixListener> {
    let (paths, path) = (&memory.paths, memory.paths.socket());
    // Clients that find the socket expect the memory whose folder is there now.
    if path.symlink_metadata().is_ok() || !paths.store().is_dir() || memory.store.was_moved() {
        return None;
    }
    // A file that another daemon has created in the meantime is not replaced.
    match create_private(path.parent().unwrap_or(&path)).and_then(|()| create(paths)) {
        Ok(listener) => {
            tracing::warn!("the socket `{}` was deleted, and is created again", path.display());
            Some(listener)
        }
        Err(error) => {
            tracing::debug!("the socket was deleted and cannot be created again: {error}");
            None
        }
    }
}

/// Removes the file of the socket, if there is one.
pub(crate) fn remove(paths: &Paths) -> Result<()> {
    let path = paths.socket();
    match std::fs::remove_file(&path) {
        // On a read-only disk, a file that does not exist has this error, too.
        Err(error) if path.symlink_metadata().is_ok() => {
            Err(Error::unavailable(format!("the socket `{}` cannot be removed: {error}", path.display())))
        }
        _ => Ok(()),
    }
}

/// Serves the socket until the daemon stops and every request is answered. Returns the connections that are
/// still open: clients wait until they are closed to know that the daemon has exited.
pub(crate) async fn run(state: Arc<DaemonState>, mut listener: UnixListener) -> Vec<UnixStream> {
    let slots = Arc::new(Semaphore::new(state.memory.config.daemon.max_connections));
    let idle = Arc::new(IdleConnections::default());
    let mut connections = JoinSet::new();
    let mut open = Vec::new();
    // A client that waits for a free slot. No other client is accepted until it has one.
    let mut waiting = None;
    let mut file_checks = tokio::time::interval(FILE_CHECK);
    loop {
        tokio::select! {
            () = state.stopped() => break,
            // A connection may notice the stop before this loop does. It then stays open.
            Some(ended) = connections.join_next(), if !connections.is_empty() => {
                open.extend(ended.ok().flatten());
            }
            stream = accept(&listener), if waiting.is_none() => waiting = stream,
            _ = file_checks.tick() => {
                if let Some(created) = bind_again(&state.memory) {
                    listener = created;
                }
            }
            slot = idle.free_slot(&slots), if waiting.is_some() => {
                let (Some(stream), Some(slot)) = (waiting.take(), slot) else { continue };
                let (state, idle) = (state.clone(), idle.clone());
                connections.spawn(async move {
                    let stream = connection::serve(state, stream, &idle).await;
                    drop(slot);
                    stream
                });
            }
        }
    }
    // From here on no client can connect, but connected clients still get their answers.
    drop(listener);
    open.extend(connections.join_all().await.into_iter().flatten());
    open
}

/// Waits for the next connection of the daemon's own user.
async fn accept(listener: &UnixListener) -> Option<UnixStream> {
    let stream = match listener.accept().await {
        Ok((stream, _)) => stream,
        Err(error) => {
            tracing::warn!("a connection could not be accepted: {error}");
            // The usual cause is a lack of file descriptors, and without a pause this loop would spin.
            tokio::time::sleep(Duration::from_millis(100)).await;
            return None;
        }
    };
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == rustix::process::getuid().as_raw() => Some(stream),
        Ok(peer) => {
            tracing::warn!("a connection of the user {} was refused", peer.uid());
            refuse(stream, peer.uid());
            None
        }
        Err(error) => {
            tracing::warn!("a connection of an unknown user was refused: {error}");
            None
        }
    }
}

/// Tells a client that another user runs the daemon.
fn refuse(stream: UnixStream, peer: u32) {
    let own = rustix::process::getuid().as_raw();
    let error = Error::unavailable(format!(
        "the daemon runs as the user {own}, and accepts no commands of the user {peer}"
    ))
    .hint("run the command as the user of the daemon");
    // The stream does not block, and a new one has room for a frame. The client may have left.
    if let Ok(mut stream) = stream.into_std() {
        let _ = wire::write(&mut stream, &Frame::Err { id: CONNECTION, err: error }, usize::MAX);
    }
}
