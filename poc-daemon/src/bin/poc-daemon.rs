//! Starts the program `poc-memory` under the name `poc-daemon`, for installations without symbolic links. It
//! uses only the standard library, so that the code of the product is installed once.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The name of the program that contains the daemon.
const PROGRAM: &str = "poc-memory";

/// Exit code of a daemon that could not start.
const FAILED: u8 = 1;

#[allow(clippy::print_stderr, reason = "standard error is the only place for the error of a start")]
fn main() -> ExitCode {
    let program = sibling_program().unwrap_or_else(|| PROGRAM.into());
    // Returns only if the program cannot be started.
    let error =
        Command::new(&program).arg0(OsStr::new("poc-daemon")).args(std::env::args_os().skip(1)).exec();
    eprintln!("error: `{}` cannot be started: {error}", program.display());
    if error.kind() == io::ErrorKind::NotFound {
        eprintln!("hint: install `poc-memory` and `poc-daemon` into one folder");
    }
    FAILED.into()
}

/// `poc-memory` in the folder of this program, also if this program was started through a link.
fn sibling_program() -> Option<PathBuf> {
    // On macOS, the path of the link.
    let own = std::env::current_exe().and_then(|own| own.canonicalize()).ok()?;
    Some(own.with_file_name(PROGRAM)).filter(|path| path.is_file())
}
