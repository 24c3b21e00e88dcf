//! An agent file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| poc_agent::fuzzing::agent_file(text));
