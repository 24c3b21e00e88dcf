//! The result of a run in answers.

use crate::ops::tenancy;
use crate::ops::text::{minute, one_line, plural};
use poc_agent::created_notes::created_notes;
use poc_agent::ledger::{self, ActionRecord, ActionState, Run, Status, StatusReason};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{NodeId, RunId};
use poc_notes::Memory;
use poc_notes::diff::FieldChange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The result of a run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentRunOutput {
    pub(super) run: RunId,
    pub(super) agent: String,
    /// The tenant whose notes it worked on, as `user=ann`; absent for the default tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tenant: Option<String>,
    /// Whether this was a dry run, which writes nothing.
    pub(super) dry_run: bool,
    /// How it ended, or `running`.
    pub(super) status: Status,
    /// Why it was skipped or failed, as a stable code.
    pub(super) reason: Option<StatusReason>,
    /// The reason as text.
    pub(super) message: Option<String>,
    /// Values of the parameters of its pipeline.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) set: BTreeMap<String, String>,
    /// Number of notes the model worked on.
    pub(super) selected: usize,
    /// Keys of those notes.
    pub(super) nodes: Vec<String>,
    /// The remarks of the model about its reply.
    pub(super) notes: String,
    pub(super) applied: Vec<AppliedAction>,
    /// Actions that wait for approval, as `agent review` numbers them.
    pub(super) proposed: Vec<ProposedAction>,
    #[serde(rename = "rejected")]
    pub(super) refused: Vec<RefusedAction>,
    /// Number of further refused actions, which are not listed.
    pub(super) left_out: u32,
    /// Keys of the notes that count as visited.
    pub(super) visited: Vec<String>,
    /// What triggered it: `asked`, `schedule`, `batch` (a scheduled run left stale notes), `rerun` (an earlier run had
    /// failed) or `change`.
    #[serde(rename = "occasion")]
    pub(super) trigger: String,
    pub(super) scheduled_at: Option<Timestamp>,
    /// The failed run that it repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rerun_of: Option<RunId>,
    pub(super) started: Timestamp,
    pub(super) finished: Option<Timestamp>,
    pub(super) model: String,
    /// Input tokens of all calls; absent if not reported.
    pub(super) tokens_in: Option<u64>,
    /// Output tokens of all calls; absent if not reported.
    pub(super) tokens_out: Option<u64>,
    /// Cost of all calls in US dollars; absent if unknown.
    pub(super) cost: Option<f64>,
    /// Whether `cost` is an estimate because a model did not report its usage.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) cost_at_most: bool,
    /// The run as a `[[tests]]` entry, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) recorded: Option<String>,
    /// The error in the agent's file, if its last valid version ran instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) outdated: Option<String>,
    /// A notice that the agent is paused, or that this run ended the pause; absent if the agent was not paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pause: Option<String>,
    /// Why it could not be recorded as a test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) unrecorded: Option<String>,
}

/// An action that was applied.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct AppliedAction {
    /// Its number in the run, from 1.
    pub(super) number: usize,
    /// The action as text.
    pub(super) action: String,
    /// The key of the note that it created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) created: Option<String>,
    /// The model's reason.
    pub(super) why: String,
    /// Whether it was undone later.
    pub(super) undone: bool,
    /// The changes that it would make; only in a dry run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<FieldChange>,
}

/// An action that needs or needed approval.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct ProposedAction {
    /// Its number in the run, from 1.
    pub(super) number: usize,
    /// The action as text.
    pub(super) action: String,
    /// The model's reason.
    pub(super) why: String,
    /// Its state.
    pub(super) state: ProposalState,
    /// The person's reason, or what had changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<String>,
    /// The changes that it would make; only in a dry run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) changes: Vec<FieldChange>,
}

/// State of an action that needs or needed approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ProposalState {
    /// It waits for a decision.
    Proposed,
    /// A person rejected it.
    Rejected,
    /// Its notes had changed when it was to be applied.
    #[serde(rename = "stale")]
    Outdated,
}

/// An action that was refused and therefore not applied.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(super) struct RefusedAction {
    /// The action as text.
    pub(super) action: String,
    /// The model's reason.
    pub(super) why: String,
    /// The reason as a stable code. `already-present` and `observed` are not failures.
    pub(super) reason: String,
    /// Details of the refusal.
    pub(super) detail: String,
}

impl AgentRunOutput {
    pub(super) fn of(memory: &Memory, run: &Run) -> Result<AgentRunOutput> {
        let run = &ledger::with_current_status(memory, run.clone());
        let view = memory.of(&run.tenant).store.view();
        let key = |id: &NodeId| match view.find(*id) {
            Some(ix) => view.key(ix).to_owned(),
            None => id.to_string(),
        };
        let created = created_notes(memory, run)?;
        let applied = |(number, row)| applied(number, row, created.get(&(number - 1)));
        Ok(AgentRunOutput {
            run: run.id,
            agent: run.agent.clone(),
            tenant: tenancy::name(&run.tenant),
            dry_run: false,
            status: run.status,
            reason: run.reason,
            message: run.message.clone(),
            set: run.set.clone(),
            selected: run.selected.len(),
            nodes: run.selected.iter().map(|read| key(&read.id)).collect(),
            notes: run.notes.clone(),
            applied: (1..).zip(&run.actions).filter_map(applied).collect(),
            proposed: (1..).zip(&run.actions).filter_map(proposed).collect(),
            refused: run.actions.iter().filter_map(refused).collect(),
            left_out: run.left_out,
            visited: run.visited.iter().map(key).collect(),
            trigger: run.trigger.name().to_owned(),
            scheduled_at: run.scheduled_at,
            rerun_of: run.rerun_of,
            started: run.started,
            finished: run.finished,
            model: run.model.clone(),
            tokens_in: run.tokens_in,
            tokens_out: run.tokens_out,
            cost: run.cost,
            cost_at_most: run.is_cost_at_most(),
            outdated: None,
            pause: None,
            recorded: None,
            unrecorded: None,
        })
    }

