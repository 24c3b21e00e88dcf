//! Asking the daemon how it is, `daemon log`, and `daemon stop` with its wait for the end.

use super::local::Local;
use super::profile;
use super::session::Session;
use crate::client::Client;
use crate::dispatch;
use crate::ops::{self, DaemonStatus};
use poc_config::Config;
use poc_config::paths::Paths;
use poc_graph::error::{Error, Result};
use serde::Serialize;
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// What makes a daemon read its settings anew.
pub(super) const RESTART: &str = "`poc-memory daemon stop`, then start `poc-daemon` again";

/// The daemon of a profile and how it is; `None` when none runs.
pub(super) fn ask(paths: &Paths, config: Option<&Config>) -> Result<Option<(Client, DaemonStatus)>> {
    let defaults = Config::defaults()?;
    let Some(mut client) = dispatch::connect(paths, config.unwrap_or(&defaults))? else {
        return Ok(None);
    };
    let status = client.call("daemon status", Value::Object(Map::new()), &|_| {})?;
    let status = serde_json::from_value(status).map_err(|error| {
        Error::internal(format!("the daemon's answer is not understood: {error}")).hint(RESTART)
    })?;
    Ok(Some((client, status)))
}

/// Show the end of the daemon's log, whether it runs or not
#[derive(Debug, clap::Args)]
pub(super) struct Log {
    /// Lines to show
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50)]
    lines: usize,
}

/// What `daemon log` answers.
#[derive(Debug, Serialize)]
pub(super) struct Tail {
    /// The last lines, oldest first.
    lines: Vec<String>,
}

impl Local for Log {
    const NAME: &'static str = "daemon log";
    type Output = Tail;

    fn run(self, session: &Session) -> Result<Tail> {
        profile::must_exist(session)?;
        let path = session.paths.daemon_log();
        let unreadable = |error| Error::unavailable(format!("`{}` cannot be read: {error}", path.display()));
        match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(Error::not_found("this memory's daemon has never run: it has no log")
                    .hint("start it with `poc-daemon`"))
            }
            Err(error) => Err(unreadable(error)),
            Ok(mut file) => Ok(Tail { lines: tail(&mut file, self.lines).map_err(unreadable)? }),
        }
    }

    fn show(tail: &Tail) -> String {
        tail.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// The last `count` lines of a file, read backwards in blocks.
fn tail(file: &mut (impl Read + Seek), count: usize) -> std::io::Result<Vec<String>> {
    const BLOCK: u64 = 64 * 1024;
    let mut start = file.seek(SeekFrom::End(0))?;
    let mut bytes: Vec<u8> = Vec::new();
    // One line end more than lines: the first of them may be cut.
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

/// Stop the daemon: it lets what runs end, closes the store, and is gone when this returns
#[derive(Debug, clap::Args)]
pub(super) struct Stop {}

impl Local for Stop {
    const NAME: &'static str = "daemon stop";
    type Output = Value;

    fn run(self, session: &Session) -> Result<Value> {
        // Broken settings must not keep anybody from stopping a daemon that runs on those before.
        let config = session.config().or_else(|_| Config::defaults())?;
        let mut client = dispatch::connect_daemon(&session.paths, &config)?;
        let stopping = client.call(Self::NAME, Value::Object(Map::new()), &|_| {})?;
        client.wait_for_end();
        if Path::exists(&session.paths.socket()) {
            return Err(Error::unavailable("the daemon closed the connection but its socket is still there")
                .hint("look at `poc-memory daemon log`"));
        }
        Ok(stopping)
    }

    fn show(stopping: &Value) -> String {
        // The answer of the op, already checked by it.
        ops::find(Self::NAME).and_then(|op| (op.show)(stopping).ok()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn the_tail_of_a_log() {
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
