//! The log of hooks: one line for each call.

use poc_config::paths::{Paths, create_private};
use poc_graph::one_line;
use poc_graph::time::Timestamp;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Size in bytes at which the log is rotated. The former log is kept as `hooks.log.1`.
const MAX_BYTES: u64 = 1 << 20;

/// Writes a line. Failures are ignored, because they cannot be reported anywhere.
pub(super) fn write(paths: &Paths, now: SystemTime, took: Duration, event: &str, session: &str, what: &str) {
    let path = paths.hook_log();
    let Some(folder) = path.parent() else { return };
    if create_private(folder).is_err() {
        return;
    }
    if std::fs::metadata(&path).is_ok_and(|log| log.len() > MAX_BYTES) {
        let _ = std::fs::rename(&path, path.with_extension("log.1"));
    }
    let millis = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let at = Timestamp(i64::try_from(millis).unwrap_or_default());
    let session = if session.is_empty() { "-" } else { session };
    let line = format!("{at} {event} {session} {} ms {}\n", took.as_millis(), one_line(what));
    if let Ok(mut log) = OpenOptions::new().create(true).append(true).mode(0o600).open(&path) {
        // The line is written in one call, so that lines of concurrent calls do not mix.
        let _ = log.write_all(line.as_bytes());
    }
}
