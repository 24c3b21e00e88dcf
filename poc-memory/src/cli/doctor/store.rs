//! The store: whether it opens, what was found damaged, and how far its indexes are.

use super::{Finding, State};
use crate::client::Client;
use crate::config::Config;
use crate::dispatch::Connection;
use crate::error::Result;
use crate::ops;
use crate::paths::Paths;
use serde_json::{Map, Value};
use std::path::Path;

const CHECK: &str = "store";

/// The findings, and the memory when it can be asked.
pub(super) fn check(
    paths: &Paths,
    config: Config,
    daemon: Option<Client>,
) -> (Vec<Finding>, Option<Connection>) {
    let mut findings = put_away(&paths.store().join("quarantine"));
    let connection = match daemon {
        Some(client) => Ok(Connection::Daemon(client)),
        None if !paths.store().join("log").exists() => {
            findings.push(Finding::new(CHECK, State::Note, "it is made with the first note"));
            return (findings, None);
        }
        None => Connection::open(paths.clone(), config),
    };
    let counted = connection.and_then(|mut connection| Ok((count(&mut connection)?, connection)));
    match counted {
        Ok((counts, connection)) => {
            findings.extend(
                connection.recovered().into_iter().map(|note| Finding::new(CHECK, State::Warning, note)),
            );
            findings.extend(read(&counts));
            (findings, Some(connection))
        }
        Err(error) => {
            findings.push(Finding::of(CHECK, State::Failed, &error));
            (findings, None)
        }
    }
}

fn count(connection: &mut Connection) -> Result<Value> {
    match ops::find("stats") {
        Some(op) => connection.call(op, Value::Object(Map::new()), &|_| {}),
        None => Ok(Value::Null),
    }
}

fn read(counts: &Value) -> Vec<Finding> {
    let number = |name: &str| counts.get(name).and_then(Value::as_u64).unwrap_or(0);
    let degraded = counts.get("degraded").and_then(Value::as_array).into_iter().flatten();
    let mut findings: Vec<Finding> = degraded
        .filter_map(Value::as_str)
        .map(|problem| Finding::new(CHECK, State::Warning, problem.to_owned()))
        .collect();
    let bytes = number("log_bytes") + number("record_bytes") + number("index_bytes");
    let found = format!("notes {}, edges {}, {} MiB on disk", number("nodes"), number("edges"), bytes >> 20);
    findings.insert(0, Finding::new(CHECK, State::Ok, found));
    findings
}

/// What recovery has put aside at this or an earlier open.
fn put_away(quarantine: &Path) -> Vec<Finding> {
    let entries = std::fs::read_dir(quarantine).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    if names.is_empty() {
        return Vec::new();
    }
    let message = format!("damaged parts were put aside: {}", names.join(", "));
    vec![Finding::new(CHECK, State::Warning, message).hint(format!(
        "nothing reads them any more; delete `{}` when you do not miss anything",
        quarantine.display()
    ))]
}
