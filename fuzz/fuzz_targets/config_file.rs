//! The settings in `config.toml`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| poc_config::fuzzing::config_file(text));
