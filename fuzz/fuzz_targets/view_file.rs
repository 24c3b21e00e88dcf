//! A saved view.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| poc_store::fuzzing::view_file(bytes));
