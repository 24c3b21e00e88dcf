//! `agent apply`

use super::action_numbers::group_line;
use super::undo::{RefusedItem, split_by_outcome};
use crate::ops::{Access, Ctx, Op, Route, TenantScope, Terminal};
use poc_agent::proposal;
use poc_agent::review::{self, PartialSelection};
use poc_graph::RunId;
use poc_graph::error::{Exit, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Apply the actions that a run of an agent proposed. An action is dropped if its notes were edited,
/// superseded, deleted or protected since.
#[derive(Debug, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentApply {
    /// Id of the run, or its first digits
    run: String,
    /// Numbers of the actions, as `agent review` shows them; if omitted, all
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    #[serde(default)]
    only: Vec<u16>,
}

/// The applied actions, and those that could not be applied.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AgentApplyOutput {
    run: RunId,
    /// Descriptions of the applied actions.
    applied: Vec<String>,
    /// Actions that could no longer be applied, and why.
    refused: Vec<RefusedItem>,
    /// The selected numbers in groups that also have actions that were not selected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    only: Vec<u16>,
    /// Numbers of the other actions in these groups, which were decided with the selected ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    with: Vec<u16>,
}

impl Op for AgentApply {
    const NAME: &'static str = "agent apply";
    const ACCESS: Access = Access::Person;
    const TENANT_SCOPE: TenantScope = TenantScope::All;
    const ROUTE: Option<Route> = Route::post("/v1/runs/{run}/apply");
    type Output = AgentApplyOutput;

    fn run(self, ctx: &Ctx<'_>) -> Result<AgentApplyOutput> {
        let run = proposal::find(ctx.memory, &self.run)?;
        let PartialSelection { selected: only, others: with } =
            review::partly_selected(ctx.memory, run, &self.only)?;
        let (applied, refused) = split_by_outcome(review::approve(ctx.memory, run, &self.only)?);
        Ok(AgentApplyOutput { run, applied, refused, only, with })
    }

    fn show(output: &AgentApplyOutput, terminal: &Terminal) -> String {
        let mut text = String::new();
        for action in &output.applied {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "applied: {action}");
        }
        for RefusedItem { action, reason } in &output.refused {
            let _ = writeln!(text, "left:    {action}: {reason}");
        }
        text += &group_line(&output.only, &output.with, "they are applied together or not at all");
        if !output.applied.is_empty() {
            let undo =
                terminal.with_options(&format!("`poc-memory undo {}` reverts it", output.run), |_| true);
            let _ = writeln!(text, "{undo}");
        }
        text
    }

    fn exit(output: &AgentApplyOutput) -> Exit {
        if output.refused.is_empty() { Exit::Ok } else { Exit::Rejected }
    }
}
