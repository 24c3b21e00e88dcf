//! The schedule of an agent.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| poc_config::fuzzing::schedule(text));
