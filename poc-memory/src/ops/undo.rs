//! `undo`

use super::agent::AgentUndo;
use super::agent::undo::{self, RefusedItem};
use super::import::Import;
use super::undo_window::{undo_line, undo_window};
use super::vault::{UndoneFiles, undone_files};
use super::{Access, Ctx, Op, Principal, Route, Terminal, argument, changes, command_of};
use poc_agent::ledger;
use poc_config::HistoryRetention;
use poc_graph::RunId;
use poc_graph::error::{Code, Error, Exit, Result};
use poc_graph::time::{PastTime, Timestamp};
use poc_notes::history::{self, RecentChange};
use poc_notes::undo::{UndoItem, UndoReport};
use poc_store::{Cause, REPAIR_OP};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Undo the last change made by hand, a given one, an agent's run, or all runs since a time. An import or a sync of a
/// vault is one change. Records that later changes build on are left alone and reported; the rest is undone.
/// Without a number, a second `undo` undoes the change before; changes that can never be undone are skipped and named.
/// `agent undo` counts as a change by hand: `undo` after it brings the run back. An undo is itself a change: with its
/// number, `undo` restores what it undid.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Undo {
    /// Number of a change, as `changes` shows it, or id of a run or its first digits [default: the last change made
    /// by hand, not by assistants, agents, syncs or the daemon]
    #[arg(conflicts_with = "since")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    what: Option<String>,
    /// Undo all runs that started since then, the latest first: a time, or how long ago (`12h`)
    #[arg(long, value_name = "TIME", value_parser = argument::past_time)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<PastTime>,
    /// Only the runs of this agent
    #[arg(long, value_name = "NAME", requires = "since")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
}

/// The result of an undo.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct UndoOutput {
    /// Number of the change that was undone, if `what` named a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    change: Option<u64>,
    /// Id of the run that was undone, if `what` named a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    /// Ids of the undone runs, the latest first, if `since` was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    runs: Vec<RunId>,
    /// Descriptions of what was undone.
    undone: Vec<String>,
    /// Changes that were not undone, and why.
    refused: Vec<RefusedItem>,
    /// Numbers of the changes that this undo made; `undo` with one of them reverts the undo.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changes: Vec<u64>,
    /// Ids of the undone runs whose undo cannot be reverted, because only replays were undone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    final_runs: Vec<RunId>,
    /// Later changes made by hand that can never be undone and were skipped, the latest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<SkippedChange>,
    /// The number of the change made by hand before this one, if `what` was omitted and part of the change was not
    /// undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    earlier: Option<u64>,
    /// The vaults whose files still have what was undone, or whose notes the undo deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    vaults: Vec<UndoneFiles>,
    /// The minimum time for which these changes can be undone: `all` if there is no limit, otherwise a duration.
    undo_within: HistoryRetention,
}

/// A change that can never be undone.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SkippedChange {
    /// Its number.
    change: u64,
    /// Why it cannot be undone.
    reason: String,
}

/// Parses the number of a change, which never starts with 0. Ids of runs do: they begin with a time in
/// milliseconds, whose first hexadecimal digit stays 0 for centuries.
fn change(what: &str) -> Option<u64> {
    what.parse().ok().filter(|number| *number == 0 || !what.starts_with('0'))
}

/// Maximum number of changes by others that the error names if no change made by hand is left to undo.
const MAX_SUGGESTIONS: usize = 3;

/// Maximum number of transactions, from the latest on, that are scanned for these changes.
const MAX_SCANNED: usize = 1000;

/// Whether a person made a change by hand: not an assistant, an agent or the daemon. A sync of a vault follows the
/// files and is no change by hand. `agent undo` is one, but `undo` is not: repeated, it goes back step by step.
fn is_by_hand(cause: &Cause) -> bool {
    let is_person = cause.actor == Principal::Person.name() || cause.op == Import::NAME;
    is_person && (may_be_suggested(cause) || cause.op == AgentUndo::NAME)
}

/// Whether a change is suggested: it is listed by default, and is neither an undo nor a repair.
fn may_be_suggested(cause: &Cause) -> bool {
    const LEFT_OUT: [&str; 3] = [Undo::NAME, AgentUndo::NAME, REPAIR_OP];
    changes::is_listed(cause) && !LEFT_OUT.contains(&cause.op.as_str())
}

