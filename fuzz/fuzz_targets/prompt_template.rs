//! The template of a prompt.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| poc_agent::fuzzing::prompt_template(text));
