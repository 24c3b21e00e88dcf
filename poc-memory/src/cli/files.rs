//! Permissions of the files that this process creates.

use rustix::fs::Mode;

/// Makes all files that this process creates accessible to their owner only, whatever the umask was. Programs that it
/// starts inherit this.
pub fn restrict_new_files() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}
