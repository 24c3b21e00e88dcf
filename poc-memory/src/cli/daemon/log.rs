//! `daemon log`

use crate::cli::local::LocalCommand;
use crate::cli::profile;
use crate::cli::session::Session;
use poc_graph::error::{Error, Result};
use serde::Serialize;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

/// Show the end of the daemon's log, even if no daemon runs
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct DaemonLog {
    /// Lines to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    lines: usize,
}

/// What `daemon log` answers.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct DaemonLogOutput {
    /// The last lines, oldest first.
    lines: Vec<String>,
}

impl LocalCommand for DaemonLog {
    const NAME: &'static str = "daemon log";
    type Output = DaemonLogOutput;

    fn run(self, session: &Session) -> Result<DaemonLogOutput> {
        profile::must_exist(session)?;
        let path = session.paths.daemon_log();
        let unreadable = |error| Error::unavailable(format!("`{}` cannot be read: {error}", path.display()));
        match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(Error::not_found("this memory's daemon has never run: it has no log")
                    .hint("start it with `poc-memory daemon start`"))
            }
            Err(error) => Err(unreadable(error)),
            Ok(mut file) => Ok(DaemonLogOutput { lines: tail(&mut file, self.lines).map_err(unreadable)? }),
        }
    }

    fn show(tail: &DaemonLogOutput) -> String {
        tail.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// The last `count` lines of a file, read backwards in blocks.
fn tail(file: &mut (impl Read + Seek), count: usize) -> std::io::Result<Vec<String>> {
    const BLOCK: u64 = 64 * 1024;
    let mut start = file.seek(SeekFrom::End(0))?;
    let mut bytes: Vec<u8> = Vec::new();
    // One newline more than lines, because the first line may be incomplete.
    while start > 0 && bytes.iter().filter(|byte| **byte == b'\n').count() <= count {
        let length = start.min(BLOCK);
        start -= length;
        file.seek(SeekFrom::Start(start))?;
        let mut block = Vec::new();
        file.by_ref().take(length).read_to_end(&mut block)?;
        block.append(&mut bytes);
        bytes = block;
    }
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines.iter().skip(lines.len().saturating_sub(count)).map(|line| (*line).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn tail_returns_the_last_lines() {
        let check = |text: &str, count, expected: &[&str]| {
            assert_eq!(tail(&mut Cursor::new(text), count).unwrap(), expected);
        };
        check("", 5, &[]);
        check("a\nb\nc\n", 2, &["b", "c"]);
        check("a\nb\nc", 2, &["b", "c"]);
        check("a\nb\n", 9, &["a", "b"]);
        check("a\n", 0, &[]);
        let long: String = (0..40_000).map(|n| format!("line {n}\n")).collect();
        check(&long, 2, &["line 39998", "line 39999"]);
    }
}
