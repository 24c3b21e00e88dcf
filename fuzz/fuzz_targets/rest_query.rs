//! The query string of a REST request.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| poc_daemon::fuzzing::rest_query(text));
