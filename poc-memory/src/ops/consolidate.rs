//! `consolidate`

use super::{Access, Ctx, Op, Progress};
use poc_graph::error::Result;
use poc_notes::consolidate::{self, ConsolidationReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Clean up: expire notes past their date, delete long-expired notes, remove dangling and decayed edges and unused
/// keywords, and rewrite the indexes. Nothing in use changes. Covers one tenant, by default the default tenant. The
/// daemon does the same on schedule for all tenants: `[consolidate] schedule`.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Consolidate {
    /// Only report what would be done
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

/// The result of a consolidation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ConsolidateOutput {
    /// Number of notes past their date; their state is now `expired`, and no search finds them.
    pruned_nodes: u64,
    /// Number of notes that expired longer ago than `[consolidate] keep-expired` and were permanently
    /// deleted.
    deleted_nodes: u64,
    /// Number of removed edges: dangling ones, those of deleted notes, and learned ones that have decayed.
    removed_edges: u64,
    /// Number of keywords that no live note has any more.
    removed_keywords: u64,
    /// Whether this was a dry run, which writes nothing.
    dry_run: bool,
}

impl Op for Consolidate {
    const NAME: &'static str = "consolidate";
    const ACCESS: Access = Access::Person;
    type Output = ConsolidateOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<ConsolidateOutput> {
        let progress = |part: consolidate::ConsolidationPhase, done, total| {
            (ctx.progress)(Progress { what: part.name().into(), done, total: Some(total) });
        };
        let report = consolidate::consolidate(ctx.memory, &ctx.cause(Self::NAME), self.dry_run, &progress)?;
        Ok(ConsolidateOutput {
            pruned_nodes: report.pruned_nodes,
            deleted_nodes: report.deleted_nodes,
            removed_edges: report.removed_edges,
            removed_keywords: report.removed_keywords,
            dry_run: self.dry_run,
        })
    }

    fn show(output: &ConsolidateOutput) -> String {
        let &ConsolidateOutput { pruned_nodes, deleted_nodes, removed_edges, removed_keywords, dry_run } =
            output;
        let report = ConsolidationReport { pruned_nodes, deleted_nodes, removed_edges, removed_keywords };
        report.line(dry_run) + "\n"
    }
}
