//! `agent review`

use crate::ops::text::one_line;
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal, second, tenancy};
use poc_agent::proposal::{self, Proposal, proposals};
use poc_agent::review::{self, outdated_reason};
use poc_agent::{ledger, preview};
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_graph::{Node, RunId};
use poc_notes::Memory;
use poc_notes::diff::FieldChange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// List the actions that agents proposed and that wait for your decision. `agent apply` applies them, `agent
/// reject` rejects them. With `rejected`, list those that were rejected; `agent reopen` lets them wait again.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentReview {
    /// Id of the run, or its first digits; if omitted, all runs
    #[serde(default)]
    run: Option<String>,
    /// Only proposals of this agent
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    agent: Option<String>,
    /// List the proposals that were rejected, instead of those that wait
    #[arg(long)]
    #[serde(default)]
    rejected: bool,
}

/// The actions that wait for a decision, or those that were rejected.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentReviewOutput {
    /// The proposals, those of the oldest run first.
    proposals: Vec<ProposalRow>,
    /// Whether `proposals` lists rejected ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    rejected: bool,
}

/// An action that waits for a decision or was rejected.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ProposalRow {
    run: RunId,
    /// Its number in the run, from 1.
    number: u16,
    agent: String,
    /// The tenant of its notes, as `user=ann`; absent for the default tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    made: Timestamp,
    /// The action as text.
    action: String,
    /// The model's reason.
    why: String,
    /// Number of another action of the run; both are applied or rejected together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    with: Option<u16>,
    /// The changes that it would make to fields of notes, weights and links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changes: Vec<FieldChange>,
    /// The notes that the action names, and the sources of a note that it derives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<ProposalNote>,
    /// Why it can no longer be applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stale: Option<String>,
    /// Whether it was rejected.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    rejected: bool,
    /// The reason of the rejection, if one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// A note that a proposal names.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ProposalNote {
    key: String,
    title: String,
    /// Its text on one line, shortened to at most 240 characters.
    text: String,
}

impl Op for AgentReview {
    const NAME: &'static str = "agent review";
    const ACCESS: Access = Access::Person;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::get("/v1/agent/review");
    const NAMES_COMMANDS: bool = true;
    type Output = AgentReviewOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentReviewOutput> {
        let of = |one: &Proposal| self.agent.as_ref().is_none_or(|agent| one.agent == *agent);
        let rows: Vec<ProposalRow> = if self.rejected {
            let mut rejected = match &self.run {
                Some(id) => review::rejected_of(ctx.memory, &ledger::find(ctx.memory, id)?)?,
                None => review::rejected(ctx.memory, self.agent.as_deref())?,
            };
            rejected.retain(|(one, _)| of(one));
            let row =
                |(one, note)| Ok(ProposalRow { rejected: true, note, ..proposal_row(ctx.memory, one)? });
            rejected.into_iter().map(row).collect::<Result<_>>()?
        } else {
            let run = self.run.as_ref().map(|id| proposal::find(ctx.memory, id)).transpose()?;
            let waiting = proposals(ctx.memory, run)?.into_iter().filter(of);
            waiting.map(|one| proposal_row(ctx.memory, one)).collect::<Result<_>>()?
        };
        if let (Some(agent), true) = (&self.agent, rows.is_empty()) {
            // An unknown name is an error; an agent without proposals is not.
            ctx.host.catalog()?.entry(agent)?;
        }
        Ok(AgentReviewOutput { proposals: rows, rejected: self.rejected })
    }

