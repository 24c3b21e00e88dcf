//! poc-memory: the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    poc_memory::cli::main(std::env::args_os())
}
