//! A transaction in the log.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| poc_store::fuzzing::log_record(bytes));