/// The latest changes that are not undone and can be undone, among the last `within` transactions.
fn latest_in_effect(
    ctx: &Ctx<'_>,
    count: usize,
    within: usize,
    is_wanted: &dyn Fn(&Cause) -> bool,
) -> Result<Vec<RecentChange>> {
    let store = &ctx.memory.store;
    let (first, last) = (store.first_seq(), store.last_seq());
    let mut max = count;
    loop {
        let numbers = (first..=last).rev().take(within);
        let latest = history::latest_among(ctx.memory, numbers, max, None, is_wanted)?;
        let is_complete = latest.len() < max;
        let mut in_effect = Vec::new();
        for change in latest {
            if in_effect.len() < count && !change.undone && !is_final(ctx, &change)? {
                in_effect.push(change);
            }
        }
        if is_complete || in_effect.len() == count {
            return Ok(in_effect);
        }
        max *= 8;
    }
}

/// Whether a change is the undo of a run that cannot be undone.
fn is_final(ctx: &Ctx<'_>, change: &RecentChange) -> Result<bool> {
    match change.cause.run.filter(|_| change.cause.op == AgentUndo::NAME) {
        Some(run) => Ok(!poc_agent::undo::can_undo_undo(ctx.memory, run, change.seq)?),
        None => Ok(false),
    }
}

/// The change made by hand after `skipped` later ones.
fn change_by_hand(ctx: &Ctx<'_>, skipped: usize) -> Result<Option<RecentChange>> {
    Ok(latest_in_effect(ctx, skipped + 1, usize::MAX, &is_by_hand)?.into_iter().nth(skipped))
}

/// Undoes the last change that a person made by hand and that is not undone. Changes that can never be undone are
/// skipped, because otherwise no earlier change could be undone without its number.
fn undo_last(ctx: &Ctx<'_>) -> Result<UndoOutcome> {
    let mut skipped = Vec::new();
    while let Some(RecentChange { seq, .. }) = change_by_hand(ctx, skipped.len())? {
        match undo_one(ctx, &seq.to_string()) {
            Ok(mut outcome) => {
                if outcome.items.iter().any(|item| item.refused.is_some()) {
                    // The change is still in effect, so `undo` would find it again.
                    let earlier = match change_by_hand(ctx, skipped.len())? {
                        Some(same) if same.seq == seq => change_by_hand(ctx, skipped.len() + 1)?,
                        other => other,
                    };
                    outcome.earlier = earlier.map(|change| change.seq);
                }
                return Ok(UndoOutcome { skipped, ..outcome });
            }
            Err(error) if matches!(error.code, Code::Conflict | Code::NotFound) => {
                skipped.push(SkippedChange { change: seq, reason: error.message });
            }
            Err(error) => return Err(error),
        }
    }
    Err(nothing_to_undo(ctx, &skipped)?)
}

/// The error if no change made by hand is left to undo, apart from those that can never be undone.
fn nothing_to_undo(ctx: &Ctx<'_>, skipped: &[SkippedChange]) -> Result<Error> {
    if history::latest(ctx.memory, 1, None, &changes::is_listed)?.is_empty() {
        let since = ctx.memory.store.history_base().map(|base| base.at);
        return Ok(Error::not_found(changes::nothing_changed(since)).field("what"));
    }
    let mut others = latest_in_effect(ctx, MAX_SUGGESTIONS + skipped.len(), MAX_SCANNED, &may_be_suggested)?;
    others.retain(|other| !skipped.iter().any(|skipped| skipped.change == other.seq));
    others.truncate(MAX_SUGGESTIONS);
    let other = |RecentChange { seq, cause, .. }: &RecentChange| {
        format!("{seq} ({} by {})", command_of(&cause.op), cause.actor)
    };
    let hint = match others.iter().map(other).collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "`poc-memory changes` shows all changes with their numbers".to_owned(),
        others => format!("`poc-memory undo N` undoes another change: {others}"),
    };
    let message = match skipped.first() {
        None => "no change that you made by hand is left to undo".to_owned(),
        Some(SkippedChange { reason, .. }) => {
            format!("no change that you made by hand can be undone: {reason}")
        }
    };
    Ok(Error::not_found(message).hint(hint).field("what"))
}

/// The changes or runs that were undone.
#[derive(Default)]
struct UndoOutcome {
    change: Option<u64>,
    run: Option<RunId>,
    runs: Vec<RunId>,
    /// The numbers of the changes that the undo made.
    made: Vec<u64>,
    items: Vec<UndoItem>,
    /// The runs whose undo cannot be undone.
    final_runs: Vec<RunId>,
    skipped: Vec<SkippedChange>,
    earlier: Option<u64>,
    /// Whether files of vaults may differ from their notes because of the undo.
    differs_from_files: bool,
}

