//! The programs of the same build, run as processes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A running daemon. It is killed when the value is dropped.
pub struct DaemonProcess(Child);

impl DaemonProcess {
    /// Starts the daemon of the memory in a folder. It may need a while until it answers.
    pub fn start(home: &Path) -> DaemonProcess {
        DaemonProcess(command("poc-daemon", home).spawn().unwrap())
    }
}

impl Drop for DaemonProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A command that runs a program with the memory in a folder. It reads and prints nothing unless the caller changes
/// that.
pub fn command(name: &str, home: &Path) -> Command {
    let mut command = Command::new(program(name));
    command.env("POC_MEMORY_HOME", home).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A program of the same build as the running bench.
fn program(name: &str) -> PathBuf {
    let path = std::env::current_exe().unwrap().parent().unwrap().with_file_name(name);
    assert!(path.exists(), "{} is missing: `cargo build --release` first", path.display());
    path
}
