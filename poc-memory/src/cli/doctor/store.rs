//! Checks that the store opens, whether it was damaged, and how current its indexes are.

use crate::cli::globals::Globals;
use crate::cli::repair;
use crate::client::Client;
use crate::dispatch::Connection;
use crate::ops::checks::{CheckResult, CheckState};
use crate::ops::{self, SharedLogOutput, plural, size};
use poc_config::paths::Paths;
use poc_config::{Config, HistoryRetention, TenantSchema};
use poc_graph::Tuple;
use poc_graph::error::Result;
use poc_graph::json;
use poc_notes::{answer_status, compaction, erasure, stats, verification};
use poc_store::{DAMAGED_HINT, QuarantinePart, Store, quarantine_parts};
use serde_json::Value;
use std::path::Path;

const CHECK: &str = "store";

/// The diagnostics, and the memory if it can be used. With `deep`, the memory is verified, and its progress shown.
pub(super) fn check(
    paths: &Paths,
    config: Config,
    daemon: Option<Client>,
    deep: Option<&Globals>,
) -> (Vec<CheckResult>, Option<Connection>) {
    let mut results = check_quarantine(&paths.store(), !config.store.log.is_empty());
    let connection = match daemon {
        Some(client) => Ok(Connection::Daemon(client)),
        None if config.store.log.is_empty() && !Store::exists(&paths.store()) => {
            results.push(CheckResult::new(CHECK, CheckState::Note, "it is created with the first note"));
            return (results, None);
        }
        None => {
            // Opened without the tenant schema, so that notes of all tenants can be counted.
            let open = |defaults: Config| {
                Connection::open(
                    paths.clone(),
                    Config { tenant_schema: defaults.tenant_schema, ..config.clone() },
                )
            };
            Config::defaults().and_then(open)
        }
    };
    // Opening the memory removes erasures that have deleted nothing.
    results.extend(check_erasures(paths));
    let mut verified = Vec::new();
    let counted = connection.and_then(|mut connection| {
        // The verification comes first, because its result determines whether the store accepts writes.
        if let Some(globals) = deep {
            verified = super::deep::check(&mut connection, globals);
        }
        match count(&mut connection) {
            // A daemon enforces the schema, so a call without a tenant is refused.
            Err(error)
                if config.tenant_schema.requires_tenant() && matches!(connection, Connection::Daemon(_)) =>
            {
                let message = format!("not counted: {}", error.message);
                let hint = "stop the daemon, and `poc-memory doctor` counts the notes of all tenants";
                results.push(CheckResult::new(CHECK, CheckState::Note, message).hint(hint));
                Ok((Value::Null, connection))
            }
            counts => Ok((counts?, connection)),
        }
    });
    let connection = match counted {
        Ok((counts, connection)) => {
            results.extend(check_erased_elsewhere(&connection));
            let recovered = connection.recovered().into_iter();
            results.extend(recovered.map(|note| CheckResult::new(CHECK, CheckState::Warning, note)));
            results.extend(read(&counts, &config.tenant_schema));
            results.extend(check_history(&counts, config.history.keep));
            Some(connection)
        }
        Err(error) => {
            results.push(CheckResult::of(CHECK, CheckState::Failed, &error));
            None
        }
    };
    results.extend(verified);
    if !config.store.log.is_empty()
        && let Some(advice) = repair::copy_advice(&paths.store())
    {
        for result in results.iter_mut().filter(|result| result.hint.as_deref() == Some(DAMAGED_HINT)) {
            result.hint = Some(advice.clone());
        }
    }
    (results, connection)
}

fn count(connection: &mut Connection) -> Result<Value> {
    match ops::find("stats") {
        // Every tenant is checked.
        Some(op) => connection.call(op, serde_json::json!({ "limit": u32::MAX }), &|_| {}),
        None => Ok(Value::Null),
    }
}

