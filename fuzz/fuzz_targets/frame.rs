//! Frames of the socket.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| poc_memory::wire::fuzzing::frame(bytes));
