//! A saved index.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| poc_index::fuzzing::index_snapshot(bytes));
