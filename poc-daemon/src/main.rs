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
use poc_graph::error::Exit;
use poc_memory::cli::usage_error;
use std::process::ExitCode;

fn main() -> ExitCode {
    match arguments::Arguments::try_parse() {
        Ok(arguments) => lifecycle::main(&arguments),
        Err(error) => match usage_error(&error, "see `poc-daemon --help`") {
            Some(wrong) => {
                lifecycle::complain(&wrong);
                Exit::Usage.into()
            }
            None => error.exit(),
        },
    }
}
