//! Permissions and size limits of the files that this process creates.

use rustix::fs::Mode;
use std::sync::Arc;

/// Makes all files that this process creates accessible to their owner only, whatever the umask was. Programs that it
/// starts inherit this.
pub fn restrict_new_files() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// Turns a write beyond the file size limit into an error. By default, the signal SIGXFSZ would end the
/// process.
pub fn survive_file_size_limit() {
    // The handler only replaces the default action of the signal.
    if let Err(error) = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default()) {
        tracing::debug!("the signal for files that are too long keeps its default action: {error}");
    }
}
