//! A file of a format that import reads. The first line names the format, unless the variable `POC_FUZZ_FORMAT` does: then
//! every input is of that format.

#![no_main]

use libfuzzer_sys::fuzz_target;
use poc_notes::import::fuzzing::Fuzzed;
use std::panic;
use std::sync::LazyLock;

/// Libraries that read PDF. They panic on some damaged documents, and import catches that.
const CAUGHT: [&str; 6] =
    ["adobe-cmap-parser", "cff-parser", "lopdf", "pdf-extract", "postscript", "type1-encoding"];

static FUZZED: LazyLock<Fuzzed> = LazyLock::new(|| {
    // The hook of the fuzzer ends the process at every panic.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let file = info.location().map_or("", |location| location.file());
        if !CAUGHT.iter().any(|library| file.contains(library)) {
            hook(info);
        }
    }));
    Fuzzed::default()
});

static FORMAT: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("POC_FUZZ_FORMAT").ok());

fuzz_target!(|bytes: &[u8]| {
    match FORMAT.as_deref() {
        None => FUZZED.import(bytes),
        Some(format) => FUZZED.import_as(format, bytes),
    }
});