/// Undoes a change or a run.
fn undo_one(ctx: &Ctx<'_>, what: &str) -> Result<UndoOutcome> {
    let (change, run, report) = match change(what) {
        Some(0) => {
            return Err(Error::not_found("there is no change 0; changes are numbered from 1")
                .hint("`poc-memory changes` shows the latest with their numbers"));
        }
        Some(seq) => (Some(seq), None, poc_agent::undo::undo_change(ctx.memory, seq)?),
        None => {
            let run = ledger::find(ctx.memory, what)?;
            (None, Some(run.id), poc_agent::undo::undo_run(ctx.memory, &run)?)
        }
    };
    let UndoReport { seq, items, final_run, differs_from_files } = report;
    let (made, final_runs) = (seq.into_iter().collect(), final_run.into_iter().collect());
    Ok(UndoOutcome { change, run, made, items, final_runs, differs_from_files, ..UndoOutcome::default() })
}

/// Undoes the runs since a time, or only those of one agent.
fn undo_since(ctx: &Ctx<'_>, since: Timestamp, agent: Option<&str>) -> Result<UndoOutcome> {
    if let Some(agent) = agent {
        ctx.host.catalog()?.entry(agent)?;
    }
    let mut outcome = UndoOutcome::default();
    for (run, report) in poc_agent::undo::undo_since(ctx.memory, since, agent)? {
        outcome.runs.push(run);
        outcome.final_runs.extend(report.final_run);
        outcome.made.extend(report.seq);
        outcome.items.extend(report.items);
    }
    Ok(outcome)
}

impl Op for Undo {
    const NAME: &'static str = "undo";
    const ACCESS: Access = Access::Person;
    const ROUTE: Option<Route> = Route::post("/v1/undo");
    type Output = UndoOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<UndoOutput> {
        let outcome = match (self.what, self.since) {
            (None, None) if self.agent.is_none() => undo_last(ctx)?,
            (_, None) if self.agent.is_some() => {
                return Err(Error::invalid("`agent` can be combined only with `since`")
                    .hint("leave it out, or give `since` instead of `what`")
                    .field("agent"));
            }
            (Some(what), None) => undo_one(ctx, &what).map_err(|error| match error.code {
                // A store that takes no writes is not an error of the argument.
                Code::ReadOnly => error,
                _ => error.field("what"),
            })?,
            (None, Some(since)) => undo_since(ctx, since.resolve(ctx.memory.now()), self.agent.as_deref())?,
            _ => {
                return Err(Error::invalid("give either `what` or `since`")
                    .hint("`what` names a change or a run; `since` is a time, such as `12h`")
                    .field("what"));
            }
        };
        let vaults = if outcome.differs_from_files { undone_files(ctx)? } else { Vec::new() };
        let (undone, refused) = undo::split_by_outcome(outcome.items);
        Ok(UndoOutput {
            change: outcome.change,
            run: outcome.run,
            runs: outcome.runs,
            undone,
            refused,
            changes: outcome.made,
            final_runs: outcome.final_runs,
            skipped: outcome.skipped,
            earlier: outcome.earlier,
            vaults,
            undo_within: undo_window(ctx),
        })
    }

    fn show(output: &UndoOutput, terminal: &Terminal) -> String {
        let mut text = String::new();
        for SkippedChange { reason, .. } in &output.skipped {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "skipped: {reason}");
        }
        if output.undone.is_empty() && output.refused.is_empty() {
            text.push_str("no run since then changed anything that can be undone\n");
        }
        for what in &output.undone {
            let _ = writeln!(text, "undone: {what}");
        }
        for RefusedItem { action, reason } in &output.refused {
            let _ = writeln!(text, "left:   {action}: {reason}");
        }
        text += &undo_line(&output.changes, output.undo_within, terminal);
        if !output.final_runs.is_empty() {
            text += undo::FINAL_LINE;
        }
        let mut next_steps = String::new();
        if let Some(earlier) = output.earlier {
            let _ = writeln!(
                next_steps,
                "`poc-memory undo {earlier}` undoes the change before, unless later changes build on it, too"
            );
        }
        for files in &output.vaults {
            let _ = writeln!(next_steps, "{}", files.text());
        }
        text + &terminal.with_options(&next_steps, |_| true)
    }

    fn exit(output: &UndoOutput) -> Exit {
        match (output.undone.is_empty(), output.refused.is_empty()) {
            (_, false) => Exit::Rejected,
            (true, true) => Exit::NothingToDo,
            (false, true) => Exit::Ok,
        }
    }
}
