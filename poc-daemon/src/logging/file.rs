//! The log file of the daemon, in parts of bounded size: `daemon.log`, then `daemon.log.1`, and so on.
//!
//! `tracing-appender` rotates files by time only, but a loop of errors can fill a disk within a day, so this
//! log is bounded by size.

use parking_lot::Mutex;
use poc_config::DaemonConfig;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tracing_subscriber::fmt::MakeWriter;

/// The mode of the files. Only the owner may read them, because the log contains keys of notes.
const MODE: u32 = 0o600;

/// A log in several files. Clones write to the same one.
#[derive(Clone)]
pub(crate) struct LogFile(Arc<Mutex<RotatingFile>>);

struct RotatingFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    max_bytes: u64,
    /// Number of files that are kept, including the current one.
    files: usize,
}

impl LogFile {
    /// Opens the log for appending.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub(crate) fn open(path: &Path, config: &DaemonConfig) -> io::Result<LogFile> {
        let file = open(path)?;
        let bytes = file.metadata()?.len();
        let (max_bytes, files) = (config.log_max_bytes as u64, config.log_files);
        // Earlier settings may have kept more parts.
        let mut number = files.max(1);
        while std::fs::remove_file(part(path, number)).is_ok() {
            number += 1;
        }
        Ok(LogFile(Arc::new(Mutex::new(RotatingFile {
            path: path.to_owned(),
            file,
            bytes,
            max_bytes,
            files,
        }))))
    }
}

/// Opens a file for appending, and restricts it to its owner even if it exists with other permissions.
fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).mode(MODE).open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        // This fails if the file belongs to another user; logging to it is still better than not logging.
        let _ = file.set_permissions(Permissions::from_mode(MODE));
    }
    Ok(file)
}

/// The path of an earlier part; 1 is the latest of them.
fn part(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

impl RotatingFile {
    /// Begins a new file. If that fails, the log continues in the current one.
    fn rotate(&mut self) {
        // The oldest is overwritten.
        for number in (1..self.files.saturating_sub(1)).rev() {
            let _ = std::fs::rename(part(&self.path, number), part(&self.path, number + 1));
        }
        let moved = match self.files {
            0 | 1 => std::fs::remove_file(&self.path),
            _ => std::fs::rename(&self.path, part(&self.path, 1)),
        };
        if moved.is_ok()
            && let Ok(file) = open(&self.path)
        {
            self.file = file;
        }
        self.bytes = 0;
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = LogFile;

    fn make_writer(&'a self) -> LogFile {
        self.clone()
    }
}

impl Write for LogFile {
    /// Writes one message. A message is never split between files.
    fn write(&mut self, message: &[u8]) -> io::Result<usize> {
        let mut parts = self.0.lock();
        let length = message.len() as u64;
        if parts.bytes > 0 && parts.bytes + length > parts.max_bytes {
            parts.rotate();
        }
        parts.file.write_all(message)?;
        parts.bytes += length;
        Ok(message.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_that_earlier_settings_kept_are_deleted() {
        let folder = poc_graph::testing::folder();
        let path = folder.path().join("daemon.log");
        for number in 1..5 {
            std::fs::write(part(&path, number), "x").unwrap();
        }
        let config = poc_config::Config::defaults().unwrap().daemon;
        let kept = |files: usize| {
            LogFile::open(&path, &DaemonConfig { log_files: files, ..config.clone() }).unwrap();
            std::fs::read_dir(folder.path()).unwrap().count()
        };
        assert_eq!((kept(5), kept(3), kept(1)), (5, 3, 1));
    }

    poc_laws::laws! {
        #[test]
        fn the_log_is_bounded_and_its_end_is_kept(
            lengths in prop::collection::vec(1..60usize, 1..80),
            max_bytes in 40..200usize,
            files in 1..5usize,
        ) {
            let folder = poc_graph::testing::folder();
            let path = folder.path().join("daemon.log");
            let config = poc_config::Config::defaults().unwrap().daemon;
            let config = DaemonConfig { log_max_bytes: max_bytes, log_files: files, ..config };
            let mut written = String::new();
            for (number, length) in lengths.iter().enumerate() {
                // The daemon restarts every few messages.
                let mut log = LogFile::open(&path, &config).unwrap();
                let message = format!("{number} {}\n", "x".repeat(*length));
                log.write_all(message.as_bytes()).unwrap();
                written += &message;
            }
            let found = std::fs::read_dir(folder.path()).unwrap().count();
            prop_assert!(found <= files);
            let mut kept = String::new();
            for number in (0..files).rev() {
                let part = if number == 0 { path.clone() } else { part(&path, number) };
                let Ok(text) = std::fs::read_to_string(&part) else { continue };
                prop_assert!(text.len() <= max_bytes.max(64) && text.ends_with('\n'));
                prop_assert_eq!(std::fs::metadata(&part).unwrap().permissions().mode() & 0o777, 0o600);
                kept += &text;
            }
            prop_assert!(written.ends_with(&kept) && !kept.is_empty());
        }
    }
}
