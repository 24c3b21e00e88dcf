//! A clock that a test sets for the processes that it starts.

use std::path::Path;

const FOLDERS: [&str; 4] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];

/// The variables that make a program see the time of day shifted by what a file says, such as `+2h`; `None`, with a
/// message, where libfaketime is not installed. Time that is measured from a start is not shifted.
#[expect(clippy::print_stderr, reason = "a test that is not run says so")]
pub fn fake_clock(file: &Path) -> Option<Vec<(String, String)>> {
    let library = |folder: &&str| Path::new(folder).join("faketime/libfaketimeMT.so.1");
    let Some(library) = FOLDERS.iter().map(library).find(|library| library.exists()) else {
        eprintln!("not run: libfaketime is not installed");
        return None;
    };
    let variables = [
        ("LD_PRELOAD", library.display().to_string()),
        ("FAKETIME_TIMESTAMP_FILE", file.display().to_string()),
        ("FAKETIME_NO_CACHE", "1".into()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
        ("NO_FAKE_STAT", "1".into()),
    ];
    Some(variables.map(|(name, value)| (name.to_owned(), value)).into())
}
