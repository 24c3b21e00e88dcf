//! The Unix socket: connections, each a [`conversation`](super::conversation).

use super::conversation;
use crate::shared::Shared;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Makes the socket, for its owner only. A socket file left by a daemon that ended badly is
/// replaced: the store's lock is ours, so no other daemon serves it.
pub(crate) fn bind(paths: &Paths) -> Result<UnixListener> {
    let path = paths.socket();
    let failed = |error: std::io::Error| {
        Error::unavailable(format!("the socket `{}` cannot be made: {error}", path.display())).hint(
            "a socket's path has at most 107 bytes: set `XDG_RUNTIME_DIR` or `POC_MEMORY_HOME` to a shorter one",
        )
    };
    remove(paths)?;
    let listener = UnixListener::bind(&path).map_err(failed)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}

/// Removes the socket's file.
pub(crate) fn remove(paths: &Paths) -> Result<()> {
    match std::fs::remove_file(paths.socket()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::unavailable(format!(
            "the socket `{}` cannot be removed: {error}",
            paths.socket().display()
        ))),
        _ => Ok(()),
    }
}

/// Answers on the socket until the daemon is to stop and every request is answered. Returns the
/// connections that are still open: a client may wait for their end to see the daemon gone.
pub(crate) async fn run(shared: Arc<Shared>, listener: UnixListener) -> Vec<UnixStream> {
    let room = Arc::new(Semaphore::new(shared.memory.config.daemon.max_connections));
    let mut conversations = JoinSet::new();
    let mut open = Vec::new();
    loop {
        tokio::select! {
            () = shared.stopped() => break,
            // One that has seen the wish to stop before this loop has leaves its connection open.
            Some(ended) = conversations.join_next(), if !conversations.is_empty() => {
                open.extend(ended.ok().flatten());
            }
            stream = accept(&listener, &room) => {
                let Some((stream, room)) = stream else { continue };
                let shared = shared.clone();
                conversations.spawn(async move {
                    let stream = conversation::hold(shared, stream).await;
                    drop(room);
                    stream
                });
            }
        }
    }
    // Nobody can connect any more; who is connected gets the answers to what was asked.
    drop(listener);
    open.extend(conversations.join_all().await.into_iter().flatten());
    open
}

/// The next connection from the daemon's own user, once there is room for it.
async fn accept(
    listener: &UnixListener,
    room: &Arc<Semaphore>,
) -> Option<(UnixStream, tokio::sync::OwnedSemaphorePermit)> {
    let room = room.clone().acquire_owned().await.ok()?;
    let stream = match listener.accept().await {
        Ok((stream, _)) => stream,
        Err(error) => {
            tracing::warn!("a connection could not be accepted: {error}");
            // Out of file descriptors, as a rule: trying again at once would spin.
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            return None;
        }
    };
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == rustix::process::getuid().as_raw() => Some((stream, room)),
        Ok(peer) => {
            tracing::warn!("a connection of the user {} was refused", peer.uid());
            None
        }
        Err(error) => {
            tracing::warn!("a connection whose user cannot be told was refused: {error}");
            None
        }
    }
}
