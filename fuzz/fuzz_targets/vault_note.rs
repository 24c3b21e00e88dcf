//! A file of a vault, with its front matter.

#![no_main]

use libfuzzer_sys::fuzz_target;
use poc_notes::import::fuzzing::Fuzzed;
use std::sync::LazyLock;

static FUZZED: LazyLock<Fuzzed> = LazyLock::new(Fuzzed::default);

fuzz_target!(|text: &str| FUZZED.vault_note(text));