    fn show(output: &AgentReviewOutput, _: &Terminal) -> String {
        if output.proposals.is_empty() {
            let none = if output.rejected {
                "there are no rejected proposals"
            } else {
                "nothing waits for a decision"
            };
            return format!("{none}\n");
        }
        let mut text = String::new();
        for group in output.proposals.chunk_by(|a, b| a.run == b.run) {
            let Some(first) = group.first() else { continue };
            // Writing to a string cannot fail.
            let tenant = first.tenant.as_ref().map_or_else(String::new, |tenant| format!(" for {tenant}"));
            let (run, made) = (first.run.short(), second(first.made));
            let _ = writeln!(text, "{}{tenant} in run {run}, {made}", first.agent);
            for one in group {
                let with = one.with.map_or_else(String::new, |with| format!(" (with {with})"));
                let _ = writeln!(text, "  {}. {}{with}: {}", one.number, one.action, one_line(&one.why));
                // Links and weights are in the text of the action.
                let texts = one
                    .changes
                    .iter()
                    .filter(|change| ["key", "title", "body"].contains(&change.field.as_str()));
                for FieldChange { field, before, after } in texts.map(FieldChange::shortened) {
                    let (before, after) = (one_line(&before), one_line(&after));
                    let _ = match (field.as_str(), before.as_str()) {
                        // The text of the action already contains the title of a new note.
                        ("title", "") => Ok(()),
                        (_, "") => writeln!(text, "     {field}: {after:?}"),
                        _ => writeln!(text, "     {field}: {before:?} → {after:?}"),
                    };
                }
                if let Some(note) = &one.note {
                    let _ = writeln!(text, "     rejected: {}", one_line(note));
                }
                if let Some(stale) = &one.stale {
                    let _ = writeln!(text, "     too late to apply: {stale}");
                }
            }
            // The whole id, because two runs may have the same short one.
            let run = first.run;
            let _ = match first.rejected {
                true => write!(text, "  `poc-memory agent reopen {run}` lets them wait for a decision again"),
                false => write!(
                    text,
                    "  `poc-memory agent apply {run}` applies them, `poc-memory agent reject {run}` rejects them"
                ),
            };
            text.push_str(if group.len() > 1 { "; `--only 1,3` selects some\n" } else { "\n" });
        }
        text
    }
}

/// Maximum number of characters of a note's text in a proposal.
const TEXT: usize = 240;

fn note(node: Node) -> ProposalNote {
    let words = node.body.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = match words.char_indices().nth(TEXT) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default().trim_end()),
        None => words,
    };
    ProposalNote { key: node.key, title: node.title, text }
}

fn proposal_row(memory: &Memory, one: Proposal) -> Result<ProposalRow> {
    let memory = &memory.of(&one.tenant);
    let mut notes = Vec::new();
    for read in &one.versions {
        notes.extend(memory.store.node(read.id)?.map(note));
    }
    let changes = preview::changes(memory, &one.permitted)?;
    let stale = outdated_reason(memory, &memory.store, &memory.store.view(), &one)?;
    Ok(ProposalRow {
        run: one.run,
        number: one.number(),
        tenant: tenancy::name(&one.tenant),
        agent: one.agent,
        made: one.made,
        action: one.summary,
        why: one.why,
        with: one.part_of.map(|with| with.saturating_add(1)),
        changes,
        notes,
        stale,
        rejected: false,
        note: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_below_the_proposals_of_a_run_name_that_run() {
        let row = |run: u8, number: u16, rejected: bool| ProposalRow {
            run: RunId::from_bytes([run; 16]),
            number,
            agent: "linker".into(),
            tenant: None,
            made: Timestamp(0),
            action: "link `a` to `b` at 0.4".into(),
            why: "both mention it".into(),
            with: None,
            changes: Vec::new(),
            notes: Vec::new(),
            stale: None,
            rejected,
            note: None,
        };
        let show = |proposals: Vec<ProposalRow>| {
            AgentReview::show(&AgentReviewOutput { proposals, rejected: false }, &Terminal::default())
        };
        let text = show(vec![row(1, 1, false), row(1, 2, false), row(2, 1, false)]);
        let (first, second) = (RunId::from_bytes([1; 16]), RunId::from_bytes([2; 16]));
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("poc-memory")).collect();
        let decide = |run: RunId| {
            format!(
                "  `poc-memory agent apply {run}` applies them, `poc-memory agent reject {run}` rejects them"
            )
        };
        assert_eq!(lines, [format!("{}; `--only 1,3` selects some", decide(first)), decide(second)]);
        let text = show(vec![row(1, 1, true)]);
        assert!(text.contains(&format!("`poc-memory agent reopen {first}`")), "{text}");
    }
}
