//! What this process does to the files that it creates.

use rustix::fs::Mode;
use std::sync::Arc;

/// Makes all files that this process creates accessible to their owner only, whatever the umask was. Programs that it
/// starts inherit this.
pub fn restrict_new_files() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// Makes a write beyond the limit on the length of files an error. Without this, the signal for it ends the process.
pub fn survive_file_size_limit() {
    // The handler only keeps the signal from its default action.
    if let Err(error) = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default()) {
        tracing::debug!("the signal for files that are too long keeps its default action: {error}");
    }
}
