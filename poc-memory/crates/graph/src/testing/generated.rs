//! Generated files in the repository, kept up to date by tests.
//!
//! If the environment has `POC_MEMORY_BLESS=1`, the files are written instead of compared.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// Asserts that a file of the repository, given by its path from the root, has the content `wanted`.
#[track_caller]
pub fn assert_file(name: &str, wanted: &str) {
    assert_part(name, wanted, |found| 0..found.len());
}

/// Asserts that a section of a file is `wanted`. The section starts with the line `start`, which `wanted` includes, and
/// ends before the line `end` or at the end of the file.
#[track_caller]
pub fn assert_section(name: &str, wanted: &str, start: &str, end: Option<&str>) {
    assert_part(name, wanted, |found| {
        let line = |line: &str| match found.starts_with(&format!("{line}\n")) {
            true => Some(0),
            false => found.find(&format!("\n{line}\n")).map(|before| before + 1),
        };
        line(start).unwrap_or(found.len())..end.and_then(line).unwrap_or(found.len())
    });
}

#[track_caller]
fn assert_part(name: &str, wanted: &str, part: impl Fn(&str) -> Range<usize>) {
    let path = root().join(name);
    let file = std::fs::read_to_string(&path).unwrap_or_default();
    let range = part(&file);
    if std::env::var_os("POC_MEMORY_BLESS").is_some() {
        let (before, after) = (&file[..range.start], &file[range.end..]);
        std::fs::write(&path, format!("{before}{wanted}{after}")).unwrap();
        return;
    }
    let first = file[..range.start].lines().count();
    let found = &file[range];
    let line = found.lines().zip(wanted.lines()).position(|(found, wanted)| found != wanted);
    let line = line.unwrap_or_else(|| found.lines().count().min(wanted.lines().count()));
    assert!(
        found == wanted,
        "{name} is out of date from line {} on, which should read\n{}\n`just bless` writes it",
        first + line + 1,
        wanted.lines().skip(line).take(3).collect::<Vec<_>>().join("\n"),
    );
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}
