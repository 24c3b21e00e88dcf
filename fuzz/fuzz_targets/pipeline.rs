//! A pipeline of the query language.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| poc_search::fuzzing::pipeline(text));
