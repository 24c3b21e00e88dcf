//! `agent review`

use crate::ops::{Access, Ctx, Op};
use poc_agent::permit::Intent;
use poc_agent::proposal::{self, Proposal, proposals};
use poc_agent::review::stale_since;
use poc_graph::RunId;
use poc_graph::error::Result;
use poc_graph::time::Timestamp;
use poc_notes::Memory;
use poc_notes::diff::{self, FieldChange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Show what agents have proposed and a person has to decide. `agent apply` does it, `agent reject` turns
/// it down.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Review {
    /// Id of the run, or its first digits; all runs when left out
    #[serde(default)]
    run: Option<String>,
    /// Only what this agent proposes
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    agent: Option<String>,
}

/// What waits for a decision.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Waiting {
    /// Oldest run first.
    proposals: Vec<Proposed>,
}

/// An action that waits.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Proposed {
    run: RunId,
    /// Its number in the run, from 1.
    number: u16,
    agent: String,
    made: Timestamp,
    /// In words.
    action: String,
    /// Why, in the model's words.
    why: String,
    /// Number of the action it is decided with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    with: Option<u16>,
    /// What the text of a note would become.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changes: Vec<FieldChange>,
    /// Why it can no longer be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stale: Option<String>,
}

impl Op for Review {
    const NAME: &'static str = "agent review";
    const ACCESS: Access = Access::Person;
    const TENANTS: bool = false;
    type Output = Waiting;

    fn run(self, ctx: &Ctx<'_>) -> Result<Waiting> {
        let run = self.run.map(|id| proposal::find(ctx.memory, &id)).transpose()?;
        let of = |one: &Proposal| self.agent.as_ref().is_none_or(|agent| one.agent == *agent);
        let waiting: Vec<Proposal> = proposals(ctx.memory, run)?.into_iter().filter(of).collect();
        if let (Some(agent), true) = (&self.agent, waiting.is_empty()) {
            // An agent that proposes nothing is fine, a name that is no agent's is not.
            ctx.host.catalog()?.entry(agent)?;
        }
        let proposals = waiting.into_iter().map(|one| shown(ctx.memory, one)).collect::<Result<_>>()?;
        Ok(Waiting { proposals })
    }

    fn show(output: &Waiting) -> String {
        if output.proposals.is_empty() {
            return "nothing waits for a decision\n".into();
        }
        let mut text = String::new();
        for group in output.proposals.chunk_by(|a, b| a.run == b.run) {
            let Some(first) = group.first() else { continue };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{} in run {}, {}", first.agent, first.run, first.made);
            for one in group {
                let with = one.with.map_or_else(String::new, |with| format!(" (with {with})"));
                let _ = writeln!(text, "  {}. {}{with}: {}", one.number, one.action, one.why);
                for change in &one.changes {
                    let _ = writeln!(text, "     {}: {:?} → {:?}", change.field, change.before, change.after);
                }
                if let Some(stale) = &one.stale {
                    let _ = writeln!(text, "     too late: {stale}");
                }
            }
        }
        text + "\n`poc-memory agent apply RUN [--only 1,3]` does it, `poc-memory agent reject RUN` turns it down\n"
    }
}

fn shown(memory: &Memory, one: Proposal) -> Result<Proposed> {
    let mut changes = Vec::new();
    if let Intent::Rewrite { old, draft } = &one.intent
        && let Some(old) = memory.store.node(*old)?
    {
        let mut new = old.clone();
        new.key = draft.key.clone().unwrap_or(new.key);
        new.title = draft.title.clone().unwrap_or(new.title);
        new.body = draft.body.clone().unwrap_or(new.body);
        changes = diff::fields(&old, &new);
    }
    let stale = stale_since(memory, &memory.store, &memory.store.view(), &one)?;
    Ok(Proposed {
        run: one.run,
        number: one.number(),
        agent: one.agent,
        made: one.made,
        action: one.summary,
        why: one.why,
        with: one.with.map(|with| with.saturating_add(1)),
        changes,
        stale,
    })
}
