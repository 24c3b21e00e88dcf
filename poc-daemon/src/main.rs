//! poc-daemon: owns a memory, runs its agents on schedule, and serves requests on a socket and over HTTP.

mod arguments;
mod checkpoint;
mod host;
mod lifecycle;
mod log;
mod metrics;
mod pools;
mod reconcile;
mod refresh;
mod schedule;
mod serve;
mod service_manager;
mod sessions;
mod shared;
mod throttle;
mod transcript_queue;
mod transcripts;
mod watch;

use clap::Parser;
use poc_graph::error::Exit;
use poc_memory::cli::{restrict_new_files, usage_error};
use std::process::ExitCode;

fn main() -> ExitCode {
    restrict_new_files();
    match arguments::Arguments::try_parse() {
        Ok(arguments) => lifecycle::main(&arguments),
        Err(error) => match usage_error(&error, "see `poc-daemon --help`") {
            Some(usage) => {
                lifecycle::print_error(&usage);
                Exit::Usage.into()
            }
            None => error.exit(),
        },
    }
}
