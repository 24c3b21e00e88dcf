//! poc-daemon: owns a memory, runs its agents on time and answers on a socket.

mod arguments;
mod checkpoint;
mod host;
mod lifecycle;
mod log;
mod metrics;
mod pace;
mod refresh;
mod schedule;
mod serve;
mod shared;
mod watch;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    lifecycle::main(&arguments::Arguments::parse())
}
