//! `compact`

use super::text::{plural, second, size};
use super::{Access, Ctx, Op, Progress, TenantScope, Terminal, argument};
use poc_config::HistoryRetention;
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use poc_notes::compaction;
use poc_store::{CompactionCallbacks, DeletableHistory, StoreSizes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shrink the files of this memory while it is in use: delete history older than `[history] keep`, and rewrite the
/// records without unused space. Notes, links, visits and runs stay. Deleted history can no longer be shown or
/// undone; backups that contain it keep it. To delete history that the setting keeps, `yes` is required. The daemon
/// compacts automatically when the records, or a log that the setting bounds, are three times as large as necessary.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Compact {
    /// How much history to keep: `all`, or a duration such as `90d` [default: `[history] keep`]
    #[arg(long, value_name = "DURATION", value_parser = argument::history_retention)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keep: Option<HistoryRetention>,
    /// Delete history although `[history] keep` keeps it
    #[arg(long, short)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    yes: bool,
    /// Only report what history would be deleted
    #[arg(long)]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

impl Compact {
    /// Checks that history is deleted earlier than the settings say only if that is confirmed.
    fn check_confirmed(
        &self,
        ctx: &Ctx<'_>,
        keep: HistoryRetention,
        deletable: Option<DeletableHistory>,
    ) -> Result<()> {
        let Some(history) = deletable.filter(|_| !self.yes) else { return Ok(()) };
        let configured = ctx.memory.config.history.keep;
        Err(Error::invalid(format!(
            "nothing was changed: with `keep` {keep} instead of {configured} (`[history] keep`), {}",
            lost_history(history.transactions, history.until)
        ))
        .hint("repeat the command with `yes` to delete this history for good, or with `dry_run` to see only this")
        .field("yes"))
    }
}

/// Whether less history is kept than the settings say.
fn is_shorter(keep: HistoryRetention, configured: HistoryRetention) -> bool {
    match (keep, configured) {
        (HistoryRetention::All, _) => false,
        (HistoryRetention::For(_), HistoryRetention::All) => true,
        (HistoryRetention::For(keep), HistoryRetention::For(configured)) => keep < configured,
    }
}

/// Says what a compaction that deletes this many changes takes away.
fn lost_history(changes: u64, until: Timestamp) -> String {
    format!(
        "up to {} would be deleted for good: `--at`, `changes`, `history` and `undo` would reach back to {} only",
        plural(changes, "change"),
        second(until)
    )
}

/// The result of a compaction, or in a dry run of one that deletes as much history as it may.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CompactOutput {
    /// Where the history begins now, or in a dry run would begin: later states can be shown, and later changes can
    /// be undone. Absent if the history is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    history_since: Option<Timestamp>,
    /// Number of changes of all tenants that were deleted. In a dry run, it is the most that would be: the history stays
    /// if its replacement would take as much space.
    dropped_changes: u64,
    /// Size of the log before the compaction, in bytes.
    former_log_bytes: u64,
    /// Size of the log after the compaction, in bytes.
    log_bytes: u64,
    /// Size of the records before the compaction, in bytes.
    former_record_bytes: u64,
    /// Size of the records after the compaction, in bytes.
    record_bytes: u64,
    /// Whether this was a dry run, which changes nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

/// Runs a compaction that reports its progress. When the daemon stops, it ends with the error `stopped`.
pub(super) fn with_callbacks<T>(
    ctx: &Ctx<'_>,
    stopped: &dyn Fn() -> Error,
    compact: impl FnOnce(&CompactionCallbacks<'_>) -> Result<T>,
) -> Result<T> {
    let stop = ctx.host.calls();
    let callbacks = CompactionCallbacks {
        progress: &|done, total| {
            (ctx.progress)(Progress { what: "changes".into(), done, total: Some(total) });
        },
        check_cancelled: &|| if stop.is_cancelled() { Err(stopped()) } else { Ok(()) },
    };
    compact(&callbacks)
}

impl Op for Compact {
    const NAME: &'static str = "compact";
    const ACCESS: Access = Access::Person;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const LONG_RUNNING: bool = true;
    const USES_SHUTDOWN_GRACE: bool = true;
    type Output = CompactOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<CompactOutput> {
        let configured = ctx.memory.config.history.keep;
        let keep = self.keep.unwrap_or(configured);
        let stopped = || {
            Error::new(Code::Unavailable, "the daemon is stopping: the compaction was not completed")
                .hint("the next compaction continues it")
        };
        if self.dry_run || (is_shorter(keep, configured) && !self.yes) {
            let before = compaction::horizon(keep, ctx.memory.now());
            let deletable = with_callbacks(ctx, &stopped, |callbacks| {
                ctx.memory.store.deletable_history(before, callbacks.check_cancelled)
            })?;
            if self.dry_run {
                return dry_run(ctx, deletable);
            }
            self.check_confirmed(ctx, keep, deletable)?;
        }
        let done =
            with_callbacks(ctx, &stopped, |callbacks| compaction::compact(ctx.memory, keep, callbacks))?;
        Ok(CompactOutput {
            history_since: done.base.map(|base| base.at),
            dropped_changes: done.deleted,
            former_log_bytes: done.before.log,
            log_bytes: done.after.log,
            former_record_bytes: done.before.records,
            record_bytes: done.after.records,
            dry_run: false,
        })
    }

    fn show(output: &CompactOutput, _: &Terminal) -> String {
        if output.dry_run {
            return match output.history_since.filter(|_| output.dropped_changes > 0) {
                Some(until) => format!("{}\n", lost_history(output.dropped_changes, until)),
                None => "no history would be deleted\n".to_owned(),
            };
        }
        let mut text = format!(
            "log: {} before, {} now; records: {} before, {} now\n",
            size(output.former_log_bytes),
            size(output.log_bytes),
            size(output.former_record_bytes),
            size(output.record_bytes)
        );
        if output.dropped_changes > 0 {
            text.push_str(&format!("deleted {}\n", plural(output.dropped_changes, "change")));
        }
        if let Some(since) = output.history_since {
            text.push_str(&format!("the history begins at {}\n", second(since)));
        }
        text
    }
}

/// The answer of a dry run.
fn dry_run(ctx: &Ctx<'_>, deletable: Option<DeletableHistory>) -> Result<CompactOutput> {
    let StoreSizes { log, records } = ctx.memory.store.sizes()?;
    let base = ctx.memory.store.history_base().map(|base| base.at);
    Ok(CompactOutput {
        history_since: deletable.map(|history| history.until).or(base),
        dropped_changes: deletable.map_or(0, |history| history.transactions),
        former_log_bytes: log,
        log_bytes: log,
        former_record_bytes: records,
        record_bytes: records,
        dry_run: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_graph::time::Span;

    #[test]
    fn a_retention_is_compared_with_the_setting() {
        let days = |days| HistoryRetention::For(Span(days * Span::DAY.0));
        let shorter = [(days(0), HistoryRetention::All), (days(1), days(2))];
        assert!(shorter.iter().all(|(keep, configured)| is_shorter(*keep, *configured)));
        let all = HistoryRetention::All;
        let enough = [(all, all), (all, days(9)), (days(2), days(2)), (days(3), days(2))];
        assert!(!enough.iter().any(|(keep, configured)| is_shorter(*keep, *configured)));
    }
}
