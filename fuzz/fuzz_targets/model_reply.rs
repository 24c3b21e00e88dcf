//! The reply of a model to an agent.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| poc_agent::fuzzing::model_reply(text));
