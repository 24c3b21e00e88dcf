//! `compact`

use super::text::{plural, second, size};
use super::{Access, Ctx, Op, Progress, TenantScope, Terminal, argument};
use poc_config::HistoryRetention;
use poc_graph::error::{Code, Error, Result};
use poc_graph::time::Timestamp;
use poc_notes::compaction;
use poc_store::CompactionCallbacks;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shrink the files of this memory while it is in use: delete history older than `[history] keep`, and rewrite the
/// records without unused space. Notes, links, visits and runs stay. Deleted history can no longer be shown or
/// undone; backups that contain it keep it. The daemon does the same automatically when the records, or a log that
/// `keep` bounds, are three times as large as necessary.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Compact {
    /// How much history to keep: `all`, or a duration such as `90d` [default: `[history] keep`]
    #[arg(long, value_name = "DURATION", value_parser = argument::history_retention)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keep: Option<HistoryRetention>,
}

/// The result of a compaction.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct CompactOutput {
    /// Where the history begins now: later states can be shown, and later changes can be undone. Absent if
    /// the history is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    history_since: Option<Timestamp>,
    /// Number of changes of all tenants that were deleted.
    dropped_changes: u64,
    /// Size of the log before the compaction, in bytes.
    former_log_bytes: u64,
    /// Size of the log after the compaction, in bytes.
    log_bytes: u64,
    /// Size of the records before the compaction, in bytes.
    former_record_bytes: u64,
    /// Size of the records after the compaction, in bytes.
    record_bytes: u64,
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
        let keep = self.keep.unwrap_or(ctx.memory.config.history.keep);
        let stopped = || {
            Error::new(Code::Unavailable, "the daemon is stopping: the compaction was not completed")
                .hint("the next compaction continues it")
        };
        let done =
            with_callbacks(ctx, &stopped, |callbacks| compaction::compact(ctx.memory, keep, callbacks))?;
        Ok(CompactOutput {
            history_since: done.base.map(|base| base.at),
            dropped_changes: done.deleted,
            former_log_bytes: done.before.log,
            log_bytes: done.after.log,
            former_record_bytes: done.before.records,
            record_bytes: done.after.records,
        })
    }

    fn show(output: &CompactOutput, _: &Terminal) -> String {
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
