//! The daemon: it owns a memory, runs its agents on schedule, and serves requests on a socket and over HTTP.
//!
//! The package builds both programs. All code is in `poc-memory`; `poc-daemon` starts it under its own name.

mod capture_failures;
mod checkpoint;
mod compaction;
mod console;
mod debounce;
mod file_events;
mod host;
mod leftovers;
mod lifecycle;
mod logging;
mod metrics;
mod notifications;
mod opening;
mod pools;
mod problems;
mod recall_updates;
mod reconcile;
mod reload;
mod reported_problems;
mod schedule;
mod serve;
mod service_manager;
mod sessions;
mod shared_log_maintenance;
mod sign_in_file;
mod signals;
mod state;
mod store_log_check;
mod structure_refresh;
mod surface;
mod throttle;
mod transcript_queue;
mod transcripts;
mod vaults;
mod vector_update;
mod verification;
mod wall_clock;

#[cfg(fuzzing)]
pub mod fuzzing {
    //! Parsers for the fuzz targets: see `fuzz/` at the root of the repository.
    pub use crate::serve::rest::fuzzing::{rest_body, rest_query};
}

use clap::Parser;
use poc_graph::error::Exit;
use poc_memory::cli::{DaemonArguments, restrict_new_files, survive_file_size_limit, usage_error};
use std::ffi::OsString;
use std::process::ExitCode;

/// The name under which the program is the daemon.
pub const PROGRAM: &str = "poc-daemon";

/// Runs the daemon with the arguments of a command line, which starts with the program's name, until it is asked to
/// stop. Returns its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    restrict_new_files();
    survive_file_size_limit();
    match DaemonArguments::try_parse_from(arguments) {
        Ok(arguments) => lifecycle::main(&arguments),
        Err(error) => match usage_error(&error, "see `poc-daemon --help`") {
            Some(usage) => {
                console::print_error(&usage);
                Exit::Usage.into()
            }
            None => error.exit(),
        },
    }
}