    /// The text for a person: only the test if the run was recorded, otherwise the summary.
    pub(super) fn show(&self) -> String {
        match self.is_recording() {
            true => self.recorded.clone().unwrap_or_default(),
            false => self.summary(),
        }
    }

    /// Whether recording was requested, so that the text is meant for a file.
    pub(super) fn is_recording(&self) -> bool {
        self.recorded.is_some() || self.unrecorded.is_some()
    }

    /// A summary of the run for a person.
    pub(super) fn summary(&self) -> String {
        let reason = self.reason.map_or_else(String::new, |reason| format!(" ({})", reason.name()));
        let dry = if self.dry_run { "dry run, nothing was written\n" } else { "" };
        let tenant = self.tenant.as_ref().map_or_else(String::new, |tenant| format!(" for {tenant}"));
        let mut text = format!("{dry}{}{tenant}: {}{reason}", self.agent, self.status.name());
        if self.selected > 0 {
            let read = plural(self.selected as u64, "note");
            let _ = write!(text, ", {read} read, {} visited", self.visited.len());
        }
        text.push('\n');
        if let Some(message) = &self.message {
            let _ = writeln!(text, "  {message}");
        }
        if let Some(pause) = &self.pause {
            let _ = writeln!(text, "  {pause}");
        }
        if !self.set.is_empty() {
            let _ = writeln!(text, "  parameters: {}", assigned(&self.set));
        }
        if !self.notes.trim().is_empty() {
            let _ = writeln!(text, "  {}", one_line(&self.notes));
        }
        for action in &self.applied {
            let undone = if action.undone { " (undone)" } else { "" };
            let _ =
                writeln!(text, "  + {}. {}{undone}: {}", action.number, action.action, one_line(&action.why));
        }
        for action in &self.proposed {
            let state = match action.state {
                ProposalState::Proposed => "",
                ProposalState::Rejected => " (rejected)",
                ProposalState::Outdated => " (too late)",
            };
            let _ =
                writeln!(text, "  ? {}. {}{state}: {}", action.number, action.action, one_line(&action.why));
        }
        for action in &self.refused {
            let detail = one_line(&action.detail);
            let _ = writeln!(text, "  - {}: {} ({detail})", action.action, action.reason);
        }
        if self.left_out > 0 {
            let _ = writeln!(text, "  - and {} more that were refused", self.left_out);
        }
        if !self.dry_run && self.proposed.iter().any(|action| action.state == ProposalState::Proposed) {
            let _ = writeln!(text, "  decide: `poc-memory agent review {}`", self.run);
        }
        if let Some(why) = &self.unrecorded {
            let _ = writeln!(text, "  not recorded: {why}");
        }
        if !self.dry_run {
            let started = minute(Some(self.started));
            let _ = writeln!(text, "  run {} with the model {} at {started}", self.run, self.model);
            if let Some(run) = &self.rerun_of {
                let _ = writeln!(text, "  a second attempt, because run {run} failed");
            }
        }
        text
    }
}

/// The values of parameters as text, such as `days=7, kind=episodic`.
pub(super) fn assigned(set: &BTreeMap<String, String>) -> String {
    let each: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
    each.join(", ")
}

fn applied(number: usize, row: &ActionRecord, created: Option<&String>) -> Option<AppliedAction> {
    let (action, why, undone) = (row.summary.clone(), row.why.clone(), row.is_undone());
    let changes = row.changes.clone();
    let created = created.cloned();
    row.is_applied().then_some(AppliedAction { number, action, created, why, undone, changes })
}

fn proposed((number, row): (usize, &ActionRecord)) -> Option<ProposedAction> {
    let state = match row.state {
        ActionState::Proposed => ProposalState::Proposed,
        ActionState::Rejected => ProposalState::Rejected,
        ActionState::Outdated => ProposalState::Outdated,
        ActionState::Applied | ActionState::Refused | ActionState::Undone => return None,
    };
    let (action, why, detail) = (row.summary.clone(), row.why.clone(), row.detail.clone());
    let changes = row.changes.clone();
    Some(ProposedAction { number, action, why, state, detail, changes })
}

fn refused(row: &ActionRecord) -> Option<RefusedAction> {
    Some(RefusedAction {
        action: row.summary.clone(),
        why: row.why.clone(),
        reason: row.refusal_code.clone()?,
        detail: row.detail.clone().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use poc_notes::testing::TestMemory;
    use poc_store::WriteRange;

    #[test]
    fn the_command_to_decide_follows_all_actions() {
        let memory = TestMemory::new();
        let action = |state, refusal_code: Option<&str>| ActionRecord {
            kind: None,
            summary: "link `a` to `b` at 0.4".into(),
            why: "both mention it".into(),
            state,
            refusal_code: refusal_code.map(str::to_owned),
            detail: None,
            seq: None,
            writes: WriteRange::default(),
            changes: Vec::new(),
        };
        let actions =
            vec![action(ActionState::Proposed, None), action(ActionState::Refused, Some("already-present"))];
        let running = Run::new_running(&memory, "linker", None);
        let run = Run { status: Status::Proposed, actions, ..running };
        let text = AgentRunOutput::of(&memory, &run).unwrap().summary();
        let begins = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
        let lines: Vec<String> = text.lines().skip(1).map(begins).collect();
        assert_eq!(lines, ["?", "-", "decide:", "run"], "{text}");
    }
}
