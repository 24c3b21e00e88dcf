//! `agent undo`

use crate::ops::text::plural;
use crate::ops::undo_window::{undo_line, undo_window};
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal};
use poc_agent::ledger;
use poc_agent::proposal::proposals;
use poc_agent::undo;
use poc_config::HistoryRetention;
use poc_graph::RunId;
use poc_graph::error::{Exit, Result};
use poc_notes::undo::{UndoItem, UndoReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Undo a run of an agent, or some of its actions. Notes edited since are left alone and reported. The
/// agent's visits are kept. The undo is a change of its own, which `undo` reverts.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentUndo {
    /// Id of the run, or its first digits
    run: String,
    /// Numbers of the actions, as `agent inspect` shows them; if omitted, all
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    #[serde(default)]
    only: Vec<u16>,
}

/// The undone actions, and those that were not undone.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentUndoOutput {
    run: RunId,
    agent: String,
    /// Number of actions of the run that were in effect before this undo.
    #[serde(default)]
    in_effect: usize,
    /// Descriptions of the undone actions.
    undone: Vec<String>,
    /// Actions that were not undone, and why.
    refused: Vec<RefusedItem>,
    /// Number of undone actions that were approved proposals and wait for a decision again; absent if 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reopened: Option<usize>,
    /// The number of the change that this undo made, if it undid anything; `undo` takes it to bring the actions back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    /// Whether this undo cannot be reverted, because only replays were undone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_final: bool,
    /// The minimum time for which the undo can be undone: `all` if there is no limit, otherwise a duration.
    undo_within: HistoryRetention,
}

/// An action that was refused, with the reason.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(in crate::ops) struct RefusedItem {
    pub(in crate::ops) action: String,
    pub(in crate::ops) reason: String,
}

/// Splits the items into those that were done and those that were refused.
pub(in crate::ops) fn split_by_outcome(items: Vec<UndoItem>) -> (Vec<String>, Vec<RefusedItem>) {
    let (mut done, mut refusals) = (Vec::new(), Vec::new());
    for UndoItem { summary, refused } in items {
        match refused {
            None => done.push(summary),
            Some(reason) => refusals.push(RefusedItem { action: summary, reason }),
        }
    }
    (done, refusals)
}

/// Says that there is no way back.
pub(in crate::ops) const FINAL_LINE: &str =
    "an undo of replays cannot be reverted: the notes keep their earlier intervals\n";

impl Op for AgentUndo {
    const NAME: &'static str = "agent undo";
    const ACCESS: Access = Access::Person;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::post("/v1/runs/{run}/undo");
    type Output = AgentUndoOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentUndoOutput> {
        let waiting = |run| proposals(ctx.memory, Some(run)).map(|waiting| waiting.len());
        let run = ledger::find(ctx.memory, &self.run)?;
        let before = waiting(run.id)?;
        let UndoReport { seq, items, final_run, .. } = undo::undo(ctx.memory, &run, &self.only)?;
        let reopened = waiting(run.id)?.saturating_sub(before);
        let in_effect = run.applied_actions().filter(|action| !action.is_undone()).count();
        let (undone, refused) = split_by_outcome(items);
        Ok(AgentUndoOutput {
            run: run.id,
            agent: run.agent,
            in_effect,
            undone,
            refused,
            reopened: (reopened > 0).then_some(reopened),
            seq,
            is_final: final_run.is_some(),
            undo_within: undo_window(ctx),
        })
    }

    fn show(output: &AgentUndoOutput, terminal: &Terminal) -> String {
        // Replays are undone as well, but are not actions of the reply.
        let all = output.in_effect.max(output.undone.len() + output.refused.len());
        let mut text = format!(
            "{} of {} of {} undone; the visits of the run are kept\n",
            output.undone.len(),
            plural(all as u64, "action"),
            output.agent
        );
        for action in &output.undone {
            let _ = writeln!(text, "  undone: {action}");
        }
        for RefusedItem { action, reason } in &output.refused {
            let _ = writeln!(text, "  left:   {action}: {reason}");
        }
        if let Some(reopened) = output.reopened {
            let wait = if reopened == 1 { "waits" } else { "wait" };
            let _ = writeln!(text, "{} {wait} for a decision again", plural(reopened as u64, "proposal"));
        }
        text += &undo_line(output.seq.as_slice(), output.undo_within, terminal);
        if output.is_final {
            text += FINAL_LINE;
        }
        text
    }

    fn exit(output: &AgentUndoOutput) -> Exit {
        if output.refused.is_empty() { Exit::Ok } else { Exit::Rejected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_text_counts_all_actions_in_effect() {
        let output: AgentUndoOutput = serde_json::from_value(json!({
            "run": "01a223e066397000800070e456681dd6", "agent": "linker", "in_effect": 6,
            "undone": ["link `a` to `b` at 0.4"], "refused": [], "seq": 7, "undo_within": "all",
        }))
        .unwrap();
        insta::assert_snapshot!(AgentUndo::show(&output, &Terminal::default()), @r"
        1 of 6 actions of linker undone; the visits of the run are kept
          undone: link `a` to `b` at 0.4
        `poc-memory undo 7` reverts this
        ");
        let reopened = AgentUndoOutput { reopened: Some(1), ..output };
        assert!(
            AgentUndo::show(&reopened, &Terminal::default())
                .contains("1 proposal waits for a decision again\n")
        );
        assert!(!AgentUndo::show(&reopened, &Terminal::default()).contains(FINAL_LINE));
        let undone = vec!["replay of 3 notes".into()];
        let replays = AgentUndoOutput { undone, seq: None, is_final: true, ..reopened };
        assert!(AgentUndo::show(&replays, &Terminal::default()).ends_with(FINAL_LINE));
    }
}
