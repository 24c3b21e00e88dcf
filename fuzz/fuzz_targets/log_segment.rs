//! A segment of the log.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use tempfile::TempDir;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a temporary folder"));

fuzz_target!(|bytes: &[u8]| poc_store::fuzzing::log_segment(bytes, &FOLDER.path().join("segment")));