fn read(counts: &Value, schema: &TenantSchema) -> Vec<CheckResult> {
    if counts.is_null() {
        return Vec::new();
    }
    let number = |name: &str| counts.get(name).and_then(Value::as_u64).unwrap_or(0);
    let degraded: Vec<&str> = counts
        .get("degraded")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let bytes = number("log_bytes") + number("record_bytes") + number("index_bytes");
    let tenants: Vec<(&str, u64)> = counts
        .get("by_tenant")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(name, count)| Some((name.as_str(), count.as_u64().filter(|count| *count > 0)?)))
        .collect();
    let notes = match tenants.as_slice() {
        [] | [("default", _)] => format!("notes {}, edges {}", number("nodes"), number("edges")),
        several => format!(
            "notes {} of {}",
            several.iter().map(|(_, count)| count).sum::<u64>(),
            plural(several.len() as u64, "tenant")
        ),
    };
    // A store with problems is not called ok.
    let state = if degraded.is_empty() { CheckState::Ok } else { CheckState::Note };
    let mut results = vec![CheckResult::new(CHECK, state, format!("{notes}, {} on disk", size(bytes)))];
    if let Some(log) = counts.get("shared_log").and_then(|log| json::decode::<SharedLogOutput>(log).ok()) {
        let state = if log.behind > 0 { CheckState::Note } else { state };
        results.push(CheckResult::new(CHECK, state, format!("shared log {}", log.line())));
    }
    results.extend(degraded.into_iter().map(|problem| match answer_status::read_only_hint(problem) {
        Some(hint) => CheckResult::new(CHECK, CheckState::Failed, problem.to_owned()).hint(hint),
        None => CheckResult::new(CHECK, CheckState::Warning, problem.to_owned()),
    }));
    results.extend(tenants.iter().filter_map(|(name, count)| check_tenant(name, *count, schema)));
    results.extend(tenants.iter().filter_map(|(name, count)| check_name(name, *count)));
    results
}

/// A note if history takes most of the space and the settings do not bound it.
fn check_history(counts: &Value, keep: HistoryRetention) -> Option<CheckResult> {
    let number = |name: &str| counts.get(name).and_then(Value::as_u64);
    let (log, records) = (number("log_bytes")?, number("record_bytes")?);
    if keep != HistoryRetention::All || !compaction::is_log_large(log, records) {
        return None;
    }
    let message = format!(
        "the log has {} and the records have {}: most of the space is history, which `[history] keep = \"all\"` keeps",
        size(log),
        size(records)
    );
    let hint = "if you do not need all of it, `poc-memory compact --keep 90d` deletes what is older, and \
                `keep = \"90d\"` under `[history]` does so from now on";
    Some(CheckResult::new(CHECK, CheckState::Note, message).hint(hint))
}

/// A warning if the name of a tenant is lost.
fn check_name(name: &str, count: u64) -> Option<CheckResult> {
    let id = name.strip_prefix(stats::UNKNOWN_NAME)?;
    let message = format!("{} of a tenant whose name is unknown: {id}", plural(count, "note"));
    let hint = "a write with its `--tenant KEY=VALUE` records the name again";
    Some(CheckResult::new(CHECK, CheckState::Warning, message).hint(hint))
}

/// A warning if the schema makes the notes of a tenant unreachable.
fn check_tenant(name: &str, count: u64, schema: &TenantSchema) -> Option<CheckResult> {
    let refused = schema.validate(&tuple(name)?).err()?;
    let whose = if name == "default" { "the default tenant" } else { name };
    let message =
        format!("`[tenant-schema]` excludes {} of {whose}: {}", plural(count, "note"), refused.message);
    Some(CheckResult::new(CHECK, CheckState::Warning, message).hint(
        "without the schema, `poc-memory export` exports them; `poc-memory --tenant key=value import` imports them into \
         the right tenant",
    ))
}

/// The tenant that `stats` gives this name; names with quotes are ambiguous and skipped.
fn tuple(name: &str) -> Option<Tuple> {
    if name == "default" {
        return Some(Tuple::default());
    }
    let pairs: Option<Vec<(&str, &str)>> = name.split(' ').map(|pair| pair.split_once('=')).collect();
    Tuple::new(pairs?).ok().filter(|_| !name.contains('"'))
}

/// A warning for each problem that the last verification found.
pub(super) fn last_verification(paths: &Paths) -> Vec<CheckResult> {
    let problems = verification::problems(&paths.verification());
    problems.into_iter().map(|problem| CheckResult::new(CHECK, CheckState::Warning, problem)).collect()
}

