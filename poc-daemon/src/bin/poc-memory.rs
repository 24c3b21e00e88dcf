//! The program. Under the name `poc-memory` it is the command line, under the name `poc-daemon` the daemon.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let name = arguments.first().and_then(|path| Path::new(path).file_name());
    if name.is_some_and(|name| name == poc_daemon::PROGRAM) {
        return poc_daemon::main(arguments);
    }
    poc_memory::cli::main(arguments)
}
