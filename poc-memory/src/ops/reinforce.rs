//! `reinforce`

use super::secret_check::{self, SecretCheck};
use super::{Access, Ctx, Op, Route, Terminal, ToolEffect, argument};
use poc_graph::error::{Error, Result};
use poc_graph::{Activity, NodeId, NodeType};
use poc_notes::{Draft, confirmed_question, recall, weight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Report that a note was useful. It gains weight; heavy notes gain less. A note that was rated within the
/// last minute gains nothing more, but the use is counted. With the question that the note answered, later
/// searches for similar questions find the note better.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reinforce {
    /// Key or id of the note
    #[arg(value_name = "NOTE")]
    node: String,
    /// The question that the note answered. It is kept, and similar questions find the note better
    #[arg(long = "for", value_name = "TEXT", value_parser = argument::text)]
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    question: Option<String>,
    /// Withdraw that the note answered the question, given by its text or key: searches no longer lead from
    /// it to the note. The weight stays
    #[arg(long, requires = "question")]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    remove: bool,
}

/// The weight before and after.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ReinforceOutput {
    id: NodeId,
    key: String,
    /// The weight before the rating, decayed to now.
    before: f64,
    /// The weight after the rating: 0.01 to 100 with the default settings.
    weight: f64,
    /// Number of times the note was used, including this one.
    accesses: u64,
    /// Whether the note was rated within the last minute, so that this rating did not change its weight.
    skipped_refractory: bool,
    /// The number of the change, which `undo` takes.
    seq: u64,
    /// The key of the stored question that now leads to the note, if a question was given and kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    question: Option<String>,
    /// The question that no longer leads to the note, as it was given; absent unless `remove` was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    removed: Option<String>,
    /// Secrets that were found in the question, by kind. What a model writes has placeholders in their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

impl Op for Reinforce {
    const NAME: &'static str = "reinforce";
    const ACCESS: Access = Access::Write;
    const ROUTE: Option<Route> = Route::post("/v1/reinforce");
    const TOOL: Option<ToolEffect> = Some(ToolEffect::Cumulative);
    type Output = ReinforceOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<ReinforceOutput> {
        if self.remove {
            let question = self.question.ok_or_else(|| {
                Error::invalid("`remove` needs the question to remove")
                    .hint("give the question as `for`")
                    .field("for")
            })?;
            return withdraw(ctx, &self.node, &question);
        }
        bump(ctx, Self::NAME, &self.node, self.question, ctx.memory.config.reinforce.delta)
    }

    fn show(output: &ReinforceOutput, terminal: &Terminal) -> String {
        show(output, terminal)
    }
}

/// Withdraws a confirmed question from a note.
fn withdraw(ctx: &Ctx<'_>, name: &str, question: &str) -> Result<ReinforceOutput> {
    let (cause, config) = (ctx.cause(Reinforce::NAME), &ctx.memory.config.weight);
    let now = cause.at;
    let done = ctx.memory.store.transact(cause, |tx| {
        let node = ctx.find_writable(tx, name, "node")?;
        confirmed_question::withdraw(tx, question, node.id).map_err(|error| error.field("for"))?;
        let Activity { weight, accesses, .. } = weight::decayed_activity(tx, node.id, config, now)?;
        Ok(ReinforceOutput {
            id: node.id,
            key: node.key,
            before: weight,
            weight,
            accesses,
            skipped_refractory: false,
            seq: tx.seq(),
            question: None,
            removed: Some(question.to_owned()),
            warning: None,
        })
    })?;
    Ok(done.value)
}

/// Moves the weight of a note by a delta and stores the question that the note answered.
pub(super) fn bump(
    ctx: &Ctx<'_>,
    op: &str,
    name: &str,
    mut question: Option<String>,
    delta: f64,
) -> Result<ReinforceOutput> {
    let mut check = SecretCheck::of(ctx);
    question.iter_mut().for_each(|question| check.text(question));
    argument::check_length(question.as_deref(), "for", &ctx.memory.config.search)?;
    let draft = |title| Draft { title: Some(title), ..Draft::new(ctx.actor.name(), ctx.actor.trust()) };
    let prepared = question.map(|text| confirmed_question::prepare(ctx.memory, draft(text))).transpose();
    let prepared = prepared.map_err(|error| error.field("for"))?;
    // The weight includes the updates of earlier recalls.
    recall::flush(ctx.memory)?;
    let cause = ctx.cause(op);
    let now = cause.at;
    let done = ctx.memory.store.transact(cause, |tx| {
        let node = ctx.find_writable(tx, name, "node")?;
        let question = match &prepared {
            Some(_) if node.node_type.0 == NodeType::QUESTION => {
                return Err(Error::invalid(format!(
                    "`{}` is itself a question, so it cannot answer one",
                    node.key
                ))
                .hint("give the note that answered the question")
                .field("node"));
            }
            Some(question) => confirmed_question::apply(tx, question, node.id, now)?,
            None => None,
        };
        let question = question.map(|id| tx.node(id)).transpose()?.flatten().map(|node| node.key);
        let bumped = weight::bump(tx, node.id, delta, &ctx.memory.config, now)?;
        Ok(ReinforceOutput {
            id: node.id,
            key: node.key,
            before: bumped.before,
            weight: bumped.after,
            accesses: bumped.accesses,
            skipped_refractory: bumped.skipped_refractory,
            seq: tx.seq(),
            question,
            removed: None,
            warning: check.warning(),
        })
    })?;
    Ok(done.value)
}

/// The result as text for a person.
pub(super) fn show(output: &ReinforceOutput, terminal: &Terminal) -> String {
    let ReinforceOutput { key, before, weight, .. } = output;
    if let Some(question) = &output.removed {
        let undo = terminal.with_options(&format!("`poc-memory undo {}` reverts this", output.seq), |_| true);
        return format!("{question:?} no longer leads to `{key}`; {undo}\n");
    }
    let mut text = format!("weight of `{key}`: {before:.3} → {weight:.3}");
    if output.skipped_refractory {
        // Writing to a string cannot fail.
        let _ = write!(text, "; it was rated within the last minute, so its weight does not change");
    }
    if output.question.is_some() {
        text.push_str("; similar questions lead to it from now on");
    }
    text + "\n" + &secret_check::line(output.warning.as_ref())
}