/// A warning if this process has the memory open and its copy of a shared log still has texts that another machine has
/// erased. Only a daemon removes them.
fn check_erased_elsewhere(connection: &Connection) -> Option<CheckResult> {
    // If the shared log cannot be reached, the answer of `stats` says so.
    let last = connection.erased_elsewhere().ok().flatten()?;
    let message = format!(
        "another machine has erased texts from the history up to change {last}, and this copy still has them"
    );
    let hint = "a daemon removes them seconds after its start: `poc-memory daemon start`";
    Some(CheckResult::new(CHECK, CheckState::Warning, message).hint(hint))
}

/// A warning for each erasure that has begun and is not finished.
fn check_erasures(paths: &Paths) -> Vec<CheckResult> {
    let unfinished = match erasure::unfinished_erasures(paths) {
        Ok(unfinished) => unfinished,
        Err(error) => return vec![CheckResult::of(CHECK, CheckState::Warning, &error)],
    };
    let warning = |erasure: &erasure::UnfinishedErasure| {
        let message = format!(
            "an erasure that began at {} is not finished: the history may still contain the text",
            erasure.at
        );
        CheckResult::new(CHECK, CheckState::Warning, message).hint(format!(
            "unless it is running or its deletion was undone, `{}` completes it; if it was undone, the next \
             open of the memory or the next erasure removes this entry",
            erasure.command()
        ))
    };
    unfinished.iter().map(warning).collect()
}

/// A warning if recovery moved damaged parts to the quarantine at this or an earlier open, and a note for pieces
/// without a readable change. `is_copy` says whether the settings name a shared log, which has replaced damaged copies.
fn check_quarantine(store: &Path, is_copy: bool) -> Vec<CheckResult> {
    let parts = match quarantine_parts(store) {
        Ok(parts) => parts,
        Err(error) => return vec![CheckResult::of(CHECK, CheckState::Warning, &error)],
    };
    let (copies, parts): (Vec<_>, Vec<_>) =
        parts.into_iter().partition(|part| is_copy && part.is_replaced_copy);
    let (pieces, damaged): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part.is_unreadable_piece);
    let names = |parts: &[QuarantinePart]| {
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        names.join(", ")
    };
    let mut results = Vec::new();
    if !damaged.is_empty() {
        let message = format!("damaged parts were moved to the quarantine: {}", names(&damaged));
        results.push(
            CheckResult::new(CHECK, CheckState::Warning, message).hint(
                "they may be the only copy of what they contain: see `poc-memory doctor quarantine list`",
            ),
        );
    }
    if let [first, ..] = copies.as_slice() {
        let message = format!(
            "damaged copies of the shared log were moved to the quarantine and replaced: {}",
            names(&copies)
        );
        let hint = format!("`poc-memory doctor quarantine delete {}` deletes one", first.name);
        results.push(CheckResult::new(CHECK, CheckState::Note, message).hint(hint));
    }
    if let [first, ..] = pieces.as_slice() {
        let message = format!(
            "moved to the quarantine, without a readable change, as after an interrupted write: {}",
            names(&pieces)
        );
        let hint = format!("`poc-memory doctor quarantine delete {}` deletes one", first.name);
        results.push(CheckResult::new(CHECK, CheckState::Note, message).hint(hint));
    }
    results
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::time::Span;

    #[test]
    fn a_large_history_is_pointed_out_if_nothing_bounds_it() {
        let check = |log: u64, records: u64, keep| {
            let counts = serde_json::json!({"log_bytes": log << 20, "record_bytes": records << 20});
            check_history(&counts, keep)
        };
        let (all, bounded) = (HistoryRetention::All, HistoryRetention::For(Span::DAY));
        insta::assert_snapshot!(CheckResult::lines(check(400, 120, all).as_slice()), @r#"
        note     store     the log has 400.0 MiB and the records have 120.0 MiB: most of the space is history, which `[history] keep = "all"` keeps
                           hint: if you do not need all of it, `poc-memory compact --keep 90d` deletes what is older, and `keep = "90d"` under `[history]` does so from now on
        "#);
        assert_eq!(check(360, 120, all), None, "three times as large");
        assert_eq!(check(99, 1, all), None, "small");
        assert_eq!(check(400, 120, bounded), None, "the daemon compacts it");
        // The sizes are missing in an answer for one tenant.
        assert_eq!(check_history(&Value::Null, all), None);
    }
}
