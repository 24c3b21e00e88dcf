//! The programs of the same build, run as processes.

use poc_config::paths::Paths;
use poc_graph::time::Span;
use poc_memory::client::Client;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// The maximum size in bytes of a frame on the socket.
const FRAME: usize = 1 << 26;

/// Time between two attempts to connect to a daemon that starts.
const PAUSE: Duration = Duration::from_millis(50);

/// A running daemon. It is killed when the value is dropped.
pub struct DaemonProcess(Child);

impl DaemonProcess {
    /// Starts the daemon of the memory in a folder, and waits until it accepts connections.
    #[allow(clippy::disallowed_methods, reason = "another process gives no event to wait for")]
    pub fn start(home: &Path) -> DaemonProcess {
        let daemon = DaemonProcess(command("poc-daemon", home).spawn().unwrap());
        while connect(home).is_none() {
            thread::sleep(PAUSE);
        }
        daemon
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// The memory that it occupies, in megabytes.
    pub fn resident_megabytes(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id()));
        let status = status.expect("resident memory is read on Linux only");
        // In kibibytes, as `VmRSS:   123 kB` (proc(5)).
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() * 1024.0 / 1e6
    }
}

/// A connection to the daemon of the memory in a folder; `None` if no daemon listens.
pub fn connect(home: &Path) -> Option<Client> {
    Client::connect(&Paths::in_folder(home).socket(), FRAME, Span::MINUTE).unwrap()
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
