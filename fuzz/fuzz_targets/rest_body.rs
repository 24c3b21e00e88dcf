//! The JSON body of a REST request.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| poc_daemon::fuzzing::rest_body(bytes));
